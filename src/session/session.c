// A session is put together here: its modules, and the table of features.
#include "private.h"

#include "agree/call.h"
#include "agree/lags.h"
#include "crowd/engine.h"
#include "send/send.h"
#include "session/session.h"

#define INPUTS_RATE_LEAST 16384.0 // bytes a second: 60 packets with what is not confirmed at 400 ms
#define REWIND_AWAITED 1024 // packets a connection, in a round trip and until losses are certain

/// What packets carry between members, in the order in which it is written, advances and is
/// announced. A new kind of data is one file, and one row here.
static const Feature *const FEATURES[] = {
    &fl__feature_member,     // who is here, and the host's first words
    &fl__feature_succession, // who leads when the host is gone
    &fl__feature_mesh,       // introductions
    &fl__feature_clock,      // by what clock to read arrivals
    &fl__feature_attention,  &fl__feature_overlay,    &fl__feature_guidance, &fl__feature_rewind,
    &fl__feature_event,      &fl__feature_action,     &fl__feature_handover, &fl__feature_agreed,
    &fl__feature_call,       &fl__feature_input,
    &fl__feature_predict, // the state of what a player plays, from a host that decides
    &fl__feature_motion,     &fl__feature_state,      &fl__feature_fields,   &fl__feature_announce,
    &fl__feature_report,     &fl__feature_unreliable,
    &fl__feature_crowd,   // how members are connected, where there are many
    &fl__feature_entered, // the last word to a newcomer
};

// ---------------------------------------------------------------- definition

FlSessionDef fl_session_def_default(void)
{
    FlSessionDef def = {
        .role = FL_ROLE_CLIENT,
        .topology = FL_TOPOLOGY_STAR,
        .world = fl_world_def_default(),
        .peer_capacity = 16,
        .entity_capacity = 64,
        .member_entities = 16,
        .input_ticks = 1024,
        .join_timeout_ns = FL_SEC(5),
        .tuning = {.link = fl_link_def_default(),
                   .show = fl_show_def_default(),
                   .calls = fl__calls_def_default(),
                   .lags = fl__lags_def_default(),
                   .focus = fl__focus_def_default(),
                   .crowd = fl__crowd_def_default(),
                   .time_mode = FL_TIME_GLOBAL,
                   .item_capacity = 2048,
                   .path_capacity = 64,
                   .guide_from_ns = FL_MS(600),
                   .join_every_ns = FL_MS(250)},
        .cookie = SESSION_COOKIE,
    };
    def.timeout_ns = def.tuning.link.timeout_ns;
    def.tuning.link.eager_count = 16; // playing starts when the time is known
    def.tuning.link.keep_alive_ns = FL_MS(2500);
    return def;
}

// A definition from which no link can be made would show only when a client joins: make one now.
static FlResult try_link(const FlSessionDef *def, FlTime now)
{
    FlLinkDef link_def = def->tuning.link;
    link_def.timeout_ns = def->timeout_ns;
    link_def.alloc = def->alloc;
    FlLink *link;
    FlResult result = fl_link_create(&link_def, now, &link);
    fl_link_destroy(link);
    return result;
}

// ---------------------------------------------------------------- making and ending

static void set_sizes(FlSession *session)
{
    session->connection_count = fl__connections_most(&session->def);
    session->member_count = session->def.peer_capacity + 1;
    session->member_words = fl__bit_words(session->member_count);
    session->entity_words = fl__bit_words(session->def.entity_capacity);
    session->number_words = fl__bit_words(session->world.def.entity_capacity);
}

static FlResult create_modules(FlSession *session, FlTime now)
{
    FlResult result = fl__notices_create(session);
    result = result == FL_OK ? fl__connections_create(session, now) : result;
    result = result == FL_OK ? fl__packets_create(session) : result;
    result = result == FL_OK ? fl__members_create(session, now) : result;
    result = result == FL_OK ? fl__entities_create(session) : result;
    result = result == FL_OK ? fl__attention_create(session) : result;
    result = result == FL_OK ? fl__guidance_create(session) : result;
    result = result == FL_OK ? fl__rewind_create(session) : result;
    result = result == FL_OK ? fl__light_create(session) : result;
    return result == FL_OK ? fl__play_create(session, now) : result;
}

