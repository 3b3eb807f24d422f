// Step 4: a dedicated server. It owns no tank; it prints an invite per player, says who comes and
// goes, answers "!who" in the chat, kicks whoever swears, and keeps running. Usage: 4_server LISTEN
// [REACHED_AT]; guests are those of step 2, or `4_server INVITE TEXT...`, who chats and leaves.
#include <fairlead/fairlead.h>
#include <stdio.h>
#include <string.h>

enum { EVENT_CHAT = 2 };

static void say(FlSession *session, FlPeerId to, const char *text)
{
    FlEvent chat = {.type = EVENT_CHAT, .bytes = (const uint8_t *)text};
    chat.count = (int32_t)strlen(text);
    (void)fl_event_send(session, to, &chat); // full: that peer misses a line of chat
}

static void announce(FlSession *session)
{
    FlNotice notice;
    FlPeerStatus who;
    while (fl_notice_take(session, &notice) == FL_OK) {
        if (notice.kind == FL_NOTICE_PEER_JOINED &&
            fl_peer_status(session, notice.peer, &who) == FL_OK) {
            printf("%s came\n", who.name[0] != '\0' ? who.name : "a player");
        } else if (notice.kind == FL_NOTICE_PEER_LEFT) {
            printf("a player left: %s\n", fl_left_text(notice.left));
        }
    }
}

static void answer_chat(FlSession *session, FlTime now)
{
    FlEvent event;
    while (fl_event_take(session, &event) == FL_OK) {
        char text[64];
        snprintf(text, sizeof text, "%.*s", event.count < 60 ? event.count : 60,
                 (const char *)event.bytes);
        if (event.type == EVENT_CHAT && strcmp(text, "!who") == 0) {
            snprintf(text, sizeof text, "%d players", fl_peer_count(session));
            say(session, event.from, text);
        } else if (event.type == EVENT_CHAT && strstr(text, "darn") != NULL) {
            (void)fl_peer_kick(session, now, event.from, "No swearing here.");
        }
    }
}

static int serve(FlSession *session, const char *reached_at)
{
    char invite[FL_INVITE_TEXT];
    for (int32_t i = 0; i < 4; i++) {
        if (fl_session_invite(session, reached_at, invite) == FL_OK) {
            puts(invite);
        }
    }
    while (fl_session_running(session)) {
        FlTime now = fl_session_pump(session, FL_MS(16)); // relays at once, whatever our tick
        announce(session);
        answer_chat(session, now);
    }
    return 0;
}

static int chat(FlSession *session, char **lines, int count)
{
    FlPeerId everybody = {0};
    FlTime now = fl_session_pump(session, 0), end = FL_FOREVER;
    while (fl_session_running(session) && now < end) {
        now = fl_session_pump(session, FL_MS(16));
        FlEvent event;
        while (fl_event_take(session, &event) == FL_OK) {
            printf("%.*s\n", event.count, (const char *)event.bytes);
        }
        if (end == FL_FOREVER && fl_session_state(session) == FL_SESSION_RUNNING) {
            for (int i = 0; i < count; i++) {
                say(session, everybody, lines[i]);
            }
            end = now + FL_SEC(2);
        }
    }
    puts(fl_session_end_text(session));
    return 0;
}

int main(int argc, char **argv)
{
    bool guest = argc > 1 && strncmp(argv[1], "fairlead:", 9) == 0;
    FlSessionDef def = fl_session_def_default();
    FlError error;
    def.address = argc > 1 && !guest ? argv[1] : NULL;
    def.name = guest ? "Ada" : "server";
    FlSession *session =
        guest ? fl_session_join(&def, argv[1], &error) : fl_session_host(&def, &error);
    if (session == NULL) {
        return puts(error.text), 1;
    }
    int status =
        guest ? chat(session, argv + 2, argc - 2) : serve(session, argc > 2 ? argv[2] : NULL);
    fl_session_close(session);
    return status;
}
