// The table of features, and loops over it.
#include "private.h"

static void claim_kinds(uint8_t by_kind[KINDS_AT_MOST], Kinds kinds, int32_t row)
{
    for (int32_t i = 0; i < kinds.count; i++) {
        FL_ASSERT(kinds.first + i < KINDS_AT_MOST && by_kind[kinds.first + i] == 0);
        by_kind[kinds.first + i] = (uint8_t)(row + 1);
    }
}

void fl__feature_add(FlSession *session, const Feature *feature, void *self)
{
    Features *f = &session->packets->features;
    FL_ASSERT(f->count < FEATURES_AT_MOST);
    FL_ASSERT(feature->sections.count == 0 || (feature->skip != NULL && feature->take != NULL));
    FL_ASSERT(feature->messages.count == 0 || feature->message != NULL);
    claim_kinds(f->by_section, feature->sections, f->count);
    claim_kinds(f->by_message, feature->messages, f->count);
    Rows row = (Rows)1 << f->count;
    f->wanting |= feature->want != NULL ? row : 0;
    f->writing |= feature->write != NULL ? row : 0;
    f->looking |= feature->look != NULL ? row : 0;
    f->announcing |= feature->announce != NULL ? row : 0;
    f->limiting |= feature->room != NULL ? row : 0;
    f->changing |= feature->changed != NULL ? row : 0;
    f->row[f->count] = feature;
    f->self[f->count] = self;
    f->count++;
}

uint8_t fl__feature_row(const FlSession *session, const Feature *feature)
{
    const Features *f = &session->packets->features;
    int32_t row = 0;
    while (row < f->count && f->row[row] != feature) {
        row++;
    }
    FL_ASSERT(row < f->count);
    return (uint8_t)row;
}

void fl__changed(FlSession *session, const Change *change)
{
    const Features *f = &session->packets->features;
    for (Rows rows = f->changing; rows != 0;) {
        int32_t i = fl__rows_take(&rows);
        f->row[i]->changed(f->self[i], change);
    }
}

void fl__connection_changed(FlSession *session, ChangeKind kind, int32_t connection, FlTime now)
{
    Change change = {.kind = kind, .connection = connection, .now = now};
    fl__changed(session, &change);
}

void fl__entity_changed(FlSession *session, ChangeKind kind, int32_t slot)
{
    Change change = {.kind = kind, .slot = slot};
    fl__changed(session, &change);
}

void fl__route_changed(FlSession *session, int32_t connection, int32_t member)
{
    Change route = {.kind = CHANGE_ROUTE, .connection = connection, .member = member};
    fl__changed(session, &route);
}

bool fl__features_are_full(const FlSession *session, int32_t connection)
{
    const Features *f = &session->packets->features;
    bool full = false;
    for (Rows rows = f->limiting; rows != 0 && !full;) {
        int32_t i = fl__rows_take(&rows);
        full = !f->row[i]->room(f->self[i], connection);
    }
    return full;
}

bool fl__features_hold(const FlSession *session, int32_t member)
{
    const Features *f = &session->packets->features;
    bool holds = false;
    for (int32_t i = 0; i < f->count && !holds; i++) {
        holds = f->row[i]->holds != NULL && f->row[i]->holds(f->self[i], member);
    }
    return holds;
}

bool fl__features_keep(const FlSession *session, int32_t slot)
{
    const Features *f = &session->packets->features;
    bool keeps = false;
    for (int32_t i = 0; i < f->count && !keeps; i++) {
        keeps = f->row[i]->keeps != NULL && f->row[i]->keeps(f->self[i], slot);
    }
    return keeps;
}

void fl__features_hand_over(FlSession *session, int32_t slot, uint16_t epoch, FlWriter *w)
{
    const Features *f = &session->packets->features;
    for (int32_t i = 0; i < f->count; i++) {
        if (f->row[i]->handover != NULL) {
            f->row[i]->handover(f->self[i], slot, epoch, w);
        }
    }
}

bool fl__announce(FlSession *session, int32_t connection)
{
    const Features *f = &session->packets->features;
    bool all = true;
    for (Rows rows = f->announcing; rows != 0 && all;) {
        int32_t i = fl__rows_take(&rows);
        all = f->row[i]->announce(f->self[i], connection);
    }
    return all;
}

void fl__features_advance(FlSession *session, FlTime now)
{
    const Features *f = &session->packets->features;
    for (int32_t i = 0; i < f->count; i++) {
        if (f->row[i]->advance != NULL) {
            f->row[i]->advance(f->self[i], now);
        }
    }
}

void fl__features_look(FlSession *session, int32_t connection, FlTime now)
{
    const Features *f = &session->packets->features;
    for (Rows rows = f->looking; rows != 0 && fl__connection_used(session, connection);) {
        int32_t i = fl__rows_take(&rows);
        f->row[i]->look(f->self[i], connection, now);
    }
}

FlTime fl__features_deadline(FlSession *session, FlTime now)
{
    const Features *f = &session->packets->features;
    FlTime deadline = FL_FOREVER;
    for (int32_t i = 0; i < f->count; i++) {
        FlTime own =
            f->row[i]->deadline != NULL ? f->row[i]->deadline(f->self[i], now) : FL_FOREVER;
        deadline = fl_time_min(own, deadline);
    }
    return deadline;
}
