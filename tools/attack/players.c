// Honest players: each says something 20 times a second and waits for the answer.
#define _GNU_SOURCE
#include "attack.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

uint64_t message_check(const Message *message)
{
    FlRandom random = {.seed = (uint64_t)message->player << 32 | message->number};
    return fl_random_next(&random) ^ (uint64_t)message->sent_at;
}

// ---------------------------------------------------------------- at the server

void server_heard(Shared *shared, Report *report, const void *bytes, int32_t count)
{
    Message message;
    if (count != (int32_t)sizeof message) {
        report->altered++;
        return;
    }
    memcpy(&message, bytes, sizeof message);
    if (message.check != message_check(&message) || message.player >= PLAYERS ||
        message.number >= sizeof shared->heard[0]) {
        report->altered++;
        return;
    }
    report->payloads++;
    report->twice += shared->heard[message.player][message.number];
    shared->heard[message.player][message.number] = 1;
}

void server_capture(Shared *shared, const void *bytes, int32_t count, uint16_t port)
{
    int32_t at = atomic_load(&shared->capture_count);
    if (!atomic_load(&shared->capture) || at >= CAPTURES) {
        return;
    }
    Capture *capture = &shared->captures[at];
    memcpy(capture->bytes, bytes, (size_t)count);
    capture->count = count;
    capture->port = port;
    atomic_store(&shared->capture_count, at + 1);
}

// ---------------------------------------------------------------- players

void message_back(Players *players, Player *player, const void *bytes, int32_t count)
{
    Message message;
    if (count != (int32_t)sizeof message) {
        return;
    }
    memcpy(&message, bytes, sizeof message);
    if (message.check != message_check(&message) || message.player != (uint32_t)player->index) {
        return;
    }
    player->back++;
    player->back_at = fl_net_now();
    if (players->timing && players->rtt_count < SAMPLES) {
        players->rtt[players->rtt_count++] = fl_net_now() - message.sent_at;
    }
}

static void say_if_due(Player *player, const Subject *subject, FlTime now)
{
    if (!player->connected || now < player->send_at) {
        return;
    }
    Message message = {.player = (uint32_t)player->index, .number = ++player->sent, .sent_at = now};
    message.check = message_check(&message);
    subject->say(player, &message);
    // Apart, so that not all are due at once.
    FlTime every = FL_SEC(1) / SEND_HZ;
    player->send_at = player->send_at == 0 ? now + every * (player->index + 1) / PLAYERS
                                           : player->send_at + every;
}

void players_run(Players *players, const Subject *subject, FlTime until)
{
    FlTime now;
    while ((now = fl_net_now()) < until) {
        struct pollfd fds[PLAYERS];
        for (int32_t i = 0; i < players->count; i++) {
            Player *player = &players->player[i];
            subject->step(player, players);
            if (player->connected && player->connected_at == 0) {
                player->connected_at = now;
            }
            if (players->timing && !players->quiet) {
                say_if_due(player, subject, fl_net_now());
            }
            fds[i] = (struct pollfd){.fd = subject->descriptor(player), .events = POLLIN};
        }
        (void)poll(fds, (nfds_t)players->count, 1);
    }
}

int32_t players_connected(const Players *players)
{
    int32_t count = 0;
    for (int32_t i = 0; i < players->count; i++) {
        count += players->player[i].connected;
    }
    return count;
}

void players_open(Players *players, const Subject *subject, Shared *shared, int32_t count)
{
    for (int32_t i = players->count; i < count; i++) {
        Player *player = &players->player[i];
        player->index = i;
        player->opened_at = fl_net_now();
        if (!subject->open(player, shared)) {
            fprintf(stderr, "attack: a player of %s does not start\n", subject->name);
            exit(1);
        }
    }
    players->count = count;
}

void players_close(Players *players, const Subject *subject)
{
    for (int32_t i = 0; i < players->count; i++) {
        subject->close(&players->player[i]);
    }
}
