// What goes first where bytes are short.
//
// As long as the budget of a connection has room for all that is due, in one packet or in several,
// order does not matter, and entities take turns. Where it has not, packets are filled by rank
// until nothing is left over: the error that the receiver is expected to have by now (the
// ledger's), times the priority that the game has given the pair. What waits gets worse, so it
// rises; a part of its rank is its waiting alone, for what stands still. After WAIT_AT_MOST
// whatever waits longest goes first, however unimportant: then no pair waits for longer than it
// takes to send everything once.
#include "priority.h"
#include "private.h"

#include <string.h>

#define WAIT_AT_MOST FL_SEC(1)
#define STARVED 1e12 // the rank of what has waited for so long, and more
#define WAITING 0.05 // distance that waiting counts for, beside the error

enum { TABLES = 2 };

static void list_tables(const FlSessionDef *def, Priorities *p, Fl__Table tables[TABLES])
{
    size_t members = (size_t)def->peer_capacity + 1;
    Fl__Table all[TABLES] = {
        {(void **)&p->of, (size_t)fl__detail_count(def) * members},
        {(void **)&p->rank, (size_t)def->entity_capacity * sizeof(double)},
    };
    memcpy(tables, all, sizeof all);
}

FlResult fl__priorities_create(FlSession *session)
{
    Priorities *p = (Priorities *)fl_alloc(&session->def.alloc, sizeof *p, _Alignof(Priorities));
    session->entities->priorities = p;
    if (p == NULL) {
        return FL_NO_MEMORY;
    }
    Fl__Table tables[TABLES];
    list_tables(&session->def, p, tables);
    return fl__tables_reserve(&session->def.alloc, tables, TABLES) ? FL_OK : FL_NO_MEMORY;
}

void fl__priorities_destroy(FlSession *session)
{
    Priorities *p = session->entities->priorities;
    if (p == NULL) {
        return;
    }
    Fl__Table tables[TABLES];
    list_tables(&session->def, p, tables);
    fl__tables_release(&session->def.alloc, tables, TABLES);
    fl_free(&session->def.alloc, p, sizeof *p);
    session->entities->priorities = NULL;
}

// ---------------------------------------------------------------- ranks

static double rank_of(const FlSession *session, int32_t slot, int32_t connection, FlTime time)
{
    FlLedgerView view;
    if (!fl_ledger_read(session->entities->ledger, slot, connection, time, &view) ||
        view.last_sent == FL_FOREVER) {
        return 2.0 * STARVED; // it has nothing of it
    }
    double waited = fl_span_seconds(fl_span(time, view.last_sent));
    if (waited > fl_span_seconds(WAIT_AT_MOST)) {
        return STARVED + waited;
    }
    const Entity *entity = fl__entity(session, slot);
    double weight = *fl__priority_of(session, entity, fl__connection_member(session, connection));
    double error = view.estimated > 0.0 ? view.estimated : 0.0;
    return weight * (error + WAITING * (waited > 0.0 ? waited : 0.0)) + 1e-9;
}

bool fl__rank_due(FlSession *session, int32_t connection, FlTime time)
{
    double *rank = session->entities->priorities->rank;
    memset(rank, 0, (size_t)session->def.entity_capacity * sizeof rank[0]);
    FlDue due;
    bool any = false;
    for (int32_t from = 0; fl_ledger_due(session->entities->ledger, connection, from, &due);
         from = due.entity + 1) {
        rank[due.entity] = rank_of(session, due.entity, connection, time);
        any = true;
    }
    return any;
}

int32_t fl__rank_take(FlSession *session)
{
    double *rank = session->entities->priorities->rank;
    int32_t best = FL__NONE;
    for (int32_t i = 0; i < session->def.entity_capacity; i++) {
        if (rank[i] > (best == FL__NONE ? 0.0 : rank[best])) {
            best = i;
        }
    }
    if (best != FL__NONE) {
        rank[best] = 0.0;
    }
    return best;
}
