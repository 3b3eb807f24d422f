// fairlead replay: plays a recorded session again, exactly.
#include <stdio.h>
#include <string.h>

#include "app/cli/command.h"
#include "app/cli/json_output.h"
#include "app/cli/progress.h"
#include "app/commands/commands.h"
#include "app/play/play_options.h"
#include "app/replay/replay_policy.h"

static const char who[] = "fairlead replay";

static const char summary[] =
    "Plays a session again that was recorded with --record: the same command, given the same\n"
    "times, keys and datagrams, without a network and as fast as it goes. Whatever it sends is\n"
    "compared with what was sent then. With --policy it also says what another policy would have\n"
    "done on the same motion and network, as far as these are known: docs/guide/replay.md.";

// ---------------------------------------------------------------- looking on

typedef struct Replay {
    const char *path;
    PlayTape *tape;
    PlayTapeInfo info;
    Progress progress;
    json_t *session;    // its summary
    const char *policy; // another one; NULL: nobody asks
    FlSend other;
    PolicyStudy *study;
} Replay;

static void on_step(void *ctx, const PlayNode *node, FlTime now)
{
    Replay *replay = ctx;
    if (replay->study != NULL) {
        policy_study_stepped(replay->study, node, now);
    }
    progress_step(&replay->progress, play_tape_report(replay->tape).length, replay->info.length);
}

static void on_made(void *ctx, const PlayNode *node, int32_t own, const FlEntityDef *def)
{
    policy_study_made(((Replay *)ctx)->study, node, own, def);
}

static void on_moved(void *ctx, const PlayNode *node, int32_t own, const FlState *state)
{
    policy_study_moved(((Replay *)ctx)->study, node, own, state);
}

static void on_end(void *ctx, PlayNode *const *nodes, int32_t count, FlTime now, json_t *session)
{
    Replay *replay = ctx;
    (void)nodes;
    (void)count;
    (void)now;
    replay->session = session;
}

// ---------------------------------------------------------------- the file

static int refuse(const char *path, const PlayTapeInfo *info)
{
    switch (info->fault) {
    case TAPE_MISSING:
        return command_fail(EXIT_BAD_INPUT, who, "cannot read %s: %s", path, strerror(info->error));
    case TAPE_EMPTY:
        return command_fail(EXIT_BAD_INPUT, who, "%s is empty", path);
    case TAPE_FOREIGN:
        return command_fail(EXIT_BAD_INPUT, who, "%s is no recording of `fairlead`", path);
    case TAPE_VERSION:
        return command_fail(EXIT_BAD_INPUT, who,
                            "%s is a recording of format %u; this program reads format %d", path,
                            info->format, TAPE_FORMAT);
    default:
        return command_fail(EXIT_BAD_INPUT, who, "%s is cut off before anything was recorded",
                            path);
    }
}

typedef int (*AgainFn)(PlayTape *tape, int argc, char **argv);

typedef struct Again {
    const char *name;
    AgainFn run;
} Again;

static AgainFn find_command(const char *name)
{
    static const Again all[] = {
#define AGAIN_ROW(word) {#word, play_##word##_again},
        PLAY_COMMAND_TABLE(AGAIN_ROW)
#undef AGAIN_ROW
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(all[i].name, name) == 0) {
            return all[i].run;
        }
    }
    return NULL;
}

// Why the recording is not whole, in one word for machines; "none": it is.
static const char *fault_of(const PlayTapeInfo *info)
{
    return info->fault == TAPE_SHORT     ? "short"
           : info->fault == TAPE_DAMAGED ? "damaged"
           : !info->ended                ? "unfinished"
                                         : "none";
}

// ---------------------------------------------------------------- what came of it

static json_t *report_json(const Replay *replay, const PlayTapeReport *report)
{
    const PlayTapeInfo *info = &replay->info;
    char hash[20];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)report->hash);
    return json_pack("{s:s,s:s,s:s,s:s,s:s,s:I,s:f,s:f,s:I,s:I,s:I,s:I,s:I,s:I,s:s,s:b,s:s,s:O?}",
                     "version", FL_VERSION, "recorded_by", info->version, "command", info->argv[0],
                     "game", info->game, "fault", fault_of(info), "good_bytes",
                     (json_int_t)info->good_bytes, "recorded_s", fl_span_seconds(info->length),
                     "replayed_s", fl_span_seconds(report->length), "entries",
                     (json_int_t)report->entries, "rounds", (json_int_t)report->rounds,
                     "datagrams_in", (json_int_t)report->datagrams_in, "datagrams_out",
                     (json_int_t)report->datagrams_out, "bytes_in", (json_int_t)report->bytes_in,
                     "bytes_out", (json_int_t)report->bytes_out, "hash", hash, "same", report->same,
                     "difference", report->difference, "session", replay->session);
}

