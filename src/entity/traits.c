// What an entity is, as its announcement carries it.
#include "private.h"

#include "motion/motion.h"
#include "send/send.h"

#include <string.h>

// TRAITS: what an entity is, in ENTITY.                          spec/WIRE.md section 8.3
//
//   bits  field     unit   valid
//   8     kind      -      the game's own
//   8     scope     -      0: everybody, 1: private
//   8     flags     -      1: survives its owner; 2, 4, 8: share_cap, longest, starvation are set
//   8     model     -      as in UPDATE; 5: automatic
//   64    distance  -      threshold, a double above 0
//   64    angle     rad    likewise
//   64    silence   ns     above 0
//   64    share_cap -      0 to 1, a double; this and the next two only if the name says another
//   64    longest   ns     above 0
//   64    starvation  ns     above 0
//   rest  policy    -      its name, ASCII

enum { SURVIVES_OWNER = 1, SET_SHARE_CAP = 2, SET_LONGEST = 4, SET_STARVATION = 8, ALL_FLAGS = 15 };

FlEntityDef fl_entity_def_default(void)
{
    FlEntityDef def = {
        .model = FL_MODEL_AUTO,
        .trigger = fl__trigger_def_default(),
        .send = fl_send_make(FL_SEND_BASE),
        .cookie = ENTITY_COOKIE,
    };
    return def;
}

// Which settings a policy's name does not say.
static uint64_t settings_of(const FlSend *send, const FlSend *named)
{
    return (send->share_cap != named->share_cap ? SET_SHARE_CAP : 0u) |
           (send->longest_ns != named->longest_ns ? SET_LONGEST : 0u) |
           (send->starvation_ns != named->starvation_ns ? SET_STARVATION : 0u);
}

// The policy that its name alone means.
static FlSend named_policy(const char *name)
{
    FlSend named = fl_send_make(FL_SEND_BASE);
    FlResult parsed = fl_send_parse(name, &named);
    FL_ASSERT(parsed == FL_OK);
    (void)parsed;
    return named;
}

static void write_settings(FlWriter *w, const FlSend *send, uint64_t settings)
{
    if ((settings & SET_SHARE_CAP) != 0) {
        fl_writer_put(w, fl__bits_of(send->share_cap), 64);
    }
    if ((settings & SET_LONGEST) != 0) {
        fl_writer_put(w, (uint64_t)send->longest_ns, 64);
    }
    if ((settings & SET_STARVATION) != 0) {
        fl_writer_put(w, (uint64_t)send->starvation_ns, 64);
    }
}

int32_t fl__traits_write(const FlEntityDef *def, uint8_t bytes[TRAIT_BYTES])
{
    char policy[FL_SEND_TEXT_BYTES];
    fl_send_text(&def->send, policy);
    FlWriter w;
    fl_writer_init(&w, bytes, TRAIT_BYTES);
    fl_writer_put(&w, def->kind, 8);
    fl_writer_put(&w, def->private_scope ? 1 : 0, 8);
    FlSend named = named_policy(policy);
    uint64_t settings = settings_of(&def->send, &named);
    fl_writer_put(&w, (def->survives_owner ? SURVIVES_OWNER : 0u) | settings, 8);
    fl_writer_put(&w, (uint64_t)def->model, 8);
    fl_writer_put(&w, fl__bits_of(def->trigger.distance), 64);
    fl_writer_put(&w, fl__bits_of(def->trigger.angle), 64);
    fl_writer_put(&w, (uint64_t)def->trigger.silence_ns, 64);
    write_settings(&w, &def->send, settings);
    fl_writer_bytes(&w, policy, (int32_t)strlen(policy));
    FL_ASSERT(!w.failed);
    return fl_writer_size(&w);
}

// Into `send`, the rest of which the name says when it has been read.
static void read_settings(FlReader *r, uint64_t settings, FlSend *send)
{
    if ((settings & SET_SHARE_CAP) != 0) {
        send->share_cap = fl__double_of(fl_reader_take(r, 64));
    }
    if ((settings & SET_LONGEST) != 0) {
        send->longest_ns = (FlTime)fl_reader_take(r, 64);
    }
    if ((settings & SET_STARVATION) != 0) {
        send->starvation_ns = (FlTime)fl_reader_take(r, 64);
    }
}

// A policy by its name and its settings. False: no sender writes that.
static bool policy_of(const char *name, uint64_t settings, const FlSend *set, FlSend *send)
{
    if (fl_send_parse(name, send) != FL_OK) {
        return false;
    }
    FlSend named = *send;
    send->share_cap = (settings & SET_SHARE_CAP) != 0 ? set->share_cap : named.share_cap;
    send->longest_ns = (settings & SET_LONGEST) != 0 ? set->longest_ns : named.longest_ns;
    send->starvation_ns =
        (settings & SET_STARVATION) != 0 ? set->starvation_ns : named.starvation_ns;
    return fl__send_valid(send) && settings_of(send, &named) == settings;
}

bool fl__traits_read(const EntityMessage *m, FlEntityDef *def)
{
    FlReader r;
    fl_reader_init(&r, m->traits, m->trait_bytes);
    *def = fl_entity_def_default();
    def->kind = (uint8_t)fl_reader_take(&r, 8);
    uint64_t private_scope = fl_reader_take(&r, 8);
    uint64_t flags = fl_reader_take(&r, 8);
    uint64_t model = fl_reader_take(&r, 8);
    def->trigger.distance = fl__double_of(fl_reader_take(&r, 64));
    def->trigger.angle = fl__double_of(fl_reader_take(&r, 64));
    def->trigger.silence_ns = (FlTime)fl_reader_take(&r, 64);
    FlSend set = fl_send_make(FL_SEND_BASE);
    uint64_t settings = flags & ~(uint64_t)SURVIVES_OWNER;
    read_settings(&r, settings, &set);
    char policy[FL_SEND_TEXT_BYTES] = {0};
    int32_t left = fl_reader_left(&r);
    if (r.failed || left >= FL_SEND_TEXT_BYTES || private_scope > 1 || flags > ALL_FLAGS ||
        model > FL_MODEL_AUTO || model == FL_MODEL_CUBIC || !(def->trigger.distance > 0.0) ||
        !(def->trigger.angle > 0.0) || def->trigger.silence_ns <= 0) {
        return false;
    }
    memcpy(policy, fl_reader_bytes(&r, left), (size_t)left);
    def->private_scope = private_scope == 1;
    def->survives_owner = (flags & SURVIVES_OWNER) != 0;
    def->model = (FlModel)model;
    return policy_of(policy, settings, &set, &def->send);
}
