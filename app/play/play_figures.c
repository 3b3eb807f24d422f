// Figures of a node: from the session's counters, the links' statistics and the ledger's reports.
#define _POSIX_C_SOURCE 200809L // sysconf
#include "app/play/play_figures.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/cli/json_output.h"

#include "fairlead/net.h"
#include "fairlead/session.h"

#define METER_NS FL_MS(500)
#define UNKNOWN ((double)NAN)

// ---------------------------------------------------------------- text that ends where it must

typedef struct Text {
    char *at;
    size_t left;
} Text;

__attribute__((format(printf, 2, 3))) static void put(Text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int count = vsnprintf(text->at, text->left, format, arguments);
    va_end(arguments);
    size_t used = count < 0 ? 0 : (size_t)count;
    used = used < text->left ? used : text->left > 0 ? text->left - 1 : 0;
    text->at += used;
    text->left -= used;
}

// ---------------------------------------------------------------- the line

void play_meter_begin(PlayMeter *meter, FlTime now)
{
    *meter = (PlayMeter){.at = now};
    meter->figures.rtt_ms = UNKNOWN;
    meter->figures.rtt_worst_ms = UNKNOWN;
    meter->figures.clock_error_ms = UNKNOWN;
}

static void read_links(const PlayNode *node, FlTime now, PlayFigures *figures)
{
    double rtt = 0.0;
    int32_t timed = 0;
    FlPeerId peer = {0};
    while (fl_peer_next(node->session, &peer)) {
        FlLinkStats stats;
        if (fl_peer_stats(node->session, now, peer, &stats) != FL_OK) {
            continue;
        }
        figures->links++;
        figures->loss_out += stats.loss_out;
        figures->loss_in += stats.loss_in;
        double ms = (double)stats.rtt_average_ns / 1e6;
        if (ms > 0.0) {
            timed++;
            rtt += ms;
            figures->rtt_worst_ms = ms > figures->rtt_worst_ms ? ms : figures->rtt_worst_ms;
        }
    }
    double links = figures->links > 0 ? figures->links : 1;
    figures->loss_out /= links;
    figures->loss_in /= links;
    figures->rtt_ms = timed > 0 ? rtt / timed : UNKNOWN;
    figures->rtt_worst_ms = timed > 0 ? figures->rtt_worst_ms : UNKNOWN;
}

// Those we should talk to directly, and do not.
static int32_t count_missed(const PlayNode *node)
{
    int32_t count = 0;
    FlPeerId peer = {0};
    while (fl_peer_next(node->session, &peer)) {
        FlPeerStatus status;
        count += fl_peer_status(node->session, peer, &status) == FL_OK && status.missed ? 1 : 0;
    }
    return count;
}

static PlayFigures read_figures(const PlayNode *node, FlTime now)
{
    PlayFigures figures = {0};
    figures.players = fl_peer_count(node->session) + (node->joined ? 1 : 0);
    read_links(node, now, &figures);
    figures.missed = count_missed(node);
    figures.relayed = fl_session_topology(node->session) == FL_TOPOLOGY_HYBRID;
    FlTime error = fl_session_time_error(node->session);
    figures.clock_error_ms = error == FL_FOREVER ? UNKNOWN : (double)error / 1e6;
    return figures;
}

const PlayFigures *play_meter_read(PlayMeter *meter, const PlayNode *node, FlTime now)
{
    FlTime span = fl_span(now, meter->at);
    if (span < METER_NS) {
        return &meter->figures;
    }
    FlNetStats stats = play_port_stats(&node->port);
    PlayFigures figures = read_figures(node, now);
    figures.up_bytes_s = (double)(stats.sent_bytes - meter->sent) / fl_span_seconds(span);
    figures.down_bytes_s = (double)(stats.received_bytes - meter->received) / fl_span_seconds(span);
    uint64_t held_back = fl_session_count(node->session, FL_SESSION_UPDATES_HELD_BACK);
    figures.held_back_s = (double)(held_back - meter->held_back) / fl_span_seconds(span);
    PlayChecks since = node->checks;
    since.count[PLAY_FRAMES] -= meter->checks.count[PLAY_FRAMES];
    since.count[PLAY_FRAMES_MISSED] -= meter->checks.count[PLAY_FRAMES_MISSED];
    figures.behind = play_checks_behind(&since);
    *meter =
        (PlayMeter){now, stats.sent_bytes, stats.received_bytes, held_back, node->checks, figures};
    return &meter->figures;
}

