// A measuring tool, not a test: sends packets through a running `fairlead wan` at a steady rate and
// says how many came out, and how exact the delay was.
//
//   build/fairlead wan --listen 127.0.0.1:4000 --to 127.0.0.1:5000 --delay 50 &
//   wan_load 127.0.0.1:4000 127.0.0.1:5000 100000 5 50
//
// Arguments: the proxy's address, the server's (this program is the server), packets per second,
// seconds, and the delay in ms that was asked for. Every packet carries its send time; its arrival
// is the kernel's stamp. Built by hand: cc -O2 -Iinclude tests/net/wan_load.c
// build/src/libfairlead.a -lm -o wan_load
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fairlead/net.h"

#define PACKET_BYTES 100

typedef struct Load {
    FlNet *client;
    FlNet *server;
    FlAddress proxy;
    FlTime *delays;
    int64_t delay_count;
    int64_t capacity;
    int64_t sent_count;
} Load;

static void receive(Load *load)
{
    FlDatagram got[FL_NET_BATCH];
    int32_t count;
    while ((count = fl_net_receive_batch(load->server, got, FL_NET_BATCH)) > 0) {
        for (int32_t i = 0; i < count && load->delay_count < load->capacity; i++) {
            FlTime sent;
            memcpy(&sent, got[i].data, sizeof sent);
            load->delays[load->delay_count++] = got[i].arrival - sent;
        }
    }
}

// Sends what is due by now, each packet stamped as it goes.
static void send_due(Load *load, int64_t due)
{
    uint8_t bytes[FL_NET_BATCH][PACKET_BYTES] = {{0}};
    FlDatagram out[FL_NET_BATCH];
    while (load->sent_count < due) {
        int64_t left = due - load->sent_count;
        int32_t count = left < FL_NET_BATCH ? (int32_t)left : FL_NET_BATCH;
        for (int32_t i = 0; i < count; i++) {
            FlTime now = fl_net_now();
            memcpy(bytes[i], &now, sizeof now);
            out[i] = (FlDatagram){load->proxy, bytes[i], PACKET_BYTES, 0};
        }
        int32_t done = 0;
        if (fl_net_send_batch(load->client, out, count, &done) != FL_OK) {
            return;
        }
        load->sent_count += done;
    }
}

static int by_time(const void *a, const void *b)
{
    FlTime x = *(const FlTime *)a;
    FlTime y = *(const FlTime *)b;
    return (x > y) - (x < y);
}

static void report(Load *load, double seconds, double delay_ms)
{
    FlNetStats stats = fl_net_stats(load->server);
    printf("sent %" PRId64 ", received %" PRId64 " (%.3f %% missing) in %.2f s: %.0f packets/s\n",
           load->sent_count, load->delay_count,
           100.0 * (double)(load->sent_count - load->delay_count) / (double)load->sent_count,
           seconds, (double)load->delay_count / seconds);
    printf("dropped by the kernel before us: %" PRIu64 ", stamps rejected: %" PRIu64 "\n",
           stats.kernel_dropped_count, stats.stamp_rejected_count);
    if (load->delay_count == 0) {
        return;
    }
    qsort(load->delays, (size_t)load->delay_count, sizeof *load->delays, by_time);
    const double shares[] = {0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0};
    printf("delay minus %.1f ms, in us:", delay_ms);
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        int64_t index = (int64_t)(shares[i] * (double)(load->delay_count - 1));
        printf("  p%g %.0f", 100.0 * shares[i],
               (double)load->delays[index] * 1e-3 - delay_ms * 1e3);
    }
    printf("\n");
}

static FlNet *open_at(FlAddress address)
{
    FlNetDef def = fl_net_def_default();
    def.bind = address;
    FlNet *net = NULL;
    FlResult result = fl_net_create(&def, &net);
    if (result != FL_OK) {
        fprintf(stderr, "wan_load: %s\n", fl_result_text(result));
        exit(1);
    }
    return net;
}

int main(int argc, char **argv)
{
    Load load = {.sent_count = 0};
    FlAddress server;
    if (argc != 6 || fl_address_parse(argv[1], &load.proxy) != FL_OK ||
        fl_address_parse(argv[2], &server) != FL_OK) {
        fprintf(stderr, "usage: wan_load PROXY SERVER PACKETS_PER_SECOND SECONDS DELAY_MS\n");
        return 2;
    }
    double rate = atof(argv[3]);
    double seconds = atof(argv[4]);
    double delay_ms = atof(argv[5]);
    FlAddress any = {.family = load.proxy.family};
    load.client = open_at(any);
    load.server = open_at(server);
    load.capacity = (int64_t)(rate * seconds * 2.0) + 1000;
    load.delays = malloc((size_t)load.capacity * sizeof *load.delays);
    if (load.delays == NULL) {
        return 1;
    }
    FlTime start = fl_net_now();
    FlTime end = start + fl_span_from_seconds(seconds);
    FlTime drained = end + fl_span_from_seconds(delay_ms * 1e-3) + FL_MS(300);
    for (FlTime now = start; now < drained; now = fl_net_now()) {
        FlTime until = now < end ? now : end;
        send_due(&load, (int64_t)(fl_span_seconds(until - start) * rate));
        receive(&load);
        (void)fl_net_wait(&load.server, 1, now + FL_MS(1), NULL);
    }
    report(&load, seconds, delay_ms);
    free(load.delays);
    fl_net_destroy(load.client);
    fl_net_destroy(load.server);
    return 0;
}
