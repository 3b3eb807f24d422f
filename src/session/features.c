// The table of features: what packets carry between members, in the order in which it is written
// and in which features advance. A new kind of data is one file, and one row here.
#include "private.h"

#include <string.h>

static const Feature *const TABLE[] = {
    &fl__feature_crowd,  // how members are connected, where there are many
    &fl__feature_member, // who is here, and the host's first words
    &fl__feature_succession, // who leads when the host is gone
    &fl__feature_mesh,   // introductions
    &fl__feature_clock,  // by what clock to read arrivals
    &fl__feature_attention,
    &fl__feature_near,
    &fl__feature_event,
    &fl__feature_action,
    &fl__feature_orphan,
    &fl__feature_agreed,
    &fl__feature_call,
    &fl__feature_input,
    &fl__feature_motion,
    &fl__feature_state,
    &fl__feature_news,
    &fl__feature_report,
};

static void claim_kinds(uint8_t by_kind[KINDS_AT_MOST], Kinds kinds, int32_t row)
{
    for (int32_t i = 0; i < kinds.count; i++) {
        FL_ASSERT(kinds.first + i < KINDS_AT_MOST && by_kind[kinds.first + i] == 0);
        by_kind[kinds.first + i] = (uint8_t)(row + 1);
    }
}

void fl__feature_add(FlSession *session, const Feature *feature, void *self)
{
    Features *f = &session->features;
    FL_ASSERT(f->count < FEATURES_AT_MOST);
    FL_ASSERT(feature->sections.count == 0 || (feature->skip != NULL && feature->take != NULL));
    FL_ASSERT(feature->messages.count == 0 || feature->message != NULL);
    claim_kinds(f->by_section, feature->sections, f->count);
    claim_kinds(f->by_message, feature->messages, f->count);
    f->row[f->count] = feature;
    f->self[f->count] = self;
    f->count++;
}

uint8_t fl__feature_row(const FlSession *session, const Feature *feature)
{
    const Features *f = &session->features;
    int32_t row = 0;
    while (row < f->count && f->row[row] != feature) {
        row++;
    }
    FL_ASSERT(row < f->count);
    return (uint8_t)row;
}

void fl__features_start(FlSession *session)
{
    for (size_t i = 0; i < sizeof TABLE / sizeof TABLE[0]; i++) {
        fl__feature_add(session, TABLE[i], session);
    }
}
