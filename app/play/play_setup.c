// Opening hosts and guests. Strict about what was typed: one line says what is wrong.
#define _GNU_SOURCE // getifaddrs
#include "app/play/play_setup.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "app/cli/command.h"
#include "app/cli/options.h"

#include "fairlead/net.h"
#include "fairlead/session.h"

#define INVITE_USES 1000000
#define INVITE_LIFE_S (24 * 3600)
#define INVITE_PREFIX "fairlead:"
#define SPECTATOR_HZ 20
#define HOST_GATHER FL_MS(5) // what it passes on shares packets
#define PATH_CAPACITY 16     // nobody asks where something was seen long ago

#define ITEMS_EACH 32
#define ITEMS_MOST 16384

static const char *const topology_words[] = {"star", "mesh", "hybrid", "crowd"};

bool play_topology_find(const char *word, FlTopology *topology)
{
    for (int32_t i = 0; i <= FL_TOPOLOGY_CROWD; i++) {
        if (strcmp(word, topology_words[i]) == 0) {
            *topology = (FlTopology)i;
            return true;
        }
    }
    return false;
}

// ---------------------------------------------------------------- addresses

// "host", "host:4000", "[::1]:4000", "::1": with a port, whatever was given.
static void complete_address(const char *text, uint16_t port, char *out, size_t size)
{
    const char *colon = strchr(text, ':');
    const char *bracket = strchr(text, ']');
    bool bare_six = bracket == NULL && colon != NULL && strchr(colon + 1, ':') != NULL;
    bool has_port = bracket != NULL ? bracket[1] == ':' : colon != NULL && !bare_six;
    if (has_port) {
        snprintf(out, size, "%s", text);
    } else {
        snprintf(out, size, bare_six ? "[%s]:%u" : "%s:%u", text, (unsigned)port);
    }
}

static int resolve(const PlayPart *part, const char *text, uint16_t port, FlAddress *out)
{
    const char *who = part->who;
    char full[300];
    if (strlen(text) > 255) {
        return command_fail(EXIT_BAD_INPUT, who, "that is no address: it is too long");
    }
    complete_address(text, port, full, sizeof full);
    *out = (FlAddress){0};
    FlResult result = FL_OK;
    if (!play_tape_replays(part->tape)) {
        result = fl_address_resolve(full, FL_FAMILY_NONE, out);
    }
    result = play_tape_result(part->tape, result);
    *out = play_tape_address(part->tape, *out);
    if (result == FL_BAD_VALUE || (result == FL_OK && out->port == 0)) {
        return command_fail(EXIT_BAD_INPUT, who,
                            "'%s' is neither an invite nor HOST[:PORT], such as 127.0.0.1:%d", text,
                            PLAY_PORT);
    }
    if (result != FL_OK) {
        return command_fail(EXIT_BAD_INPUT, who, "there is no host '%s'", text);
    }
    return OPTIONS_GO_ON;
}

static FlAddress ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d, uint16_t port)
{
    FlAddress address = {.ip = {a, b, c, d}, .port = port, .family = FL_FAMILY_IPV4};
    return address;
}

// This machine's first IPv4 address that others may reach; nowhere if there is none.
static FlAddress find_lan(uint16_t port)
{
    FlAddress found = {0};
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) != 0) {
        return found;
    }
    for (const struct ifaddrs *each = all; each != NULL; each = each->ifa_next) {
        if (each->ifa_addr == NULL || each->ifa_addr->sa_family != AF_INET ||
            (each->ifa_flags & IFF_UP) == 0 || (each->ifa_flags & IFF_LOOPBACK) != 0) {
            continue;
        }
        struct sockaddr_in in;
        memcpy(&in, each->ifa_addr, sizeof in);
        memcpy(found.ip, &in.sin_addr, 4);
        found.port = port;
        found.family = FL_FAMILY_IPV4;
        break;
    }
    freeifaddrs(all);
    return found;
}

// ---------------------------------------------------------------- what both sides need

// A game's world with room for so many players. Its size is part of the protocol, so that guests
// must mean the same: powers of two, of which an invite's protocol tells which.
static FlWorldDef world_for(const PlayGame *game, int32_t players)
{
    FlWorldDef world = game->world();
    while (world.entity_capacity <= players) {
        world.entity_capacity *= 2;
    }
    return world;
}

static FlSessionDef session_def(const PlayPart *part)
{
    FlSessionDef def = fl_session_def_default();
    def.world = world_for(part->game, part->players);
    def.entity_capacity = def.world.entity_capacity;
    def.member_entities = PLAY_OWN_MAX;
    def.tuning.path_capacity = PATH_CAPACITY;
    if (part->game->session != NULL) {
        part->game->session(&def);
    }
    def.timeout_ns = fl_span_from_seconds(part->timeout_s);
    def.unix_s = play_tape_unix_s(part->tape);
    def.random = play_tape_random(part->tape);
    uint8_t key[FL_SEAL_KEY_BYTES]; // a session's seed is new every time
    fl_seal_key(&def.random, key);
    memcpy(&def.seed, key, sizeof def.seed);
    fl_wipe(key, sizeof key);
    return def;
}

