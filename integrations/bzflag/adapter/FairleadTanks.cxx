#include "FairleadTanks.h"
#include "PlayerState.h"

#include <fairlead/net.h>
#include <fairlead/session.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

FairleadTanks *fairlead = NULL;

// ---------------------------------------------------------------- what both ends agree on

enum {
    Slots = 256,        // a player's number is a byte
    Members = 63,       // clients of the session; further ones are served as stock clients are
    Server = 0xffff,    // the server's address
    TankKind = 1,       // made by the host only
    PacketBytes = 1000, // BZFlag's messages have at most 1020
    StatusBytes = 7
};

static const double JumpDistance = 12.0; // further off a frame later, a tank was put there

// A tank as BZFlag's own thresholds have it: 0.09 units and 0.05 rad off, or a second old.
static FlEntityDef tankDef(const FlSend &send)
{
    FlEntityDef def = fl_entity_def_default();
    def.trigger.distance = 0.09;
    def.trigger.angle = 0.05;
    def.trigger.silence_ns = FL_SEC(1);
    def.send = send;
    def.kind = TankKind;
    def.survives_owner = true;
    return def;
}

static FlAddress addressOf(int player)
{
    FlAddress address = FlAddress();
    address.family = FL_FAMILY_IPV4; // any but none
    address.port = 1;
    address.ip[0] = (uint8_t)player;
    address.ip[1] = (uint8_t)(player >> 8);
    return address;
}

static int playerOf(const FlAddress &address)
{
    return address.ip[0] | address.ip[1] << 8;
}

static FlVec3 vectorOf(const float v[3])
{
    return fl_vec3(v[0], v[1], v[2]);
}

static void setFloats(float to[3], FlVec3 v)
{
    to[0] = (float)v.x;
    to[1] = (float)v.y;
    to[2] = (float)v.z;
}

static bool samePeer(FlPeerId a, FlPeerId b)
{
    return a.index1 == b.index1 && a.generation == b.generation;
}

static bool isSlot(int player)
{
    return player >= 0 && player < Slots;
}

static FlSessionDef sessionDef(bool hosts)
{
    FlSessionDef def = fl_session_def_default();
    def.world.low = fl_vec3(-1000.0, -1000.0, -50.0);
    def.world.high = fl_vec3(1000.0, 1000.0, 450.0);
    def.world.precision = 0.02;
    def.world.top_speed = 100.0;
    def.world.top_acceleration = 40.0;
    def.world.top_turn_rate = 6.0;
    def.world.angle_precision = 0.005;
    def.world.entity_capacity = Slots * (Members + 1); // the host's are the first
    def.peer_capacity = Members;
    def.entity_capacity = Slots;
    def.member_entities = Slots;
    def.timeout_ns = FL_SEC(30); // BZFlag's own connection says sooner who is gone
    def.plain = true;            // BZFlag lets players in, and protects them as far as it does
    def.role = hosts ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    def.host = addressOf(Server);
    def.seed = (uint64_t)fl_net_now() * 2654435761u + (uint64_t)time(NULL);
    def.tuning.link.packet_bytes = PacketBytes;
    def.tuning.link.overhead_bytes = 28 + 4; // UDP's and BZFlag's
    def.tuning.direct_capacity = hosts ? Members : 1;
    def.tuning.path_capacity = 256; // a far receiver's reports are a second old, at 60 updates
    def.tuning.item_capacity = 1024;
    const char *mode = getenv("FAIRLEAD_TIME"); // for measurements
    bool local = mode != NULL && strcmp(mode, "local") == 0;
    def.tuning.time_mode = local ? FL_TIME_LOCAL : FL_TIME_GLOBAL;
    bool glides = getenv("FAIRLEAD_GLIDE") != NULL; // else tanks are where they can be hit
    def.tuning.show.convergence = glides ? FL_CONVERGENCE_SMOOTH : FL_CONVERGENCE_AT_ONCE;
    return def;
}

