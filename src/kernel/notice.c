// Notices: what happened, until the game asks.
//
// They wait in a list, the oldest first, in fixed memory that cannot run out however long the game
// does not look: what would pile up replaces what it makes pointless.
//   - a newer state of an entity joins the notice that waits already;
//   - a newer owner (ours, theirs) takes the place of an older one, at the end of the list;
//   - an entity that came and went before the game looked makes no notice at all;
//   - a newer host takes the place of an older one, how a member is reached that of how it was,
//     and who asks for a number that of who did before;
//   - members' comings and goings all make notices, in order. Only when more than MEMBER_EACH a
//   number
//     wait, the oldest who came and went meanwhile is left out, and counted.
//
// So an entity slot has at most one notice each of NEW, of OURS or THEIRS, of STATE, and one GONE
// of the entity that was there before. A game that makes entities, gives them away and never looks
// can have more GONEs: the oldest is left out, and counted.
//
// Invariant: of_entity[slot].pending[c] is the node of the slot's pending notice of class c, or
// FL__NONE.
#include "kernel.h"

#include <string.h>

#define MEMBER_EACH 4

typedef struct NoticeNode {
    FlNotice notice;
    int32_t before, after; // FL__NONE: it is the first, or last; `after` also of free ones
} NoticeNode;

/// Notices of an entity of which one can wait; OURS and THEIRS are one class.
typedef enum NoticeClass { NOTICE_NEW, NOTICE_OWNER, NOTICE_STATE, NOTICE_CLASSES } NoticeClass;

typedef struct EntityNotices {
    int32_t pending[NOTICE_CLASSES]; // nodes, or FL__NONE
} EntityNotices;

/// Nodes by index; FL__NONE: none.
struct Notices {
    NoticeNode *nodes;
    EntityNotices *of_entity; // [entity slot]
    int32_t first, last, free;
    int32_t host; // the one of a new host
    int32_t member_count, gone_count;
};

// ---------------------------------------------------------------- the list

static int32_t node_capacity(const FlSessionDef *def)
{
    return 4 * def->entity_capacity + (MEMBER_EACH + 2) * (def->peer_capacity + 1) + 1;
}

size_t fl__notices_bytes(const FlSessionDef *def)
{
    return sizeof(Notices) + (size_t)node_capacity(def) * sizeof(NoticeNode) +
           (size_t)def->entity_capacity * sizeof(EntityNotices);
}

FlResult fl__notices_create(FlSession *session)
{
    Notices *n = (Notices *)fl_alloc(&session->def.alloc, fl__notices_bytes(&session->def),
                                     _Alignof(max_align_t));
    session->notices = n;
    if (n == NULL) {
        return FL_NO_MEMORY;
    }
    int32_t count = node_capacity(&session->def);
    n->nodes = (NoticeNode *)(void *)(n + 1);
    n->of_entity = (EntityNotices *)(void *)(n->nodes + count);
    n->first = n->last = n->host = FL__NONE;
    for (int32_t i = 0; i < count; i++) {
        n->nodes[i].after = i + 1 < count ? i + 1 : FL__NONE;
    }
    return FL_OK;
}

void fl__notices_destroy(FlSession *session)
{
    fl_free(&session->def.alloc, session->notices, fl__notices_bytes(&session->def));
    session->notices = NULL;
}

static bool is_of_member(FlNoticeKind kind)
{
    return kind == FL_NOTICE_PEER_JOINED || kind == FL_NOTICE_PEER_LEFT;
}

static void count_kind(Notices *n, FlNoticeKind kind, int32_t change)
{
    n->member_count += is_of_member(kind) ? change : 0;
    n->gone_count += kind == FL_NOTICE_ENTITY_GONE ? change : 0;
}

// FL__NONE: at the end.
static int32_t insert(Notices *n, const FlNotice *notice, int32_t after)
{
    int32_t i = n->free;
    FL_ASSERT(i != FL__NONE);
    NoticeNode *node = &n->nodes[i];
    n->free = node->after;
    node->notice = *notice;
    node->before = after != FL__NONE ? n->nodes[after].before : n->last;
    node->after = after;
    *(node->before != FL__NONE ? &n->nodes[node->before].after : &n->first) = i;
    *(after != FL__NONE ? &n->nodes[after].before : &n->last) = i;
    count_kind(n, notice->kind, 1);
    return i;
}

static int32_t append(Notices *n, const FlNotice *notice)
{
    return insert(n, notice, FL__NONE);
}

// Updates of a thing may come before the word that its owner is there: players come first.
static int32_t first_of_entities(const Notices *n)
{
    int32_t i = n->first;
    while (i != FL__NONE && is_of_member(n->nodes[i].notice.kind)) {
        i = n->nodes[i].after;
    }
    return i;
}

static void take_out(Notices *n, int32_t i)
{
    NoticeNode *node = &n->nodes[i];
    *(node->before != FL__NONE ? &n->nodes[node->before].after : &n->first) = node->after;
    *(node->after != FL__NONE ? &n->nodes[node->after].before : &n->last) = node->before;
    node->after = n->free;
    n->free = i;
    count_kind(n, node->notice.kind, -1);
}

// ---------------------------------------------------------------- entities

// What is kept in `pending`.
static bool is_of_entity(FlNoticeKind kind)
{
    return kind == FL_NOTICE_ENTITY_NEW || kind == FL_NOTICE_ENTITY_OURS ||
           kind == FL_NOTICE_ENTITY_THEIRS || kind == FL_NOTICE_ENTITY_STATE;
}

