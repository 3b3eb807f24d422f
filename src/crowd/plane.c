// Projective planes over the whole numbers modulo a prime q.
//
// A seat is a point: three numbers modulo q, not all zero, where multiples are the same point. Two
// seats are neighbours if the sum of the products of their coordinates is zero. Two different
// points span one line and a line has one pole, so any two seats have exactly one neighbour in
// common: their cross product.
//
// Layout: points are numbered with the first coordinate that is not zero made 1: (1, a, b) is a * q
// + b, (0, 1, a) is q * q + a, (0, 0, 1) is the last.
#include "private.h"

typedef struct Point {
    int32_t x, y, z;
} Point;

static bool is_prime(int32_t n)
{
    bool prime = n >= 2;
    for (int32_t i = 2; i * i <= n && prime; i++) {
        prime = n % i != 0;
    }
    return prime;
}

int32_t fl__plane_seats(int32_t order)
{
    return order > 0 ? order * order + order + 1 : 0;
}

// Neighbours of a player on average. Those beyond the seats share them, and their neighbours with
// them. An empty seat has three stand-ins, each for two thirds of its neighbours: that is twice a
// line of players, and both ends count it.
static double expected_neighbours(int32_t order, int32_t players)
{
    double taken = (double)players / fl__plane_seats(order);
    return (order + 1) * (taken >= 1.0 ? taken : 4.0 - 3.0 * taken);
}

// Whoever stands in has two thirds more neighbours than others. In a small plane that is better
// than that all share seats; in a large one it is more light connections than there are.
#define SOME_EMPTY_UP_TO 23

int32_t fl__plane_order_for(int32_t players)
{
    int32_t best = 0;
    for (int32_t order = 2; order <= FL_PLANE_ORDER_MAX; order++) {
        int32_t most = order <= SOME_EMPTY_UP_TO ? fl__plane_seats_most(players) : players;
        bool fits = is_prime(order) && fl__plane_seats(order) <= most;
        bool fewer =
            best == 0 || expected_neighbours(order, players) < expected_neighbours(best, players);
        best = fits && fewer ? order : best;
    }
    return best;
}

static Point point_of(int32_t q, int32_t seat)
{
    Point p = {0, 0, 1};
    if (seat < q * q) {
        p = (Point){1, seat / q, seat % q};
    } else if (seat < q * q + q) {
        p = (Point){0, 1, seat - q * q};
    }
    return p;
}

// q is prime, so a^(q - 2) is one over a.
static int32_t one_over(int32_t q, int32_t a)
{
    int32_t result = 1;
    int32_t power = a;
    for (int32_t left = q - 2; left > 0; left >>= 1) {
        result = (left & 1) != 0 ? result * power % q : result;
        power = power * power % q;
    }
    return result;
}

static int32_t seat_of(int32_t q, Point p)
{
    if (p.x != 0) {
        int32_t scale = one_over(q, p.x);
        return p.y * scale % q * q + p.z * scale % q;
    }
    return p.y != 0 ? q * q + p.z * one_over(q, p.y) % q : q * q + q;
}

bool fl__plane_linked(int32_t order, int32_t a, int32_t b)
{
    Point p = point_of(order, a);
    Point r = point_of(order, b);
    return (p.x * r.x + p.y * r.y + p.z * r.z) % order == 0;
}

static int32_t modulo(int32_t q, int32_t a)
{
    int32_t rest = a % q;
    return rest < 0 ? rest + q : rest;
}

int32_t fl__plane_common(int32_t order, int32_t a, int32_t b)
{
    FL_ASSERT(a != b);
    Point p = point_of(order, a);
    Point r = point_of(order, b);
    Point cross = {modulo(order, p.y * r.z - p.z * r.y), modulo(order, p.z * r.x - p.x * r.z),
                   modulo(order, p.x * r.y - p.y * r.x)};
    return seat_of(order, cross);
}

int32_t fl__plane_neighbour(int32_t order, int32_t seat, int32_t i)
{
    FL_ASSERT(i >= 0 && i <= order);
    Point p = point_of(order, seat);
    // Two points of the line whose pole the seat is; the others are sums of these.
    Point u = {modulo(order, -p.y), p.x, 0};
    Point v = {modulo(order, -p.z), 0, p.x};
    if (p.x == 0 && p.y != 0) {
        u = (Point){1, 0, 0};
        v = (Point){0, modulo(order, -p.z), p.y};
    } else if (p.x == 0) {
        u = (Point){1, 0, 0};
        v = (Point){0, 1, 0};
    }
    if (i == order) {
        return seat_of(order, v);
    }
    Point sum = {(u.x + i * v.x) % order, (u.y + i * v.y) % order, (u.z + i * v.z) % order};
    return seat_of(order, sum);
}