// ---------------------------------------------------------------- inside

struct Tank {
    FlEntityId id;
    bool heard;        // of its owner, since it has that one
    bool told;         // news of its status waits
    FlTime newest;     // of the update that was taken last
    uint8_t noise;     // how many sounds were taken, and made
    int carrier;       // server: whose session has it; -1: its own player's
    FlSampler sampler; // of a tank of ours
    PlayerState last;  // as it was set last
    bool driving;      // `last` is its state of the frame before
    uint8_t status[StatusBytes];
};

struct FairleadTanks::Inside {
    FlSession *session;
    Send send;
    bool hosts;
    FlSend policy;
    Tank tanks[Slots];
    int tankCount;         // server: so many were made, numbered from 0
    FlPeerId peers[Slots]; // server: the members by player
    int next;              // where take goes on

    void notice(const FlNotice &notice);
    void settle();
    bool news(int player, PlayerState &state);
    std::string report() const;
};

static FlTime now = 0; // of this frame, or of what came last

long long FairleadTanks::tick()
{
    return now = fl_net_now();
}

FlSession *FairleadTanks::session() const
{
    return inside->session;
}

std::string FairleadTanks::version()
{
    return std::to_string(FL_VERSION_WIRE) + ".1"; // .1: our own, of the status bytes
}

FairleadTanks *FairleadTanks::open(Send send, bool hosts)
{
    if (getenv("FAIRLEAD_OFF") != NULL) {
        return NULL;
    }
    Inside *made = new Inside();
    made->send = send;
    made->hosts = hosts;
    made->policy = fl_send_make(FL_SEND_BASE);
    for (int i = 0; i < Slots; i++) {
        made->tanks[i].carrier = -1;
        made->tanks[i].newest = FL_FOREVER;
    }
    FlSessionDef def = sessionDef(hosts);
    FlError error;
    if (fl_session_def_problem(&def, &error) != FL_OK ||
        fl_session_create(&def, tick(), &made->session) != FL_OK) {
        fprintf(stderr, "no Fairlead session: %s\n", error.text);
        delete made;
        return NULL;
    }
    fl_session_host_kind(made->session, TankKind, true);
    return new FairleadTanks(made);
}

FairleadTanks::~FairleadTanks()
{
    fl_session_leave(inside->session, tick());
    flush();
    fl_session_close(inside->session);
    delete inside;
}

// ---------------------------------------------------------------- datagrams

void FairleadTanks::receive(int player, const void *bytes, int count)
{
    int from = inside->hosts ? player : (int)Server;
    fl_session_receive(inside->session, addressOf(from), bytes, count, tick());
}

void FairleadTanks::flush()
{
    FlNotice notice;
    while (fl_notice_take(inside->session, &notice) == FL_OK) {
        inside->notice(notice);
    }
    FlEvent event; // nobody sends any; they must be taken all the same
    while (fl_event_take(inside->session, &event) == FL_OK) {
    }
    if (inside->hosts) {
        inside->settle();
    }
    FlOutgoing out;
    for (FlTime at = tick(); fl_session_next(inside->session, at, &out) == FL_OK;) {
        inside->send(playerOf(out.to), out.bytes, out.count);
    }
}

float FairleadTanks::wait() const
{
    FlTime at = fl_net_now(), due = fl_session_deadline(inside->session, at);
    return due - at < FL_SEC(3) ? fmaxf(0.0f, (float)fl_span_seconds(due - at)) : 3.0f;
}

bool FairleadTanks::ended() const
{
    return !fl_session_running(inside->session);
}

// ---------------------------------------------------------------- whose tank is whose