static NoticeClass class_of(FlNoticeKind kind)
{
    return kind == FL_NOTICE_ENTITY_NEW     ? NOTICE_NEW
           : kind == FL_NOTICE_ENTITY_STATE ? NOTICE_STATE
                                            : NOTICE_OWNER;
}

static void of_entity(FlSession *session, const FlNotice *notice)
{
    Notices *n = session->notices;
    EntityNotices *of = &n->of_entity[notice->entity.index1 - 1];
    int32_t *pending = &of->pending[class_of(notice->kind)];
    if (*pending != FL__NONE && notice->kind == FL_NOTICE_ENTITY_STATE) {
        n->nodes[*pending].notice = *notice;
        return;
    }
    if (*pending != FL__NONE) { // its owner may have joined since: the notice comes after that
        take_out(n, *pending);
    }
    *pending = append(n, notice);
}

static void gone(FlSession *session, const FlNotice *notice)
{
    Notices *n = session->notices;
    if (n->gone_count == session->def.entity_capacity) {
        int32_t i = n->first;
        while (n->nodes[i].notice.kind != FL_NOTICE_ENTITY_GONE) {
            i = n->nodes[i].after;
        }
        take_out(n, i);
        session->count[FL_SESSION_NOTICES_LOST]++;
    }
    append(n, notice);
}

void fl__notice_begin(FlSession *session, int32_t slot)
{
    for (int32_t c = 0; c < NOTICE_CLASSES; c++) {
        session->notices->of_entity[slot].pending[c] = FL__NONE;
    }
}

bool fl__notice_forget(FlSession *session, int32_t slot)
{
    Notices *n = session->notices;
    const EntityNotices *of = &n->of_entity[slot];
    bool known = of->pending[NOTICE_NEW] == FL__NONE;
    for (int32_t c = 0; c < NOTICE_CLASSES; c++) {
        if (of->pending[c] != FL__NONE) {
            take_out(n, of->pending[c]);
        }
    }
    fl__notice_begin(session, slot);
    return known;
}

// ---------------------------------------------------------------- members

static int32_t next_of_member(const Notices *n, int32_t i, uint32_t index1)
{
    for (; i != FL__NONE; i = n->nodes[i].after) {
        const FlNotice *notice = &n->nodes[i].notice;
        if (is_of_member(notice->kind) && notice->peer.index1 == index1) {
            return i;
        }
    }
    return FL__NONE;
}

// The oldest who came and went unseen by the game. There is one: of each number a going and a
// coming need not be such a pair, all between them are.
static void forget_visitor(FlSession *session)
{
    Notices *n = session->notices;
    for (int32_t i = n->first; i != FL__NONE; i = n->nodes[i].after) {
        if (n->nodes[i].notice.kind != FL_NOTICE_PEER_JOINED) {
            continue;
        }
        int32_t left = next_of_member(n, n->nodes[i].after, n->nodes[i].notice.peer.index1);
        if (left != FL__NONE) {
            take_out(n, left);
            take_out(n, i);
            session->count[FL_SESSION_NOTICES_LOST] += 2;
            return;
        }
    }
}

static bool is_asking(FlNoticeKind kind)
{
    return kind == FL_NOTICE_PEER_ASKS;
}

static bool is_of_reach(FlNoticeKind kind)
{
    return kind == FL_NOTICE_PEER_DIRECT || kind == FL_NOTICE_PEER_INDIRECT;
}

// Of a number only the last word counts: how it is reached, or who asks to get it.
static void of_number(Notices *n, const FlNotice *notice, bool (*same)(FlNoticeKind))
{
    for (int32_t i = n->first; i != FL__NONE; i = n->nodes[i].after) {
        const FlNotice *before = &n->nodes[i].notice;
        if (same(before->kind) && before->peer.index1 == notice->peer.index1) {
            take_out(n, i);
            break;
        }
    }
    append(n, notice);
}

// ---------------------------------------------------------------- taking

void fl__notice(FlSession *session, const FlNotice *notice)
{
    Notices *n = session->notices;
    session->wakes = true;
    switch (notice->kind) {
    case FL_NOTICE_PEER_JOINED:
    case FL_NOTICE_PEER_LEFT:
        if (n->member_count == MEMBER_EACH * session->member_count) {
            forget_visitor(session);
        }
        insert(n, notice, session->complete ? FL__NONE : first_of_entities(n));
        break;
    case FL_NOTICE_HOST_CHANGED:
        if (n->host != FL__NONE) {
            take_out(n, n->host);
        }
        n->host = append(n, notice);
        break;
    case FL_NOTICE_PEER_DIRECT:
    case FL_NOTICE_PEER_INDIRECT:
        of_number(n, notice, is_of_reach);
        break;
    case FL_NOTICE_PEER_ASKS:
        of_number(n, notice, is_asking);
        break;
    case FL_NOTICE_ENTITY_GONE:
        gone(session, notice);
        break;
    default:
        of_entity(session, notice);
    }
}

FlResult fl_notice_take(FlSession *session, FlNotice *notice)
{
    FlNotice none = {.number = -1};
    *notice = none;
    Notices *n = session->notices;
    int32_t i = n->first;
    bool joining = session->state != FL_SESSION_ENDED && !session->complete; // all in one go
    if (i == FL__NONE || joining) {
        return FL_NOT_FOUND;
    }
    *notice = n->nodes[i].notice;
    notice->number = (int32_t)notice->peer.index1 - 1;
    take_out(n, i);
    n->host = n->host == i ? FL__NONE : n->host;
    if (is_of_entity(notice->kind)) {
        n->of_entity[notice->entity.index1 - 1].pending[class_of(notice->kind)] = FL__NONE;
    }
    return FL_OK;
}
