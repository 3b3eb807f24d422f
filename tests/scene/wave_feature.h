// A feature from outside: "wave", a number that each member shows to all others. The newest goes
// unreliably until it has arrived (a section), every one also reliably (a message); a host relays
// both. Written as a newcomer would: this file, and one fl__feature_add.
#ifndef FAIRLEAD_TESTS_WAVE_FEATURE_H
#define FAIRLEAD_TESTS_WAVE_FEATURE_H

#include "core/core.h"

enum { WAVE_SECTION = 40, WAVE_MESSAGE = 50, WAVE_BYTES = 4, WAVE_MEMBERS = 64 };

typedef struct Wave {
    FlSession *session;
    uint8_t shown[WAVE_MEMBERS];          // the newest of each member, by sections; 0: none
    uint32_t told[WAVE_MEMBERS];          // how many came by messages
    bool due[WAVE_MEMBERS][WAVE_MEMBERS]; // [line][member]
    uint32_t delivered, lost, refused;
} Wave;

static void wave_put(FlWriter *w, uint8_t kind, int32_t member, uint8_t value)
{
    fl_writer_put(w, kind, 8);
    fl_writer_put(w, (uint64_t)member, 16);
    fl_writer_put(w, value, 8);
}

static bool wave_get(FlReader *r, int32_t *member, uint8_t *value)
{
    *member = (int32_t)fl_reader_take(r, 16);
    *value = (uint8_t)fl_reader_take(r, 8);
    return !r->failed && *member < WAVE_MEMBERS && *value != 0;
}

// Who may say this: the member itself, and the host for anybody but us.
static bool wave_may_say(Wave *wave, int32_t from, int32_t member)
{
    bool host = from == fl__host(wave->session) && !fl__is_host(wave->session);
    bool may = member != fl__self(wave->session) && (from == member || host);
    wave->refused += may ? 0 : 1;
    return may;
}

static void wave_to_all(Wave *wave, int32_t member, int32_t except)
{
    for (int32_t i = 0; i < fl__line_count(wave->session); i++) {
        wave->due[i][member] = i != except;
        fl__line_look(wave->session, i);
    }
}

static void wave_tell(Wave *wave, int32_t line, int32_t member, uint8_t value)
{
    uint8_t bytes[WAVE_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    wave_put(&w, WAVE_MESSAGE, member, value);
    if (fl__news_flush(wave->session, line)) {
        (void)!fl_link_send(fl__line_link(wave->session, line), FL_DELIVERY_ORDERED, bytes,
                            WAVE_BYTES);
        fl__line_look(wave->session, line);
    }
}

static void wave_tell_all(Wave *wave, int32_t member, uint8_t value, int32_t except)
{
    for (int32_t i = 0; i < fl__line_count(wave->session); i++) {
        bool direct = !fl__is_host(wave->session); // everybody tells its host, and the host all
        bool goes = !direct || fl__line_member(wave->session, i) == fl__host(wave->session);
        if (fl__line_used(wave->session, i) && i != except && goes) {
            wave_tell(wave, i, member, value);
        }
    }
}

static void wave_show(Wave *wave, uint8_t value)
{
    int32_t self = fl__self(wave->session);
    wave->shown[self] = value;
    wave_to_all(wave, self, FL__NONE);
    wave_tell_all(wave, self, value, FL__NONE);
}

static Want wave_want(const void *self, int32_t line, FlTime now)
{
    const Wave *wave = (const Wave *)self;
    Want want = fl__want_none();
    for (int32_t m = 0; m < WAVE_MEMBERS; m++) {
        want.at = wave->due[line][m] ? now : want.at;
    }
    want.bytes = WAVE_BYTES;
    return want;
}

static void wave_write(void *self, PacketOut *out)
{
    Wave *wave = (Wave *)self;
    for (int32_t m = 0; m < WAVE_MEMBERS && out->left >= WAVE_BYTES; m++) {
        bool own = m == fl__line_member(wave->session, out->index); // whose it is knows it
        if (wave->due[out->index][m] && !own) {
            wave_put(out->w, WAVE_SECTION, m, wave->shown[m]);
            fl__packet_note(out, m, wave->shown[m]);
            out->left -= WAVE_BYTES;
        }
        wave->due[out->index][m] = false;
    }
}

static bool wave_skip(const void *self, PacketIn *in)
{
    (void)self;
    int32_t member;
    uint8_t value;
    return wave_get(in->r, &member, &value);
}

static void wave_take(void *self, PacketIn *in)
{
    Wave *wave = (Wave *)self;
    int32_t member;
    uint8_t value;
    if (wave_get(in->r, &member, &value) && wave_may_say(wave, in->from, member)) {
        bool news = wave->shown[member] != value;
        wave->shown[member] = value;
        if (news && fl__is_host(wave->session)) {
            wave_to_all(wave, member, in->line);
        }
    }
}

static bool wave_message(void *self, MessageIn *in)
{
    Wave *wave = (Wave *)self;
    int32_t member;
    uint8_t value;
    if (!wave_get(in->r, &member, &value)) {
        return false;
    }
    if (wave_may_say(wave, in->from, member)) {
        wave->told[member]++;
        if (fl__is_host(wave->session)) {
            wave_tell_all(wave, member, value, in->line);
        }
    }
    return true;
}

static void wave_outcome(void *self, int32_t line, const Item *item, const Fate *fate)
{
    Wave *wave = (Wave *)self;
    wave->delivered += fate->delivered ? 1 : 0;
    wave->lost += fate->delivered ? 0 : 1;
    bool current = wave->shown[item->index] == (uint8_t)item->value;
    wave->due[line][item->index] = wave->due[line][item->index] || (!fate->delivered && current);
}

// Whoever is new over a connection knows nothing; nor does one that leads from now on.
static void wave_changed(void *self, const Change *change)
{
    Wave *wave = (Wave *)self;
    bool fresh = change->kind == CHANGE_LINE_OPENED || change->kind == CHANGE_WAY;
    for (int32_t m = 0; m < WAVE_MEMBERS && fresh; m++) {
        bool ours = m == fl__self(wave->session) || fl__is_host(wave->session);
        wave->due[change->line][m] = wave->shown[m] != 0 && ours;
    }
}

static const Feature WAVE = {
    .name = "wave",
    .sections = {WAVE_SECTION, 1},
    .messages = {WAVE_MESSAGE, 1},
    .repeats = true,
    .want = wave_want,
    .write = wave_write,
    .skip = wave_skip,
    .take = wave_take,
    .message = wave_message,
    .outcome = wave_outcome,
    .changed = wave_changed,
};

#endif
