// fairlead bench link: a relaying server over our link and seal, beside ENet; then single packets.
#include "bench/bench.h"
#include "bench/relay.h"

#include <stdlib.h>

typedef struct Contest {
    const RelayMessages *messages;
    int32_t clients;
    const RelayKind *const *kinds;
    int32_t kind_count;
} Contest;

typedef struct Rounds {
    double us[BENCH_CONTENDERS][BENCH_ROUNDS];
    RelayResult sum[BENCH_CONTENDERS]; // counts of all rounds; wire bytes of the last
} Rounds;

// How far we are: relays done, of all that will be.
typedef struct Course {
    const BenchSettings *settings;
    int32_t done, of;
} Course;

static void course_step(Course *course)
{
    course->done++;
    if (course->settings->progress_fn != NULL) {
        course->settings->progress_fn(course->settings->progress_ctx, course->done, course->of);
    }
}

static const char *run_rounds(const Contest *contest, Course *course, Rounds *rounds)
{
    const BenchSettings *settings = course->settings;
    for (int32_t r = 0; r < settings->rounds; r++) {
        for (int32_t k = 0; k < contest->kind_count; k++) {
            RelayResult result;
            const char *problem = relay_run(contest->kinds[k], contest->messages, contest->clients,
                                            settings->seconds, &result);
            if (problem != NULL) {
                return problem;
            }
            RelayResult *sum = &rounds->sum[k];
            course_step(course);
            rounds->us[k][r] = result.us;
            sum->wire_bytes = result.wire_bytes;
            sum->delivered += result.delivered;
            sum->lost += result.lost;
            sum->corrupt += result.corrupt;
        }
    }
    return NULL;
}

static const char *hold(const Contest *contest, Course *course, BenchReport *report)
{
    const BenchSettings *settings = course->settings;
    Rounds rounds = {.us = {{0.0}}};
    const char *problem = run_rounds(contest, course, &rounds);
    for (int32_t k = 0; k < contest->kind_count && problem == NULL; k++) {
        FL_ASSERT(report->relay_count < BENCH_RELAY_ROWS);
        BenchRelayRow row = {
            .contest = contest->messages->name,
            .name = contest->kinds[k]->name,
            .against = contest->kinds[0]->name,
            .clients = contest->clients,
            .us = bench_smallest(rounds.us[k], settings->rounds),
            .ratio = bench_median_ratio(rounds.us[k], rounds.us[0], settings->rounds),
            .wire_bytes = rounds.sum[k].wire_bytes,
            .bytes = relay_messages_mean(contest->messages, contest->clients),
            .delivered = rounds.sum[k].delivered,
            .lost = rounds.sum[k].lost,
            .corrupt = rounds.sum[k].corrupt,
        };
        report->relay[report->relay_count++] = row;
    }
    return problem;
}

// The last one only with motion updates.
#ifdef BENCH_ENET
static const RelayKind *const kinds[] = {&relay_enet, &relay_fairlead, &relay_session};
#else
static const RelayKind *const kinds[] = {&relay_fairlead, &relay_session};
#endif
#define KINDS ((int32_t)(sizeof kinds / sizeof kinds[0]))

static int32_t kind_count(bool motion)
{
    return motion ? KINDS : KINDS - 1;
}

static int32_t relay_count(const BenchSettings *settings)
{
    return settings->clients_count * settings->rounds * (kind_count(false) + kind_count(true));
}

static const char *relays(Course *course, const RelayMessages *messages, BenchReport *report)
{
    const BenchSettings *settings = course->settings;
    const char *problem = NULL;
    for (int32_t i = 0; i < settings->clients_count && problem == NULL; i++) {
        int32_t clients = settings->clients[i];
        Contest contest = {messages, clients, kinds, kind_count(messages->motion)};
        problem = hold(&contest, course, report);
    }
    return problem;
}

const char *bench_link(const BenchSettings *settings, BenchReport *report)
{
    RelayMessages *messages = (RelayMessages *)malloc(sizeof *messages);
    if (messages == NULL) {
        return "out of memory";
    }
    if (KINDS == 2) {
        report->note = "built without ENet (libenet-dev): there is nothing to compare with";
    }
    Course course = {settings, 0, relay_count(settings)};
    relay_messages_opaque(messages);
    const char *problem = relays(&course, messages, report);
    if (problem == NULL && !relay_messages_motion(messages)) {
        problem = "an update could not be packed";
    }
    problem = problem == NULL ? relays(&course, messages, report) : problem;
    free(messages);
    return problem == NULL ? bench_packets(report) : problem;
}