static int parse_policy(const char *who, const char *text, FlSend *send)
{
    if (fl_send_parse(text, send) != FL_OK) {
        return command_fail(
            EXIT_BAD_INPUT, who,
            "--policy: there is no policy '%s'; base, base/3, schedule1, schedule2, "
            "probabilistic, deterministic, equal-50 are some",
            text);
    }
    return OPTIONS_GO_ON;
}

// For both families, or for IPv4 alone where there is no IPv6.
static FlResult open_both(FlNetDef *def, uint16_t port, FlFamily reach, FlNet **net)
{
    FlAddress any = {.port = port, .family = FL_FAMILY_IPV6};
    def->bind = any;
    def->both_families = true;
    FlResult result = fl_net_create(def, net);
    if (result == FL_NO_ADDRESS && reach != FL_FAMILY_IPV6) {
        def->bind.family = FL_FAMILY_IPV4;
        result = fl_net_create(def, net);
    }
    return result;
}

// `reach`: whom it must reach; FL_FAMILY_NONE: a host's.
static int open_socket(const PlayPart *part, uint16_t number, FlFamily reach, PlayPort *port)
{
    const char *who = part->who;
    FlNet *net = NULL;
    FlNetDef def = fl_net_def_default();
    if (reach != FL_FAMILY_NONE) { // there may be many in a process, and little comes in at each
        def.buffer_bytes = 1 << 18;
        def.batch = 16;
    }
    FlResult result = play_tape_replays(part->tape) ? FL_OK : open_both(&def, number, reach, &net);
    result = play_tape_result(part->tape, result);
    *port = play_port_make(part->tape, net);
    if (result == FL_ADDRESS_IN_USE) {
        return command_fail(EXIT_BAD_INPUT, who, "port %u: %s", (unsigned)number,
                            fl_result_text(result));
    }
    if (result != FL_OK) {
        return command_fail(EXIT_FAILED, who, "cannot open a socket: %s",
                            result == FL_SYSTEM ? strerror(errno) : fl_result_text(result));
    }
    return OPTIONS_GO_ON;
}

// A node's definition but for its session and socket.
static int begin_node(const PlayPart *part, int32_t frame_hz, PlayNodeDef *def)
{
    *def = (PlayNodeDef){.game = part->game,
                         .kin = part->kin,
                         .own_count = part->own_count,
                         .keys = part->keys,
                         .seed = part->seed,
                         .frame_hz = part->own_count > 0 ? frame_hz : SPECTATOR_HZ};
    const char *usual = part->game->policy != NULL ? part->game->policy : "base";
    return parse_policy(part->who, part->policy != NULL ? part->policy : usual, &def->policy);
}

static int make_node(const char *who, PlayNodeDef *def, PlayNode **node)
{
    FlResult result = play_node_create(def, node);
    if (result != FL_OK) {
        return command_fail(EXIT_FAILED, who, "cannot make a session: %s", fl_result_text(result));
    }
    return OPTIONS_GO_ON;
}

// ---------------------------------------------------------------- hosting

static int choose_address(const PlayHostDef *def, uint16_t port, PlayDoor *door)
{
    door->address = ipv4(127, 0, 0, 1, port);
    if (def->address != NULL) {
        return resolve(&def->part, def->address, port, &door->address);
    }
    PlayTape *tape = def->part.tape;
    door->lan = play_tape_address(tape, find_lan(port));
    return OPTIONS_GO_ON;
}

static FlSealServerDef seal_def(const PlayHostDef *def, const PlayDoor *door, FlSealRandom random)
{
    FlSealServerDef seal = fl_seal_server_def_default();
    seal.lasting_invites = def->keyed;
    seal.invite_capacity += 2 * def->invites;
    if (def->keyed) {
        memcpy(seal.private_key, def->key, sizeof seal.private_key);
        play_tape_secret(def->part.tape, seal.private_key, sizeof seal.private_key);
    } else {
        fl_seal_key(&random, seal.private_key);
    }
    seal.address[seal.address_count++] = door->address;
    if (door->lan.family != FL_FAMILY_NONE) {
        seal.address[seal.address_count++] = door->lan;
    }
    return seal;
}

#define OWN_USES 16 // a player's: it may come back

