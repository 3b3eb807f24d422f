// One match over one network: everybody tells of its own player, and at the end all know all.
#include "lab/experiments/fields/fields.h"

#include <stdlib.h>
#include <string.h>

#include "lab/world/play.h"

#define WARM_UP FL_SEC(8)
#define QUIET FL_SEC(4) // after the last change: what was lost is sent again
#define KIND 1

typedef struct Play {
    const FieldsPlay *def;
    World *world;
    FieldsMatch match;
    FlEntityId id[FIELDS_PLAYERS];
    uint32_t number[FIELDS_PLAYERS];
    FieldsTold told[FIELDS_PLAYERS]; // the last
    int64_t tick;
    uint64_t changes;
    FlResult result;
} Play;

static FlResult make_player(Play *play, int32_t i)
{
    FlSession *session = world_session(play->world, i);
    FlEntityDef def = fl_entity_def_default();
    FlEntityStatus status;
    def.kind = KIND;
    def.model = FL_MODEL_LINEAR;
    play->id[i] = fl_entity_create(session, &def);
    FlResult result = fl_entity_status(session, play->id[i], &status);
    play->number[i] = status.number;
    return result;
}

static FlResult tell_state(const Play *play, int32_t i)
{
    const FieldsGame *game = play->def->game;
    FlSession *session = world_session(play->world, i);
    const int64_t *value = play->told[i].value;
    if (play->def->way == FIELDS_BLOB) {
        uint8_t bytes[64];
        int32_t count = fields_blob(game, value, bytes);
        return fl_entity_state_set(session, play->id[i], bytes, count);
    }
    FlResult result = FL_OK;
    for (int32_t f = 0; f < game->field_count && play->def->way == FIELDS_FIELDS; f++) {
        result = result == FL_OK ? fl_field_set_int(session, play->id[i], f, value[f]) : result;
    }
    return result;
}

static FlResult tell_player(Play *play, int32_t i, FlTime now)
{
    FlSession *session = world_session(play->world, i);
    FieldsTold told = play->def->game->tell(&play->match, i);
    FlResult result = FL_OK;
    if (play->tick > 0 && told.life != play->told[i].life) {
        result = fl_entity_cut(session, play->id[i]);
    }
    play->changes += memcmp(told.value, play->told[i].value, sizeof told.value) != 0 ? 1 : 0;
    play->told[i] = told;
    told.motion.time = world_local(play->world, i, now);
    result = result == FL_OK ? fl_entity_set(session, play->id[i], &told.motion) : result;
    return result == FL_OK ? tell_state(play, i) : result;
}

static FlTime tick(void *ctx, World *world, FlTime now)
{
    Play *play = (Play *)ctx;
    const FieldsPlay *def = play->def;
    for (int32_t i = 0; i < def->players && play->result == FL_OK; i++) {
        play->result = play->tick == 0 ? make_player(play, i) : FL_OK;
        play->result = play->result == FL_OK ? tell_player(play, i, now) : play->result;
        world_touch(world, i);
    }
    def->game->step(&play->match);
    play->tick++;
    FlTime next = play->tick * FL_SEC(1) / def->game->tick_hz;
    bool over = play->result != FL_OK || fl_span_seconds(next) > def->seconds;
    return over ? FL_FOREVER : WARM_UP + next;
}

// ---------------------------------------------------------------- the network

static FlResult add_node(Play *play, int32_t i, const FlWorldDef *wire)
{
    const FieldsPlay *def = play->def;
    const FieldsGame *game = def->game;
    WorldNodeDef node = world_node_def_default();
    FlError why;
    int32_t index;
    node.session.role = i == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    node.session.world = *wire;
    node.session.peer_capacity = FIELDS_PLAYERS - 1;
    node.session.entity_capacity = FIELDS_ENTITIES;
    node.clock_offset = FL_SEC(10) * i;
    FlResult result = world_node_add(play->world, &node, &index);
    if (result == FL_OK && def->way == FIELDS_FIELDS) {
        FlKindDef kind = {
            .name = game->name, .fields = game->fields, .field_count = game->field_count};
        result = fl_kind_define(world_session(play->world, i), KIND, &kind, &why);
    }
    FlImpairSettings way = play_way(fl_span_from_seconds(def->rtt_ms / 2e3), 0, def->loss);
    return result == FL_OK && i > 0 ? world_ways_set(play->world, 0, i, &way) : result;
}

static FlResult set_up(Play *play)
{
    const FieldsPlay *def = play->def;
    WorldDef world = world_def_default();
    FlWorldDef wire;
    world.seed = def->seed;
    world.sealed = def->sealed;
    FlResult result = def->game->open(&play->match, def->players, def->seed, &wire);
    result = result == FL_OK ? world_create(&world, &play->world) : result;
    for (int32_t i = 0; i < def->players && result == FL_OK; i++) {
        result = add_node(play, i, &wire);
    }
    return result == FL_OK ? world_actor_add(play->world, WORLD_MOVER, WARM_UP, tick, play)
                           : result;
}

// ---------------------------------------------------------------- the end

static bool knows(const Play *play, int32_t viewer, int32_t player)
{
    const FieldsGame *game = play->def->game;
    const FlSession *session = world_session(play->world, viewer);
    FlEntityId id = fl_entity_of_number(session, play->number[player]);
    const int64_t *value = play->told[player].value;
    if (play->def->way == FIELDS_BLOB) {
        uint8_t want[64];
        const uint8_t *bytes;
        int32_t count;
        return fl_entity_state_get(session, id, &bytes, &count) == FL_OK &&
               count == fields_blob(game, value, want) && memcmp(bytes, want, (size_t)count) == 0;
    }
    bool same = true;
    for (int32_t f = 0; f < game->field_count && play->def->way == FIELDS_FIELDS; f++) {
        FlValue got;
        same = same && fl_field_get(session, id, f, &got) == FL_OK && got.integer == value[f];
    }
    return same;
}

static LabStatus check_all(const Play *play, LabError *error)
{
    for (int32_t v = 0; v < play->def->players; v++) {
        for (int32_t p = 0; p < play->def->players; p++) {
            if (!knows(play, v, p)) {
                return lab_fail(error, LAB_FAILED, "%s: node %d lacks the last state of player %d",
                                play->def->game->name, (int)v, (int)p);
            }
        }
    }
    return LAB_OK;
}

LabStatus fields_play(const FieldsPlay *def, FieldsFigures *figures, LabError *error)
{
    Play *play = calloc(1, sizeof *play);
    if (play == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    play->def = def;
    play->result = set_up(play);
    LabStatus status = LAB_OK;
    if (play->result == FL_OK) {
        world_run(play->world, WARM_UP - 1);
        uint64_t before = world_stats(play->world).bytes;
        status = play_check(play->world, error);
        if (status == LAB_OK) {
            world_run(play->world, WARM_UP + fl_span_from_seconds(def->seconds) + QUIET);
            status = play_check(play->world, error);
        }
        figures->bytes = (double)(world_stats(play->world).bytes - before);
        figures->changes = (double)play->changes;
    }
    if (status == LAB_OK && play->result != FL_OK) {
        status = lab_fail_result(error, play->result, "playing");
    }
    status = status == LAB_OK ? check_all(play, error) : status;
    world_destroy(play->world);
    fields_match_close(&play->match);
    free(play);
    return status;
}
