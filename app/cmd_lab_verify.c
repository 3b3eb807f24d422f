// fairlead lab verify: one line per claim of the papers, and whether anything has changed.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/command.h"
#include "app/json_output.h"
#include "app/options.h"
#include "app/output.h"
#include "app/progress.h"
#include "lab/claims.h"

static const char who[] = "fairlead lab verify";

static const char summary[] =
    "Measures the papers' claims again: one line each, with numbers, 95 % intervals and a\n"
    "verdict. The exit status is 0 if every verdict is the expected one, 1 if one has changed.\n"
    "Quick by default: few and short runs.";

#define EXPECTATIONS_FILE "lab/expectations.txt"

/// The command line as given.
typedef struct Request {
    const char *only; ///< "A1,A2"; NULL: all.
    const char *trace;
    const char *expect; ///< NULL: what is built in.
    int64_t seed;
    bool full;
    bool update;
    bool markdown;
    bool json;
} Request;

static int parse(Request *request, int argc, char **argv)
{
    const Option options[] = {
        {.name = "full", .flag = &request->full, .help = "many and long runs: minutes"},
        {.name = "only",
         .value = "ID[,ID...]",
         .text = &request->only,
         .help = "these claims, or those whose names begin so: A1,L (all)"},
        {.name = "trace",
         .value = "FILE",
         .text = &request->trace,
         .help = "the recorded match (data/tanks/match01.csv.gz)"},
        {.name = "seed",
         .value = "S",
         .integer = &request->seed,
         .max = 9007199254740992.0,
         .help = "of all chance (1)"},
        {.name = "expect",
         .value = "FILE",
         .text = &request->expect,
         .help = "verdicts to compare with (built in)"},
        {.name = "update",
         .flag = &request->update,
         .help = "write the verdicts to that file; without --expect to\n" EXPECTATIONS_FILE},
        {.name = "markdown", .flag = &request->markdown, .help = "print docs/claims.md"},
        {.name = "json", .flag = &request->json, .help = "print JSON"},
    };
    const CommandLine line = {who, summary, options, sizeof options / sizeof *options};
    return options_parse(&line, argc, argv);
}

// ---------------------------------------------------------------- which claims

/// Does the claim's name begin with these letters? A whole name means itself alone: A1 is not A10.
static bool matches(const char *id, const char *word, size_t length)
{
    char given[16];
    if (length == 0 || length >= sizeof given || strncmp(id, word, length) != 0) {
        return false;
    }
    memcpy(given, word, length);
    given[length] = '\0';
    return claim_find(given) < 0 || strlen(id) == length;
}

/// Answers OPTIONS_GO_ON, or the exit status.
static int choose(const Request *request, ClaimSet *set)
{
    if (request->only == NULL) {
        for (int32_t i = 0; i < claim_count; i++) {
            set->wanted[i] = true;
        }
        return OPTIONS_GO_ON;
    }
    for (const char *word = request->only;; word++) {
        size_t length = strcspn(word, ",");
        bool found = false;
        for (int32_t i = 0; i < claim_count; i++) {
            if (matches(claims[i].id, word, length)) {
                set->wanted[i] = true;
                found = true;
            }
        }
        if (!found) {
            return command_fail(EXIT_BAD_INPUT, who, "--only: there is no claim '%.*s'",
                                (int)(length < 40 ? length : 40), word);
        }
        word += length;
        if (*word == '\0') {
            return OPTIONS_GO_ON;
        }
    }
}

// ---------------------------------------------------------------- what was expected

/// Reads a file whole, terminated. NULL: it has been told why.
static char *read_file(const char *path)
{
    enum { FILE_BYTES = 1 << 16 };
    FILE *file = fopen(path, "r");
    char *text = (char *)malloc(FILE_BYTES);
    if (file == NULL || text == NULL) {
        command_fail(EXIT_BAD_INPUT, who, "cannot read %s: %s", path,
                     file == NULL ? strerror(errno) : "out of memory");
        free(text);
        text = NULL;
    } else {
        size_t count = fread(text, 1, FILE_BYTES - 1, file);
        text[count] = '\0';
    }
    if (file != NULL) {
        fclose(file);
    }
    return text;
}