static void put_ms(Text *text, const char *before, double ms, const char *after)
{
    if (isfinite(ms)) {
        put(text, "%s%.1f%s", before, ms, after);
    } else {
        put(text, "%s?", before);
    }
}

void play_figures_line(const PlayFigures *figures, char *out, size_t size)
{
    Text text = {out, size};
    put(&text, "players %d", figures->players);
    if (figures->missed > 0) {
        put(&text, " (%d %s)", figures->missed,
            figures->relayed ? "through the host" : "not reached");
    }
    put_ms(&text, ", rtt ", figures->rtt_ms, " ms");
    if (figures->links > 1) {
        put_ms(&text, " (worst ", figures->rtt_worst_ms, ")");
    }
    put(&text, ", loss %.1f/%.1f %%", 100.0 * figures->loss_out, 100.0 * figures->loss_in);
    put_ms(&text, ", clock ", figures->clock_error_ms, " ms");
    put(&text, ", %.1f/%.1f KiB/s", figures->up_bytes_s / 1024.0, figures->down_bytes_s / 1024.0);
    if (figures->held_back_s > 0.0) {
        put(&text, ", upload too small: %.0f updates/s held back", figures->held_back_s);
    }
    if (figures->behind > PLAY_BEHIND) {
        put(&text, ", behind: %.0f %% of frames missed", 100.0 * figures->behind);
    }
}

// ---------------------------------------------------------------- how others see us

void play_figures_errors(const PlayNode *node, FlTime now, char *out, size_t size)
{
    Text text = {out, size};
    int32_t count = 0;
    for (int32_t i = 0; i < node->own_count; i++) {
        const PlayOwn *own = &node->own[i];
        FlEntityReport report;
        if (own->entity.index1 == 0 ||
            fl_entity_report(node->session, now, own->entity, &report) != FL_OK) {
            continue;
        }
        double seconds = fl_span_seconds(fl_span(node->time_last, own->born));
        double each = seconds > 0.0 ? 1.0 / seconds : 0.0;
        put(&text, "%s%s %s off by %.3f, spread %.3f, for %d", count++ == 0 ? "" : "; ",
            node->game->thing, own->name, report.mean * each, report.sd * each,
            report.receiver_count);
    }
    if (fl_session_topology(node->session) == FL_TOPOLOGY_CROWD) {
        put(&text, "in a crowd it is not known how others see us");
    } else if (count == 0) {
        put(&text, "nobody sees our %ss yet", node->game->thing);
    }
}

// ---------------------------------------------------------------- drops

// A reason for which something was dropped, and how often.
typedef struct Drop {
    const char *room;
    const char *word;
    uint64_t count;
} Drop;

#define DROPS_MAX (FL_SESSION_COUNTS + FL_LINK_DROPS + FL_SEAL_DROPS + 8)

static int32_t add_drop(Drop *drops, int32_t count, const char *room, const char *word,
                        uint64_t times)
{
    if (times == 0) {
        return count;
    }
    drops[count] = (Drop){room, word, times};
    return count + 1;
}

#define DROP_WORD(name, word, meaning) word,
static const char *const LINK_DROP_WORD[] = {FL_LINK_DROP_TABLE(DROP_WORD)};
static const char *const SEAL_DROP_WORD[] = {FL_SEAL_DROP_TABLE(DROP_WORD)};
static const char *const COUNT_WORD[] = {FL_SESSION_COUNT_TABLE(DROP_WORD)};
#undef DROP_WORD

