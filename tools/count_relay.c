// Instructions that a relaying host spends: it and its clients in one process, in virtual time.
// Every client's vehicle turns at random 20 times a second, so that every frame is news. Run under
// callgrind by tools/count_relay, which counts only what happens inside host_receive, host_next and
// client_receive.
#include <fairlead/fairlead.h>
#include <fairlead/net.h>
#include <fairlead/session.h>
#include <math.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLIENTS = 128, STEP_MS = 5, FRAME_STEPS = 10, SECONDS = 4 };

typedef struct Datagram {
    int32_t to; // 0: the host
    FlAddress from;
    int32_t count;
    uint8_t bytes[FL_SESSION_DATAGRAM_BYTES];
} Datagram;

typedef struct Car {
    FlEntityId id;
    FlState state;
} Car;

static FlSession *sessions[CLIENTS + 1]; // the host first
static Car cars[CLIENTS + 1];
static Datagram flight[16 * CLIENTS];
static int32_t flight_count;

static FlAddress address_of(int32_t node)
{
    char text[32];
    FlAddress address;
    (void)snprintf(text, sizeof text, "10.0.%d.1:4000", node);
    if (fl_address_parse(text, &address) != FL_OK) {
        abort();
    }
    return address;
}

__attribute__((noinline)) void host_receive(const Datagram *in, FlTime now);
__attribute__((noinline)) void client_receive(const Datagram *in, FlTime now);
__attribute__((noinline)) bool host_next(FlTime now, FlOutgoing *out);

void host_receive(const Datagram *in, FlTime now)
{
    fl_session_receive(sessions[0], in->from, in->bytes, in->count, now);
}

void client_receive(const Datagram *in, FlTime now)
{
    fl_session_receive(sessions[in->to], in->from, in->bytes, in->count, now);
}

bool host_next(FlTime now, FlOutgoing *out)
{
    return fl_session_next(sessions[0], now, out) == FL_OK;
}

static void post(int32_t from, const FlOutgoing *out)
{
    Datagram *datagram = &flight[flight_count++];
    datagram->from = address_of(from);
    datagram->count = out->count;
    memcpy(datagram->bytes, out->bytes, (size_t)out->count);
    for (datagram->to = 0; !fl_address_equal(out->to, address_of(datagram->to)); datagram->to++) {
    }
}

static void open_all(FlTime now)
{
    FlSessionDef def = fl_session_def_default();
    def.world.low.z = def.world.high.z = 0.0;
    def.peer_capacity = CLIENTS;
    def.entity_capacity = CLIENTS + 1;
    def.tuning.item_capacity = 1024;
    def.tuning.link.rate_bytes_s = def.tuning.link.rate_max_bytes_s = 10e6;
    def.host = address_of(0);
    for (int32_t i = 0; i <= CLIENTS; i++) {
        def.role = i == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
        def.seed = 100 + (uint64_t)i;
        if (fl_session_create(&def, now, &sessions[i]) != FL_OK) {
            abort();
        }
    }
}

static void drive(int32_t i, FlRandom *random, FlTime now)
{
    Car *car = &cars[i];
    FlEntityDef kind = fl_entity_def_default();
    if (car->id.index1 == 0 && fl_session_state(sessions[i]) != FL_SESSION_RUNNING) {
        return;
    }
    if (car->id.index1 == 0) {
        car->id = fl_entity_create(sessions[i], &kind);
    }
    double heading = 6.28 * fl_random_between(random, 0.0, 1.0);
    double seconds = 0.001 * STEP_MS * FRAME_STEPS;
    car->state.time = now;
    car->state.position =
        fl_vec3_add(car->state.position, fl_vec3_scale(car->state.velocity, seconds));
    car->state.velocity = fl_vec3(10.0 * sin(heading), 10.0 * cos(heading), 0.0);
    (void)fl_entity_set(sessions[i], car->id, &car->state);
}

static void step(int64_t tick, FlRandom *random, FlTime now)
{
    FlOutgoing out;
    FlNotice notice;
    flight_count = 0;
    for (int32_t i = 1; i <= CLIENTS; i++) {
        if (tick % FRAME_STEPS == 0) {
            drive(i, random, now);
        }
        while (fl_session_next(sessions[i], now, &out) == FL_OK) {
            post(i, &out);
        }
    }
    for (int32_t i = 0; i < flight_count; i++) {
        host_receive(&flight[i], now + FL_MS(1));
    }
    flight_count = 0;
    while (tick % 4 == 0 && host_next(now + FL_MS(1), &out)) {
        post(0, &out);
    }
    for (int32_t i = 0; i < flight_count; i++) {
        client_receive(&flight[i], now + FL_MS(2));
    }
    for (int32_t i = 0; i <= CLIENTS; i++) {
        while (fl_notice_take(sessions[i], &notice) == FL_OK) {
        }
    }
}

int main(void)
{
    FlRandom random = {.seed = 5};
    open_all(FL_SEC(1));
    for (int64_t tick = 0; tick < SECONDS * 1000 / STEP_MS; tick++) {
        step(tick, &random, FL_SEC(1) + tick * FL_MS(STEP_MS));
    }
    uint64_t taken = 0;
    for (int32_t i = 1; i <= CLIENTS; i++) {
        taken += fl_session_count(sessions[i], FL_SESSION_UPDATES_TAKEN);
        fl_session_close(sessions[i]);
    }
    printf("%llu\n", (unsigned long long)taken);
    fl_session_close(sessions[0]);
    return taken > 0 ? 0 : 1;
}
