// fairlead lab verify: one line per claim of the papers, and whether anything has changed.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/cli/command.h"
#include "app/cli/json_output.h"
#include "app/cli/options.h"
#include "app/cli/output.h"
#include "app/cli/progress.h"
#include "app/commands/commands.h"
#include "app/lab/unit_store.h"
#include "lab/claims/claims.h"
#include "lab/report/report.h"

static const char who[] = "fairlead lab verify";

static const char summary[] =
    "Measures the papers' claims again: one line each, with numbers, 95 % intervals and a\n"
    "verdict, as soon as it is known. The exit status is 0 if every verdict is the expected one,\n"
    "1 if one has changed or an experiment failed: then the others go on, and its line says why.\n"
    "Quick by default: few and short runs. With --state it goes on where it was ended.";

#define EXPECTATIONS_FILE "lab/claims/expectations.txt"

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
    UnitOptions units;
} Request;

enum { OWN_OPTIONS = 8 };

static int parse(Request *request, int argc, char **argv)
{
    Option options[OWN_OPTIONS + UNIT_OPTIONS] = {
        {.name = "full", .flag = &request->full, .help = "many and long runs: hours of one core"},
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
    unit_options(&request->units, options + OWN_OPTIONS);
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

/// Is it a file of expectations, as far as the wanted claims go? Answers OPTIONS_GO_ON, or the exit
/// status.
static int check_expectations(const Request *request, const ClaimSet *set, const char *text)
{
    for (int32_t i = 0; i < claim_count; i++) {
        Verdict expected;
        int32_t line;
        if (set->wanted[i] &&
            expectation_find(text, claims[i].id, request->full, &expected, &line) == FL_BAD_VALUE) {
            return command_fail(EXIT_BAD_INPUT, who, "%s:%d: not a claim and two verdicts",
                                request->expect != NULL ? request->expect : "built-in expectations",
                                (int)line);
        }
    }
    return OPTIONS_GO_ON;
}

static bool has_changed(const Request *request, const ClaimSet *set, const char *text,
                        int32_t claim)
{
    Verdict expected;
    int32_t line;
    FlResult found = expectation_find(text, claims[claim].id, request->full, &expected, &line);
    FL_ASSERT(found != FL_BAD_VALUE); // it has been checked
    return verdict_changed(expected, set->findings[claim].verdict, request->full);
}

static const char *update_path(const Request *request)
{
    return request->expect != NULL ? request->expect : EXPECTATIONS_FILE;
}

/// Keeps what the file says of other claims and of the other mode.
static bool update(const Request *request, const ClaimSet *set)
{
    const char *path = update_path(request);
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
    return ok;
}

// ---------------------------------------------------------------- telling
//
// Every claim is told as soon as it is measured: who ends a run of hours keeps what it has found.

/// One verification.
typedef struct Verification {
    const Request *request;
    ClaimSet *set;
    const char *expected; ///< A file's text, or what is built in.
    int32_t told;         ///< So many claims of the table: the next to be told.
    int32_t changed;
    bool kept;     ///< --update: the file has been written so far.
    bool any_told; ///< At least one.
    UnitStore *store;
    Progress progress;
    double begun_s; ///< The group was.
    char what[80];  ///< Shown while it takes long.
} Verification;

static void begin_markdown(const Request *request, int32_t units)
{
    char day[REPORT_DATE_BYTES];
    report_date(time(NULL), day);
    day[strcspn(day, " ")] = '\0';
    printf("# The papers' claims, measured\n\n"
           "Made by `build/fairlead lab verify%s%s%s --seed %lld --markdown`: version %s, %s, %d "
           "units of work. Intervals are 95 %%,\nover runs; three figures in a row are at 100, 300 "
           "and 800 ms. [The guide](guide/lab.md) says how each is measured; "
           "`build/fairlead lab verify%s --only A1` repeats one of them.\n\n"
           "| id | claim | we call it true if | measured | verdict | shown by |\n"
           "|---|---|---|---|---|---|\n",
           request->full ? " --full" : "", request->only != NULL ? " --only " : "",
           request->only != NULL ? request->only : "", (long long)request->seed, FL_VERSION, day,
           (int)units, request->full ? " --full" : "");
}

static void begin(const Request *request, int32_t units)
{
    if (request->json) {
        printf("{\n \"version\": \"%s\",\n \"seed\": %lld,\n \"full\": %s,\n \"claims\": [",
               FL_VERSION, (long long)request->seed, request->full ? "true" : "false");
    } else if (request->markdown) {
        begin_markdown(request, units);
    }
}

static void print_line(const Request *request, const Claim *claim, const Finding *finding,
                       bool changed)
{
    printf("%-4s %-24s%s %s", claim->id, verdict_word(finding->verdict), changed ? "CHANGED" : "",
           claim->words);
    if (finding->measured.count > 0) {
        printf(" | %s", text_of(&finding->measured));
    }
    if (finding->verdict >= VERDICT_HOLDS) {
        printf(" | fairlead lab verify --only %s%s", claim->id, request->full ? " --full" : "");
    }
    putchar('\n');
}

static void print_markdown(const Claim *claim, const Finding *finding)
{
    const char *command = claim->command != NULL ? claim->command : "";
    printf("| %s | %s | %s | %s | %s | %s%s%s |\n", claim->id, claim->words, claim->criterion,
           text_of(&finding->measured), verdict_word(finding->verdict),
           *command != '\0' ? "`lab " : "", command, *command != '\0' ? "`" : "");
}

static void print_json(const Claim *claim, const Finding *finding, bool changed, bool first)
{
    json_t *one = json_object();
    json_object_set_new(one, "id", json_string(claim->id));
    json_object_set_new(one, "claim", json_string(claim->words));
    json_object_set_new(one, "criterion", json_string(claim->criterion));
    json_object_set_new(one, "measured", json_string(text_of(&finding->measured)));
    json_object_set_new(one, "verdict", json_string(verdict_word(finding->verdict)));
    json_object_set_new(one, "changed", json_boolean(changed));
    fputs(first ? "\n" : ",\n", stdout);
    json_dumpf(one, stdout, JSON_INDENT(1));
    json_decref(one);
}

static void tell_claim(Verification *v, int32_t claim)
{
    const Finding *finding = &v->set->findings[claim];
    bool changed = has_changed(v->request, v->set, v->expected, claim);
    v->changed += changed ? 1 : 0;
    if (v->request->json) {
        print_json(&claims[claim], finding, changed, !v->any_told);
    } else if (v->request->markdown) {
        print_markdown(&claims[claim], finding);
    } else {
        print_line(v->request, &claims[claim], finding, changed);
    }
    v->any_told = true;
}

/// Tells what has been found since the last time.
static void tell(Verification *v)
{
    progress_end(&v->progress);
    if (v->request->update) {
        v->kept = update(v->request, v->set);
    }
    while (v->told < claim_count && (!v->set->wanted[v->told] || claims_settled(v->set, v->told))) {
        if (v->set->wanted[v->told]) {
            tell_claim(v, v->told);
        }
        v->told++;
    }
    fflush(stdout);
}

/// The last line: how many of each verdict, best first.
static void print_sum(const ClaimSet *set, int32_t changed)
{
    static const Verdict order[VERDICTS] = {VERDICT_HOLDS,   VERDICT_FAILS,  VERDICT_FEW_RUNS,
                                            VERDICT_NOT_YET, VERDICT_CANNOT, VERDICT_FAILED};
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

/// What a quick run cannot decide.
static void print_undecided(const ClaimSet *set)
{
    Text ids = {0};
    for (int32_t i = 0; i < claim_count; i++) {
        if (set->wanted[i] && set->findings[i].verdict == VERDICT_FEW_RUNS) {
            text_add(&ids, "%s%s", ids.count > 0 ? "," : "", claims[i].id);
        }
    }
    if (ids.count > 0) {
        printf("more runs decide: fairlead lab verify --full --only %s\n", text_of(&ids));
    }
    text_free(&ids);
}

static void end(const Verification *v)
{
    if (v->request->json) {
        puts("\n ]\n}");
    } else if (!v->request->markdown) {
        if (!v->request->full) {
            print_undecided(v->set);
        }
        print_sum(v->set, v->changed);
    }
    fflush(stdout);
}

/// The exit status, and what is to be said about it.
static int judge(const Verification *v, LabStatus measured)
{
    if (measured != LAB_OK) {
        Text failed = {0};
        for (int32_t i = 0; i < claim_count; i++) {
            if (v->set->wanted[i] && v->set->findings[i].verdict == VERDICT_FAILED) {
                text_add(&failed, "%s%s", failed.count > 0 ? ", " : "", claims[i].id);
            }
        }
        int status =
            command_fail(measured == LAB_BAD_INPUT ? EXIT_BAD_INPUT : EXIT_FAILED, who,
                         "could not be measured: %s; their lines say why", text_of(&failed));
        text_free(&failed);
        return status;
    }
    if (v->request->update) {
        return v->kept ? 0 : EXIT_FAILED;
    }
    return v->changed == 0 ? 0
                           : command_fail(EXIT_FAILED, who,
                                          "%d verdicts are not as expected; --update accepts them",
                                          (int)v->changed);
}

// ---------------------------------------------------------------- the command

/// A unit is done.
static void show_progress(void *ctx)
{
    Verification *v = (Verification *)ctx;
    if (v->store != NULL) {
        UnitCounts counts = unit_store_counts(v->store);
        v->progress.to_go_s = counts.to_go_s;
        progress_step(&v->progress, (int64_t)(1e6 * counts.share), 1000000);
    }
}

static VerifyDef verify_def(const Request *request, LabUnits *units)
{
    return (VerifyDef){.full = request->full,
                       .trace = request->trace,
                       .seed = (uint64_t)request->seed,
                       .units = units};
}

/// Goes through all units, to plan or to work.
static void walk(void *ctx, LabUnits *units)
{
    const Verification *v = (const Verification *)ctx;
    VerifyDef def = verify_def(v->request, units);
    ClaimSet *set = (ClaimSet *)calloc(1, sizeof *set);
    if (set != NULL) {
        memcpy(set->wanted, v->set->wanted, sizeof set->wanted);
        (void)claims_measure(&def, set);
        claims_free(set);
        free(set);
    }
}

/// A bar on a terminal, else a line whenever a group is done.
static void show_group(void *ctx, const ClaimGroup *group, bool begins)
{
    Verification *v = ctx;
    bool one = group->first == group->last;
    double now_s = progress_seconds(&v->progress);
    if (begins) {
        v->begun_s = now_s;
        snprintf(v->what, sizeof v->what, "verifying, part %d of %d: %s%s%s", (int)group->number,
                 (int)group->of, group->first, one ? "" : " to ", one ? "" : group->last);
        progress_rename(&v->progress, v->what);
        return;
    }
    if (!v->progress.terminal) {
        UnitCounts counts = unit_store_counts(v->store);
        char to_go[PROGRESS_TIME_BYTES];
        progress_time(counts.to_go_s, to_go);
        fprintf(stderr, "%s: %.1f s; %.0f %% done%s\n", v->what, now_s - v->begun_s,
                100.0 * counts.share, to_go);
    }
    tell(v);
}

static int check_trace(const Request *request)
{
    FILE *trace = fopen(request->trace, "rb");
    if (trace == NULL) {
        return command_fail(EXIT_BAD_INPUT, who,
                            "--trace: cannot read %s: %s; start it where the folder data/ is, or "
                            "name a recorded match",
                            request->trace, strerror(errno));
    }
    (void)fclose(trace);
    return OPTIONS_GO_ON;
}

/// Before the work, which may take an hour. *file: what --expect names, if it is to be read.
static int check(const Request *request, ClaimSet *set, char **file)
{
    int status = choose(request, set);
    if (status == OPTIONS_GO_ON && claims_need_trace(set)) {
        status = check_trace(request);
    }
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    if (request->update) {
        const char *option = request->expect != NULL ? "--expect" : "--update";
        return output_check(who, option, update_path(request));
    }
    if (request->expect != NULL && (*file = read_file(request->expect)) == NULL) {
        return EXIT_BAD_INPUT;
    }
    return check_expectations(request, set, *file != NULL ? *file : expectations_built_in);
}

static int open_store(Verification *v, int argc, char **argv)
{
    const Request *request = v->request;
    json_t *identity = json_object();
    (void)json_object_set_new(identity, "command", json_string("verify"));
    (void)json_object_set_new(identity, "full", json_boolean(request->full));
    (void)json_object_set_new(identity, "seed", json_integer((json_int_t)request->seed));
    (void)json_object_set_new(identity, "trace", json_string(request->trace));
    UnitStoreDef def = {.who = who,
                        .options = request->units,
                        .identity = identity,
                        .argc = argc,
                        .argv = argv,
                        .tick_fn = show_progress,
                        .walk_fn = walk,
                        .ctx = v};
    return unit_store_open(&def, &v->store);
}

/// Measures and tells.
static int conclude(Verification *v)
{
    VerifyDef def = verify_def(v->request, unit_store_units(v->store));
    def.group_fn = show_group;
    def.group_ctx = v;
    if (v->request->units.shard != NULL) {
        (void)claims_measure(&def, v->set);
        progress_end(&v->progress);
        return unit_store_conclude_shard(v->store);
    }
    begin(v->request, unit_store_counts(v->store).all);
    LabStatus measured = claims_measure(&def, v->set);
    tell(v);
    end(v);
    return judge(v, measured);
}

static int verify(const Request *request, ClaimSet *set, int argc, char **argv)
{
    char *file = NULL;
    int status = check(request, set, &file);
    if (status == OPTIONS_GO_ON) {
        Verification v = {.request = request,
                          .set = set,
                          .expected = file != NULL ? file : expectations_built_in};
        progress_begin(&v.progress, "verifying");
        status = open_store(&v, argc, argv);
        if (status == OPTIONS_GO_ON) {
            status = conclude(&v);
            unit_store_close(v.store);
        }
    }
    free(file);
    return status;
}

int cmd_lab_verify(int argc, char **argv)
{
    UnitOptions units = {.jobs = 1};
    return lab_verify(argc, argv, &units);
}

int lab_verify(int argc, char **argv, const UnitOptions *units)
{
    Request request = {.trace = "data/tanks/match01.csv.gz", .seed = 1, .units = *units};
    int status = parse(&request, argc, argv);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    ClaimSet *set = (ClaimSet *)calloc(1, sizeof *set);
    if (set == NULL) {
        return command_fail(EXIT_FAILED, who, "out of memory");
    }
    status = verify(&request, set, argc, argv);
    claims_free(set);
    free(set);
    return status;
}