static void print_report(const Replay *replay, const PlayTapeReport *report)
{
    const PlayTapeInfo *info = &replay->info;
    printf("fairlead %s, %s, recorded by version %s: %.3f s replayed\n", info->argv[0], info->game,
           info->version, fl_span_seconds(report->length));
    printf("%lld rounds, %lld datagrams in (%lld bytes), %lld out (%lld bytes), hash %016llx: %s\n",
           (long long)report->rounds, (long long)report->datagrams_in, (long long)report->bytes_in,
           (long long)report->datagrams_out, (long long)report->bytes_out,
           (unsigned long long)report->hash,
           report->same ? "same hashes" : "not the same as recorded");
}

static int judge(const Replay *replay, const PlayTapeReport *report)
{
    const PlayTapeInfo *info = &replay->info;
    const char *other =
        strcmp(info->version, FL_VERSION) != 0 ? " (another version recorded it)" : "";
    if (!report->same) {
        return command_fail(EXIT_FAILED, who, "the first difference%s: %s", other,
                            report->difference);
    }
    if (info->fault == TAPE_DAMAGED) {
        return command_fail(
            EXIT_BAD_INPUT, who, "%s is damaged after %lld bytes; replayed up to there, %.3f s",
            replay->path, (long long)info->good_bytes, fl_span_seconds(report->length));
    }
    if (info->fault == TAPE_SHORT || !info->ended) {
        return command_fail(EXIT_BAD_INPUT, who,
                            "%s ends after %lld bytes, before the session did (a program that was "
                            "killed, or a file cut off); replayed up to there, %.3f s",
                            replay->path, (long long)info->good_bytes,
                            fl_span_seconds(report->length));
    }
    if (report->length < info->length) {
        return command_fail(EXIT_FAILED, who, "stopped by a signal");
    }
    return 0;
}

// ---------------------------------------------------------------- another policy

static json_t *row_json(const PolicyRow *row, const char *what)
{
    return json_pack("{s:s,s:s,s:o,s:o,s:o,s:o,s:o,s:o}", "what", what, "policy", row->policy,
                     "updates", json_number(row->figures.updates), "updates_luck",
                     json_number(row->luck.updates), "mean_aee", json_number(row->figures.mean),
                     "mean_aee_luck", json_number(row->luck.mean), "sd_aee",
                     json_number(row->figures.sd), "sd_aee_luck", json_number(row->luck.sd));
}

static json_t *answer_json(const PolicyAnswer *answer)
{
    return json_pack("{s:f,s:f,s:i,s:i,s:i,s:o,s:o,s:[o,o,o]}", "from_s",
                     fl_span_seconds(answer->from), "seconds", fl_span_seconds(answer->length),
                     "things", answer->things, "receivers", answer->receivers, "lucks",
                     answer->lucks, "delay_ms", json_number(answer->delay_ms), "loss",
                     json_number(answer->loss), "rows", row_json(&answer->recorded, "as recorded"),
                     row_json(&answer->again, "played again"), row_json(&answer->other, "other"));
}

static void print_row(const PolicyRow *row, const char *what)
{
    printf("%-13s %-16s %8.1f %8.1f %10.3f %8.3f %10.3f %8.3f\n", what, row->policy,
           row->figures.updates, row->luck.updates, row->figures.mean, row->luck.mean,
           row->figures.sd, row->luck.sd);
}