int play_host_invite(const PlayHostDef *def, PlayNode *node, FlAddress address,
                     char text[FL_SEAL_INVITE_TEXT])
{
    uint64_t expire_s = play_tape_unix_s(def->part.tape) + INVITE_LIFE_S;
    FlResult result = fl_session_invite_at(node->session, play_tape_now(def->part.tape), address,
                                           OWN_USES, expire_s, text);
    return result == FL_OK ? OPTIONS_GO_ON
                           : command_fail(EXIT_FAILED, def->part.who, "cannot write an invite: %s",
                                          fl_result_text(result));
}

static FlResult write_invites_until(FlSession *session, FlTime now, uint64_t expire_s,
                                    PlayDoor *door)
{
    FlResult result =
        fl_session_invite_at(session, now, door->address, INVITE_USES, expire_s, door->invite);
    if (result == FL_OK && door->lan.family != FL_FAMILY_NONE) {
        result =
            fl_session_invite_at(session, now, door->lan, INVITE_USES, expire_s, door->lan_invite);
    }
    return result;
}

// With a kept key, invites end at the end of a day, so that the same ones are written all day;
// those of the day before are written first, for who has one.
static int write_invites(const PlayHostDef *def, FlSession *session, PlayDoor *door)
{
    FlTime now = play_tape_now(def->part.tape);
    uint64_t expire_s = play_tape_unix_s(def->part.tape) + INVITE_LIFE_S;
    FlResult result = FL_OK;
    if (def->keyed) {
        expire_s -= expire_s % INVITE_LIFE_S;
        result = write_invites_until(session, now, expire_s, door);
        expire_s += INVITE_LIFE_S;
    }
    result = result == FL_OK ? write_invites_until(session, now, expire_s, door) : result;
    if (result != FL_OK) {
        return command_fail(EXIT_FAILED, def->part.who, "cannot write an invite: %s",
                            fl_result_text(result));
    }
    return OPTIONS_GO_ON;
}

static int check_room(const PlayHostDef *def, const FlSessionDef *session)
{
    const PlayGame *game = def->part.game;
    int32_t share = session->world.entity_capacity / (def->part.players + 1) - game->host_entities;
    share = share < game->own_max ? share : game->own_max;
    if (def->part.own_count > share) {
        return command_fail(EXIT_BAD_INPUT, def->part.who,
                            "with --players %d the host has room for %d %ss of its own; let "
                            "others join with `fairlead bots`",
                            def->part.players, share, game->thing);
    }
    return OPTIONS_GO_ON;
}

// A socket, and under which address others find it.
static int open_door(const PlayHostDef *def, PlayPort *port, PlayDoor *door)
{
    int status = open_socket(&def->part, (uint16_t)def->port, FL_FAMILY_NONE, port);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    FlAddress nowhere = {0};
    FlAddress bound = port->net != NULL ? fl_net_address(port->net) : nowhere;
    door->bound = play_tape_address(port->tape, bound);
    status = choose_address(def, door->bound.port, door);
    if (status == OPTIONS_GO_ON && door->address.family == FL_FAMILY_IPV6 &&
        door->bound.family == FL_FAMILY_IPV4) {
        status = command_fail(EXIT_BAD_INPUT, def->part.who,
                              "--address %s: this machine has no IPv6", def->address);
    }
    if (status != OPTIONS_GO_ON) {
        fl_net_destroy(port->net);
    }
    return status;
}

// A host may pass on everybody's things over each line, twenty times a second for a second and a
// half until their arrival is known.
static int32_t host_items(int32_t usual, int32_t players)
{
    int32_t items = usual;
    while (items < ITEMS_MOST && items < ITEMS_EACH * players) {
        items *= 2;
    }
    return items;
}

int play_host_open(const PlayHostDef *def, PlayNode **node, PlayDoor *door)
{
    *door = (PlayDoor){0};
    const PlayPart *part = &def->part;
    PlayNodeDef made;
    int status = begin_node(part, part->game->tick_hz, &made);
    made.rules = &def->rules;
    made.session = session_def(part);
    status = status == OPTIONS_GO_ON ? part->game->check(part->who, &def->rules) : status;
    status = status == OPTIONS_GO_ON ? check_room(def, &made.session) : status;
    status = status == OPTIONS_GO_ON ? open_door(def, &made.port, door) : status;
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    FlSealServerDef seal = seal_def(def, door, made.session.random);
    made.session.role = FL_ROLE_HOST;
    made.session.topology = def->topology;
    made.session.peer_capacity = def->part.players;
    made.session.tuning.item_capacity =
        host_items(made.session.tuning.item_capacity, def->part.players);
    made.session.upload_bytes_s = def->upload_bytes_s;
    made.session.tuning.gather_ns = HOST_GATHER;
    made.session.seal_server = def->open ? NULL : &seal;
    status = make_node(part->who, &made, node);
    fl_wipe(&seal, sizeof seal);
    if (status == OPTIONS_GO_ON && !def->open && def->invites == 0) {
        status = write_invites(def, (*node)->session, door);
    }
    return status;
}