static int32_t link_drops(const PlayNode *node, FlTime now, Drop *drops, int32_t count)
{
    uint64_t sums[FL_LINK_DROPS] = {0};
    FlPeerId peer = {0};
    while (fl_peer_next(node->session, &peer)) {
        FlLinkStats stats;
        if (fl_peer_stats(node->session, now, peer, &stats) == FL_OK) {
            for (int32_t i = 0; i < FL_LINK_DROPS; i++) {
                sums[i] += stats.drops[i];
            }
        }
    }
    for (int32_t i = FL_LINK_DROP_NONE + 1; i < FL_LINK_DROPS; i++) {
        count = add_drop(drops, count, "link", LINK_DROP_WORD[i], sums[i]);
    }
    return count;
}

static int32_t net_drops(const PlayNode *node, Drop *drops, int32_t count)
{
    FlNetStats stats = play_port_stats(&node->port);
    count = add_drop(drops, count, "net", "truncated", stats.truncated_count);
    count = add_drop(drops, count, "net", "kernel_full", stats.kernel_dropped_count);
    count = add_drop(drops, count, "net", "refused", stats.refused_count);
    count = add_drop(drops, count, "net", "would_block", stats.would_block_count);
    count = add_drop(drops, count, "net", "send_failed",
                     stats.send_failed_count + stats.unreachable_count + stats.too_large_count);
    return add_drop(drops, count, "net", "receive_failed", stats.receive_failed_count);
}

static int32_t list_drops(const PlayNode *node, FlTime now, Drop drops[DROPS_MAX])
{
    int32_t count = 0;
    for (int32_t i = FL_SESSION_STRANGER; i < FL_SESSION_COUNTS; i++) {
        FlSessionCount which = (FlSessionCount)i;
        if (which != FL_SESSION_JOINS_SENT) {
            count = add_drop(drops, count, "session", COUNT_WORD[which],
                             fl_session_count(node->session, which));
        }
    }
    count = link_drops(node, now, drops, count);
    for (int32_t i = FL_SEAL_DROP_NONE + 1; i < FL_SEAL_DROPS; i++) {
        count = add_drop(drops, count, "seal", SEAL_DROP_WORD[i],
                         fl_session_seal_drops(node->session, (FlSealDrop)i));
    }
    return net_drops(node, drops, count);
}

void play_figures_drops(const PlayNode *node, FlTime now, char *out, size_t size)
{
    Text text = {out, size};
    Drop drops[DROPS_MAX];
    int32_t count = list_drops(node, now, drops);
    put(&text, count == 0 ? "drops: none" : "drops:");
    for (int32_t i = 0; i < count; i++) {
        put(&text, "%s %" PRIu64 " %s %s", i == 0 ? "" : ",", drops[i].count, drops[i].room,
            drops[i].word);
    }
}

// ---------------------------------------------------------------- for machines

static json_t *whole(uint64_t value)
{
    return json_integer((json_int_t)value);
}

json_t *play_checks_json(const PlayGame *game, const PlayChecks *checks)
{
    json_t *faults = json_object();
    json_t *all = json_pack("{s:o,s:o}", "faults", whole(play_checks_faults(game, checks)),
                            "by_kind", faults);
    for (int32_t i = 0; i < play_count_total(game); i++) {
        PlayCount count = play_count_at(game, i);
        json_object_set_new(count.fault ? faults : all, count.name, whole(checks->count[i]));
    }
    json_object_set_new(all, "outside_worst", json_number(checks->outside_worst));
    json_object_set_new(all, "late_worst_ms", json_number((double)checks->late_worst / 1e6));
    return all;
}

