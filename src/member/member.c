// Who is in the session. Numbers are the host's to give, the same at all peers; an incarnation
// tells a number's last holder from its present one.
#include "private.h"

#include "connection/sealed.h"

#include <string.h>

// ---------------------------------------------------------------- making

enum { TABLES = 8 };

// What a host knows of pairs takes a bit for each: 0.5 MB with a thousand members. A crowd's member
// that cannot take over needs none of it.
static bool has_host_rows(const FlSessionDef *def)
{
    return def->topology != FL_TOPOLOGY_CROWD || fl__may_lead(def);
}

static void list_tables(Members *m, const FlSession *session, Fl__Table tables[TABLES])
{
    size_t members = (size_t)session->member_count;
    size_t connections = (size_t)session->connection_count;
    size_t words = (size_t)session->member_words * sizeof(uint64_t);
    size_t rows = has_host_rows(&session->def) ? members : 0;
    Fl__Table all[TABLES] = {
        {(void **)&m->all, members * sizeof(Member)},
        {(void **)&m->handshakes, connections * sizeof(Handshake)},
        {(void **)&m->due, connections * words},
        {(void **)&m->direct, rows * words},
        {(void **)&m->reach_due, rows * words},
        {(void **)&m->introductions_due, rows * words},
        {(void **)&m->renewals_due, rows * words},
        {(void **)&m->goodbyes, connections * sizeof(Goodbye)},
    };
    memcpy(tables, all, sizeof all);
}

// What a refusal must echo: for a sealed client it is in its token.
static uint64_t first_nonce(FlSession *session)
{
    const FlSessionDef *def = &session->def;
    uint64_t nonce = fl_random_next(&session->random);
    bool sealed = def->role == FL_ROLE_CLIENT && def->token != NULL;
    return sealed ? fl__load_u64(def->token + TOKEN_NONCE_AT) : nonce;
}

static void start(FlSession *session, FlTime now)
{
    Members *m = session->members;
    for (int32_t i = 0; i < session->member_count; i++) {
        m->all[i].connection = FL__NONE;
    }
    m->reach_next = INT64_MIN;
    m->successors_next = FL_FOREVER;
    m->nonce = first_nonce(session);
    m->join_next = now;
    m->join_until = fl_time_add(now, session->def.join_timeout_ns);
    m->refusals.left = FL__REFUSALS;
    m->refusals.filled_at = now;
    m->lead_at = FL_FOREVER;
    session->seat_count = session->member_count;
    session->state = FL_SESSION_JOINING;
    session->self = FL__NONE;
    if (session->def.role == FL_ROLE_HOST) {
        session->topology = session->def.topology;
        session->id_range = (uint32_t)(session->world.def.entity_capacity / session->member_count);
        session->state = FL_SESSION_RUNNING;
        session->self = 0;
        session->host = 0;
        session->term = 1;
        session->complete = true;
        session->in = true;
        FlPeerStatus own;
        (void)fl__about_read(session->about, (int32_t)sizeof session->about, &own);
        memcpy(m->all[0].name, own.name, sizeof own.name);
        m->all[0].present = true;
        m->all[0].incarnation = 1;
    }
}

FlResult fl__members_create(FlSession *session, FlTime now)
{
    Members *m = (Members *)fl_alloc(&session->def.alloc, sizeof *m, _Alignof(Members));
    session->members = m;
    if (m == NULL) {
        return FL_NO_MEMORY;
    }
    Fl__Table tables[TABLES];
    list_tables(m, session, tables);
    if (!fl__tables_reserve(&session->def.alloc, tables, TABLES)) {
        return FL_NO_MEMORY;
    }
    start(session, now);
    return FL_OK;
}

void fl__members_destroy(FlSession *session)
{
    Members *m = session->members;
    if (m != NULL) {
        Fl__Table tables[TABLES];
        list_tables(m, session, tables);
        fl__tables_release(&session->def.alloc, tables, TABLES);
        fl_free(&session->def.alloc, m, sizeof *m);
        session->members = NULL;
    }
}

size_t fl__members_bytes(const FlSessionDef *def)
{
    size_t members = (size_t)def->peer_capacity + 1;
    size_t words = (size_t)fl__bit_words((int32_t)members) * sizeof(uint64_t);
    return sizeof(Members) + members * (sizeof(Member) + (has_host_rows(def) ? 4 * words : 0));
}

size_t fl__members_connection_bytes(const FlSessionDef *def)
{
    size_t words = (size_t)fl__bit_words(def->peer_capacity + 1) * sizeof(uint64_t);
    return sizeof(Handshake) + sizeof(Goodbye) + words;
}

// ---------------------------------------------------------------- who is here

