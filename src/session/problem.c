// What is wrong with a session's definition: the field, its value, its range.
#include "private.h"

#include "agree/call.h"
#include "agree/lags.h"
#include "crowd/engine.h"
#include "fairlead/rewind.h"
#include "send/send.h"

#define UPLOAD_MOST 1e9 // what a second's bytes are counted in

static bool holds(FlError *error, bool good, const char *sentence)
{
    if (!good) {
        fl__error_set(error, FL_BAD_VALUE, "%s", sentence);
    }
    return good;
}

static bool peers(const FlSessionDef *def, FlError *error)
{
    int32_t entities = def->world.entity_capacity;
    int32_t most = entities <= 4096 ? entities - 1 : 4096;
    bool good = def->peer_capacity >= 1 && def->peer_capacity <= most;
    if (!good) {
        fl__error_set(error, FL_BAD_VALUE,
                      "peer_capacity is %d: it must be 1 to %d: at most 4096, and below "
                      "world.entity_capacity, which is %d.",
                      def->peer_capacity, most, entities);
    }
    return good;
}

static bool counts(const FlSessionDef *def, FlError *error)
{
    // Every member gets the same share of the entity numbers: at least one.
    int32_t entities = def->world.entity_capacity;
    return peers(def, error) &&
           fl__whole_in(error, "entity_capacity", def->entity_capacity, 1, entities) &&
           fl__whole_in(error, "member_entities", def->member_entities, 1, INT32_MAX) &&
           fl__whole_in(error, "input_bytes", def->input_bytes, 0, 64) &&
           fl__power_up_to(error, "input_ticks", def->input_ticks, 4096) &&
           fl__whole_in(error, "action_capacity", def->action_capacity, 0, 65536) &&
           fl__whole_in(error, "rewind_ns", def->rewind_ns, 0, FL_REWIND_MOST_NS) &&
           holds(error, def->action_capacity == 0 || def->peer_capacity < FL_LAGS_PEERS,
                 "action_capacity is above 0: peer_capacity must be at most 63 then.");
}

static bool ourselves(const FlSessionDef *def, FlError *error)
{
    size_t name = def->name != NULL ? strlen(def->name) : 0;
    return fl__whole_in(error, "name's length", (int64_t)name, 0, FL_NAME_BYTES - 1) &&
           fl__whole_in(error, "about_bytes", def->about_bytes, 0, FL_ABOUT_BYTES) &&
           holds(error, def->about_bytes == 0 || def->about_me != NULL,
                 "about_me is NULL: about_bytes must be 0 then.");
}

static bool network(const FlSessionDef *def, FlError *error)
{
    const FlTransport *t = def->transport;
    double upload = def->upload_bytes_s;
    return fl__whole_in(error, "role", def->role, FL_ROLE_HOST, FL_ROLE_CLIENT) &&
           fl__whole_in(error, "topology", def->topology, FL_TOPOLOGY_STAR, FL_TOPOLOGY_CROWD) &&
           fl__whole_in(error, "timeout_ns", def->timeout_ns, 1, FL_SEC(1800)) &&
           fl__whole_in(error, "join_timeout_ns", def->join_timeout_ns, 1, FL_FOREVER) &&
           holds(error, upload == 0.0 || (upload >= 1000.0 && upload < UPLOAD_MOST),
                 "upload_bytes_s must be 0 (no limit), or 1000 to 1e9.") &&
           holds(error,
                 t == NULL || (t->send_fn != NULL && t->receive_fn != NULL && t->wait_fn != NULL),
                 "transport must have all three functions.") &&
           holds(error, (def->alloc.alloc_fn == NULL) == (def->alloc.free_fn == NULL),
                 "alloc: set both functions, or neither.");
}

static bool tuning(const FlSessionDef *def, FlError *error)
{
    const FlSessionTuning *t = &def->tuning;
    return fl__whole_in(error, "tuning.direct_capacity", t->direct_capacity, 0,
                        def->peer_capacity) &&
           fl__power_up_to(error, "tuning.item_capacity", t->item_capacity, 1 << 30) &&
           fl__power_up_to(error, "tuning.path_capacity", t->path_capacity, 1 << 30) &&
           fl__whole_in(error, "tuning.gather_ns", t->gather_ns, 0, FL_FOREVER) &&
           fl__whole_in(error, "tuning.guide_from_ns", t->guide_from_ns, 0, FL_FOREVER) &&
           fl__whole_in(error, "tuning.join_every_ns", t->join_every_ns, 1, FL_FOREVER) &&
           fl__whole_in(error, "tuning.update_least_bytes", t->update_least_bytes, 0, 256) &&
           fl__whole_in(error, "tuning.time_mode", t->time_mode, FL_TIME_GLOBAL, FL_TIME_ONE_WAY) &&
           holds(error, t->show.hold != FL_HOLD_LAGS || def->action_capacity > 0,
                 "tuning.show.hold is FL_HOLD_LAGS: action_capacity must be above 0, so that lags "
                 "are measured.") &&
           holds(error, t->show.hold != FL_HOLD_LAGS || t->time_mode == FL_TIME_GLOBAL,
                 "tuning.show.hold is FL_HOLD_LAGS: tuning.time_mode must be FL_TIME_GLOBAL.") &&
           holds(error, def->upload_bytes_s == 0.0 || t->link.common == NULL,
                 "tuning.link.common must be NULL where upload_bytes_s is a limit.") &&
           holds(error, !t->link.external_sequence,
                 "tuning.link.external_sequence is the session's own business: leave it false.");
}

// A definition within ours: its sentence begins with a field, which gets its way.
static bool part_is_good(FlError *error, const char *way, FlResult result, const FlError *part)
{
    if (result != FL_OK) {
        fl__error_set(error, part->code, "%s.%s", way, part->text);
    }
    return result == FL_OK;
}

static bool parts(const FlSessionDef *def, FlError *error)
{
    FlError part;
    return part_is_good(error, "world", fl_world_def_problem(&def->world, &part), &part) &&
           part_is_good(error, "tuning.link", fl_link_def_problem(&def->tuning.link, &part),
                        &part) &&
           part_is_good(error, "tuning.show", fl_show_def_problem(&def->tuning.show, &part),
                        &part) &&
           part_is_good(error, "tuning.calls", fl__calls_def_problem(&def->tuning.calls, &part),
                        &part) &&
           part_is_good(error, "tuning.lags", fl__lags_def_problem(&def->tuning.lags, &part),
                        &part) &&
           part_is_good(error, "tuning.focus", fl__focus_def_problem(&def->tuning.focus, &part),
                        &part) &&
           part_is_good(error, "tuning.crowd", fl__crowd_def_problem(&def->tuning.crowd, &part),
                        &part);
}

FlResult fl_session_def_problem(const FlSessionDef *def, FlError *error)
{
    fl__error_clear(error);
    if (!holds(error, def->cookie == SESSION_COOKIE,
               "Begin with `FlSessionDef def = fl_session_def_default();`, then change fields.")) {
        return error->code;
    }
    bool good = parts(def, error) && counts(def, error) && ourselves(def, error) &&
                network(def, error) && tuning(def, error);
    return good ? FL_OK : error->code;
}
