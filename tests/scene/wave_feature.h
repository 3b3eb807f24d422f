// A feature from outside: "wave", a number that each member shows to all others: the newest as a
// section until it has arrived; each as a reliable message, too, which the host relays.
#include "member/member.h"

enum { WAVE_SECTION = 40, WAVE_MESSAGE = 50, WAVE_BYTES = 4, WAVE_MEMBERS = 64 };

typedef struct Wave {
    FlSession *session;
    uint32_t word[WAVE_MEMBERS]; // the newest of each: member (16 bits), value (8); 0: none
    uint64_t due[WAVE_MEMBERS];  // [connection]: a set of members
    uint32_t delivered, lost, refused, received[WAVE_MEMBERS]; // received: by messages
} Wave;

static uint32_t wave_read(FlReader *r) // 0: no sender writes that
{
    uint32_t word = (uint32_t)fl_reader_take(r, 24);
    return r->failed || (word & 0xffffu) >= WAVE_MEMBERS || word >> 16 == 0 ? 0 : word;
}

static void wave_send(Wave *wave, uint32_t word, int32_t except, bool reliably)
{
    FlSession *s = wave->session;
    uint8_t bytes[WAVE_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl_writer_put(&w, WAVE_MESSAGE | (uint64_t)word << 8, 32);
    for (int32_t i = 0; i < s->connection_count; i++) {
        bool hosts = fl__is_host(s) || fl__connection_member(s, i) == s->host;
        wave->due[i] |= i != except ? UINT64_C(1) << (word & 0xffffu) : 0;
        if (reliably && hosts && i != except && fl__connection_used(s, i)) {
            (void)fl__message_send(s, i, FL_DELIVERY_ORDERED, &w);
        }
        fl__connection_wake(s, i);
    }
}

// Taken from whoever may say it: the member itself, and the host for others. A host relays it.
static bool wave_receive(Wave *wave, uint32_t word, int32_t from, int32_t connection, bool reliably)
{
    const FlSession *s = wave->session;
    int32_t member = (int32_t)(word & 0xffffu);
    bool host = from == s->host && member != s->self && !fl__is_host(s);
    if (word == 0 || (from != member && !host)) {
        wave->refused += word != 0 ? 1 : 0;
        return word != 0;
    }
    if (fl__is_host(s) && (reliably || wave->word[member] != word)) {
        wave_send(wave, word, connection, reliably);
    }
    wave->received[member] += reliably ? 1 : 0;
    wave->word[member] = reliably ? wave->word[member] : word;
    return true;
}

static Want wave_want(const void *self, int32_t connection, FlTime now)
{
    const Wave *wave = (const Wave *)self;
    bool due = wave->due[connection] != 0 && fl__connection_reaches(wave->session, connection);
    return (Want){.at = due ? now : FL_FOREVER, .bytes = WAVE_BYTES};
}

static void wave_write(void *self, PacketOut *out)
{
    Wave *wave = (Wave *)self;
    for (int32_t m = 0; m < WAVE_MEMBERS && out->left >= WAVE_BYTES; m++) {
        bool due = (wave->due[out->connection] >> m & 1u) != 0 && wave->word[m] != 0;
        if (due && m != fl__connection_member(wave->session, out->connection)) {
            fl_writer_put(out->w, WAVE_SECTION | (uint64_t)wave->word[m] << 8, 32);
            fl__packet_note(out, m, wave->word[m]);
            out->left -= WAVE_BYTES;
        }
        wave->due[out->connection] &= ~(UINT64_C(1) << m);
    }
}

static bool wave_skip(const void *self, PacketIn *in)
{
    return self != NULL && wave_read(in->r) != 0;
}

static void wave_take(void *self, PacketIn *in)
{
    (void)wave_receive((Wave *)self, wave_read(in->r), in->from, in->connection, false);
}

static bool wave_message(void *self, MessageIn *in)
{
    return wave_receive((Wave *)self, wave_read(in->r), in->from, in->connection, true);
}

static void wave_outcome(void *self, int32_t to, const Item *item, int32_t count, const Fate *fate)
{
    for (Wave *wave = (Wave *)self; count > 0; count--, item++) {
        *(fate->delivered ? &wave->delivered : &wave->lost) += 1;
        wave->due[to] |= fate->delivered ? 0 : UINT64_C(1) << item->index;
    }
}

// A new connection's other end knows nothing; nor does one that leads from now on.
static void wave_changed(void *self, const Change *change)
{
    const FlSession *s = ((Wave *)self)->session;
    if (change->kind == CHANGE_CONNECTION_OPENED || change->kind == CHANGE_ROUTE) {
        uint64_t own = s->self != FL__NONE ? UINT64_C(1) << s->self : 0;
        ((Wave *)self)->due[change->connection] = fl__is_host(s) ? UINT64_MAX : own;
    }
}

static const Feature WAVE = {.name = "wave",
                             .sections = {WAVE_SECTION, 1},
                             .messages = {WAVE_MESSAGE, 1},
                             .repeats = true,
                             .want = wave_want,
                             .write = wave_write,
                             .skip = wave_skip,
                             .take = wave_take,
                             .message = wave_message,
                             .outcome = wave_outcome,
                             .changed = wave_changed};