bool fl__member_present(const FlSession *session, int32_t number)
{
    return fl__member(session, number)->present;
}

uint32_t fl__member_incarnation(const FlSession *session, int32_t number)
{
    return fl__member(session, number)->incarnation;
}

int32_t fl__member_connection(const FlSession *session, int32_t number)
{
    return fl__member(session, number)->connection;
}

FlPeerId fl__peer_id(const FlSession *session, int32_t number)
{
    FlPeerId id = {0};
    if (number >= 0 && number < session->member_count && fl__member(session, number)->present) {
        id.index1 = (uint32_t)number + 1;
        id.generation = fl__member(session, number)->incarnation;
    }
    return id;
}

int32_t fl__member_of(const FlSession *session, FlPeerId peer)
{
    if (peer.index1 == 0 || peer.index1 > (uint32_t)session->member_count) {
        return FL__NONE;
    }
    int32_t number = (int32_t)peer.index1 - 1;
    const Member *member = fl__member(session, number);
    bool same = member->present && member->incarnation == peer.generation;
    return same ? number : FL__NONE;
}

int32_t fl__newcomer_of(const FlSession *session, FlPeerId peer)
{
    if (peer.index1 == 0 || peer.index1 > (uint32_t)session->member_count ||
        !fl__is_host(session)) {
        return FL__NONE;
    }
    const Member *member = fl__member(session, (int32_t)peer.index1 - 1);
    bool waits = !member->present && member->connection != FL__NONE &&
                 fl__handshake(session, member->connection)->admission == ADMISSION_ASKED;
    return waits && peer.generation == member->incarnation + 1 ? member->connection : FL__NONE;
}

bool fl_peer_next(const FlSession *session, FlPeerId *peer)
{
    FlPeerId none = {0};
    for (uint32_t i = peer->index1; i < (uint32_t)session->member_count; i++) {
        if (fl__member(session, (int32_t)i)->present && (int32_t)i != session->self) {
            *peer = fl__peer_id(session, (int32_t)i);
            return true;
        }
    }
    *peer = none;
    return false;
}

int32_t fl_peer_count(const FlSession *session)
{
    int32_t count = 0;
    for (int32_t i = 0; i < session->member_count; i++) {
        count += fl__member(session, i)->present && i != session->self ? 1 : 0;
    }
    return count;
}

FlPeerId fl_peer_self(const FlSession *session)
{
    return fl__peer_id(session, session->self);
}

FlPeerId fl_peer_host(const FlSession *session)
{
    return fl__peer_id(session, session->self != FL__NONE ? session->host : FL__NONE);
}

FlPeerId fl_peer_of_number(const FlSession *session, int32_t number)
{
    return fl__peer_id(session, number);
}

bool fl__member_status(const FlSession *session, FlPeerId peer, FlPeerStatus *status)
{
    memset(status, 0, sizeof *status);
    int32_t waits = fl__newcomer_of(session, peer);
    int32_t number =
        waits != FL__NONE ? fl__connection_member(session, waits) : fl__member_of(session, peer);
    if (number == FL__NONE) {
        return false;
    }
    const Member *member = fl__member(session, number);
    status->number = number;
    status->client_id = member->client_id;
    status->waits = waits != FL__NONE;
    if (fl__is_host(session) && member->connection != FL__NONE) {
        const SealedClient *client = &fl__handshake(session, member->connection)->client;
        status->client_id = client->client_id;
        status->invite_id = client->invite_id;
        status->user_data = client->user_data;
    }
    status->missed = member->unreached;
    status->met = member->met;
    int32_t connection = member->connection;
    memcpy(status->name, member->name, sizeof status->name);
    if (number == session->self) {
        (void)fl__about_read(session->about, (int32_t)sizeof session->about, status);
    } else if (connection != FL__NONE && fl__is_host(session)) {
        const FlPeerStatus *about = &fl__handshake(session, connection)->about;
        if (status->waits) { // others know its name once it is in
            memcpy(status->name, about->name, sizeof status->name);
        }
        memcpy(status->about_me, about->about_me, sizeof status->about_me);
        status->about_bytes = about->about_bytes;
    }
    if (connection != FL__NONE && fl__connection_reaches(session, connection)) {
        status->direct = true;
        status->met = true;
        status->address = fl__connection_address(session, connection);
    }
    return true;
}

FlResult fl_peer_binding(const FlSession *session, FlPeerId peer,
                         uint8_t binding[FL_SEAL_BINDING_BYTES])
{
    memset(binding, 0, FL_SEAL_BINDING_BYTES);
    int32_t number = fl__member_of(session, peer);
    if (number == FL__NONE) {
        return FL_STALE_ID;
    }
    int32_t connection = fl__member(session, number)->connection;
    bool found = connection != FL__NONE && fl__sealed_binding(session, connection, binding);
    return found ? FL_OK : FL_NOT_FOUND;
}

