// Making and ending what games say to each other: all its memory is reserved here.
#include "private.h"

#include <string.h>

#define EVENT_RING_BYTES (32 * 1024)

/// One table: where its pointer is, and how long it is.
typedef struct Table {
    void **pointer;
    size_t bytes;
} Table;

enum { TABLES = 7 };

static void list_tables(FlPlay *play, const FlSessionDef *def, int32_t line_count,
                        Table tables[TABLES])
{
    size_t lines = (size_t)line_count;
    size_t members = (size_t)def->peer_capacity + 1;
    size_t ticks = def->input_bytes > 0 ? members * (size_t)def->input_ticks : 1;
    size_t input_bytes = def->input_bytes > 0 ? (size_t)def->input_bytes : 1;
    Table all[TABLES] = {
        {(void **)&play->events.ring.bytes, EVENT_RING_BYTES},
        {(void **)&play->events.held, (lines + 1) * MESSAGE_ROOM},
        {(void **)&play->events.from, lines * sizeof(Held)},
        {(void **)&play->inputs.of, members * sizeof(Inputs)},
        {(void **)&play->inputs.bytes, ticks * input_bytes},
        {(void **)&play->inputs.way, lines * members * sizeof(InputWay)},
        {(void **)&play->inputs.turn, lines * sizeof(int32_t)},
    };
    memcpy(tables, all, sizeof all);
}

size_t fl__play_line_bytes(const FlSessionDef *def)
{
    return MESSAGE_ROOM + sizeof(Held) + sizeof(int32_t) +
           ((size_t)def->peer_capacity + 1) * sizeof(InputWay);
}

size_t fl__play_bytes(const FlSessionDef *def, int32_t line_count)
{
    FlPlay like = {0};
    Table tables[TABLES];
    list_tables(&like, def, line_count, tables);
    size_t bytes = sizeof(FlPlay) + fl__actions_bytes(def);
    for (int32_t i = 0; i < TABLES; i++) {
        bytes += tables[i].bytes;
    }
    return bytes;
}

static void start(FlPlay *play, int32_t line_count, int32_t member_count)
{
    play->events.ring.capacity = EVENT_RING_BYTES;
    play->events.own.bytes = play->events.held;
    for (int32_t i = 0; i < line_count; i++) {
        play->events.from[i].bytes = play->events.held + (size_t)(i + 1) * MESSAGE_ROOM;
    }
    for (int32_t i = 0; i < member_count; i++) {
        play->inputs.of[i].newest = -1;
    }
    play->agreed.joiner.member = FL__NONE;
}

FlResult fl__play_create(FlSession *session, FlTime now)
{
    const FlSessionDef *def = fl__def(session);
    FlPlay *play = (FlPlay *)fl_alloc(&def->alloc, sizeof *play, _Alignof(FlPlay));
    fl__play_set(session, play);
    if (play == NULL) {
        return FL_NO_MEMORY;
    }
    Table tables[TABLES];
    list_tables(play, def, fl__line_count(session), tables);
    for (int32_t i = 0; i < TABLES; i++) {
        *tables[i].pointer = fl_alloc(&def->alloc, tables[i].bytes, _Alignof(max_align_t));
        if (*tables[i].pointer == NULL) {
            return FL_NO_MEMORY;
        }
    }
    start(play, fl__line_count(session), fl__member_count(session));
    return fl__actions_create(session, now);
}

void fl__play_destroy(FlSession *session)
{
    FlPlay *play = fl__play(session);
    if (play == NULL) {
        return;
    }
    const FlSessionDef *def = fl__def(session);
    fl__actions_destroy(session);
    fl__agreed_destroy(session);
    Table tables[TABLES];
    list_tables(play, def, fl__line_count(session), tables);
    for (int32_t i = 0; i < TABLES; i++) {
        fl_free(&def->alloc, *tables[i].pointer, tables[i].bytes);
    }
    fl_free(&def->alloc, play, sizeof *play);
    fl__play_set(session, NULL);
}
