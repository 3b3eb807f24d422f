// The results of `fairlead trace reckon`: per life as JSON, per entity (its lives together) as a
// table.
#include "app/reckon/reckon_report.h"

#include <math.h>
#include <stdio.h>

#include "app/cli/json_output.h"
#include "motion/motion.h"

static const ReckonView *view_at(const ReckonReport *report, int32_t track, int32_t delay)
{
    return &report->result->views[(size_t)track * (size_t)report->def->delay_count + (size_t)delay];
}

// ---------------------------------------------------------------- JSON

static json_t *receivers_json(const ReckonReport *report, int32_t track)
{
    json_t *receivers = json_array();
    for (int32_t d = 0; d < report->def->delay_count; d++) {
        const ReckonView *view = view_at(report, track, d);
        double nothing = view->samples > 0 ? 0.0 : (double)NAN;
        json_t *receiver = json_pack("{s:f,s:o,s:o,s:o}", "delay_ms", report->delays_ms->values[d],
                                     "export_error", json_number(view->export_error + nothing),
                                     "mean_error", json_number(view->mean_error + nothing),
                                     "max_error", json_number(view->max_error + nothing));
        if (json_array_append_new(receivers, receiver) != 0) {
            json_decref(receivers);
            return NULL;
        }
    }
    return receivers;
}

static json_t *entities_json(const ReckonReport *report)
{
    json_t *entities = json_array();
    for (int32_t t = 0; t < report->trace->track_count; t++) {
        const TraceTrack *track = &report->trace->tracks[t];
        double seconds = fl_span_seconds(trace_track_span(report->trace, track));
        json_t *entity = json_pack("{s:I,s:I,s:i,s:f,s:i,s:o}", "id", (json_int_t)track->id, "life",
                                   (json_int_t)track->life, "samples", track->count, "seconds",
                                   seconds, "updates", report->result->update_count[t], "receivers",
                                   receivers_json(report, t));
        if (json_array_append_new(entities, entity) != 0) {
            json_decref(entities);
            return NULL;
        }
    }
    return entities;
}

/// Updates per second of life. Not a number where no time passed.
static double per_second(int64_t updates, FlTime span)
{
    return span > 0 ? (double)updates / fl_span_seconds(span) : (double)NAN;
}

json_t *reckon_report_json(const ReckonReport *report)
{
    const ReckonResult *result = report->result;
    return json_pack("{s:o,s:{s:f,s:I,s:o}}", "entities", entities_json(report), "total", "seconds",
                     fl_span_seconds(result->span_total_ns), "updates",
                     (json_int_t)result->update_total, "updates_per_second",
                     json_number(per_second(result->update_total, result->span_total_ns)));
}

// ---------------------------------------------------------------- table

/// Tracks [first, end): the lives of one entity, or all there are.
typedef struct Group {
    int32_t first;
    int32_t end;
} Group;

static void print_settings(const ReckonReport *report)
{
    const FlTriggerDef *trigger = &report->def->exporter.trigger;
    printf("%s: %d entities, %d lives, %.1f s of life\n", report->path, report->trace->entity_count,
           report->trace->track_count, fl_span_seconds(report->result->span_total_ns));
    printf("model %s, an update beyond distance %g", fl__model_name(report->def->exporter.model),
           trigger->distance);
    if (isfinite(trigger->angle)) {
        printf(", angle %g rad", trigger->angle);
    }
    printf(" or after %g s\n\n", fl_span_seconds(trigger->silence_ns));
    printf("%12s %6s %9s %9s %7s  %8s %11s %11s %12s\n", "entity", "lives", "seconds", "updates",
           "per s", "delay ms", "mean error", "max error", "export error");
}

/// What a receiver saw of several lives: errors over all samples, the integrals added up.
static ReckonView view_of(const ReckonReport *report, Group group, int32_t delay)
{
    ReckonView all = {0};
    double sum = 0.0;
    for (int32_t t = group.first; t < group.end; t++) {
        const ReckonView *view = view_at(report, t, delay);
        sum += view->mean_error * view->samples;
        all.samples += view->samples;
        all.export_error += view->export_error;
        all.max_error = view->max_error > all.max_error ? view->max_error : all.max_error;
    }
    all.mean_error = all.samples > 0 ? sum / all.samples : 0.0;
    return all;
}

static void print_view(const ReckonReport *report, Group group, int32_t delay)
{
    ReckonView view = view_of(report, group, delay);
    printf("  %8g", report->delays_ms->values[delay]);
    if (view.samples > 0) {
        printf(" %11.4f %11.4f %12.4f\n", view.mean_error, view.max_error, view.export_error);
    } else {
        printf(" %11s %11s %12s\n", "-", "-", "-");
    }
}

static void print_group(const ReckonReport *report, const char *name, Group group)
{
    FlTime span = 0;
    int64_t updates = 0;
    for (int32_t t = group.first; t < group.end; t++) {
        span = fl_time_add(span, trace_track_span(report->trace, &report->trace->tracks[t]));
        updates += report->result->update_count[t];
    }
    double rate = per_second(updates, span);
    printf("%12s %6d %9.1f %9lld ", name, group.end - group.first, fl_span_seconds(span),
           (long long)updates);
    if (isfinite(rate)) {
        printf("%7.2f", rate);
    } else {
        printf("%7s", "-");
    }
    for (int32_t d = 0; d < report->def->delay_count; d++) {
        if (d > 0) {
            printf("%47s", "");
        }
        print_view(report, group, d);
    }
}

void reckon_report_print(const ReckonReport *report)
{
    const TraceTrack *tracks = report->trace->tracks;
    int32_t count = report->trace->track_count;
    print_settings(report);
    for (int32_t first = 0, end = 0; first < count; first = end) {
        while (end < count && tracks[end].id == tracks[first].id) {
            end++;
        }
        char name[24];
        snprintf(name, sizeof name, "%lld", (long long)tracks[first].id);
        print_group(report, name, (Group){first, end});
    }
    print_group(report, "all", (Group){0, count});
    printf("\nErrors are distances in the trace's units: real against placed, at the samples. "
           "Export error\nis exported against placed, added up over time (units x seconds).\n");
}
