// Making and ending what games say to each other: all its memory is reserved here.
#include "private.h"

#include <string.h>

#define EVENT_RING_BYTES (32 * 1024)

enum { TABLES = 15 };

static void list_tables(FlPlay *play, const FlSessionDef *def, int32_t connection_count,
                        Fl__Table tables[TABLES])
{
    size_t connections = (size_t)connection_count;
    size_t members = (size_t)def->peer_capacity + 1;
    size_t ticks = def->input_bytes > 0 ? members * (size_t)def->input_ticks : 1;
    size_t input_bytes = def->input_bytes > 0 ? (size_t)def->input_bytes : 1;
    Fl__Table all[TABLES] = {
        {(void **)&play->events.ring.bytes, EVENT_RING_BYTES},
        {(void **)&play->unreliable.entry, UNRELIABLE_POOL * fl__unreliable_entry_bytes()},
        {(void **)&play->unreliable.due,
         UNRELIABLE_POOL * (size_t)fl__bit_words(connection_count) * sizeof(uint64_t)},
        {(void **)&play->unreliable.newest, members * FL_EVENT_CHANNELS * sizeof(uint16_t)},
        {(void **)&play->unreliable.known, members * sizeof(uint16_t)},
        {(void **)&play->routes.log, ROUTE_LOG_BYTES},
        {(void **)&play->routes.cursor, connections * sizeof(uint64_t)},
        {(void **)&play->routes.behind_since, connections * sizeof(FlTime)},
        {(void **)&play->routes.behind_from, connections * sizeof(uint64_t)},
        {(void **)&play->routes.held, (connections + 1) * sizeof(uint64_t)},
        {(void **)&play->routes.quota, connections * sizeof(RouteQuota)},
        {(void **)&play->inputs.of, members * sizeof(Inputs)},
        {(void **)&play->inputs.bytes, ticks * input_bytes},
        {(void **)&play->inputs.way, connections * members * sizeof(InputWay)},
        {(void **)&play->inputs.turn, connections * sizeof(InputTurn)},
    };
    memcpy(tables, all, sizeof all);
}

size_t fl__play_connection_bytes(const FlSessionDef *def)
{
    return (3 + UNRELIABLE_POOL / 64) * sizeof(uint64_t) + sizeof(FlTime) + sizeof(RouteQuota) +
           sizeof(InputTurn) + ((size_t)def->peer_capacity + 1) * sizeof(InputWay);
}

size_t fl__play_bytes(const FlSessionDef *def)
{
    FlPlay like = {0};
    Fl__Table tables[TABLES];
    list_tables(&like, def, 0, tables);
    return sizeof(FlPlay) + sizeof(Calls) + fl__actions_bytes(def) +
           fl__calls_memory(&def->tuning.calls) + fl__tables_bytes(tables, TABLES);
}

/// Messages that a host relays, by kind from MESSAGE_EVENT on.
static const RoutedKind KINDS[] = {
    {fl__event_received, NULL, 2, MESSAGE_EVENT, false, false},
    {fl__actions_received, fl__actions_reach, 1, MESSAGE_LAGS, true, true},
    {fl__actions_received, fl__actions_reach, 1, MESSAGE_ACTION, true, true},
    {fl__agreed_received, NULL, 1, MESSAGE_HASHES, false, false},
    {fl__agreed_received, NULL, 1, MESSAGE_TICK_RANGE, false, false},
    {fl__agreed_received, NULL, 1, MESSAGE_ENTER, false, false},
    {fl__agreed_received, NULL, 1, MESSAGE_SNAPSHOT, false, false},
};

static void start(FlPlay *play, int32_t member_count)
{
    play->events.ring.capacity = EVENT_RING_BYTES;
    play->routes.kinds = KINDS;
    play->routes.quota_next = FL_FOREVER;
    for (int32_t i = 0; i < member_count; i++) {
        play->inputs.of[i].newest = -1;
    }
    play->agreed.joiner.member = FL__NONE;
}

FlResult fl__play_create(FlSession *session, FlTime now)
{
    const FlSessionDef *def = &session->def;
    FlPlay *play = (FlPlay *)fl_alloc(&def->alloc, sizeof *play, _Alignof(FlPlay));
    session->play = play;
    if (play == NULL) {
        return FL_NO_MEMORY;
    }
    Fl__Table tables[TABLES];
    list_tables(play, def, session->connection_count, tables);
    if (!fl__tables_reserve(&def->alloc, tables, TABLES)) {
        return FL_NO_MEMORY;
    }
    start(play, session->member_count);
    FlResult result = fl__play_calls_create(session);
    return result == FL_OK ? fl__actions_create(session, now) : result;
}

void fl__play_destroy(FlSession *session)
{
    FlPlay *play = session->play;
    if (play == NULL) {
        return;
    }
    const FlSessionDef *def = &session->def;
    fl__play_calls_destroy(session);
    fl__actions_destroy(session);
    fl__agreed_destroy(session);
    fl__predict_destroy(session);
    Fl__Table tables[TABLES];
    list_tables(play, def, session->connection_count, tables);
    fl__tables_release(&def->alloc, tables, TABLES);
    fl_free(&def->alloc, play, sizeof *play);
    session->play = NULL;
}
