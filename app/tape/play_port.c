// Datagrams, through a socket or from a recording.
#include "app/tape/play_port.h"

#include "fairlead/run.h"

#include <string.h>

#include "app/tape/play_tape_entry.h"

// FNV-1a
static uint64_t hash_bytes(uint64_t hash, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    }
    return hash;
}

static uint64_t hash_datagram(FlAddress to, const uint8_t *bytes, int32_t count)
{
    uint64_t hash = hash_bytes(0xcbf29ce484222325u, (const uint8_t *)&to, sizeof to);
    return hash_bytes(hash, bytes, (size_t)count);
}

PlayPort play_port_make(PlayTape *tape, FlNet *net)
{
    PlayPort port = {.tape = tape, .net = net};
    port.number = tape != NULL ? tape->ports++ % 256 : 0; // a byte of every entry
    return port;
}

FlNetStats play_port_stats(const PlayPort *port)
{
    return port->net != NULL ? fl_net_stats(port->net) : port->counted;
}

static void write_in(PlayPort *port, const FlDatagram *in)
{
    uint8_t bytes[TAPE_ENTRY_BYTES];
    int32_t most = TAPE_ENTRY_BYTES - ADDRESS_BYTES - 9; // more than a socket of ours takes
    int32_t count = in->bytes < most ? in->bytes : most;
    bytes[0] = (uint8_t)port->number;
    tape_number_put(bytes + 1, (uint64_t)in->arrival, 8);
    tape_address_put(bytes + 9, in->address);
    memcpy(bytes + 9 + ADDRESS_BYTES, in->data, (size_t)count);
    tape_add(port->tape, KIND_IN, bytes, 9 + ADDRESS_BYTES + count);
}

static void record_receive(PlayPort *port, FlSession *session)
{
    FlDatagram in[FL_NET_BATCH];
    int32_t count;
    do {
        count = fl_net_receive_batch(port->net, in, FL_NET_BATCH);
        for (int32_t i = 0; i < count; i++) {
            write_in(port, &in[i]);
            fl_session_receive(session, in[i].address, in[i].data, in[i].bytes, in[i].arrival);
        }
    } while (count == FL_NET_BATCH);
}

// The next datagram that came in here then. The session may ask the tape for keys while it takes
// it, so its bytes are copied.
static bool replay_one(PlayPort *port, uint8_t room[TAPE_ENTRY_BYTES], FlDatagram *in)
{
    PlayTape *tape = port->tape;
    TapeEntry entry;
    if (!tape_offered(tape, KIND_IN, &entry) || entry.bytes[0] != port->number) {
        return false;
    }
    FlAddress from;
    FlTime arrival = (FlTime)tape_number_get(entry.bytes + 1, 8);
    if (!tape_address_get(entry.bytes + 9, &from) || arrival < 0 || arrival > TIME_MOST) {
        tape_differ(tape, "a datagram that no socket gives");
        return false;
    }
    int32_t count = entry.count - 9 - ADDRESS_BYTES;
    memcpy(room, entry.bytes + 9 + ADDRESS_BYTES, (size_t)count);
    tape_advance(tape, &entry);
    *in = (FlDatagram){from, room, count, arrival};
    port->counted.received_count++;
    port->counted.received_bytes += (uint64_t)count;
    tape->report.datagrams_in++;
    tape->report.bytes_in += count;
    return true;
}

static void replay_receive(PlayPort *port, FlSession *session)
{
    uint8_t room[TAPE_ENTRY_BYTES];
    FlDatagram in;
    while (replay_one(port, room, &in)) {
        fl_session_receive(session, in.address, in.data, in.bytes, in.arrival);
    }
}

bool play_port_take(PlayPort *port, uint8_t room[TAPE_ENTRY_BYTES], FlDatagram *in)
{
    if (play_tape_replays(port->tape)) {
        return replay_one(port, room, in);
    }
    bool came = fl_net_receive_batch(port->net, in, 1) == 1;
    if (came && port->tape != NULL) {
        write_in(port, in);
    }
    return came;
}

void play_port_receive(PlayPort *port, FlSession *session)
{
    if (port->tape == NULL) {
        fl_run_receive(port->net, session);
    } else if (port->tape->replaying) {
        replay_receive(port, session);
    } else {
        record_receive(port, session);
    }
}

static void record_out(PlayPort *port, FlAddress to, const void *data, int32_t count)
{
    uint8_t bytes[9];
    bytes[0] = (uint8_t)port->number;
    tape_number_put(bytes + 1, hash_datagram(to, data, count), 8);
    tape_add(port->tape, KIND_OUT, bytes, sizeof bytes);
}

static void compare_out(PlayPort *port, FlAddress to, const void *data, int32_t count)
{
    PlayTape *tape = port->tape;
    TapeEntry entry;
    if (!tape_take(tape, KIND_OUT, &entry)) {
        return;
    }
    uint64_t hash = hash_datagram(to, data, count);
    if (entry.bytes[0] != port->number || tape_number_get(entry.bytes + 1, 8) != hash) {
        tape_differ(tape, "datagram out %lld, of node %d, %d bytes, is another one",
                    (long long)tape->report.datagrams_out + 1, port->number, count);
        return;
    }
    port->counted.sent_count++;
    port->counted.sent_bytes += (uint64_t)count;
    tape->report.datagrams_out++;
    tape->report.bytes_out += count;
    tape->report.hash = (tape->report.hash ^ hash) * 0x100000001b3u;
}

static void record_send(PlayPort *port, FlSession *session, FlTime now)
{
    uint8_t bytes[FL_RUN_BATCH][FL_SESSION_DATAGRAM_BYTES];
    FlDatagram datagrams[FL_RUN_BATCH];
    int32_t count;
    do {
        FlOutgoing out;
        for (count = 0; count < FL_RUN_BATCH; count++) {
            if (fl_session_next(session, now, &out) != FL_OK) {
                break;
            }
            record_out(port, out.to, out.bytes, out.count);
            memcpy(bytes[count], out.bytes, (size_t)out.count);
            datagrams[count] = (FlDatagram){out.to, bytes[count], out.count, 0};
        }
        int32_t done;
        if (count > 0 && fl_net_send_batch(port->net, datagrams, count, &done) != FL_OK) {
            continue; // full: what is left of these is lost
        }
    } while (count == FL_RUN_BATCH);
}

void play_port_send(PlayPort *port, FlSession *session, FlTime now)
{
    FlOutgoing out;
    if (port->tape == NULL) {
        fl_run_send(port->net, session, now);
    } else if (!port->tape->replaying) {
        record_send(port, session, now);
    } else {
        while (fl_session_next(session, now, &out) == FL_OK) {
            compare_out(port, out.to, out.bytes, out.count);
        }
    }
}

void play_port_put(PlayPort *port, const FlDatagram *out)
{
    int32_t done;
    if (play_tape_replays(port->tape)) {
        compare_out(port, out->address, out->data, out->bytes);
        return;
    }
    if (port->tape != NULL) {
        record_out(port, out->address, out->data, out->bytes);
    }
    (void)(fl_net_send_batch(port->net, out, 1, &done) == FL_OK); // full: it is lost
}