void FairleadTanks::Inside::notice(const FlNotice &notice)
{
    FlEntityStatus status;
    if (notice.kind == FL_NOTICE_PEER_JOINED && hosts) {
        FlPeerStatus peer;
        if (fl_peer_status(session, notice.peer, &peer) == FL_OK &&
            playerOf(peer.address) < Slots) {
            peers[playerOf(peer.address)] = notice.peer;
        }
    } else if (notice.kind == FL_NOTICE_PEER_LEFT && hosts) {
        for (int i = 0; i < Slots; i++) {
            peers[i] = samePeer(peers[i], notice.peer) ? FlPeerId() : peers[i];
        }
    } else if (notice.entity.index1 != 0 &&
               fl_entity_status(session, notice.entity, &status) == FL_OK &&
               status.number < (uint32_t)Slots) {
        Tank &tank = tanks[status.number];
        tank.id = notice.entity;
        if (notice.kind == FL_NOTICE_ENTITY_STATE) {
            tank.told = true;
        } else { // new, or another's: nothing of its new owner is known yet
            tank.heard = tank.driving = false;
            tank.newest = status.newest;
        }
    }
}

// Server: every tank belongs to its player's session, or to that of whoever carries it; those of
// players without one to the server, which does nothing with them.
void FairleadTanks::Inside::settle()
{
    for (int i = 0; i < Slots; i++) {
        Tank &tank = tanks[i];
        FlPeerId wanted = peers[tank.carrier >= 0 ? tank.carrier : i];
        bool nobody = wanted.index1 == 0;
        if (nobody && tank.id.index1 == 0) {
            continue;
        }
        while (tankCount <= i) { // numbers are slots: none is left out, none is ever removed
            FlEntityDef def = tankDef(policy);
            tanks[tankCount].id = fl_entity_create(session, &def);
            if (tanks[tankCount].id.index1 == 0) {
                return;
            }
            tankCount++;
        }
        FlPeerId owner = nobody ? fl_peer_self(session) : wanted;
        FlEntityStatus status;
        if (fl_entity_status(session, tank.id, &status) == FL_OK &&
            !samePeer(status.owner, owner) &&
            fl_entity_give(session, now, tank.id, owner) == FL_OK) {
            tank.heard = false;
        }
    }
}

void FairleadTanks::carry(int robot, int player)
{
    if (isSlot(robot) && isSlot(player) && robot != player) {
        inside->tanks[robot].carrier = player;
    }
}

void FairleadTanks::left(int player)
{
    Inside &in = *inside;
    if (isSlot(player) && in.peers[player].index1 != 0) {
        (void)(fl_peer_kick(in.session, tick(), in.peers[player], "left the game") == FL_OK);
        in.peers[player] = FlPeerId();
    }
    for (int i = 0; i < Slots; i++) {
        if (i == player || in.tanks[i].carrier == player) {
            in.tanks[i].carrier = -1;
            in.tanks[i].heard = false;
        }
    }
}

bool FairleadTanks::serves(int tank, int player) const
{
    if (!isSlot(tank) || !isSlot(player) || !inside->tanks[tank].heard) {
        return false;
    }
    int carrier = inside->tanks[player].carrier;
    return inside->peers[carrier >= 0 ? carrier : player].index1 != 0;
}

bool FairleadTanks::drives(int player) const
{
    return isSlot(player) && fl_session_state(inside->session) == FL_SESSION_RUNNING &&
           fl_entity_is_ours(inside->session, inside->tanks[player].id);
}

// ---------------------------------------------------------------- tanks of ours

// What is not motion, as bytes. Sounds stay until the next, and are counted: each is played once.
static void statusBytes(const PlayerState &state, const Tank &tank, uint8_t bytes[StatusBytes])
{
    int status = state.status & ~(PlayerState::UserInputs | PlayerState::PlaySound);
    bytes[0] = (uint8_t)status;
    bytes[1] = (uint8_t)(status >> 8);
    bytes[2] = (uint8_t)state.phydrv;
    bytes[3] = (uint8_t)(state.phydrv >> 8);
    bytes[4] = (uint8_t)(int)(127.0f * fminf(fmaxf(state.jumpJetsScale, 0.0f), 1.0f));
    bytes[5] = state.sounds != PlayerState::NoSounds ? state.sounds : tank.status[5];
    bytes[6] = tank.noise;
}

