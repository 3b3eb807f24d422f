// What the overlay keeps, and how many receivers our upload carries.
#include "private.h"

#include "send/send.h"

#include <math.h>
#include <string.h>

#define UPDATE_BYTES 20.0 // of one, about
#define UPLOAD_SHARE 0.9  // the rest is for messages and acknowledgements
#define PAIRS_PER_CONNECTION 4

// ---------------------------------------------------------------- what can be served

bool fl__overlay_is_active(const FlSession *session)
{
    bool introduced =
        session->topology == FL_TOPOLOGY_MESH || session->topology == FL_TOPOLOGY_HYBRID;
    return introduced && session->def.tuning.crowd.shared && fl__ledger(session) != NULL;
}

bool fl__overlay_serves(const FlSession *session, int32_t slot)
{
    const FlEntityDef *def = fl__entity_info(session, slot).def;
    bool frames = def->send.policy == FL_SEND_FOCUS || def->send.policy == FL_SEND_FOCUS_EQUAL;
    return frames && !def->private_scope;
}

bool fl__overlay_looks(const FlSession *session, int32_t slot, int32_t connection)
{
    const FlLedger *ledger = fl__ledger(session);
    return fl__ledger_watches(ledger, slot, connection) &&
           fl__ledger_attention_of(ledger, slot, connection) * 255.0 >= LOOKS_MUCH - 0.5;
}

SentOn *fl__overlay_sent_on(const FlSession *session, int32_t slot, int32_t receiver)
{
    Overlay *o = &session->attention->overlay;
    for (int32_t i = 0; i < o->sent_on_count; i++) {
        if (o->sent_on[i].slot == slot && o->sent_on[i].receiver == receiver) {
            return &o->sent_on[i];
        }
    }
    return NULL;
}

// Who looks much at what is ours, and was not sent on.
static int32_t count_looking(const FlSession *session)
{
    int32_t count = 0;
    int32_t slot = fl__entity_after(session, 0);
    for (; slot != FL__NONE; slot = fl__entity_after(session, slot + 1)) {
        if (!fl__entity_info(session, slot).ours || !fl__overlay_serves(session, slot)) {
            continue;
        }
        for (int32_t i = 0; i < session->connection_count; i++) {
            const SentOn *sent_on = fl__overlay_sent_on(session, slot, i);
            bool goes = sent_on != NULL && sent_on->forwarder != FL__NONE;
            count += !goes && fl__overlay_looks(session, slot, i) ? 1 : 0;
        }
    }
    return count;
}

int32_t fl__overlay_room(const FlSession *session)
{
    double upload = session->def.upload_bytes_s;
    if (upload <= 0.0) {
        return UINT8_MAX;
    }
    double each = fl__upload_header_bytes(session) + UPDATE_BYTES;
    int32_t others = 0; // each of them gets something once a second
    for (int32_t i = 0; i < session->connection_count; i++) {
        others += fl__connection_used(session, i) ? 1 : 0;
    }
    const FlFocusDef *focus = &session->def.tuning.focus;
    double frames_s = 1.0 / fl_span_seconds(focus->frame_ns);
    double best_effort = others * each > (1.0 - focus->share) * upload
                             ? others * each
                             : (1.0 - focus->share) * upload;
    double carries = (upload * UPLOAD_SHARE - best_effort) / (each * frames_s);
    int32_t busy = count_looking(session) + session->attention->overlay.forwarded_count;
    return (int32_t)floor(carries) - busy;
}

bool fl__overlay_delivers(const FlSession *session, int32_t slot)
{
    const Source *sources = session->attention->overlay.sources;
    const Source *source = sources != NULL ? &sources[slot] : NULL;
    return source != NULL && source->via != FL__NONE && source->delivers;
}

uint8_t fl__overlay_forwarded_value(const FlSession *session, int32_t slot)
{
    const Overlay *o = &session->attention->overlay;
    double most = 0.0;
    for (int32_t i = 0; i < o->forwarded_count; i++) {
        if (o->forwarded[i].slot == slot) {
            int32_t connection = o->forwarded[i].connection;
            most = fmax(most, fl__ledger_attention_of(fl__ledger(session), slot, connection));
        }
    }
    return (uint8_t)(most * 255.0 + 0.5);
}

// ---------------------------------------------------------------- making

enum { TABLES = 5 };

// A crowd has an overlay of its own.
bool fl__overlay_has_sources(const FlSessionDef *def)
{
    return def->topology != FL_TOPOLOGY_CROWD;
}

static void list_tables(Overlay *o, const FlSession *session, Fl__Table tables[TABLES])
{
    size_t connections = (size_t)session->connection_count;
    size_t entities =
        fl__overlay_has_sources(&session->def) ? (size_t)session->def.entity_capacity : 0;
    Fl__Table all[TABLES] = {
        {(void **)&o->sources, entities * sizeof(Source)},
        {(void **)&o->due.words, (size_t)session->entity_words * sizeof(uint64_t)},
        {(void **)&o->sent_on, (size_t)o->pairs * sizeof(SentOn)},
        {(void **)&o->forwarded, (size_t)o->pairs * sizeof(Forwarded)},
        {(void **)&o->helpers, connections * sizeof(Helper)},
    };
    memcpy(tables, all, sizeof all);
}

FlResult fl__overlay_create(FlSession *session)
{
    Overlay *o = &session->attention->overlay;
    o->pairs = PAIRS_PER_CONNECTION * session->connection_count;
    Fl__Table tables[TABLES];
    list_tables(o, session, tables);
    if (!fl__tables_reserve(&session->def.alloc, tables, TABLES)) {
        return FL_NO_MEMORY;
    }
    Source none = {.via = FL__NONE, .tell = FL__NONE, .sent = UNSENT, .avoid = FL__NONE};
    for (int32_t i = 0; o->sources != NULL && i < session->def.entity_capacity; i++) {
        o->sources[i] = none;
    }
    for (int32_t i = 0; i < session->connection_count; i++) {
        o->helpers[i].tell_due = FL_FOREVER;
    }
    return FL_OK;
}

void fl__overlay_destroy(FlSession *session)
{
    Fl__Table tables[TABLES];
    list_tables(&session->attention->overlay, session, tables);
    fl__tables_release(&session->def.alloc, tables, TABLES);
}

size_t fl__attention_connection_bytes(void)
{
    return PAIRS_PER_CONNECTION * (sizeof(SentOn) + sizeof(Forwarded)) + sizeof(Helper);
}
