// Opening and closing connections, and packets that come over them.
#include "private.h"

#include "connection/sealed.h"
#include "link/link.h"

#include <string.h>

// ---------------------------------------------------------------- making

enum { TABLES = 3 };

static int32_t direct_capacity(const FlSessionDef *def)
{
    bool direct = def->topology == FL_TOPOLOGY_MESH || def->topology == FL_TOPOLOGY_HYBRID;
    int32_t needed = direct ? def->peer_capacity : 1;
    return def->tuning.direct_capacity > 0 ? def->tuning.direct_capacity : needed;
}

bool fl__may_lead(const FlSessionDef *def)
{
    return def->role == FL_ROLE_HOST || direct_capacity(def) >= def->peer_capacity;
}

int32_t fl__connections_most(const FlSessionDef *def)
{
    int32_t least = def->topology == FL_TOPOLOGY_CROWD ? 1 + FL__SUCCESSORS : 1;
    int32_t most = fl__int_max(direct_capacity(def), least);
    return fl__may_lead(def) || most > def->peer_capacity ? def->peer_capacity : most;
}

static void list_tables(Connections *c, int32_t count, Fl__Table tables[TABLES])
{
    Fl__Table all[TABLES] = {
        {(void **)&c->all, (size_t)count * sizeof(Connection)},
        {(void **)&c->wake, (size_t)count * sizeof(FlTime)},
        {(void **)&c->at.places, (size_t)fl__addresses_size(count) * sizeof(int32_t)},
    };
    memcpy(tables, all, sizeof all);
}

FlResult fl__connections_create(FlSession *session, FlTime now)
{
    Connections *c = (Connections *)fl_alloc(&session->def.alloc, sizeof *c, _Alignof(Connections));
    session->connections = c;
    if (c == NULL) {
        return FL_NO_MEMORY;
    }
    int32_t count = session->connection_count;
    Fl__Table tables[TABLES];
    list_tables(c, count, tables);
    if (!fl__tables_reserve(&session->def.alloc, tables, TABLES)) {
        return FL_NO_MEMORY;
    }
    for (int32_t i = 0; i < count; i++) {
        c->wake[i] = FL_FOREVER;
    }
    c->at.size = fl__addresses_size(count);
    c->at.first = &c->all[0].address;
    c->at.stride = sizeof(Connection);
    fl__addresses_clear(&c->at);
    c->followed = FL__NONE;
    c->clock_now = INT64_MIN;
    fl__session_clock_init(&c->clock);
    if (session->def.role == FL_ROLE_HOST) {
        fl__session_clock_lead(&c->clock, now, 0);
        c->clock_at = now;
    }
    FlResult result = fl__sealed_create(session, now);
    fl__upload_start(session, now);
    return result;
}

void fl__connections_destroy(FlSession *session)
{
    Connections *c = session->connections;
    if (c == NULL) {
        return;
    }
    fl__sealed_destroy(session);
    Fl__Table tables[TABLES];
    list_tables(c, session->connection_count, tables);
    fl__tables_release(&session->def.alloc, tables, TABLES);
    fl_free(&session->def.alloc, c, sizeof *c);
    session->connections = NULL;
}

size_t fl__connection_bytes(const FlSessionDef *def)
{
    size_t link;
    size_t buffers;
    fl__link_memory(&def->tuning.link, &link, &buffers);
    return sizeof(Connection) + sizeof(FlTime) + link + buffers;
}

// ---------------------------------------------------------------- opening and closing

#define DIRECT_TIMEOUT FL_SEC(60) // the host says sooner who is gone

// The client keeps a connection alive, and the host answers. Between introduced peers the one with
// the smaller number does, rarely; where there is a seal, the seal does.
static FlLinkDef link_def(FlSession *session, const Connection *c)
{
    FlLinkDef def = session->def.tuning.link;
    def.conversation = c->conversation;
    def.external_sequence = session->connections->sealed != NULL;
    def.alloc = session->def.alloc;
    def.common = fl__upload_budget(session);
    if (c->direct) {
        bool keeper = c->pair == NULL && session->self < c->member;
        def.timeout_ns = c->pair == NULL ? DIRECT_TIMEOUT : FL_SEC(1800);
        def.keep_alive_ns = keeper ? DIRECT_TIMEOUT / 4 : FL_FOREVER;
    } else if (fl__is_host(session)) {
        def.keep_alive_ns = FL_FOREVER;
        def.eager_count = 0;
    }
    return def;
}

bool fl__connection_open(FlSession *session, int32_t index, const ConnectionDef *def, FlTime now)
{
    Connection *c = fl__connection(session, index);
    Connection fresh = {
        .used = true,
        .received = !def->direct,
        .direct = def->direct,
        .unproven = def->unproven,
        .member = def->member,
        .address = def->address,
        .conversation = def->conversation,
        .seal_peer = def->seal_peer,
        .pair = def->pair,
    };
    FlLinkDef link = link_def(session, &fresh);
    if (fl_link_create(&link, now, &fresh.link) != FL_OK) {
        fl__sealed_pair_destroy(def->pair);
        fl__count(session, FL_SESSION_OUT_OF_MEMORY);
        return false;
    }
    fresh.offset = fl_session_time(session, now) - fl__link_clock(fresh.link, now);
    *c = fresh;
    session->connections->has_pairs = session->connections->has_pairs || def->pair != NULL;
    fl__addresses_changed(session);
    fl__connection_wake(session, index);
    return true;
}

void fl__connection_close(FlSession *session, int32_t index)
{
    Connection *c = fl__connection(session, index);
    fl__connection_set_short(session, index, false);
    fl__sealed_pair_destroy(c->pair);
    fl_link_destroy(c->link);
    memset(c, 0, sizeof *c);
    bool followed = session->connections->followed == index;
    session->connections->followed = followed ? FL__NONE : session->connections->followed;
    session->connections->wake[index] = FL_FOREVER;
    fl__addresses_changed(session);
}

// Only host and client can notice that the other is gone, so their time-outs are shorter.
void fl__connection_set_direct(FlSession *session, int32_t index, bool direct, FlTime now)
{
    Connection *c = fl__connection(session, index);
    c->direct = direct;
    if (!direct) {
        c->offset = fl_session_time(session, now) - fl__link_clock(c->link, now);
    }
    FlLinkDef def = link_def(session, c);
    fl__link_set_timeouts(c->link, now, def.keep_alive_ns, def.timeout_ns);
    fl__connection_wake(session, index);
}

bool fl__connection_receive(FlSession *session, int32_t index, FlAddress from, uint64_t sequence,
                            const uint8_t *bytes, int32_t count, FlTime arrival,
                            FlLinkPacket *packet)
{
    Connection *c = fl__connection(session, index);
    if (fl_link_receive(c->link, arrival, sequence, bytes, count, packet) != FL_LINK_DROP_NONE) {
        return false; // counted there
    }
    if (session->connections->sealed == NULL && !fl_address_equal(c->address, from)) {
        fl__connection_moved(session, index, from);
    }
    fl__connection_wake(session, index);
    c->unproven = false;
    return true;
}
