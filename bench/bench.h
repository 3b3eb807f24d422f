// Benchmarks: contenders timed against each other in one run.
//
// The machines are shared and noisy, so a time by itself says little. All contenders of a contest
// take turns, round after round; a contender's time is its best round, and its ratio to the
// contest's yardstick is the median over rounds, each round compared with itself.
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "fairlead/fairlead.h"

#define BENCH_CONTENDERS 8
#define BENCH_ROWS 32
#define BENCH_RELAY_ROWS 64
#define BENCH_ROUNDS 64

/// Does its work once over `ctx` and answers something computed from it, so that no compiler can
/// leave it out.
typedef double (*BenchWork)(void *ctx);

typedef struct BenchContender {
    const char *name;
    BenchWork work;
} BenchContender;

typedef struct BenchRow {
    const char *contest;
    const char *name;
    const char *against; ///< The yardstick's name.
    double ns;           ///< Per item, best round.
    double ratio;        ///< Time over the yardstick's, median of rounds.
} BenchRow;

/// A server that relays what each client says to all others.
typedef struct BenchRelayRow {
    const char *contest;
    const char *name;
    const char *against;
    int32_t clients;
    double us;         ///< The server's processor time per message delivered, best round.
    double ratio;      ///< Over the yardstick's, median of rounds.
    double wire_bytes; ///< From the server, per message delivered, 28 per packet for UDP and IPv4.
    double bytes;      ///< Of a message.
    uint64_t delivered;
    uint64_t lost;
    uint64_t corrupt;
} BenchRelayRow;

typedef struct BenchReport {
    BenchRow rows[BENCH_ROWS];
    int32_t count;
    BenchRelayRow relay[BENCH_RELAY_ROWS];
    int32_t relay_count;
    const char *note; ///< A sentence about what is missing here; NULL: nothing is.
} BenchReport;

/// What a user may set; scenes that do not care ignore it.
typedef struct BenchSettings {
    int32_t clients[8];
    int32_t clients_count;
    double seconds; ///< Measured per round and contender.
    int32_t rounds;
    void (*progress_fn)(void *ctx, int32_t done, int32_t of); ///< Told now and then; may be NULL.
    void *progress_ctx;
} BenchSettings;

/// Right for a table in the documentation: 16 to 128 clients, a second each, three rounds.
BenchSettings bench_settings_default(void);

/// Lets the contenders take turns for `rounds` rounds of `items` items each. The first is the
/// yardstick.
void bench_contest(BenchReport *report, const char *contest, const BenchContender *contenders,
                   int32_t contender_count, void *ctx, double items, int32_t rounds);

/// The median over rounds of times[r] / yardstick[r].
double bench_median_ratio(const double *times, const double *yardstick, int32_t rounds);
double bench_smallest(const double *times, int32_t rounds);

typedef struct BenchScene {
    const char *name;
    const char *help;
    /// NULL, or what went wrong.
    const char *(*run)(const BenchSettings *settings, BenchReport *report);
} BenchScene;

extern const BenchScene bench_scenes[];
extern const int32_t bench_scene_count;

const char *bench_motion(const BenchSettings *settings, BenchReport *report);
const char *bench_link(const BenchSettings *settings, BenchReport *report);
const char *bench_attention(const BenchSettings *settings, BenchReport *report);
const char *bench_rollback(const BenchSettings *settings, BenchReport *report);

/// Part of bench_link: packets one way, and what sealing them costs.
const char *bench_packets(BenchReport *report);

#endif
