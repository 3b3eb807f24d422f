// The papers' claims, and what our experiments say about each.
//
// Every claim has one row in a table (claims.c): what it says in our words, when we call it true,
// and which function measures it. A function may measure several; it is called once.
//
// Verdicts come from 95 % intervals over runs: a claim of difference holds if the whole interval
// lies beyond the limit, a claim of likeness if it lies inside the tolerance; it fails if the whole
// interval lies on the other side; otherwise there were not enough runs.
#ifndef LAB_CLAIMS_H
#define LAB_CLAIMS_H

#include "lab/experiments/experiment.h"
#include "lab/figures/stats.h"
#include "lab/world/lab_unit.h"

/// X(name, word), the worse ones later: a claim on two materials gets the worse verdict. A claim
/// has FAILED if its experiment could not be carried out: nothing is known of it.
#define VERDICT_TABLE(X)                                                                           \
    X(NOT_YET, "not measured yet")                                                                 \
    X(CANNOT, "cannot be measured here")                                                           \
    X(HOLDS, "holds")                                                                              \
    X(FEW_RUNS, "not enough runs")                                                                 \
    X(FAILS, "does not hold")                                                                      \
    X(FAILED, "failed")

typedef enum Verdict {
#define VERDICT_ROW(name, word) VERDICT_##name,
    VERDICT_TABLE(VERDICT_ROW)
#undef VERDICT_ROW
        VERDICTS
} Verdict;

const char *verdict_word(Verdict verdict);

/// What was found about one claim. `{0}`: nothing yet.
typedef struct Finding {
    Verdict verdict;
    Text measured; ///< Numbers with intervals, one line.
} Finding;

/// Adds what one material says: the worse verdict stays, the words are appended.
__attribute__((format(printf, 3, 4))) void finding_add(Finding *finding, Verdict verdict,
                                                       const char *format, ...);

/// Claims that one function measures.
typedef struct ClaimGroup {
    int32_t number, of; ///< From 1.
    const char *first;  ///< Ids, of those that are wanted.
    const char *last;
} ClaimGroup;

typedef struct VerifyDef {
    bool full;         ///< More and longer runs.
    const char *trace; ///< The recorded match.
    uint64_t seed;
    LabUnits *units; ///< Or NULL: all is played here.
    /// Or NULL: called before and after each group is measured.
    void (*group_fn)(void *ctx, const ClaimGroup *group, bool begins);
    void *group_ctx;
} VerifyDef;

/// Measures some claims: fills in claims_finding(set, id) for each of its own that is wanted.
typedef struct ClaimSet ClaimSet;
/// LAB_PENDING: it has gone through all units, and some were left to others.
typedef LabStatus (*ClaimFn)(const VerifyDef *def, ClaimSet *set, LabError *error);

typedef struct Claim {
    const char *id;
    const char *words;
    const char *criterion;
    ClaimFn measure_fn;  ///< NULL: not measured yet, unless `never`.
    const char *command; ///< The experiment that shows it: after `fairlead lab`.
    const char *never;   ///< Why it cannot be measured here; or NULL.
} Claim;

extern const Claim claims[];
extern const int32_t claim_count;

/// -1: no such claim.
int32_t claim_find(const char *id);

/// Why a claim does not hold here, and in *cause whose doing that is: the paper's, the set-up's or
/// ours. NULL: it is not known.
const char *claim_reason(const char *id, const char **cause);

#define CLAIMS_CAPACITY 96

struct ClaimSet {
    bool wanted[CLAIMS_CAPACITY]; ///< By the claim's place in the table.
    Finding findings[CLAIMS_CAPACITY];
};

/// True if the claim of this id is wanted.
bool claims_wants(const ClaimSet *set, const char *id);
Finding *claims_finding(ClaimSet *set, const char *id);

/// For measuring functions: what this claim needed could not be carried out. Others' go on.
void claims_failed(ClaimSet *set, const char *id, const LabError *error);

/// Is there something to say of it: is it measured, or will it never be?
bool claims_settled(const ClaimSet *set, int32_t claim);

/// Does any that is wanted look at VerifyDef's trace?
bool claims_need_trace(const ClaimSet *set);

/// Measures all that are wanted; what fails gets VERDICT_FAILED with the reason, and the others go
/// on. LAB_PENDING: units were left to others, and what needs them has no verdict. Else anything
/// but LAB_OK: something failed.
LabStatus claims_measure(const VerifyDef *def, ClaimSet *set);
void claims_free(ClaimSet *set);

/// For measuring functions: what they answer once all units have been asked for.
LabStatus claims_status(const VerifyDef *def, LabStatus status);

// ---------------------------------------------------------------- verdicts

/// Is the figure below (above) the limit?
Verdict judge_below(Estimate estimate, double limit);
Verdict judge_above(Estimate estimate, double limit);

/// Is it from low to high?
Verdict judge_within(Estimate estimate, double low, double high);

/// The worse of two.
Verdict verdict_worse(Verdict a, Verdict b);

// ---------------------------------------------------------------- what was expected

/// The verdicts as they were committed, one line per claim: id, quick, full; words joined by
/// dashes. Built into the program from lab/claims/expectations.txt.
extern const char expectations_built_in[];

/// Does a verdict contradict the expected one? What is expected to be decided must be. In quick
/// mode no verdict contradicts an expected "not enough runs": the full run decides.
bool verdict_changed(Verdict expected, Verdict found, bool full);

/// The verdict that `text` expects of a claim. Errors: FL_NOT_FOUND (it says nothing of it),
/// FL_BAD_VALUE (a line is no such line; *line says which).
FL_NODISCARD FlResult expectation_find(const char *text, const char *id, bool full,
                                       Verdict *verdict, int32_t *line);

/// The text with the verdicts of the wanted claims put in, for this mode. What is not measured yet,
/// or failed, leaves what was expected.
void expectations_write(const char *before, const ClaimSet *set, bool full, Text *text);

// ---------------------------------------------------------------- functions in the table

LabStatus claims_accuracy(const VerifyDef *def, ClaimSet *set, LabError *error);
LabStatus claims_relay(const VerifyDef *def, ClaimSet *set, LabError *error);
LabStatus claims_shots(const VerifyDef *def, ClaimSet *set, LabError *error);
LabStatus claims_fairness(const VerifyDef *def, ClaimSet *set, LabError *error);
LabStatus claims_perceptive(const VerifyDef *def, ClaimSet *set, LabError *error);
LabStatus claims_theorem(const VerifyDef *def, ClaimSet *set, LabError *error);
LabStatus claims_racing(const VerifyDef *def, ClaimSet *set, LabError *error);
LabStatus claims_attention(const VerifyDef *def, ClaimSet *set, LabError *error);
LabStatus claims_duels(const VerifyDef *def, ClaimSet *set, LabError *error);
LabStatus claims_scale(const VerifyDef *def, ClaimSet *set, LabError *error);

#endif
