// A feature from outside: "wave", a number that each member shows to all others. The newest goes
// unreliably until it has arrived (a section); every one also reliably (a message), which the host
// relays. All that a new kind of data takes: this file, and one fl__feature_add.
#include "core/core.h"

enum { WAVE_SECTION = 40, WAVE_MESSAGE = 50, WAVE_BYTES = 4, WAVE_MEMBERS = 64 };

typedef struct Wave {
    FlSession *session;
    uint8_t shown[WAVE_MEMBERS];          // the newest of each member; 0: none
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

// Who may say this: the member itself, and the host for others.
static bool wave_may_say(Wave *wave, int32_t from, int32_t member)
{
    bool host = from == fl__host(wave->session) && member != fl__self(wave->session);
    bool may = from == member || (host && !fl__is_host(wave->session));
    wave->refused += may ? 0 : 1;
    return may;
}

// By both ways: to all, or all but where it came from.
static void wave_send(Wave *wave, int32_t member, uint8_t value, int32_t except, bool reliably)
{
    uint8_t bytes[WAVE_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    wave_put(&w, WAVE_MESSAGE, member, value);
    for (int32_t i = 0; i < fl__line_count(wave->session); i++) {
        bool hosts = fl__is_host(wave->session) ||
                     fl__line_member(wave->session, i) == fl__host(wave->session);
        wave->due[i][member] = i != except;
        if (reliably && hosts && i != except && fl__line_used(wave->session, i)) {
            (void)fl__message_send(wave->session, i, FL_DELIVERY_ORDERED, &w);
        }
        fl__line_look(wave->session, i);
    }
}

static Want wave_want(const void *self, int32_t line, FlTime now)
{
    const Wave *wave = (const Wave *)self;
    Want want = {FL_FOREVER, 0, WAVE_BYTES, 0};
    for (int32_t m = 0; m < WAVE_MEMBERS && fl__line_answers(wave->session, line); m++) {
        want.at = wave->due[line][m] ? now : want.at;
    }
    return want;
}

static void wave_write(void *self, PacketOut *out)
{
    Wave *wave = (Wave *)self;
    for (int32_t m = 0; m < WAVE_MEMBERS && out->left >= WAVE_BYTES; m++) {
        if (wave->due[out->index][m] && m != fl__line_member(wave->session, out->index)) {
            wave_put(out->w, WAVE_SECTION, m, wave->shown[m]);
            fl__packet_note(out, m, wave->shown[m]);
            out->left -= WAVE_BYTES;
        }
        wave->due[out->index][m] = false;
    }
}

static bool wave_skip(const void *self, PacketIn *in)
{
    int32_t member;
    uint8_t value;
    return self != NULL && wave_get(in->r, &member, &value);
}

static void wave_take(void *self, PacketIn *in)
{
    Wave *wave = (Wave *)self;
    int32_t member;
    uint8_t value;
    if (wave_get(in->r, &member, &value) && wave_may_say(wave, in->from, member)) {
        bool relays = wave->shown[member] != value && fl__is_host(wave->session);
        wave->shown[member] = value;
        if (relays) {
            wave_send(wave, member, value, in->line, false);
        }
    }
}

static bool wave_message(void *self, MessageIn *in)
{
    Wave *wave = (Wave *)self;
    int32_t member;
    uint8_t value;
    bool sound = wave_get(in->r, &member, &value);
    if (sound && wave_may_say(wave, in->from, member)) {
        wave->told[member]++;
        if (fl__is_host(wave->session)) {
            wave_send(wave, member, value, in->line, true);
        }
    }
    return sound;
}

static void wave_outcome(void *self, int32_t line, const Item *item, const Fate *fate)
{
    Wave *wave = (Wave *)self;
    *(fate->delivered ? &wave->delivered : &wave->lost) += 1;
    bool again = !fate->delivered && wave->shown[item->index] == (uint8_t)item->value;
    wave->due[line][item->index] = wave->due[line][item->index] || again;
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
