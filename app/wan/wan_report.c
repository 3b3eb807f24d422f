// Figures of the proxy in words and in JSON.
#include "app/wan/wan_report.h"

#include <inttypes.h>
#include <stdio.h>

#include "app/cli/json_output.h"

static double share(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0.0;
}

static double mean_delay_ms(const FlImpairStats *way)
{
    return way->delivered_count > 0
               ? (double)way->delay_sum_ns * 1e-6 / (double)way->delivered_count
               : 0.0;
}

// ---------------------------------------------------------------- status line

// The figures of the last second.
static FlImpairStats recent(const FlImpairStats *before, const FlImpairStats *now)
{
    FlImpairStats difference = {
        .packet_count = now->packet_count - before->packet_count,
        .delivered_count = now->delivered_count - before->delivered_count,
        .delay_sum_ns = now->delay_sum_ns - before->delay_sum_ns,
    };
    return difference;
}

static void print_way(const char *name, const FlImpairStats *before, const FlImpairStats *now)
{
    FlImpairStats second = recent(before, now);
    uint64_t lost = second.packet_count - second.delivered_count;
    fprintf(stderr, "   %s %" PRIu64 "/s, %.1f %% lost, %.1f ms", name, second.packet_count,
            100.0 * share(lost, second.packet_count), mean_delay_ms(&second));
}

void wan_report_status(FlTime now, const WanStats *before, const WanStats *stats)
{
    int32_t count = stats->totals.client_count;
    fprintf(stderr, "\r\x1b[K%.0f s, %d client%s", fl_span_seconds(now), count,
            count == 1 ? "" : "s");
    print_way("up", &before->totals.way[WAN_UP], &stats->totals.way[WAN_UP]);
    print_way("down", &before->totals.way[WAN_DOWN], &stats->totals.way[WAN_DOWN]);
    fflush(stderr);
}

void wan_report_status_end(void)
{
    fputs("\r\x1b[K", stderr);
    fflush(stderr);
}

// ---------------------------------------------------------------- summary

// A reason for which packets were dropped. Reasons with nothing to show are left out of the text.
typedef struct Drop {
    const char *name; ///< In JSON.
    const char *words;
    uint64_t count;
} Drop;

#define DROP_COUNT 9

static void list_drops(const WanStats *stats, Drop drops[DROP_COUNT])
{
    const FlNetStats *server = &stats->totals.upstream;
    const FlNetStats *clients = &stats->listener;
    const Drop all[DROP_COUNT] = {
        {"too_large", "larger than 2048 bytes", server->truncated_count + clients->truncated_count},
        {"kernel_full", "lost in our receive buffers",
         server->kernel_dropped_count + clients->kernel_dropped_count},
        {"flight_full", "too many in flight at once (raise --in-flight)", stats->flight.full_count},
        {"send_blocked", "not taken by the kernel when due", stats->blocked_count},
        {"send_failed", "could not be sent",
         server->unreachable_count + server->send_failed_count + server->too_large_count +
             clients->unreachable_count + clients->send_failed_count + clients->too_large_count},
        {"client_gone", "due after their client had left", stats->gone_count},
        {"turned_away", "from more clients than --clients", stats->totals.turned_away_count},
        {"refused", "refused: nobody listens at the server's port", server->refused_count},
        {"stamps_rejected", "with an implausible receive stamp (not lost)",
         server->stamp_rejected_count + clients->stamp_rejected_count},
    };
    for (int32_t i = 0; i < DROP_COUNT; i++) {
        drops[i] = all[i];
    }
}

static void print_summary(const char *name, const FlImpairStats *way)
{
    printf("  %-5s %" PRIu64 " packets, %" PRIu64 " bytes; %" PRIu64
           " delivered after %.3f ms on average",
           name, way->packet_count, way->byte_count, way->delivered_count, mean_delay_ms(way));
    printf("\n        lost: %" PRIu64 " at random, %" PRIu64 " in bursts, %" PRIu64
           " at the rate limit (%.2f %% in all)",
           way->lost_random_count, way->lost_burst_count, way->queue_full_count,
           100.0 * share(way->packet_count - way->delivered_count, way->packet_count));
    printf("\n        doubled %" PRIu64 ", overtaking %" PRIu64 ", held back %" PRIu64
           ", delays cut at zero %" PRIu64 "\n",
           way->duplicated_count, way->overtaken_count, way->held_count, way->clamped_count);
}

void wan_report_text(FlTime now, const WanStats *stats)
{
    int32_t count = stats->totals.client_total_count;
    printf("%.1f s, %d client%s in all\n", fl_span_seconds(now), count, count == 1 ? "" : "s");
    print_summary("up", &stats->totals.way[WAN_UP]);
    print_summary("down", &stats->totals.way[WAN_DOWN]);
    printf("  sent later than due: half within %.0f us, 99 %% within %.0f us, worst %.0f us\n",
           stats->late_p50_us, stats->late_p99_us, stats->late_max_us);
    Drop drops[DROP_COUNT];
    list_drops(stats, drops);
    for (int32_t i = 0; i < DROP_COUNT; i++) {
        if (drops[i].count > 0) {
            printf("  %" PRIu64 " %s\n", drops[i].count, drops[i].words);
        }
    }
}

static json_t *way_json(const FlImpairStats *way)
{
    return json_pack(
        "{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:f}", "packets",
        (json_int_t)way->packet_count, "bytes", (json_int_t)way->byte_count, "delivered",
        (json_int_t)way->delivered_count, "delivered_bytes", (json_int_t)way->delivered_bytes,
        "lost_random", (json_int_t)way->lost_random_count, "lost_burst",
        (json_int_t)way->lost_burst_count, "queue_full", (json_int_t)way->queue_full_count,
        "duplicated", (json_int_t)way->duplicated_count, "clamped", (json_int_t)way->clamped_count,
        "overtaken", (json_int_t)way->overtaken_count, "held", (json_int_t)way->held_count,
        "delay_mean_ms", mean_delay_ms(way));
}

static json_t *drops_json(const WanStats *stats)
{
    Drop drops[DROP_COUNT];
    list_drops(stats, drops);
    json_t *object = json_object();
    for (int32_t i = 0; i < DROP_COUNT; i++) {
        json_object_set_new(object, drops[i].name, json_integer((json_int_t)drops[i].count));
    }
    return object;
}

int wan_report_json(const char *who, const WanProxyDef *def, FlAddress listen, FlTime now,
                    const WanStats *stats)
{
    char listen_text[FL_ADDRESS_TEXT_BYTES];
    char server_text[FL_ADDRESS_TEXT_BYTES];
    fl_address_format(listen, listen_text);
    fl_address_format(def->network.server, server_text);
    json_t *late = json_pack("{s:f,s:f,s:f}", "p50", stats->late_p50_us, "p99", stats->late_p99_us,
                             "max", stats->late_max_us);
    return json_print(
        json_pack("{s:s,s:s,s:s,s:I,s:f,s:i,s:i,s:o,s:o,s:o,s:o,s:i}", "version", FL_VERSION,
                  "listen", listen_text, "to", server_text, "seed", (json_int_t)def->network.seed,
                  "seconds", fl_span_seconds(now), "clients", stats->totals.client_count,
                  "clients_total", stats->totals.client_total_count, "up",
                  way_json(&stats->totals.way[WAN_UP]), "down",
                  way_json(&stats->totals.way[WAN_DOWN]), "dropped", drops_json(stats), "late_us",
                  late, "in_flight_peak", stats->flight.peak_count),
        who);
}
