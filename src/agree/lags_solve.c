// Lags from vectors: over a reference, or without one.
//
// Wanted are A and B with A_p + B_i >= v_p[i]. Over a reference r: A_p = v_p[r], and B_i the
// largest v_j[i] - v_j[r] over all j, i itself included. (The paper prints the difference the other
// way round, which is simultaneous for no pair; docs/decisions/0014.)
//
// Without a reference the sum of all A and B is to be smallest. That is the dual of giving every
// peer p another partner i so that the sum of v_p[i] is largest: the assignment problem. With the
// best assignment known, A_q - A_p >= v_q[s(p)] - v_p[s(p)] is all that is asked of A, and the
// longest chains of such differences from and to the first peer say how small and how large A may
// be.
//
// Differences of clocks may be years. They are taken out first (by the first peer's column): then
// the numbers are small, chains of them do not overflow, and nothing is lost, since all is exact.
#include "private.h"

#include <string.h>

#define VALUE_LIMIT (INT64_C(1) << 60)
#define DELAY_LIMIT (INT64_C(1) << 40)

/// Vectors without the differences of clocks, and the best assignment of them.
typedef struct Problem {
    int32_t count;
    FlTime w[FL_LAGS_PEERS][FL_LAGS_PEERS]; // w[p][i]
    FlTime clock[FL_LAGS_PEERS];            // v[p][i] = w[p][i] + clock[p] - clock[i]
    int32_t partner[FL_LAGS_PEERS];         // of p: the i assigned to it
} Problem;

static bool set_up(Problem *problem, int32_t count, const FlTime *v)
{
    problem->count = count;
    bool sound = true;
    for (int32_t p = 0; p < count; p++) {
        problem->clock[p] = p == 0 ? 0 : v[p * count];
        for (int32_t i = 0; i < count; i++) {
            FlTime value = v[p * count + i];
            sound = sound && (p == i || (value >= -VALUE_LIMIT && value <= VALUE_LIMIT));
        }
    }
    for (int32_t p = 0; p < count && sound; p++) {
        for (int32_t i = 0; i < count; i++) {
            FlTime w = p == i ? 0 : v[p * count + i] - problem->clock[p] + problem->clock[i];
            problem->w[p][i] = w;
            sound = sound && w >= -DELAY_LIMIT && w <= DELAY_LIMIT;
        }
    }
    return sound;
}

/// The smallest B for these A.
static void complete(const Problem *problem, const FlTime *a, FlTime *b)
{
    for (int32_t i = 0; i < problem->count; i++) {
        b[i] = INT64_MIN;
        for (int32_t p = 0; p < problem->count; p++) {
            FlTime need = problem->w[p][i] - a[p];
            b[i] = fl__time_max(need, b[i]);
        }
    }
}

// ---------------------------------------------------------------- over a reference

static void over(const Problem *problem, int32_t reference, FlTime *a, FlTime *b)
{
    for (int32_t p = 0; p < problem->count; p++) {
        a[p] = problem->w[p][reference];
    }
    complete(problem, a, b);
}

/// The published rule. It looks at B with clocks in them: some peer must find i behind
/// the reference.
static bool is_successful(const Problem *problem, int32_t reference, const FlTime *b)
{
    for (int32_t i = 0; i < problem->count; i++) {
        FlTime k = b[i] + problem->clock[reference] - problem->clock[i];
        if (i != reference && (k < 0 || (k == 0 && i < reference))) {
            return false;
        }
    }
    return true;
}

static int32_t published(const Problem *problem, FlTime *a, FlTime *b)
{
    int32_t reference = problem->count - 1;
    over(problem, reference, a, b);
    while (!is_successful(problem, reference, b)) {
        FL_ASSERT(reference > 0); // the paper's theorem: there is one
        reference--;
        over(problem, reference, a, b);
    }
    return reference;
}

static int32_t shortest(const Problem *problem, FlTime *a, FlTime *b)
{
    int32_t best = 0;
    FlTime best_longest = INT64_MAX;
    FlTime best_sum = INT64_MAX;
    for (int32_t reference = 0; reference < problem->count; reference++) {
        FlTime longest = 0;
        FlTime sum = 0;
        over(problem, reference, a, b);
        for (int32_t i = 0; i < problem->count; i++) {
            longest = a[i] + b[i] > longest ? a[i] + b[i] : longest;
            sum += a[i] + b[i];
        }
        if (longest < best_longest || (longest == best_longest && sum < best_sum)) {
            best = reference;
            best_longest = longest;
            best_sum = sum;
        }
    }
    over(problem, best, a, b);
    return best;
}

// ---------------------------------------------------------------- without a reference

/// One peer more into the assignment: the cheapest chain of exchanges that ends at a free partner.
/// Rows and columns count from 1, 0 is none; cost is -w.
typedef struct Matching {
    FlTime row[FL_LAGS_PEERS + 1], column[FL_LAGS_PEERS + 1]; // prices
    int32_t of_column[FL_LAGS_PEERS + 1];                     // the row assigned to it; 0: free
    int32_t way[FL_LAGS_PEERS + 1];                           // the column before it in the chain
} Matching;

