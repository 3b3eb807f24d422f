// A session is put together here: its core, what games say to each other, and the table of
// features.
#include "core/core.h"
#include "play/play.h"

/// What packets carry between members, in the order in which it is written and in which features
/// advance. A new kind of data is one file, and one row here.
static const Feature *const FEATURES[] = {
    &fl__feature_crowd,      // how members are connected, where there are many
    &fl__feature_member,     // who is here, and the host's first words
    &fl__feature_succession, // who leads when the host is gone
    &fl__feature_mesh,       // introductions
    &fl__feature_clock,      // by what clock to read arrivals
    &fl__feature_attention,  &fl__feature_near,   &fl__feature_event, &fl__feature_action,
    &fl__feature_orphan,     &fl__feature_agreed, &fl__feature_call,  &fl__feature_input,
    &fl__feature_motion,     &fl__feature_state,  &fl__feature_news,  &fl__feature_report,
};

FlResult fl_session_create(const FlSessionDef *def, FlTime now, FlSession **out)
{
    *out = NULL;
    FlSession *session;
    FlResult result = fl__core_create(def, now, &session);
    if (result != FL_OK) {
        return result;
    }
    result = fl__play_create(session, now);
    if (result != FL_OK) {
        fl_session_destroy(session);
        return result;
    }
    for (size_t i = 0; i < sizeof FEATURES / sizeof FEATURES[0]; i++) {
        fl__feature_add(session, FEATURES[i], session);
    }
    *out = session;
    return FL_OK;
}

void fl_session_destroy(FlSession *session)
{
    if (session != NULL) {
        fl__core_hang_up(session); // features are told, so they must still be there
        fl__play_destroy(session);
        fl__core_destroy(session);
    }
}

FlSessionMemory fl_session_memory(const FlSessionDef *def)
{
    FlSessionMemory memory = fl__core_memory(def);
    memory.line += fl__play_line_bytes(def);
    memory.all += fl__play_bytes(def, fl__core_lines(def));
    return memory;
}