// ---------------------------------------------------------------- joining

// The game whose world an invite is for, and for how many players; NULL: none of ours.
static const PlayGame *game_of(const FlSealInvite *invite, int32_t *players)
{
    const PlayGame *game = NULL;
    for (int32_t i = 0; (game = play_game_at(i)) != NULL; i++) {
        for (int32_t most = 1; most <= PLAY_PLAYERS_MAX; most = 2 * most + 1) {
            FlWorldDef def = world_for(game, most);
            FlWorld world;
            if (fl_world_init(&def, &world) == FL_OK && world.protocol_id == invite->protocol_id) {
                *players = most;
                return game;
            }
        }
    }
    return NULL;
}

static int read_invite(const PlayPart *part, const char *text, FlSealInvite *invite)
{
    if (fl_seal_invite_parse(text, invite) != FL_OK) {
        return command_fail(EXIT_BAD_INPUT, part->who,
                            "that invite is mistyped, cut off, or of another version: copy the "
                            "whole line again");
    }
    if (play_tape_unix_s(part->tape) >= invite->expire_s) {
        return command_fail(EXIT_BAD_INPUT, part->who,
                            "that invite's time is over: ask for another");
    }
    return OPTIONS_GO_ON;
}

// Finds out what is played: by the invite if there is one.
static int choose_game(PlayPart *part, const FlSealInvite *invite)
{
    const PlayGame *found = invite != NULL ? game_of(invite, &part->players) : play_game_at(0);
    if (found == NULL) {
        return command_fail(EXIT_BAD_INPUT, part->who,
                            "that invite is for another game, or another version of this one");
    }
    if (invite != NULL && part->game != NULL && part->game->served == found) {
        part->game = found; // who decides is the host's to say
    }
    if (invite != NULL && part->game != NULL && part->game != found) {
        return command_fail(EXIT_BAD_INPUT, part->who, "that invite is for %s, not for %s",
                            found->name, part->game->name);
    }
    part->game = part->game != NULL ? part->game : found;
    return OPTIONS_GO_ON;
}

static int mint_token(const PlayPart *part, const FlSessionDef *session, const FlSealInvite *invite,
                      uint8_t *token)
{
    uint8_t about[FL_SEAL_USER_BYTES] = {0}; // ABOUT (spec/WIRE.md): our name, and nothing more
    if (session->name != NULL) {
        about[0] = (uint8_t)strlen(session->name);
        memcpy(about + 1, session->name, about[0]);
    }
    uint8_t key[FL_SEAL_KEY_BYTES];
    FlSealRandom random = session->random;
    fl_seal_key(&random, key);
    uint32_t number; // tells holders of one invite apart
    memcpy(&number, key, sizeof number);
    int32_t timeout_s = (int32_t)part->timeout_s + 1;
    FlResult result =
        fl_seal_invite_token(invite, number, session->unix_s, timeout_s, about, &random, token);
    if (result != FL_OK) {
        return command_fail(EXIT_FAILED, part->who, "cannot make a token from the invite: %s",
                            fl_result_text(result));
    }
    return OPTIONS_GO_ON;
}

static bool is_invite(const char *where)
{
    return where != NULL && strncmp(where, INVITE_PREFIX, strlen(INVITE_PREFIX)) == 0;
}

int play_guest_open(const PlayGuestDef *def, PlayNode **node)
{
    PlayPart part = def->part;
    bool invited = is_invite(def->where);
    FlSealInvite invite;
    FlAddress host = ipv4(127, 0, 0, 1, PLAY_PORT);
    int status = OPTIONS_GO_ON;
    if (invited) {
        status = read_invite(&part, def->where, &invite);
    } else if (def->where != NULL) {
        status = resolve(&part, def->where, PLAY_PORT, &host);
    }
    PlayNodeDef made = {0};
    status = status == OPTIONS_GO_ON ? choose_game(&part, invited ? &invite : NULL) : status;
    status = status == OPTIONS_GO_ON ? begin_node(&part, def->frame_hz, &made) : status;
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    made.session = session_def(&part);
    made.session.peer_capacity = made.session.world.entity_capacity - 1; // the host says how many
    made.session.tuning.direct_capacity = def->direct;
    made.session.topology = def->crowd ? FL_TOPOLOGY_CROWD : made.session.topology;
    made.session.host = invited ? invite.address : host;
    made.session.name = def->name;
    if (invited) {
        status = mint_token(&part, &made.session, &invite, token);
        made.session.token = token;
    }
    FlFamily reach = made.session.host.family;
    status = status == OPTIONS_GO_ON ? open_socket(&part, 0, reach, &made.port) : status;
    status = status == OPTIONS_GO_ON ? make_node(part.who, &made, node) : status;
    fl_wipe(token, sizeof token);
    fl_wipe(&invite, sizeof invite);
    return status;
}
