// 10_host_rules: a host looks at who knocks, admits one, refuses another with a text, gives a crown
// away, and shows a secret to one player only. All in one process, on real sockets. difficulty: **
#include <fairlead/fairlead.h>

#include <stdio.h>
#include <string.h>

#define GUESTS 2
enum { KIND_CROWN = 1, KIND_SECRET = 2 };

typedef struct Table {
    FlSession *host, *guests[GUESTS];
    FlEntityId crown, secret;
} Table;

// Who knocks, by name; whom to let in is the game's business.
static void decide(Table *table, FlTime now, FlPeerId who)
{
    FlPeerStatus status;
    if (fl_peer_status(table->host, who, &status) != FL_OK) {
        return; // it is gone again
    }
    bool allow = strcmp(status.name, "Ada") == 0;
    printf("%s knocks: %s\n", status.name, allow ? "come in" : "not today");
    if (fl_peer_admit(table->host, now, who, allow, "This table is for friends.") != FL_OK) {
        puts("gone before we could say so");
    }
}

static void host_frame(Table *table)
{
    FlTime now = fl_session_pump(table->host, 0);
    FlState here = {.time = now};
    fl_entity_set(table->host, table->secret, &here);
    if (fl_entity_is_ours(table->host, table->crown)) {
        fl_entity_set(table->host, table->crown, &here);
    }
    FlNotice notice;
    while (fl_notice_take(table->host, &notice) == FL_OK) {
        if (notice.kind == FL_NOTICE_PEER_ASKS) {
            decide(table, now, notice.peer);
        } else if (notice.kind == FL_NOTICE_PEER_JOINED) {
            if (fl_entity_give(table->host, now, table->crown, notice.peer) != FL_OK ||
                fl_entity_scope(table->host, now, table->secret, notice.peer, true) != FL_OK) {
                puts("it left again");
            }
        } else if (notice.kind == FL_NOTICE_PEER_LEFT) {
            printf("player %d left: %s\n", notice.number, fl_left_text(notice.left));
        }
    }
}

static void guest_frame(FlSession *guest, int32_t *seen)
{
    FlTime now = fl_session_pump(guest, FL_MS(5));
    for (FlEntityId id = {0}; fl_entity_next(guest, &id);) {
        FlEntityStatus status;
        FlState here = {.time = now, .position = {1, 2, 0}};
        if (fl_entity_status(guest, id, &status) != FL_OK) {
            continue;
        }
        if (status.ours && status.kind == KIND_CROWN) {
            fl_entity_set(guest, id, &here); // ours to move now
        }
        *seen |= status.ours || status.kind == KIND_SECRET ? 1 << status.kind : 0;
    }
}

int main(void)
{
    Table table = {0};
    FlError error;
    FlSessionDef def = fl_session_def_default();
    def.address = "127.0.0.1:0";
    def.approve = true;
    if (fl_session_def_problem(&def, &error) != FL_OK ||
        (table.host = fl_session_host(&def, &error)) == NULL) {
        return puts(error.text), 1;
    }
    printf("Fairlead %d: crowns are made by hosts only\n", fl_version());
    fl_session_host_kind(table.host, KIND_CROWN, true);
    FlEntityDef crown = fl_entity_def_default();
    crown.kind = KIND_CROWN;
    crown.survives_owner = true; // it comes back to us when its owner leaves
    table.crown = fl_entity_create(table.host, &crown);
    FlEntityDef secret = fl_entity_def_default();
    secret.kind = KIND_SECRET;
    secret.private_scope = true;
    table.secret = fl_entity_create(table.host, &secret);
    static const char *const names[GUESTS] = {"Ada", "Bob"};
    for (int32_t i = 0; i < GUESTS; i++) {
        char invite[FL_INVITE_TEXT];
        FlSessionDef guest = fl_session_def_default();
        guest.name = names[i];
        if (fl_session_invite(table.host, NULL, invite) != FL_OK ||
            (table.guests[i] = fl_session_join(&guest, invite, &error)) == NULL) {
            return puts(error.text), 1;
        }
    }
    int32_t seen[GUESTS] = {0};
    const int32_t both = 1 << KIND_CROWN | 1 << KIND_SECRET;
    for (int32_t i = 0; i < 2000 && (seen[0] != both || fl_session_running(table.guests[1])); i++) {
        host_frame(&table);
        guest_frame(table.guests[0], &seen[0]);
        guest_frame(table.guests[1], &seen[1]);
    }
    printf("Ada has the crown and sees the secret: %s\n", seen[0] == both ? "yes" : "no");
    printf("Bob reads: %s\n", fl_session_end_text(table.guests[1]));
    bool good = seen[0] == both && seen[1] == 0 && fl_session_end(table.guests[1]) == FL_END_KICKED;
    for (int32_t i = 0; i < GUESTS; i++) {
        fl_session_close(table.guests[i]);
    }
    fl_session_close(table.host);
    return good ? 0 : 1;
}
