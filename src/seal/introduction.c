// INTRODUCTION: here is your peer.                                spec/WIRE.md section 9.6
//
//   bits  field          unit  valid
//   64    protocol id    -
//   64    own id         -     of whom this is sent to
//   64    peer id        -     differs from own id
//   64    expire         s     Unix time
//   16    timeout        s     1..3600
//   8     count          -     1..8 candidates follow
//   56    address        -     type 1: IPv4 and port, as in a connect token
//   152   or address     -     type 2: IPv6 and port
//   256   key            -     of this introduction
//
// It travels over a sealed link to the host, never in clear.
#include "private.h"

#include "wire/wire.h"

#include <string.h>

#define TIMEOUT_MOST_S 3600

bool fl__introduction_good(const FlSealIntroduction *m)
{
    if (m->own_id == m->peer_id || m->timeout_s < 1 || m->timeout_s > TIMEOUT_MOST_S ||
        m->candidate_count < 1 || m->candidate_count > FL_SEAL_CANDIDATES) {
        return false;
    }
    for (int32_t i = 0; i < m->candidate_count; i++) {
        if (!fl__address_writable(m->candidate[i])) {
            return false;
        }
    }
    return true;
}

void fl__seal_introduce(const FlSealRandom *random, FlSealIntroduction *one,
                        FlSealIntroduction *other)
{
    fl__random_fill(random, one->key, FL_SEAL_KEY_BYTES);
    memcpy(other->key, one->key, FL_SEAL_KEY_BYTES);
}

void fl__seal_introduction_write(FlWriter *writer, const FlSealIntroduction *introduction)
{
    FlWriter *w = writer;
    const FlSealIntroduction *m = introduction;
    if (!fl__introduction_good(m)) {
        w->failed = true;
        return;
    }
    fl_writer_put(w, m->protocol_id, 64);
    fl_writer_put(w, m->own_id, 64);
    fl_writer_put(w, m->peer_id, 64);
    fl_writer_put(w, m->expire_s, 64);
    fl_writer_put(w, (uint64_t)m->timeout_s, 16);
    fl_writer_put(w, (uint64_t)m->candidate_count, 8);
    for (int32_t i = 0; i < m->candidate_count; i++) {
        fl__address_write(w, m->candidate[i]);
    }
    fl_writer_bytes(w, m->key, FL_SEAL_KEY_BYTES);
}

bool fl__seal_introduction_read(FlReader *reader, FlSealIntroduction *introduction)
{
    FlReader *r = reader;
    FlSealIntroduction *m = introduction;
    memset(m, 0, sizeof *m);
    m->protocol_id = fl_reader_take(r, 64);
    m->own_id = fl_reader_take(r, 64);
    m->peer_id = fl_reader_take(r, 64);
    m->expire_s = fl_reader_take(r, 64);
    m->timeout_s = (int32_t)fl_reader_take(r, 16);
    m->candidate_count = (int32_t)fl_reader_take(r, 8);
    for (int32_t i = 0; i < m->candidate_count && i < FL_SEAL_CANDIDATES; i++) {
        m->candidate[i] = fl__address_read(r);
    }
    fl__reader_copy(r, m->key, FL_SEAL_KEY_BYTES);
    if (r->failed || !fl__introduction_good(m)) {
        fl__reader_fail(r);
        sodium_memzero(m, sizeof *m);
        return false;
    }
    return true;
}