FlResult fl_session_create(const FlSessionDef *def, FlTime now, FlSession **out)
{
    *out = NULL;
    FL_ASSERT(def->cookie == SESSION_COOKIE);
    FlWorld world;
    FlError error;
    if (fl_session_def_problem(def, &error) != FL_OK ||
        fl_world_init(&def->world, &world) != FL_OK) {
        return FL_BAD_VALUE;
    }
    FlResult result = try_link(def, now);
    if (result != FL_OK) {
        return result;
    }
    FlSession *session = (FlSession *)fl_alloc(&def->alloc, sizeof *session, _Alignof(FlSession));
    if (session == NULL) {
        return FL_NO_MEMORY;
    }
    session->created = now;
    session->now = now;
    session->def = *def;
    session->def.tuning.link.timeout_ns = def->timeout_ns;
    if (def->inputs_to_host && def->role == FL_ROLE_CLIENT) { // late inputs are worth nothing
        FlLinkDef *link = &session->def.tuning.link;
        double least = fl__min(INPUTS_RATE_LEAST, link->rate_max_bytes_s);
        link->rate_min_bytes_s = fl__max(link->rate_min_bytes_s, least);
        link->rate_bytes_s = fl__max(link->rate_bytes_s, least);
    }
    session->def.tuning.link.repeat_reports |= def->rewind_ns > 0;
    if (def->rewind_ns > 0) { // a packet whose fate cannot be awaited would have no arrival
        int32_t awaited = fl__int_max(def->tuning.link.sent_capacity, REWIND_AWAITED);
        session->def.tuning.link.sent_capacity = awaited;
    }
    session->world = world;
    session->random.seed = def->seed;
    (void)fl__about_write(def, session->about);
    set_sizes(session);
    result = create_modules(session, now);
    session->def.seal_server = NULL; // read, and not ours to keep
    session->def.token = NULL;
    session->def.name = NULL;
    session->def.about_me = NULL;
    session->def.address = NULL;
    session->def.transport = NULL;
    if (result != FL_OK) {
        fl__session_destroy(session);
        return result;
    }
    for (size_t i = 0; i < sizeof FEATURES / sizeof FEATURES[0]; i++) {
        fl__feature_add(session, FEATURES[i], session);
    }
    *out = session;
    return FL_OK;
}

void fl__session_destroy(FlSession *session)
{
    if (session == NULL) {
        return;
    }
    for (int32_t i = 0; session->play != NULL && i < session->connection_count; i++) {
        fl__disconnect(session, i); // features are informed, so they must still be there
    }
    fl__play_destroy(session);
    fl__light_destroy(session);
    fl__rewind_destroy(session);
    fl__guidance_destroy(session);
    fl__attention_destroy(session);
    fl__entities_destroy(session);
    fl__members_destroy(session);
    fl__packets_destroy(session);
    fl__connections_destroy(session);
    fl__notices_destroy(session);
    FlAlloc alloc = session->def.alloc;
    fl_free(&alloc, session, sizeof *session);
}

FlSessionMemory fl__session_memory(const FlSessionDef *def)
{
    size_t connections = (size_t)fl__connections_most(def);
    EntityMemory entities = fl__entities_memory(def);
    FlSessionMemory memory = {
        .connection = fl__connection_bytes(def) + fl__packets_connection_bytes(def) +
                      fl__members_connection_bytes(def) + entities.connection +
                      fl__guidance_connection_bytes(def) + fl__rewind_connection_bytes(def) +
                      fl__attention_connection_bytes() + fl__play_connection_bytes(def),
        .entity = entities.entity + fl__attention_entity_bytes(def),
        .pair = entities.pair + fl__rewind_pair_bytes(def),
    };
    memory.all = sizeof(FlSession) + fl__rewind_bytes(def) + fl__notices_bytes(def) +
                 fl__members_bytes(def) + entities.all + fl__guidance_bytes_all(def) +
                 fl__light_bytes(def) + fl__play_bytes(def) + memory.connection * connections +
                 (memory.entity + memory.pair * connections) * (size_t)def->entity_capacity;
    return memory;
}

// ---------------------------------------------------------------- what it is

FlSessionState fl_session_state(const FlSession *session)
{
    bool joining = session->state == FL_SESSION_RUNNING && !session->in;
    return joining ? FL_SESSION_JOINING : session->state;
}

FlTopology fl_session_topology(const FlSession *session)
{
    return session->topology;
}

const char *fl_session_end_text(const FlSession *session)
{
    return session->end_text;
}

FlEnd fl_session_end(const FlSession *session)
{
    return session->end;
}

bool fl_session_running(const FlSession *session)
{
    return session->state != FL_SESSION_ENDED;
}

int32_t fl_version(void)
{
    return FL_VERSION_MAJOR * 10000 + FL_VERSION_MINOR * 100 + FL_VERSION_PATCH;
}
