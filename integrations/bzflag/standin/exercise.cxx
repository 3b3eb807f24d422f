// The adapter without BZFlag: a server and two clients, one of which drives two tanks, in one
// process and in real time. Prints what went wrong; nothing is right.
#include "FairleadMeasure.h"
#include "FairleadTanks.h"
#include "PlayerState.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <string>
#include <vector>

struct Message {
    int player;
    std::string bytes;
};

// Slot 0 is empty, players 1 and 2 are people, 3 is a robot of player 1.
static std::vector<Message> up, down;
static int sender = 0; // the client that is at work
static int problems = 0;

static void expect(bool good, const char *what)
{
    if (!good) {
        printf("%s\n", what);
        problems++;
    }
}

static void sendUp(int, const void *bytes, int count)
{
    up.push_back(Message{sender, std::string((const char *)bytes, (size_t)count)});
    expect(count <= 1020, "a message is too long for BZFlag");
}

static void sendDown(int player, const void *bytes, int count)
{
    down.push_back(Message{player, std::string((const char *)bytes, (size_t)count)});
    expect(count <= 1020, "a message is too long for BZFlag");
}

// Round and round, 20 units a second.
static PlayerState driven(double seconds, double phase)
{
    PlayerState state;
    double angle = 0.5 * seconds + phase;
    state.status = PlayerState::Alive;
    state.pos[0] = (float)(40.0 * sin(angle));
    state.pos[1] = (float)(-40.0 * cos(angle));
    state.velocity[0] = (float)(20.0 * cos(angle));
    state.velocity[1] = (float)(20.0 * sin(angle));
    state.azimuth = (float)angle;
    state.angVel = 0.5f;
    return state;
}

static double off(const FairleadTanks *client, int player, const PlayerState &truth)
{
    float pos[3], azimuth, velocity[3];
    if (!client->pose(player, pos, azimuth, velocity)) {
        return 1e9;
    }
    return hypot((double)(pos[0] - truth.pos[0]), (double)(pos[1] - truth.pos[1]));
}

struct Scene {
    FairleadTanks *server, *client[2];
    double seconds;
    int heard[2]; // news of tanks 1 and 3 at the server
    int noises;   // at client 2
    double worst; // in the second half
    bool late;
    int wreck;     // frames since tank 1 was shot; 0: it lives
    double lowest; // that it came to the server
};

static void deliver(Scene &scene)
{
    std::vector<Message> messages;
    messages.swap(up);
    for (size_t i = 0; i < messages.size(); i++) {
        scene.server->receive(messages[i].player, messages[i].bytes.data(),
                              (int)messages[i].bytes.size());
    }
    messages.clear();
    messages.swap(down);
    for (size_t i = 0; i < messages.size(); i++) {
        int player = messages[i].player;
        if (player >= 1 && player <= 2 && scene.client[player - 1] != NULL) {
            scene.client[player - 1]->receive(0, messages[i].bytes.data(),
                                              (int)messages[i].bytes.size());
        }
    }
}

static void frame(Scene &scene, bool noise)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    scene.seconds = (double)(at.tv_sec % 1000) + 1e-9 * (double)at.tv_nsec;
    FairleadTanks::tick();
    PlayerState truth[2] = {driven(scene.seconds, 0.0), driven(scene.seconds, 2.0)};
    truth[0].sounds = noise ? 1 : 0;
    if (scene.wreck > 0) { // it falls, is gone just above the ground, and its status changes later
        truth[0].status = scene.wreck < 10 ? (int)PlayerState::Exploding : 0;
        truth[0].pos[2] = 2.0f - 0.1f * (float)scene.wreck;
        truth[0].velocity[2] = -20.0f;
        truth[0].phydrv = scene.wreck < 50 ? 0 : 1;
        scene.wreck++;
    }
    PlayerState state;
    int player;
    for (int i = 0; i < 2; i++) {
        sender = i + 1;
        if (scene.client[i] == NULL) {
            continue;
        }
        if (i == 0) {
            scene.client[0]->set(1, truth[0]);
            scene.client[0]->set(3, truth[1]);
        }
        double worst = fmax(off(scene.client[i], 1, truth[0]), off(scene.client[i], 3, truth[1]));
        scene.worst = scene.late ? fmax(scene.worst, worst) : 0.0;
        while (scene.client[i]->take(player, state)) {
            scene.noises += i == 1 && (state.status & PlayerState::PlaySound) != 0;
        }
        scene.client[i]->flush();
    }
    while (scene.server->take(player, state)) {
        expect(player == 1 || player == 3, "news of a tank that nobody drives");
        scene.heard[player == 3]++;
        expect(scene.wreck > 0 || (state.status & PlayerState::Alive) != 0, "a tank arrived dead");
        scene.lowest = fmin(scene.lowest, (double)state.pos[2]);
    }
    scene.server->flush();
    deliver(scene);
    struct timespec span = {0, 5000000};
    nanosleep(&span, NULL);
}

static void play(Scene &scene, int frames, bool noise)
{
    for (int i = 0; i < frames; i++) {
        frame(scene, noise && i == 0);
    }
}

int main()
{
    Scene scene = Scene();
    scene.server = FairleadTanks::open(sendDown, true);
    scene.client[0] = FairleadTanks::open(sendUp, false);
    scene.client[1] = FairleadTanks::open(sendUp, false);
    expect(scene.server && scene.client[0] && scene.client[1], "no session");
    if (problems > 0) {
        return 1;
    }
    expect(!scene.client[0]->drives(1), "a client drives before it is in");
    scene.server->carry(3, 1);
    play(scene, 80, false);
    expect(scene.client[0]->drives(1) && scene.client[0]->drives(3), "its tanks are not its own");
    expect(!scene.client[1]->drives(1) && scene.client[1]->drives(2), "it drives another's tank");
    expect(scene.client[1]->shows(1) && !scene.client[0]->shows(1), "whose tank is shown?");
    expect(scene.server->serves(1, 2) && scene.server->serves(3, 2), "updates go the old way, too");
    expect(!scene.server->serves(1, 4), "a stock client gets no updates");
    expect(scene.heard[0] > 0 && scene.heard[1] > 0, "the server has no news");
    scene.late = true;
    play(scene, 80, true);
    expect(scene.worst < 1.0, "tanks are shown far off");
    expect(scene.noises == 1, "a sound is played once");
    float sent = scene.client[0]->time();
    expect(fabs((double)scene.client[1]->age(sent)) < 0.1, "the clocks differ");
    expect(scene.server->command("policy equal-100", false).find("permission") != std::string::npos,
           "anybody changes the policy");
    expect(scene.server->command("policy nonsense", true).find("no such") != std::string::npos,
           "a policy that is none");
    expect(scene.server->command("policy equal-100", true).find("from now on") != std::string::npos,
           "the policy is not changed");
    expect(scene.server->command("report", false).find("tank 3: 1 receivers") != std::string::npos,
           "no report");
    scene.late = false;
    scene.wreck = 1;
    play(scene, 60, false);
    expect(scene.lowest > -0.5, "a wreck sinks below the ground: bzfs kicks its player for that");
    delete scene.client[0]; // says goodbye
    scene.client[0] = NULL;
    scene.server->left(1);
    play(scene, 40, false);
    expect(!scene.client[1]->shows(1) && !scene.server->serves(3, 2),
           "whoever left is still there");
    expect(!scene.client[1]->ended(), "the other was sent away");
    delete scene.client[1];
    delete scene.server;
    return problems > 0 ? 1 : 0;
}