FlResult fl_peer_stats(const FlSession *session, FlTime now, FlPeerId peer, FlLinkStats *stats)
{
    memset(stats, 0, sizeof *stats);
    int32_t number = fl__member_of(session, peer);
    if (number == FL__NONE) {
        return FL_STALE_ID;
    }
    int32_t connection = fl__member(session, number)->connection;
    if (connection == FL__NONE) {
        return FL_NOT_FOUND;
    }
    fl_link_stats(fl__connection_link(session, connection), now, stats);
    return FL_OK;
}

int32_t fl__route(const FlSession *session, int32_t number)
{
    int32_t connection = number != FL__NONE ? fl__member(session, number)->connection : FL__NONE;
    // A crowd's direct connections are for whoever takes over, and wait until then.
    bool waits = connection != FL__NONE && session->topology == FL_TOPOLOGY_CROWD &&
                 fl__connection_direct(session, connection);
    if (connection != FL__NONE && !waits && fl__connection_reaches(session, connection)) {
        return connection;
    }
    return fl__member(session, session->host)->connection;
}

void fl__member_look_whether_in(FlSession *session)
{
    if (!session->in && session->complete && fl__time_known(session)) {
        session->in = true;
        session->wakes = true;
    }
}

// ---------------------------------------------------------------- coming and leaving

void fl__member_enter(FlSession *session, int32_t number, uint32_t incarnation, uint64_t client_id,
                      const char *name)
{
    Member *member = fl__member(session, number);
    if (member->present && member->incarnation == incarnation) {
        return;
    }
    member->present = true;
    member->incarnation = incarnation;
    member->client_id = client_id;
    memset(member->name, 0, sizeof member->name);
    memcpy(member->name, name, strlen(name)); // shorter than FL_NAME_BYTES, wherever it is from
    member->met = false;
    member->unreached = false;
    member->leads = false;
    member->want_next = INT64_MIN;
    member->missed_since = FL_FOREVER;
    member->want_count = 0;
    if (number != session->self) {
        FlNotice notice = {.kind = FL_NOTICE_PEER_JOINED, .peer = fl__peer_id(session, number)};
        fl__notice(session, &notice);
        fl__note(session, "Player %d came in.", number);
    }
    Change came = {.kind = CHANGE_MEMBER_CAME, .member = number};
    fl__changed(session, &came);
}

void fl__member_leave(FlSession *session, int32_t number, FlLeft left, FlTime now)
{
    Member *member = fl__member(session, number);
    if (!member->present) {
        return;
    }
    FlNotice notice = {
        .kind = FL_NOTICE_PEER_LEFT, .peer = fl__peer_id(session, number), .left = left};
    fl__notice(session, &notice);
    fl__note(session, "Player %d left: %s.", number, fl_left_text(left));
    Change change = {.kind = CHANGE_MEMBER_LEAVES, .member = number, .now = now};
    fl__changed(session, &change);
    member->present = false;
    member->left = left;
    change.kind = CHANGE_MEMBER_LEFT;
    fl__changed(session, &change);
}

bool fl__member_message(void *self, MessageIn *in)
{
    FlSession *session = (FlSession *)self;
    MemberMessage m;
    if (!fl__member_message_read(in->r, &m) || m.number >= session->member_count) {
        return false;
    }
    Member *member = fl__member(session, m.number);
    if (m.number == session->self) {
        member->present = true;
        member->incarnation = m.incarnation;
        member->client_id = m.client_id;
        memcpy(member->name, m.name, sizeof member->name);
        session->complete = true;
        Change complete = {.kind = CHANGE_COMPLETE, .now = in->now};
        fl__changed(session, &complete);
        return m.present;
    }
    bool other = member->present && (!m.present || member->incarnation != m.incarnation);
    if (other) {
        if (member->connection != FL__NONE && fl__connection_direct(session, member->connection)) {
            fl__disconnect(session, member->connection);
        }
        fl__member_leave(session, m.number, m.present ? FL_LEFT_TIMED_OUT : m.left, in->now);
    }
    if (m.present) {
        fl__member_enter(session, m.number, m.incarnation, m.client_id, m.name);
    }
    return true;
}

void fl__member_leave_all(FlSession *session, FlLeft host, FlTime now)
{
    bool its_own = host == FL_LEFT_GOODBYE || host == FL_LEFT_TIMED_OUT; // else it sent us away
    for (int32_t i = 0; i < session->member_count; i++) {
        if (i != session->self) {
            FlLeft left = i == session->host && its_own ? host : FL_LEFT_ENDED;
            fl__member_leave(session, i, left, now);
        }
    }
}
