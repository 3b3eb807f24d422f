// Opening hosts and guests. Strict about what was typed: one line says what is wrong.
#define _GNU_SOURCE // getifaddrs
#include "app/play_setup.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "app/command.h"
#include "app/options.h"

#define INVITE_USES 1000000
#define INVITE_LIFE_S (24 * 3600)
#define INVITE_PREFIX "fairlead:"
#define SPECTATOR_HZ 20
#define HOST_GATHER FL_MS(5) // what it passes on shares packets
#define PATH_CAPACITY 16     // nobody asks where something was seen long ago

static const char *const topology_words[] = {"star", "mesh", "hybrid"};

bool play_topology_find(const char *word, FlTopology *topology)
{
    for (int32_t i = 0; i < 3; i++) {
        if (strcmp(word, topology_words[i]) == 0) {
            *topology = (FlTopology)i;
            return true;
        }
    }
    return false;
}

const char *play_topology_name(FlTopology topology)
{
    return topology_words[topology];
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

static int resolve(const char *who, const char *text, uint16_t port, FlAddress *out)
{
    char full[300];
    if (strlen(text) > 255) {
        return command_fail(EXIT_BAD_INPUT, who, "that is no address: it is too long");
    }
    complete_address(text, port, full, sizeof full);
    FlResult result = fl_address_resolve(full, FL_FAMILY_NONE, out);
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

static FlSessionDef session_def(const TanksWorld *world, int32_t entity_capacity, double timeout_s)
{
    FlSessionDef def = fl_session_def_default();
    def.world = tanks_wire_world(world, TANKS_CAPACITY);
    def.entity_capacity = entity_capacity;
    def.path_capacity = PATH_CAPACITY;
    def.link.timeout_ns = fl_span_from_seconds(timeout_s);
    def.unix_s = (uint64_t)time(NULL);
    uint8_t key[FL_SEAL_KEY_BYTES]; // a session's seed is new every time
    FlSealRandom random = {0};
    fl_seal_key(&random, key);
    memcpy(&def.seed, key, sizeof def.seed);
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

static int open_socket(const char *who, FlAddress bind, bool host, FlNet **net)
{
    FlNetDef def = fl_net_def_default();
    def.bind = bind;
    def.both_families = true;
    if (!host) { // there may be many in a process, and little comes in at each
        def.buffer_bytes = 1 << 18;
        def.batch = 16;
    }
    FlResult result = fl_net_create(&def, net);
    if (result == FL_ADDRESS_IN_USE) {
        return command_fail(EXIT_BAD_INPUT, who, "port %u: %s", (unsigned)bind.port,
                            fl_result_text(result));
    }
    if (result != FL_OK) {
        return command_fail(EXIT_FAILED, who, "cannot open a socket: %s",
                            result == FL_SYSTEM ? strerror(errno) : fl_result_text(result));
    }
    return OPTIONS_GO_ON;
}

static int make_node(const char *who, PlayNodeDef *def, PlayNode **node)
{
    FlResult result = play_node_create(def, node);
    if (result != FL_OK) {
        return command_fail(EXIT_FAILED, who, "cannot make a session: %s", fl_result_text(result));
    }
    return OPTIONS_GO_ON;
}

static void make_world(TanksWorld *world)
{
    TanksRules rules = tanks_rules_default();
    FlResult result = tanks_world_init(&rules, world);
    FL_ASSERT(result == FL_OK); // the default rules are good
}

// ---------------------------------------------------------------- hosting

static int choose_address(const PlayHostDef *def, uint16_t port, PlayDoor *door)
{
    door->address = ipv4(127, 0, 0, 1, port);
    if (def->address != NULL) {
        return resolve(def->who, def->address, port, &door->address);
    }
    door->lan = find_lan(port);
    return OPTIONS_GO_ON;
}

static FlSealServerDef seal_def(const PlayDoor *door)
{
    FlSealServerDef seal = fl_seal_server_def_default();
    FlSealRandom random = {0};
    fl_seal_key(&random, seal.private_key);
    seal.address[seal.address_count++] = door->address;
    if (door->lan.family != FL_FAMILY_NONE) {
        seal.address[seal.address_count++] = door->lan;
    }
    return seal;
}

static int write_invites(const PlayHostDef *def, FlSession *session, PlayDoor *door)
{
    FlTime now = fl_net_now();
    uint64_t expire_s = (uint64_t)time(NULL) + INVITE_LIFE_S;
    FlResult result =
        fl_session_invite(session, now, door->address, INVITE_USES, expire_s, door->invite);
    if (result == FL_OK && door->lan.family != FL_FAMILY_NONE) {
        result =
            fl_session_invite(session, now, door->lan, INVITE_USES, expire_s, door->lan_invite);
    }
    if (result != FL_OK) {
        return command_fail(EXIT_FAILED, def->who, "cannot write an invite: %s",
                            fl_result_text(result));
    }
    return OPTIONS_GO_ON;
}

static int check_tanks(const PlayHostDef *def)
{
    int32_t share = TANKS_CAPACITY / (def->players + 1);
    share = share < PLAY_OWN_MAX ? share : PLAY_OWN_MAX;
    if (def->tank_count > share) {
        return command_fail(EXIT_BAD_INPUT, def->who,
                            "with --players %d the host has room for %d tanks of its own; let "
                            "others join with `fairlead bots`",
                            def->players, share);
    }
    return OPTIONS_GO_ON;
}

int play_host_open(const PlayHostDef *def, PlayNode **node, PlayDoor *door)
{
    *door = (PlayDoor){0};
    PlayNodeDef made = {.tank_count = def->tank_count, .keys = def->keys, .seed = def->seed};
    TanksWorld world;
    make_world(&world);
    int status = parse_policy(def->who, def->policy, &made.policy);
    status = status == OPTIONS_GO_ON ? check_tanks(def) : status;
    FlAddress bind = ipv4(0, 0, 0, 0, (uint16_t)def->port);
    if (def->address != NULL && strchr(def->address, '[') != NULL) {
        bind = (FlAddress){.port = (uint16_t)def->port, .family = FL_FAMILY_IPV6};
    }
    if (status == OPTIONS_GO_ON) {
        status = open_socket(def->who, bind, true, &made.net);
    }
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    door->bound = fl_net_address(made.net);
    status = choose_address(def, door->bound.port, door);
    if (status != OPTIONS_GO_ON) {
        fl_net_destroy(made.net);
        return status;
    }
    FlSealServerDef seal = seal_def(door);
    made.session = session_def(&world, TANKS_CAPACITY, def->timeout_s);
    made.session.role = FL_ROLE_HOST;
    made.session.topology = def->topology;
    made.session.peer_capacity = def->players;
    made.session.gather_ns = HOST_GATHER;
    made.session.seal_server = def->open ? NULL : &seal;
    made.frame_hz = def->tank_count > 0 ? world.rules.tick_hz : SPECTATOR_HZ;
    status = make_node(def->who, &made, node);
    if (status == OPTIONS_GO_ON && !def->open) {
        status = write_invites(def, (*node)->session, door);
    }
    return status;
}

// ---------------------------------------------------------------- joining

static int read_invite(const PlayGuestDef *def, const FlSessionDef *session, FlSealInvite *invite)
{
    if (fl_seal_invite_parse(def->where, invite) != FL_OK) {
        return command_fail(EXIT_BAD_INPUT, def->who,
                            "that invite is mistyped, cut off, or of another version: copy the "
                            "whole line again");
    }
    FlWorld world;
    if (fl_world_init(&session->world, &world) != FL_OK ||
        world.protocol_id != invite->protocol_id) {
        return command_fail(EXIT_BAD_INPUT, def->who,
                            "that invite is for another game, or another version of this one");
    }
    if (session->unix_s >= invite->expire_s) {
        return command_fail(EXIT_BAD_INPUT, def->who,
                            "that invite's time is over: ask for another");
    }
    return OPTIONS_GO_ON;
}

static int mint_token(const PlayGuestDef *def, const FlSessionDef *session,
                      const FlSealInvite *invite, uint8_t *token)
{
    static const uint8_t nothing[FL_SEAL_USER_BYTES];
    uint8_t key[FL_SEAL_KEY_BYTES];
    FlSealRandom random = {0};
    fl_seal_key(&random, key);
    uint32_t number; // tells holders of one invite apart
    memcpy(&number, key, sizeof number);
    int32_t timeout_s = (int32_t)def->timeout_s + 1;
    FlResult result =
        fl_seal_invite_token(invite, number, session->unix_s, timeout_s, nothing, &random, token);
    if (result != FL_OK) {
        return command_fail(EXIT_FAILED, def->who, "cannot make a token from the invite: %s",
                            fl_result_text(result));
    }
    return OPTIONS_GO_ON;
}

int play_guest_open(const PlayGuestDef *def, PlayNode **node)
{
    PlayNodeDef made = {.tank_count = def->tank_count,
                        .keys = def->keys,
                        .seed = def->seed,
                        .frame_hz = def->tank_count > 0 ? def->frame_hz : SPECTATOR_HZ};
    TanksWorld world;
    make_world(&world);
    made.session = session_def(&world, TANKS_CAPACITY, def->timeout_s);
    made.session.peer_capacity = PLAY_PLAYERS_MAX; // the host may let in fewer
    made.session.line_capacity = def->direct;
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    FlSealInvite invite;
    FlAddress host = ipv4(127, 0, 0, 1, PLAY_PORT);
    int status = parse_policy(def->who, def->policy, &made.policy);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    if (def->where != NULL && strncmp(def->where, INVITE_PREFIX, strlen(INVITE_PREFIX)) == 0) {
        status = read_invite(def, &made.session, &invite);
        if (status == OPTIONS_GO_ON) {
            host = invite.address;
            status = mint_token(def, &made.session, &invite, token);
            made.session.token = token;
        }
    } else if (def->where != NULL) {
        status = resolve(def->who, def->where, PLAY_PORT, &host);
    }
    made.session.host = host;
    FlAddress bind = {.family = host.family};
    if (status == OPTIONS_GO_ON) {
        status = open_socket(def->who, bind, false, &made.net);
    }
    return status == OPTIONS_GO_ON ? make_node(def->who, &made, node) : status;
}
