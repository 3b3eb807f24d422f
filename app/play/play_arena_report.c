// The arena for people and machines: the picture, the page, and what is told at the end.
#include "app/play/play_arena.h"

#include <stdio.h>

#include "app/play/play_maps.h"

static bool is_own(const ArenaNode *arena, int32_t player)
{
    return player == arena->player;
}

int32_t play_arena_waiting(const PlayNode *node)
{
    const ArenaNode *arena = &play_arena_of(node)->node;
    int32_t count = 0;
    for (int32_t i = 0; i < ARENA_NODE_ASKED; i++) {
        count += arena->asked[i].id != 0 ? 1 : 0;
    }
    return count;
}

int32_t play_arena_seen(const PlayNode *node)
{
    const PlayArena *match = play_arena_of(node);
    int32_t count = 0;
    for (int32_t i = 0; match->started && i < ARENA_PLAYER_CAPACITY; i++) {
        count += match->node.seen[i].known || is_own(&match->node, i) ? 1 : 0;
    }
    return count;
}

// ---------------------------------------------------------------- the picture

// A view of those who are there: the others would all lie in it.
static void gather(const PlayArena *match, ArenaState *view)
{
    *view = match->node.view;
    view->player_count = 0;
    for (int32_t i = 0; i < ARENA_PLAYER_CAPACITY; i++) {
        if (match->node.seen[i].known || is_own(&match->node, i)) {
            view->player[view->player_count++] = match->node.view.player[i];
        }
    }
}

bool play_arena_draw(const PlayNode *node, PlayPicture *picture)
{
    const PlayArena *match = play_arena_of(node);
    ArenaState view;
    int32_t columns = picture->columns;
    if (!match->started) {
        arena_start(match->game, &view);
        view.player_count = 0;
    } else {
        gather(match, &view);
    }
    int32_t rows = picture->rows - view.player_count; // a line for each is below
    rows = rows < 8 ? 8 : rows;
    size_t bytes = ARENA_DRAW_BYTES(columns, rows, view.player_count);
    return play_picture_reserve(picture, bytes) &&
           arena_draw(match->game, &view, columns, rows, picture->text, picture->size) > 0;
}

// ---------------------------------------------------------------- the page

json_t *play_arena_map(const PlayNode *node)
{
    return play_map_arena(play_arena_of(node)->game);
}

int32_t play_arena_state(const PlayNode *node, uint32_t number)
{
    const PlayArena *match = play_arena_of(node);
    const ArenaNode *arena = &match->node;
    for (int32_t i = 0; match->started && i < ARENA_PLAYER_CAPACITY; i++) {
        FlEntityId id = is_own(arena, i) ? arena->entity : arena->seen[i].entity;
        FlEntityStatus status;
        if (id.index1 != 0 && fl_entity_status(node->session, id, &status) == FL_OK &&
            status.number == number) {
            return arena->view.player[i].alive != 0 ? 2 : 1;
        }
    }
    return 0;
}

json_t *play_arena_dots(const PlayNode *node, FlTime now)
{
    (void)now; // missiles are where the last tick has them
    const PlayArena *match = play_arena_of(node);
    const ArenaState *view = &match->node.view;
    json_t *list = json_array();
    for (int32_t m = 0; match->started && m < view->missile_count; m++) {
        FlVec3 at = arena_missile_position(view, &view->missile[m]);
        json_array_append_new(list, json_integer((json_int_t)(100.0 * at.x)));
        json_array_append_new(list, json_integer((json_int_t)(100.0 * at.y)));
    }
    return list;
}

// ---------------------------------------------------------------- at the end

json_t *play_arena_json(const PlayNode *node, int32_t own)
{
    (void)own; // there is one
    const ArenaNode *arena = &play_arena_of(node)->node;
    if (!play_arena_of(node)->started || arena->player < 0) {
        return json_object();
    }
    const ArenaPlayer *p = &arena->view.player[arena->player];
    return json_pack("{s:i,s:i,s:I,s:I,s:I,s:i,s:I}", "player", (int)arena->player, "score",
                     (int)p->score, "kills", (json_int_t)p->kills, "deaths", (json_int_t)p->deaths,
                     "shots", (json_int_t)p->shots, "health", (int)p->health, "hits",
                     (json_int_t)arena->stats.hits);
}

void play_arena_sum_json(PlayNode *const *nodes, int32_t count, json_t *object)
{
    int32_t waiting = 0;
    for (int32_t i = 0; i < count; i++) {
        waiting += play_arena_waiting(nodes[i]);
    }
    json_object_set_new(object, "deeds_waiting", json_integer(waiting));
}

void play_arena_sum_line(PlayNode *const *nodes, int32_t count, const PlayChecks *sum, char *out,
                         size_t size)
{
    (void)nodes;
    (void)count;
    snprintf(out, size, "%llu deeds asked of others, %llu applied, %llu refused",
             (unsigned long long)sum->count[PLAY_DEEDS_ASKED],
             (unsigned long long)sum->count[PLAY_DEEDS_APPLIED],
             (unsigned long long)sum->count[PLAY_DEEDS_REFUSED]);
}