static json_t *things_json(const PlayNode *node, FlTime now)
{
    json_t *things = json_array();
    for (int32_t i = 0; i < node->own_count; i++) {
        if (!play_own_there(node, i)) {
            continue;
        }
        FlEntityReport report;
        bool seen = fl_entity_report(node->session, now, node->own[i].entity, &report) == FL_OK;
        json_t *thing = node->game->thing_json(node, i);
        json_object_set_new(thing, "receivers", json_integer(seen ? report.receiver_count : 0));
        json_object_set_new(thing, "mean_error", json_number(seen ? report.mean : UNKNOWN));
        json_object_set_new(thing, "error_sd", json_number(seen ? report.sd : UNKNOWN));
        json_array_append_new(things, thing);
    }
    return things;
}

static json_t *drops_json(const PlayNode *node, FlTime now)
{
    json_t *object = json_object();
    Drop drops[DROPS_MAX];
    int32_t count = list_drops(node, now, drops);
    for (int32_t i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s_%s", drops[i].room, drops[i].word);
        json_object_set_new(object, name, whole(drops[i].count));
    }
    return object;
}

static json_t *counts_json(const PlayNode *node)
{
    json_t *object = json_object();
    for (int32_t i = 0; i < FL_SESSION_COUNTS; i++) {
        FlSessionCount which = (FlSessionCount)i;
        json_object_set_new(object, COUNT_WORD[which],
                            whole(fl_session_count(node->session, which)));
    }
    return object;
}

static int32_t direct_peers(const PlayNode *node)
{
    int32_t count = 0;
    FlPeerId peer = {0};
    while (fl_peer_next(node->session, &peer)) {
        FlPeerStatus status;
        count += fl_peer_status(node->session, peer, &status) == FL_OK && status.direct ? 1 : 0;
    }
    return count;
}

json_t *play_node_json(const PlayNode *node, FlTime now)
{
    FlPeerStatus self = {.number = -1};
    (void)(fl_peer_status(node->session, fl_peer_self(node->session), &self) == FL_OK);
    PlayFigures figures = read_figures(node, now);
    FlNetStats net = play_port_stats(&node->port);
    json_t *line =
        json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "rtt_ms", json_number(figures.rtt_ms),
                  "rtt_worst_ms", json_number(figures.rtt_worst_ms), "loss_out",
                  json_number(figures.loss_out), "loss_in", json_number(figures.loss_in),
                  "clock_error_ms", json_number(figures.clock_error_ms), "bytes_out",
                  whole(net.sent_bytes), "bytes_in", whole(net.received_bytes), "packets_out",
                  whole(net.sent_count), "packets_in", whole(net.received_count));
    json_t *object = json_pack(
        "{s:i,s:b,s:i,s:i,s:i,s:i,s:i,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "number", self.number,
        "joined", node->joined, "players", figures.players, "players_peak", node->peers_peak + 1,
        "direct", direct_peers(node), "missed", figures.missed, "never_met", node->never_met,
        "peers_joined", whole(node->peers_joined), "peers_left", whole(node->peers_left),
        "host_changes", whole(node->host_changes), "session_s",
        json_number(fl_span_seconds(node->time_last)), "line", line, "counts", counts_json(node),
        "drops", drops_json(node, now), "checks", play_checks_json(node->game, &node->checks));
    json_object_set_new(object, "trouble", json_string(fl_session_end_text(node->session)));
    char name[32];
    snprintf(name, sizeof name, "%ss", node->game->thing);
    json_object_set_new(object, name, things_json(node, now));
    snprintf(name, sizeof name, "%ss_seen", node->game->thing);
    json_object_set_new(object, name, json_integer(node->game->seen(node)));
    if (node->game->node_json != NULL) {
        node->game->node_json(node, object);
    }
    return object;
}

int64_t play_resident_kib(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL) {
        return 0;
    }
    long long all = 0;
    long long resident = 0;
    int found = fscanf(file, "%lld %lld", &all, &resident);
    fclose(file);
    return found == 2 ? resident * (sysconf(_SC_PAGESIZE) / 1024) : 0;
}