static bool wasPut(const PlayerState &before, const PlayerState &after)
{
    return (~before.status & after.status & PlayerState::Alive) != 0 ||
           fl_vec3_distance(vectorOf(before.pos), vectorOf(after.pos)) > JumpDistance;
}

void FairleadTanks::set(int player, const PlayerState &state)
{
    if (!drives(player)) {
        return;
    }
    Tank &tank = inside->tanks[player];
    if (state.sounds != PlayerState::NoSounds) {
        tank.noise++;
    }
    uint8_t bytes[StatusBytes];
    statusBytes(state, tank, bytes);
    bool there = (state.status & (PlayerState::Alive | PlayerState::Exploding)) != 0;
    if (!tank.driving || memcmp(bytes, tank.status, sizeof bytes) != 0) {
        memcpy(tank.status, bytes, sizeof bytes);
        tank.told = true;
        (void)(fl_entity_state_set(inside->session, tank.id, bytes, sizeof bytes) == FL_OK);
    }
    if (there) {
        if (!tank.driving || wasPut(tank.last, state)) {
            (void)fl_entity_cut(inside->session, tank.id);
            tank.sampler = FlSampler();
        }
        FlState truth = FlState();
        truth.time = now;
        truth.position = vectorOf(state.pos);
        bool paused = (state.status & PlayerState::Paused) != 0;
        truth.velocity = paused ? fl_vec3(0.0, 0.0, 0.0) : vectorOf(state.velocity);
        truth.facing = fl_facing_yaw(state.azimuth, paused ? 0.0 : (double)state.angVel);
        (void)(fl_sampler_add(&tank.sampler, &truth, true) == FL_OK);
        (void)fl_entity_set(inside->session, tank.id, &truth);
    }
    tank.last = state;
    tank.driving = there;
}

// ---------------------------------------------------------------- tanks of others

// An update as of its own time; with a new status alone, the tank as of when that was sent, since
// bzfs kicks whoever is far outside, or below the ground as a wreck that fell until it was gone.
bool FairleadTanks::Inside::news(int player, PlayerState &state)
{
    Tank &tank = tanks[player];
    FlEntityStatus status;
    if (tank.id.index1 == 0 || fl_entity_status(session, tank.id, &status) != FL_OK) {
        return false;
    }
    if (status.ours) { // a client shows its robots as it does others' tanks
        bool told = tank.told && !hosts;
        tank.told = false;
        state = tank.last;
        return told;
    }
    bool update = status.newest != FL_FOREVER && status.newest != tank.newest;
    if (!update && !(tank.told && tank.heard)) {
        return false;
    }
    FlMotion motion;
    const uint8_t *bytes;
    int32_t count;
    if (fl_entity_newest(session, tank.id, &motion) != FL_OK ||
        fl_entity_state_get(session, tank.id, &bytes, &count) != FL_OK || count != StatusBytes) {
        return false; // its status comes any moment
    }
    memcpy(tank.status, bytes, StatusBytes);
    FlTime sent = fl_session_time(session, now) - (status.received_at - status.received);
    FlPose pose = fl_motion_pose(&motion, update || sent < motion.time ? motion.time : sent);
    pose.position.z = fmax(pose.position.z, fmin(motion.position.z, 0.0));
    tank.newest = status.newest;
    bool known = tank.heard;
    tank.heard = true;
    tank.told = false;
    state.status = (short)(bytes[0] | bytes[1] << 8);
    state.phydrv = (int16_t)(bytes[2] | bytes[3] << 8);
    state.jumpJetsScale = (float)bytes[4] / 127.0f;
    bool noise = known && bytes[6] != tank.noise;
    tank.noise = bytes[6];
    state.sounds = noise ? bytes[5] : (uint8_t)PlayerState::NoSounds;
    state.status = (short)(state.status | (noise ? PlayerState::PlaySound : 0));
    setFloats(state.pos, pose.position);
    setFloats(state.velocity, pose.velocity);
    state.azimuth = (float)pose.yaw;
    state.angVel = (float)motion.facing.yaw_rate;
    return true;
}

