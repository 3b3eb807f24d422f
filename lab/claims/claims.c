// Measuring claims, judging them, and comparing with what was expected.
#include "lab/claims/claims.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *verdict_word(Verdict verdict)
{
    static const char *const words[] = {
#define VERDICT_ROW(name, word) word,
        VERDICT_TABLE(VERDICT_ROW)
#undef VERDICT_ROW
    };
    FL_ASSERT(verdict < VERDICTS);
    return words[verdict];
}

Verdict verdict_worse(Verdict a, Verdict b)
{
    return a > b ? a : b;
}

int32_t claim_find(const char *id)
{
    for (int32_t i = 0; i < claim_count; i++) {
        if (strcmp(claims[i].id, id) == 0) {
            return i;
        }
    }
    return -1;
}

// ---------------------------------------------------------------- judging

Verdict judge_below(Estimate e, double limit)
{
    return estimate_high(e) < limit   ? VERDICT_HOLDS
           : estimate_low(e) >= limit ? VERDICT_FAILS
                                      : VERDICT_FEW_RUNS;
}

Verdict judge_above(Estimate e, double limit)
{
    return estimate_low(e) > limit     ? VERDICT_HOLDS
           : estimate_high(e) <= limit ? VERDICT_FAILS
                                       : VERDICT_FEW_RUNS;
}

Verdict judge_within(Estimate e, double low, double high)
{
    if (estimate_low(e) >= low && estimate_high(e) <= high) {
        return VERDICT_HOLDS;
    }
    return estimate_low(e) > high || estimate_high(e) < low ? VERDICT_FAILS : VERDICT_FEW_RUNS;
}

// ---------------------------------------------------------------- findings

