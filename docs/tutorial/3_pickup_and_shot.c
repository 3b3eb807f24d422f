// Step 3: a pick-up and a shot. The host owns a medkit and a health for every player's tank
// (state); guests call for it ("I take it", decided once) and shoot (an event that everybody sees).
// Usage as in step 2; a guest takes the medkit, shoots the host once and leaves.
#include <fairlead/fairlead.h>
#include <stdio.h>
#include <string.h>

enum { KIND_TANK, KIND_MEDKIT };
enum { CALL_TAKE = FL_CALL_OWN };
enum { EVENT_SHOT = 1 };

static FlEntityId find(FlSession *session, uint8_t kind)
{
    FlEntityId id = {0};
    FlEntityStatus status;
    while (fl_entity_next(session, &id)) {
        if (fl_entity_status(session, id, &status) == FL_OK && status.kind == kind &&
            !status.ours) {
            break;
        }
    }
    return id;
}

// The owner decides each call once, whatever gets lost: the first who asks has the medkit.
static void decide_calls(FlSession *session, FlTime now, bool *taken)
{
    FlCall call;
    while (fl_call_take(session, &call) == FL_OK) {
        bool applies = call.kind == CALL_TAKE && !*taken;
        *taken = *taken || applies;
        (void)fl_call_answer(session, now, &call, applies, "taken", 5); // its new state goes along
    }
}

static void take_events(FlSession *session)
{
    FlEvent event;
    while (fl_event_take(session, &event) == FL_OK) {
        if (event.type == EVENT_SHOT) {
            printf("player %d shoots: %.*s\n", event.number, event.count,
                   (const char *)event.bytes);
        }
    }
}

// A guest: asks for the medkit once, shoots once. True when both are done.
static bool play_guest(FlSession *session, FlTime now, int *step)
{
    FlEntityId medkit = find(session, KIND_MEDKIT);
    FlCallDef take = {.kind = CALL_TAKE};
    FlCallDone done;
    uint32_t serial;
    if (*step == 0 && medkit.index1 != 0 &&
        fl_call_send(session, now, medkit, &take, &serial) == FL_OK) {
        *step = 1;
    }
    if (*step == 1 && fl_call_take_done(session, now, &done) == FL_OK) {
        puts(done.verdict == FL_CALL_APPLIED ? "we have the medkit" : "another was faster");
        FlEvent shot = {.type = EVENT_SHOT, .bytes = (const uint8_t *)"bang", .count = 4};
        FlPeerId everybody = {0};
        *step = fl_event_send(session, everybody, &shot) == FL_OK ? 2 : 1;
    }
    return *step == 2;
}

int main(int argc, char **argv)
{
    bool guest = argc > 1 && strncmp(argv[1], "fairlead:", 9) == 0;
    FlSessionDef def = fl_session_def_default();
    FlError error;
    def.address = argc > 1 && !guest ? argv[1] : NULL;
    FlSession *session =
        guest ? fl_session_join(&def, argv[1], &error) : fl_session_host(&def, &error);
    if (session == NULL) {
        return puts(error.text), 1;
    }
    for (int32_t i = 0; !guest && i < 2; i++) { // for two guests
        char invite[FL_INVITE_TEXT];
        if (fl_session_invite(session, argc > 2 ? argv[2] : NULL, invite) == FL_OK) {
            puts(invite);
        }
    }
    FlEntityDef kind = fl_entity_def_default();
    kind.kind = guest ? KIND_TANK : KIND_MEDKIT;
    FlEntityId own = fl_entity_create(session, &kind);
    FlState state = {.position = {5.0, 5.0, 0.0}};
    FlTime done_at = FL_FOREVER, now = 0;
    int step = 0;
    bool taken = false;
    while (fl_session_running(session) && (done_at == FL_FOREVER || now < done_at + FL_SEC(1))) {
        now = fl_session_pump(session, FL_MS(16));
        state.time = now;
        fl_entity_set(session, own, &state);
        decide_calls(session, now, &taken);
        take_events(session);
        if (guest && done_at == FL_FOREVER && play_guest(session, now, &step)) {
            done_at = now; // a second more, so that the shot surely arrives
        }
    }
    fl_session_close(session);
    return 0;
}