bool FairleadTanks::take(int &player, PlayerState &state)
{
    for (; inside->next < Slots; inside->next++) {
        if (inside->news(inside->next, state)) {
            player = inside->next++;
            return true;
        }
    }
    inside->next = 0;
    return false;
}

bool FairleadTanks::shows(int player) const
{
    return isSlot(player) && inside->tanks[player].heard &&
           !fl_entity_is_ours(inside->session, inside->tanks[player].id);
}

bool FairleadTanks::pose(int player, float pos[3], float &azimuth, float velocity[3]) const
{
    if (drives(player) && inside->tanks[player].driving) {
        const PlayerState &last = inside->tanks[player].last;
        memcpy(pos, last.pos, sizeof last.pos);
        memcpy(velocity, last.velocity, sizeof last.velocity);
        azimuth = last.azimuth;
        return true;
    }
    FlPose pose;
    if (!shows(player) ||
        !fl_entity_pose_at(inside->session, now, inside->tanks[player].id, &pose)) {
        return false;
    }
    setFloats(pos, pose.position);
    setFloats(velocity, pose.velocity);
    azimuth = (float)pose.yaw;
    return true;
}

// A float has too few bits for more: a shot's time comes round after so many seconds.
static const double Round = 4096.0;

float FairleadTanks::time() const
{
    bool running = fl_session_state(inside->session) == FL_SESSION_RUNNING;
    double time = fl_span_seconds(fl_session_time(inside->session, now));
    return running ? (float)fmod(time, Round) : -1.0f;
}

float FairleadTanks::age(float time_sent) const
{
    double age = fmod((double)time() - (double)time_sent + Round, Round);
    return time() >= 0.0f && age < 2.0 ? (float)age : 0.0f; // a little ahead of us: just fired
}

// ---------------------------------------------------------------- the server's commands

std::string FairleadTanks::Inside::report() const
{
    char text[FL_SEND_TEXT_BYTES], line[128];
    fl_send_text(&policy, text);
    snprintf(line, sizeof line, "%s, %d clients; error of each tank's receivers so far:\n", text,
             (int)fl_peer_count(session));
    std::string all = line;
    for (int i = 0; i < tankCount; i++) {
        FlEntityReport report;
        if (tanks[i].heard && fl_entity_report(session, now, tanks[i].id, &report) == FL_OK) {
            snprintf(line, sizeof line, "tank %d: %d receivers, mean %.2f, sd %.2f (%.1f %%)\n", i,
                     (int)report.receiver_count, report.mean, report.sd,
                     report.mean > 0.0 ? 100.0 * report.sd / report.mean : 0.0);
            all += line;
        }
    }
    return all;
}

std::string FairleadTanks::command(const std::string &line, bool may_change)
{
    if (line.compare(0, 6, "report") == 0) {
        return inside->report();
    }
    if (line.compare(0, 7, "policy ") != 0) {
        return "/fairlead report, or /fairlead policy NAME: base, base/3, schedule1, schedule2, "
               "probabilistic, deterministic, equal-0 to equal-100, focus, focus+equal\n";
    }
    if (!may_change) {
        return "You do not have permission to change the policy\n";
    }
    FlSend send;
    std::string name = line.substr(7);
    if (fl_send_parse(name.c_str(), &send) != FL_OK) {
        return "no such policy: " + name + "\n";
    }
    inside->policy = send; // of tanks to come, and of those that are there
    for (int i = 0; i < inside->tankCount; i++) {
        (void)(fl_entity_policy(inside->session, tick(), inside->tanks[i].id, &send) == FL_OK);
    }
    return "tanks are distributed by " + name + " from now on\n";
}