/// From a column whose row must move on: the next nearest one. Prices change with it.
static int32_t step_on(const Problem *problem, Matching *m, int32_t from, FlTime *nearest,
                       bool *used)
{
    int32_t row = m->of_column[from];
    int32_t next = 0;
    FlTime delta = INT64_MAX;
    used[from] = true;
    for (int32_t j = 1; j <= problem->count; j++) {
        if (used[j]) {
            continue;
        }
        FlTime distance = -problem->w[row - 1][j - 1] - m->row[row] - m->column[j];
        if (distance < nearest[j]) {
            nearest[j] = distance;
            m->way[j] = from;
        }
        if (nearest[j] < delta) {
            delta = nearest[j];
            next = j;
        }
    }
    for (int32_t j = 0; j <= problem->count; j++) {
        if (used[j]) {
            m->row[m->of_column[j]] += delta;
            m->column[j] -= delta;
        } else {
            nearest[j] -= delta;
        }
    }
    return next;
}

static void assign(Problem *problem)
{
    Matching m = {0};
    for (int32_t row = 1; row <= problem->count; row++) {
        FlTime nearest[FL_LAGS_PEERS + 1];
        bool used[FL_LAGS_PEERS + 1] = {false};
        for (int32_t j = 0; j <= problem->count; j++) {
            nearest[j] = INT64_MAX / 2;
        }
        int32_t column = 0;
        m.of_column[0] = row;
        do {
            column = step_on(problem, &m, column, nearest, used);
        } while (m.of_column[column] != 0);
        while (column != 0) {
            int32_t before = m.way[column];
            m.of_column[column] = m.of_column[before];
            column = before;
        }
    }
    for (int32_t j = 1; j <= problem->count; j++) {
        problem->partner[m.of_column[j] - 1] = j - 1;
    }
}

/// By how much A of q must be above A of p at least.
static FlTime above(const Problem *problem, int32_t p, int32_t q)
{
    int32_t i = problem->partner[p];
    return problem->w[q][i] - problem->w[p][i];
}

/// The longest chains from the first peer to each (or, backwards, from each to it). The assignment
/// is the best one, so no chain grows by going in a circle.
static void chains(const Problem *problem, bool backwards, FlTime *length)
{
    for (int32_t p = 0; p < problem->count; p++) {
        length[p] = backwards ? above(problem, p, 0) : above(problem, 0, p);
    }
    length[0] = 0;
    bool grew = true;
    for (int32_t round = 0; round < problem->count && grew; round++) {
        grew = false;
        for (int32_t p = 0; p < problem->count; p++) {
            for (int32_t q = 0; q < problem->count; q++) {
                FlTime more = backwards ? above(problem, q, p) : above(problem, p, q);
                if (length[p] + more > length[q]) {
                    length[q] = length[p] + more;
                    grew = true;
                }
            }
        }
    }
}

static FlTime half_below(FlTime sum)
{
    return sum >= 0 ? sum / 2 : -((1 - sum) / 2);
}

static void free_of_all(Problem *problem, FlTime *a, FlTime *b)
{
    FlTime low[FL_LAGS_PEERS];
    FlTime high[FL_LAGS_PEERS];
    assign(problem);
    chains(problem, false, low);
    chains(problem, true, high);
    for (int32_t p = 0; p < problem->count; p++) {
        a[p] = half_below(low[p] - high[p]); // rounded alike, differences still suffice
    }
    complete(problem, a, b);
}

// ---------------------------------------------------------------- the choice

FlResult fl__lags_solve(FlLagsChoice choice, int32_t count, const FlTime *v, FlTime *a, FlTime *b,
                        int32_t *reference)
{
    FL_ASSERT(count >= 1 && count <= FL_LAGS_PEERS && choice < FL_LAGS_CHOICES);
    Problem problem;
    memset(a, 0, (size_t)count * sizeof *a);
    memset(b, 0, (size_t)count * sizeof *b);
    *reference = -1;
    if (!set_up(&problem, count, v)) {
        return FL_BAD_VALUE;
    }
    if (choice == FL_LAGS_REFERENCE) {
        *reference = published(&problem, a, b);
    } else if (choice == FL_LAGS_BEST_REFERENCE) {
        *reference = shortest(&problem, a, b);
    } else {
        free_of_all(&problem, a, b);
    }
    // Put the clocks back in, so that a reference's own A (or the first one's) is 0.
    FlTime own = *reference >= 0 ? problem.clock[*reference] : 0;
    for (int32_t p = 0; p < count; p++) {
        a[p] += problem.clock[p] - own;
        b[p] += own - problem.clock[p];
    }
    return FL_OK;
}

// ---------------------------------------------------------------- names

const char *fl__lags_choice_name(FlLagsChoice choice)
{
    static const char *const names[] = {
#define ROW(name, word) word,
        FL_LAGS_TABLE(ROW)
#undef ROW
    };
    return choice < FL_LAGS_CHOICES ? names[choice] : "unknown";
}

FlResult fl__lags_choice_find(const char *name, FlLagsChoice *choice)
{
    *choice = FL_LAGS_REFERENCE;
    for (int32_t i = 0; i < FL_LAGS_CHOICES; i++) {
        if (strcmp(fl__lags_choice_name((FlLagsChoice)i), name) == 0) {
            *choice = (FlLagsChoice)i;
            return FL_OK;
        }
    }
    return FL_NOT_FOUND;
}