static void print_answer(const PolicyAnswer *answer)
{
    const PolicyRow *recorded = &answer->recorded;
    printf("\n%.1f s from %.1f s on: %d of our things, %d receivers, %.1f ms and %.1f %% loss "
           "towards them\n",
           fl_span_seconds(answer->length), fl_span_seconds(answer->from), answer->things,
           answer->receivers, answer->delay_ms, 100.0 * answer->loss);
    printf("%-13s %-16s %8s %8s %10s %8s %10s %8s\n", "", "policy", "updates", "(luck)", "mean AEE",
           "(luck)", "sd AEE", "(luck)");
    printf("%-13s %-16s %8.0f %8s %10.3f %8s %10.3f %8s\n", "as recorded", recorded->policy,
           recorded->figures.updates, "", recorded->figures.mean, "", recorded->figures.sd, "");
    print_row(&answer->again, "played again");
    print_row(&answer->other, "other");
    printf("AEE: accumulated error, distance times seconds. Luck: how far %d plays lie apart.\n",
           answer->lucks);
}

// `document` gets the answer; NULL: it is printed.
static int ask(Replay *replay, json_t *document)
{
    PolicyAnswer answer;
    LabError error = {{0}};
    LabStatus status = policy_study_ask(replay->study, &replay->other, &answer, &error);
    if (status != LAB_OK) {
        return command_fail(status == LAB_BAD_INPUT ? EXIT_BAD_INPUT : EXIT_FAILED, who,
                            "--policy: %s", error.text);
    }
    if (document != NULL) {
        json_object_set_new(document, "policies", answer_json(&answer));
    } else {
        print_answer(&answer);
    }
    return 0;
}

// ---------------------------------------------------------------- all of it

static int tell(Replay *replay, const PlayTapeReport *report, bool json)
{
    json_t *document = json ? report_json(replay, report) : NULL;
    if (!json) {
        print_report(replay, report);
    }
    int asked = replay->study != NULL && report->same ? ask(replay, document) : 0;
    int printed = json ? json_print(document, who) : 0;
    fflush(stdout);
    int status = judge(replay, report);
    return status != 0 ? status : asked != 0 ? asked : printed;
}

static int play_again(Replay *replay, bool json)
{
    const PlayTapeInfo *info = &replay->info;
    AgainFn run = info->argc > 0 ? find_command(info->argv[0]) : NULL;
    if (run == NULL) {
        return command_fail(EXIT_BAD_INPUT, who, "%s says nothing of the command that it is of",
                            replay->path);
    }
    if (!info->began) {
        return command_fail(EXIT_BAD_INPUT, who, "%s ends before the game began (%s)", replay->path,
                            info->fault != TAPE_FINE ? fault_of(info) : "the command failed");
    }
    PlayWitness witness = {.ctx = replay, .stepped = on_step, .ended = on_end};
    if (replay->study != NULL) {
        witness.made = on_made;
        witness.moved = on_moved;
    }
    play_tape_watch(replay->tape, &witness);
    progress_begin(&replay->progress, "replaying");
    int status = run(replay->tape, info->argc, replay->info.argv);
    progress_end(&replay->progress);
    PlayTapeReport report = play_tape_report(replay->tape);
    if (status != 0 && report.same) {
        return status; // its setup failed, and has said why
    }
    return tell(replay, &report, json);
}

int cmd_replay(int argc, char **argv)
{
    Replay replay = {0};
    bool json = false;
    const Option options[] = {
        {.value = "FILE", .text = &replay.path, .required = true, .help = "the recording"},
        {.name = "policy",
         .value = "NAME",
         .text = &replay.policy,
         .help = "what would have happened with this one, for the first node's own things"},
        {.name = "json", .flag = &json, .help = "print JSON, with the session's own summary"},
    };
    const CommandLine line = {who, summary, options, sizeof options / sizeof *options};
    int status = options_parse(&line, argc, argv);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    if (replay.policy != NULL && fl_send_parse(replay.policy, &replay.other) != FL_OK) {
        return command_fail(EXIT_BAD_INPUT, who, "--policy: there is no policy '%s'",
                            replay.policy);
    }
    if (replay.policy != NULL && (replay.study = policy_study_make()) == NULL) {
        return command_fail(EXIT_FAILED, who, "out of memory");
    }
    play_tape_open(replay.path, &replay.tape, &replay.info);
    status = replay.tape == NULL ? refuse(replay.path, &replay.info) : play_again(&replay, json);
    json_decref(replay.session);
    policy_study_free(replay.study);
    play_tape_close(replay.tape);
    return status;
}
