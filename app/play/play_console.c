// Standard input is read without waiting for it: the loop looks every frame.
#define _POSIX_C_SOURCE 200809L // poll
#include "app/play/play_console.h"

#include "fairlead/net.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_BYTES FL_NAME_BYTES

// ---------------------------------------------------------------- lines

static bool is_readable(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 0) == 1 && (input.revents & (POLLIN | POLLHUP)) != 0;
}

int32_t play_console_take(PlayConsole *console, char line[PLAY_CONSOLE_BYTES])
{
    while (!console->closed && is_readable()) {
        char byte;
        if (read(STDIN_FILENO, &byte, 1) != 1) {
            console->closed = true;
            return 0;
        }
        if (byte == '\n') {
            int32_t count = console->count;
            memcpy(line, console->line, (size_t)count);
            line[count] = '\0';
            console->count = 0;
            if (count > 0) {
                return count;
            }
        } else if (console->count < PLAY_CONSOLE_BYTES - 1) {
            console->line[console->count++] = byte;
        }
    }
    return 0;
}

// ---------------------------------------------------------------- players

// What a player calls itself, or its number.
static void name_of(const FlPeerStatus *status, char name[NAME_BYTES])
{
    if (status->name[0] != '\0') {
        snprintf(name, NAME_BYTES, "%s", status->name);
    } else {
        snprintf(name, NAME_BYTES, "%d", status->number);
    }
}

// By its number, or by its name: players call themselves what they like, so a name counts only if
// one player has it and it is no player's number. Returns how many are meant.
static int32_t find_player(const FlSession *session, const char *wanted, FlPeerId *peer,
                           FlPeerStatus *status)
{
    int32_t count = 0;
    FlPeerStatus one;
    for (FlPeerId id = {0}; fl_peer_next(session, &id);) {
        char number[16];
        if (fl_peer_status(session, id, &one) != FL_OK) {
            continue;
        }
        snprintf(number, sizeof number, "%d", one.number);
        bool numbered = strcmp(number, wanted) == 0;
        if (numbered || strcmp(one.name, wanted) == 0) {
            *peer = id;
            *status = one;
            count++;
        }
        if (numbered) {
            return 1;
        }
    }
    return count;
}

static void list(const FlSession *session, char *answer, size_t size)
{
    int used = snprintf(answer, size, "%d there", fl_peer_count(session));
    FlPeerId peer = {0};
    while (used < (int)size - 64 && fl_peer_next(session, &peer)) {
        FlPeerStatus status;
        char name[NAME_BYTES];
        char address[FL_ADDRESS_TEXT_BYTES] = "";
        if (fl_peer_status(session, peer, &status) == FL_OK) {
            name_of(&status, name);
            if (status.address.family != FL_FAMILY_NONE) {
                fl_address_format(status.address, address);
            }
            used += snprintf(answer + used, size - (size_t)used, "\n%4d  %-20s %s", status.number,
                             name, address);
        }
    }
}

static bool is_loopback(FlAddress address)
{
    return address.family == FL_FAMILY_IPV4 && address.ip[0] == 127;
}

// By its own invite if it had one of its own; else by client id, and by address where that is not
// everybody's.
static FlResult ban(const PlayConsole *console, FlSession *session, const FlPeerStatus *status,
                    const char *seconds, FlTime now)
{
    FlBan made = {.client_id = status->client_id, .until = FL_FOREVER};
    if (console->own_invites) {
        made.invite_id = status->invite_id;
    } else if (!is_loopback(status->address)) {
        made.address = status->address;
    }
    double span = seconds != NULL ? strtod(seconds, NULL) : 0.0;
    if (span > 0.0) {
        made.until = now + fl_span_from_seconds(span);
        snprintf(made.text, sizeof made.text, "You are banned for %.0f s.", span);
    } else {
        snprintf(made.text, sizeof made.text, "You are banned.");
    }
    return fl_session_ban(session, now, &made);
}

void play_console_obey(const PlayConsole *console, FlSession *session, const char *line, FlTime now,
                       char *answer, size_t size)
{
    char words[PLAY_CONSOLE_BYTES];
    snprintf(words, sizeof words, "%s", line);
    char *rest = NULL;
    const char *verb = strtok_r(words, " ", &rest);
    const char *name = strtok_r(NULL, " ", &rest);
    FlPeerId peer;
    FlPeerStatus status;
    int32_t found;
    bool kicks = verb != NULL && strcmp(verb, "kick") == 0;
    bool bans = verb != NULL && strcmp(verb, "ban") == 0;
    if (verb != NULL && strcmp(verb, "list") == 0) {
        list(session, answer, size);
    } else if (!(kicks || bans) || name == NULL) {
        snprintf(answer, size, "list, kick NAME [TEXT], ban NAME [SECONDS]");
    } else if ((found = find_player(session, name, &peer, &status)) != 1) {
        snprintf(answer, size,
                 found == 0 ? "no player here is called %s: list says who is"
                            : "more than one is called %s: say which, by the number in list",
                 name);
    } else {
        const char *text = rest != NULL ? rest : "";
        FlResult result = bans ? ban(console, session, &status, strtok_r(NULL, " ", &rest), now)
                               : fl_peer_kick(session, now, peer, text);
        snprintf(answer, size, "%s: %s", name,
                 result == FL_OK ? "sent away" : fl_result_text(result));
    }
}