/// How many of the wanted claims' verdicts differ from `text`. -1: it is no such file (told).
static int32_t count_changed(const Request *request, const ClaimSet *set, const char *text,
                             bool changed[CLAIMS_CAPACITY])
{
    int32_t count = 0;
    for (int32_t i = 0; i < claim_count; i++) {
        Verdict expected;
        int32_t line;
        changed[i] = false;
        if (!set->wanted[i]) {
            continue;
        }
        if (expectation_find(text, claims[i].id, request->full, &expected, &line) == FL_BAD_VALUE) {
            command_fail(EXIT_BAD_INPUT, who, "%s:%d: not a claim and two verdicts",
                         request->expect != NULL ? request->expect : "built-in expectations",
                         (int)line);
            return -1;
        }
        changed[i] = verdict_changed(expected, set->findings[i].verdict, request->full);
        count += changed[i] ? 1 : 0;
    }
    return count;
}

/// Keeps what the file says of other claims and of the other mode.
static int update(const Request *request, const ClaimSet *set)
{
    const char *path = request->expect != NULL ? request->expect : EXPECTATIONS_FILE;
    FILE *there = fopen(path, "r");
    char *before = there != NULL ? read_file(path) : NULL;
    if (there != NULL) {
        fclose(there);
    }
    Text text = {0};
    Output output;
    expectations_write(before != NULL ? before : expectations_built_in, set, request->full, &text);
    bool ok = output_open(&output, who, path);
    if (ok) {
        fputs(text_of(&text), output.stream);
        ok = output_close(&output, who);
    }
    text_free(&text);
    free(before);
    return ok ? 0 : EXIT_FAILED;
}

// ---------------------------------------------------------------- telling

static bool is_measured(const ClaimSet *set, int32_t claim)
{
    return set->findings[claim].verdict >= VERDICT_HOLDS;
}

static void print_lines(const Request *request, const ClaimSet *set, const bool *changed)
{
    for (int32_t i = 0; i < claim_count; i++) {
        if (!set->wanted[i]) {
            continue;
        }
        const Finding *finding = &set->findings[i];
        printf("%-4s %-24s%s %s", claims[i].id, verdict_word(finding->verdict),
               changed[i] ? "CHANGED" : "", claims[i].words);
        if (finding->measured.count > 0) {
            printf(" | %s", text_of(&finding->measured));
        }
        if (is_measured(set, i)) {
            printf(" | fairlead lab verify --only %s%s", claims[i].id,
                   request->full ? " --full" : "");
        }
        putchar('\n');
    }
}

/// The last line: how many of each verdict, best first.
static void print_sum(const ClaimSet *set, int32_t changed)
{
    static const Verdict order[VERDICTS] = {VERDICT_HOLDS, VERDICT_FAILS, VERDICT_FEW_RUNS,
                                            VERDICT_NOT_YET, VERDICT_CANNOT};
    int32_t counts[VERDICTS] = {0};
    int32_t all = 0;
    for (int32_t i = 0; i < claim_count; i++) {
        counts[set->findings[i].verdict] += set->wanted[i] ? 1 : 0;
        all += set->wanted[i] ? 1 : 0;
    }
    printf("%d claims", (int)all);
    for (int32_t v = 0; v < VERDICTS; v++) {
        if (counts[order[v]] > 0) {
            printf(", %s: %d", verdict_word(order[v]), (int)counts[order[v]]);
        }
    }
    printf("; as expected: %s\n", changed == 0 ? "all" : "not all");
}

static void print_markdown(const Request *request, const ClaimSet *set)
{
    printf("# The papers' claims, measured\n\n"
           "Made by `build/fairlead lab verify%s --markdown > docs/claims.md` (version %s, seed "
           "%lld). Intervals are 95 %%,\nover runs; three figures in a row are at 100, 300 and 800 "
           "ms. [The guide](guide/lab.md) says how each is measured; "
           "`build/fairlead lab verify%s --only A1` repeats one of them.\n\n"
           "| id | claim | we call it true if | measured | verdict | shown by |\n"
           "|---|---|---|---|---|---|\n",
           request->full ? " --full" : "", FL_VERSION, (long long)request->seed,
           request->full ? " --full" : "");
    for (int32_t i = 0; i < claim_count; i++) {
        const Claim *claim = &claims[i];
        if (set->wanted[i]) {
            const char *command = claim->command != NULL ? claim->command : "";
            printf("| %s | %s | %s | %s | %s | %s%s%s |\n", claim->id, claim->words,
                   claim->criterion, text_of(&set->findings[i].measured),
                   verdict_word(set->findings[i].verdict), *command != '\0' ? "`lab " : "", command,
                   *command != '\0' ? "`" : "");
        }
    }
}