void finding_add(Finding *finding, Verdict verdict, const char *format, ...)
{
    char words[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    finding->verdict = verdict_worse(finding->verdict, verdict);
    text_add(&finding->measured, "%s%s", finding->measured.count > 0 ? "; " : "", words);
}

bool claims_wants(const ClaimSet *set, const char *id)
{
    int32_t claim = claim_find(id);
    FL_ASSERT(claim >= 0);
    return set->wanted[claim];
}

Finding *claims_finding(ClaimSet *set, const char *id)
{
    int32_t claim = claim_find(id);
    FL_ASSERT(claim >= 0);
    return &set->findings[claim];
}

/// Those that are measured with `claim`: what it begins and ends with.
static ClaimGroup group_of(const ClaimSet *set, int32_t claim)
{
    ClaimGroup group = {0};
    for (int32_t i = 0; i < claim_count; i++) {
        if (!set->wanted[i] || claims[i].measure_fn == NULL) {
            continue;
        }
        bool seen = false;
        for (int32_t k = 0; k < i && !seen; k++) {
            seen = set->wanted[k] && claims[k].measure_fn == claims[i].measure_fn;
        }
        group.of += seen ? 0 : 1;
        group.number += !seen && i <= claim ? 1 : 0;
        if (claims[i].measure_fn == claims[claim].measure_fn) {
            group.first = group.first != NULL ? group.first : claims[i].id;
            group.last = claims[i].id;
        }
    }
    return group;
}

static void tell_group(const VerifyDef *def, const ClaimSet *set, int32_t claim, bool begins)
{
    if (def->group_fn != NULL) {
        ClaimGroup group = group_of(set, claim);
        def->group_fn(def->group_ctx, &group, begins);
    }
}

void claims_failed(ClaimSet *set, const char *id, const LabError *error)
{
    if (claims_wants(set, id)) {
        finding_add(claims_finding(set, id), VERDICT_FAILED, "failed: %s", error->text);
    }
}

LabStatus claims_status(const VerifyDef *def, LabStatus status)
{
    return status == LAB_OK && lab_units_missing(def->units) ? LAB_PENDING : status;
}

bool claims_settled(const ClaimSet *set, int32_t claim)
{
    return set->findings[claim].verdict != VERDICT_NOT_YET ||
           (claims[claim].measure_fn == NULL && claims[claim].never == NULL);
}

bool claims_need_trace(const ClaimSet *set)
{
    static const ClaimFn readers[] = {claims_accuracy, claims_relay, claims_fairness};
    bool need = false;
    for (int32_t i = 0; i < claim_count; i++) {
        for (size_t k = 0; k < sizeof readers / sizeof *readers; k++) {
            need = need || (set->wanted[i] && claims[i].measure_fn == readers[k]);
        }
    }
    return need;
}

/// All that one function measures: it does not say how far it came.
static void fail_group(ClaimSet *set, ClaimFn measure, const LabError *error)
{
    for (int32_t i = 0; i < claim_count; i++) {
        if (claims[i].measure_fn == measure) {
            claims_failed(set, claims[i].id, error);
        }
    }
}

/// Is it the first wanted of those that one function measures?
static bool is_first_of_group(const ClaimSet *set, int32_t claim)
{
    for (int32_t i = 0; i < claim; i++) {
        if (set->wanted[i] && claims[i].measure_fn == claims[claim].measure_fn) {
            return false;
        }
    }
    return true;
}

/// What the group's units are called by, whichever of its claims are wanted.
static const char *group_name(ClaimFn measure)
{
    int32_t i = 0;
    while (claims[i].measure_fn != measure) {
        i++;
    }
    return claims[i].id;
}

/// What does not hold says why.
static void give_reasons(ClaimSet *set, ClaimFn measure)
{
    for (int32_t i = 0; i < claim_count; i++) {
        const char *cause;
        const char *words = claim_reason(claims[i].id, &cause);
        if (claims[i].measure_fn == measure && set->wanted[i] && words != NULL &&
            set->findings[i].verdict == VERDICT_FAILS) {
            finding_add(&set->findings[i], VERDICT_FAILS, "the reason is %s: %s", cause, words);
        }
    }
}

static LabStatus measure_group(const VerifyDef *def, ClaimSet *set, int32_t claim)
{
    ClaimFn measure = claims[claim].measure_fn;
    LabError why = {{0}};
    tell_group(def, set, claim, true);
    if (def->units != NULL) {
        def->units->prefix = group_name(measure);
        def->units->missing = false;
    }
    LabStatus status = measure(def, set, &why);
    if (status != LAB_OK && status != LAB_PENDING) {
        fail_group(set, measure, &why);
    }
    FL_ASSERT(status == LAB_PENDING || set->findings[claim].verdict != VERDICT_NOT_YET);
    give_reasons(set, measure);
    tell_group(def, set, claim, false);
    return status;
}

LabStatus claims_measure(const VerifyDef *def, ClaimSet *set)
{
    LabStatus worst = LAB_OK;
    for (int32_t i = 0; i < claim_count; i++) {
        if (!set->wanted[i]) {
            continue;
        }
        if (claims[i].never != NULL) {
            finding_add(&set->findings[i], VERDICT_CANNOT, "%s", claims[i].never);
        } else if (claims[i].measure_fn != NULL && is_first_of_group(set, i)) {
            LabStatus status = measure_group(def, set, i);
            worst = worst == LAB_OK ? status : worst;
        }
    }
    for (int32_t i = 0; i < claim_count && worst == LAB_OK; i++) {
        worst = set->wanted[i] && set->findings[i].verdict == VERDICT_FAILED ? LAB_FAILED : LAB_OK;
    }
    return worst;
}

void claims_free(ClaimSet *set)
{
    for (int32_t i = 0; i < CLAIMS_CAPACITY; i++) {
        text_free(&set->findings[i].measured);
    }
}

// ---------------------------------------------------------------- expectations

bool verdict_changed(Verdict expected, Verdict found, bool full)
{
    bool open = expected == VERDICT_FEW_RUNS && found >= VERDICT_HOLDS && !full;
    return found == VERDICT_FAILED || (expected != found && !open);
}

//
//   # comment
//   A1  holds  holds          id, quick, full; blanks in a verdict are dashes; "-": not known

/// The next word of a line; NULL at its end. *length: of the word.
static const char *next_word(const char **at, size_t *length)
{
    while (**at == ' ' || **at == '\t') {
        (*at)++;
    }
    const char *word = *at;
    while (**at != '\0' && !isspace((unsigned char)**at)) {
        (*at)++;
    }
    *length = (size_t)(*at - word);
    return *length > 0 ? word : NULL;
}

/// True for a verdict's word, its blanks written as dashes. "-" is NOT_YET: nothing is known.
static bool read_verdict(const char *word, size_t length, Verdict *verdict)
{
    *verdict = VERDICT_NOT_YET;
    if (length == 1 && *word == '-') {
        return true;
    }
    for (int32_t v = 0; v < VERDICTS; v++) {
        const char *known = verdict_word((Verdict)v);
        size_t i = 0;
        while (i < length && (known[i] == word[i] || (known[i] == ' ' && word[i] == '-'))) {
            i++;
        }
        if (i == length && known[i] == '\0') {
            *verdict = (Verdict)v;
            return true;
        }
    }
    return false;
}

static const char *next_line(const char *at)
{
    const char *end = strchr(at, '\n');
    return end != NULL ? end + 1 : at + strlen(at);
}

/// One line. Errors: FL_NOT_FOUND (a comment, or empty), FL_BAD_VALUE.
static FlResult read_line(const char *at, const char **id, size_t *id_length, Verdict verdicts[2])
{
    *id = next_word(&at, id_length);
    if (*id == NULL || **id == '#') {
        return FL_NOT_FOUND;
    }
    for (int32_t i = 0; i < 2; i++) {
        size_t length;
        const char *word = next_word(&at, &length);
        if (word == NULL || !read_verdict(word, length, &verdicts[i])) {
            return FL_BAD_VALUE;
        }
    }
    size_t length;
    return next_word(&at, &length) == NULL ? FL_OK : FL_BAD_VALUE;
}

static FlResult find_line(const char *text, const char *id, Verdict verdicts[2], int32_t *line)
{
    *line = 0;
    for (const char *at = text; *at != '\0'; at = next_line(at)) {
        const char *word;
        size_t length;
        (*line)++;
        FlResult result = read_line(at, &word, &length, verdicts);
        if (result == FL_BAD_VALUE) {
            return result;
        }
        if (result == FL_OK && strlen(id) == length && memcmp(word, id, length) == 0) {
            return FL_OK;
        }
    }
    return FL_NOT_FOUND;
}

FlResult expectation_find(const char *text, const char *id, bool full, Verdict *verdict,
                          int32_t *line)
{
    Verdict verdicts[2] = {VERDICT_NOT_YET, VERDICT_NOT_YET};
    FlResult result = find_line(text, id, verdicts, line);
    *verdict = verdicts[full ? 1 : 0];
    return result;
}

static void add_verdict(Text *text, Verdict verdict, int width)
{
    char word[32];
    snprintf(word, sizeof word, "%s", verdict == VERDICT_NOT_YET ? "-" : verdict_word(verdict));
    for (char *c = word; *c != '\0'; c++) {
        *c = *c == ' ' ? '-' : *c;
    }
    text_add(text, "%-*s", width, word);
}

void expectations_write(const char *before, const ClaimSet *set, bool full, Text *text)
{
    text_add(text,
             "# What `fairlead lab verify` is expected to say: claim, quick, full. A change is "
             "a failure until\n# it is understood and written here (lab verify --update).\n");
    for (int32_t i = 0; i < claim_count; i++) {
        Verdict verdicts[2] = {VERDICT_NOT_YET, VERDICT_NOT_YET};
        int32_t line;
        if (find_line(before, claims[i].id, verdicts, &line) != FL_OK) {
            verdicts[0] = VERDICT_NOT_YET;
            verdicts[1] = VERDICT_NOT_YET;
        }
        Verdict found = set->findings[i].verdict;
        if (set->wanted[i] && found != VERDICT_NOT_YET && found != VERDICT_FAILED) {
            verdicts[full ? 1 : 0] = found;
        }
        text_add(text, "%-4s ", claims[i].id);
        add_verdict(text, verdicts[0], 24);
        add_verdict(text, verdicts[1], 0);
        text_add(text, "\n");
    }
}
