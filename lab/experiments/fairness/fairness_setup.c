// Settings into plays, plays into rows.
#include "lab/experiments/fairness/fairness_setup.h"
#include "motion/motion.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

FairnessSetup fairness_setup_default(void)
{
    FairnessSetup setup = {
        .model = "linear",
        .delays_ms = {.values = {800.0, 500.0, 200.0}, .count = 3},
        .jitter_ms = {.values = {0.0}, .count = 1},
        .length_s = 350.0,
        .distance = 0.09,
        .silence_s = 1.0,
    };
    return setup;
}

// ---------------------------------------------------------------- what to play

LabStatus fairness_add_list(FairnessPlay *play, const char *list, LabError *error)
{
    const char *at = list;
    while (*at != '\0') {
        size_t length = strcspn(at, " ");
        char name[FL_SEND_TEXT_BYTES] = {0};
        if (length >= sizeof name) {
            return lab_fail(error, LAB_BAD_INPUT, "--policies: no policy has so long a name");
        }
        memcpy(name, at, length);
        if (length > 0 && !fairness_add_policy(play, name)) {
            return lab_fail(error, LAB_BAD_INPUT, "--policies: no policy '%s', or too many", name);
        }
        at += length;
        at += strspn(at, " ");
    }
    return play->policy_count > 0 ? LAB_OK
                                  : lab_fail(error, LAB_BAD_INPUT, "--policies: none are named");
}

LabStatus fairness_setup_play(const LabRun *run, const FairnessSetup *setup, FairnessPlay *play,
                              LabError *error)
{
    *play = fairness_play_default(NULL, 0, run->seed);
    play->sealed = !run->plain;
    if (setup->delays_ms.count < 1 || setup->delays_ms.count > FAIRNESS_RECEIVERS) {
        return lab_fail(error, LAB_BAD_INPUT, "--delays: 1 to %d", (int)FAIRNESS_RECEIVERS);
    }
    play->receiver_count = setup->delays_ms.count;
    for (int32_t r = 0; r < play->receiver_count; r++) {
        play->delay[r] = fl_span_from_seconds(setup->delays_ms.values[r] / 1e3);
    }
    play->trigger.distance = setup->distance;
    play->trigger.silence_ns = fl_span_from_seconds(setup->silence_s);
    if (fl__model_find(setup->model, &play->model) != FL_OK || play->model == FL_MODEL_CUBIC) {
        return lab_fail(error, LAB_BAD_INPUT, "--model: no model '%s'", setup->model);
    }
    return LAB_OK;
}

static LabStatus read_entity(const char *text, int64_t *entity, LabError *error)
{
    char *end;
    errno = 0;
    *entity = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0'
               ? LAB_OK
               : lab_fail(error, LAB_BAD_INPUT, "--entity: '%s' is not a whole number", text);
}

LabStatus fairness_setup_material(const LabRun *run, const FairnessSetup *setup, Material *material,
                                  LabError *error)
{
    int64_t entity = 0;
    LabStatus status = setup->entity != NULL ? read_entity(setup->entity, &entity, error) : LAB_OK;
    if (status == LAB_OK && setup->entity != NULL && setup->trace == NULL) {
        status = lab_fail(error, LAB_BAD_INPUT, "--entity: only with --trace");
    }
    if (status != LAB_OK) {
        return status;
    }
    if (setup->trace == NULL) {
        status = material_bots(run, fl_span_from_seconds(setup->length_s), material, error);
    } else {
        status = material_trace(setup->trace, 0, material, error);
    }
    if (status == LAB_OK && setup->entity != NULL) {
        status = material_only(material, entity, error);
    }
    if (status == LAB_OK) {
        fairness_close_gaps(material);
    }
    return status;
}

// ---------------------------------------------------------------- many runs

static LabStatus play_unit(const void *def, void *figures, Text *text, LabError *error)
{
    return fairness_play((const FairnessPlay *)def, (FairnessFigures *)figures, text, error);
}

LabStatus fairness_play_runs(const LabRun *run, FairnessPlay *play, const Material *material,
                             FairnessProgress *progress, FairnessFigures *figures, Text *series,
                             LabError *error)
{
    LabStatus status = LAB_OK;
    for (int32_t r = 0; r < material->run_count && status == LAB_OK; r++) {
        play->material = material;
        play->run = r;
        play->seed = run->seed + (uint64_t)r;
        LabUnit unit = lab_unit_of(
            &figures[r * play->policy_count], (size_t)play->policy_count * sizeof *figures,
            fl_span_seconds(material->runs[r].source.length) * play->policy_count, "%g/%d",
            fl_span_seconds(play->jitter) * 1e3, (int)r);
        unit.text = r == 0 ? series : NULL;
        status = lab_unit(run->units, &unit, play_unit, play, error);
        lab_progress(run, ++progress->done, progress->of);
    }
    return status;
}

static double mean_of(const FairnessFigures *figures)
{
    return figures->mean;
}

static double sd_of(const FairnessFigures *figures)
{
    return figures->sd;
}

/// Of one number of every run's figures of one policy.
static Estimate estimate_field(const FairnessFigures *first, int32_t stride, int32_t runs,
                               double (*number_fn)(const FairnessFigures *figures))
{
    Estimate e = {runs, 0.0, (double)INFINITY};
    double squares = 0.0;
    for (int32_t r = 0; r < runs; r++) {
        e.mean += number_fn(&first[r * stride]) / (double)runs;
    }
    for (int32_t r = 0; r < runs; r++) {
        double off = number_fn(&first[r * stride]) - e.mean;
        squares += off * off;
    }
    if (runs > 1) {
        e.ci95 = student_t95(runs - 1) * sqrt(squares / (double)(runs - 1) / (double)runs);
    }
    return e;
}

FairnessSummary fairness_summary(const FairnessPlay *play, const FairnessFigures *figures,
                                 int32_t runs, int32_t policy)
{
    FairnessSummary summary = {0};
    const FairnessFigures *first = &figures[policy];
    for (int32_t r = 0; r < runs; r++) {
        const FairnessFigures *f = &first[r * play->policy_count];
        summary.updates_sent += (double)f->updates_sent / (double)runs;
        for (int32_t k = 0; k < play->receiver_count; k++) {
            summary.aee[k] += f->aee[k] / (double)runs;
        }
    }
    int32_t stride = play->policy_count;
    summary.mean = estimate_field(first, stride, runs, mean_of);
    summary.sd = estimate_field(first, stride, runs, sd_of);
    return summary;
}

json_t *fairness_row(const FairnessPlay *play, const FairnessSummary *summary, int32_t runs,
                     int32_t policy)
{
    char name[FL_SEND_TEXT_BYTES];
    fl_send_text(&play->policy[policy], name);
    json_t *row = json_object();
    row_text(row, "policy", name);
    row_number(row, "jitter_ms", fl_span_seconds(play->jitter) * 1e3);
    row_number(row, "runs", runs);
    row_number(row, "updates_sent", summary->updates_sent);
    row_number(row, "mean_aee", summary->mean.mean);
    row_number(row, "sd_aee", summary->sd.mean);
    row_number(row, "mean_ci95", summary->mean.ci95);
    row_number(row, "sd_ci95", summary->sd.ci95);
    json_t *aee = json_array();
    for (int32_t k = 0; k < play->receiver_count; k++) {
        (void)json_array_append_new(aee, json_real(summary->aee[k]));
    }
    (void)json_object_set_new(row, "aee", aee);
    return row;
}