static int print_json(const Request *request, const ClaimSet *set, const bool *changed)
{
    json_t *document = json_object();
    json_t *list = json_array();
    for (int32_t i = 0; i < claim_count; i++) {
        if (set->wanted[i]) {
            json_t *one = json_object();
            json_object_set_new(one, "id", json_string(claims[i].id));
            json_object_set_new(one, "claim", json_string(claims[i].words));
            json_object_set_new(one, "criterion", json_string(claims[i].criterion));
            json_object_set_new(one, "measured", json_string(text_of(&set->findings[i].measured)));
            json_object_set_new(one, "verdict",
                                json_string(verdict_word(set->findings[i].verdict)));
            json_object_set_new(one, "changed", json_boolean(changed[i]));
            json_array_append_new(list, one);
        }
    }
    json_object_set_new(document, "version", json_string(FL_VERSION));
    json_object_set_new(document, "seed", json_integer(request->seed));
    json_object_set_new(document, "full", json_boolean(request->full));
    json_object_set_new(document, "claims", list);
    return json_print(document, who);
}

static int tell(const Request *request, const ClaimSet *set, const char *expected)
{
    bool changed[CLAIMS_CAPACITY];
    int32_t count = count_changed(request, set, expected, changed);
    if (count < 0) {
        return EXIT_BAD_INPUT;
    }
    if (request->json) {
        print_json(request, set, changed);
    } else if (request->markdown) {
        print_markdown(request, set);
    } else {
        print_lines(request, set, changed);
        print_sum(set, count);
    }
    if (request->update) {
        return update(request, set);
    }
    return count == 0
               ? 0
               : command_fail(EXIT_FAILED, who,
                              "%d verdicts are not as expected; --update accepts them", (int)count);
}

// ---------------------------------------------------------------- the command

/// What is shown while it takes long: a bar on a terminal, else a line whenever a group is done.
typedef struct Watch {
    Progress progress;
    double begun_s; ///< The group was.
    char what[80];
} Watch;

static void show_progress(void *ctx, int64_t done, int64_t of)
{
    progress_step(&((Watch *)ctx)->progress, done, of);
}

static void show_group(void *ctx, const ClaimGroup *group, bool begins)
{
    Watch *watch = ctx;
    bool one = group->first == group->last;
    double now_s = progress_seconds(&watch->progress);
    if (begins) {
        watch->begun_s = now_s;
        snprintf(watch->what, sizeof watch->what, "verifying, part %d of %d: %s%s%s",
                 (int)group->number, (int)group->of, group->first, one ? "" : " to ",
                 one ? "" : group->last);
        progress_rename(&watch->progress, watch->what);
    } else if (!watch->progress.terminal) {
        fprintf(stderr, "%s: %.1f s\n", watch->what, now_s - watch->begun_s);
    }
}

static int verify(const Request *request, ClaimSet *set)
{
    int status = choose(request, set);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    char *file = NULL;
    if (request->expect != NULL && !request->update) {
        file = read_file(request->expect);
        if (file == NULL) {
            return EXIT_BAD_INPUT;
        }
    }
    Watch watch = {.begun_s = 0.0};
    progress_begin(&watch.progress, "verifying");
    VerifyDef def = {.full = request->full,
                     .trace = request->trace,
                     .seed = (uint64_t)request->seed,
                     .progress_fn = show_progress,
                     .progress_ctx = &watch,
                     .group_fn = show_group};
    LabError error;
    LabStatus measured = claims_measure(&def, set, &error);
    progress_end(&watch.progress);
    if (measured != LAB_OK) {
        status = command_fail(measured == LAB_BAD_INPUT ? EXIT_BAD_INPUT : EXIT_FAILED, who, "%s",
                              error.text);
    } else {
        status = tell(request, set, file != NULL ? file : expectations_built_in);
    }
    free(file);
    return status;
}

int cmd_lab_verify(int argc, char **argv)
{
    Request request = {.trace = "data/tanks/match01.csv.gz", .seed = 1};
    int status = parse(&request, argc, argv);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    ClaimSet *set = (ClaimSet *)calloc(1, sizeof *set);
    if (set == NULL) {
        return command_fail(EXIT_FAILED, who, "out of memory");
    }
    status = verify(&request, set);
    claims_free(set);
    free(set);
    return status;
}
