// A process of the arena demo: its players, one round after the other.
#include <string.h>

#include "app/demo/demo_arena_peer.h"

#define ROUND_APART FL_MS(2) // with many players a wake-up serves several of them

enum {
    MOST = (ARENA_DEMO_PLAYERS_MAX - 1 + ARENA_DEMO_PROCESSES - 2) / (ARENA_DEMO_PROCESSES - 1)
};

typedef struct Company {
    const ArenaSetup *setup;
    const DemoActor *actor;
    ArenaOrder order;
    ArenaPeer peers[MOST];
    int32_t count;
    FlTime due[MOST];
    bool ready[MOST];
    int64_t look;     // that comes next
    ArenaDoors doors; // as they were last
} Company;

/// Process 0 has the player on the screen, the others take turns.
static void gather(Company *company)
{
    int32_t number = company->actor->number;
    int32_t step = number == 0 ? ARENA_DEMO_PLAYERS_MAX : ARENA_DEMO_PROCESSES - 1;
    for (int32_t i = number; i < company->setup->player_count; i += step) {
        company->peers[company->count++].index = i;
    }
    if (number == 0) {
        ArenaPeer *lobby = &company->peers[company->count++];
        lobby->index = ARENA_DEMO_PLAYERS_MAX;
        lobby->lobby = true;
    }
}

/// False: it is time to leave.
static bool obey(Company *company, FlTime now)
{
    ArenaOrder order;
    DemoNews news = demo_actor_poll(company->actor, &order, sizeof order);
    if (news != DEMO_NEWS_ORDER) {
        return news == DEMO_NEWS_NONE;
    }
    bool other = order.games != company->order.games;
    company->order = order;
    for (int32_t i = 0; i < company->count; i++) {
        if (other) {
            arena_peer_leave(&company->peers[i], now);
        } else {
            arena_peer_way(&company->peers[i], &order, now);
        }
        company->due[i] = now;
    }
    if (other && company->actor->number == 0) {
        memset(&company->setup->board->screen, 0, sizeof company->setup->board->screen);
    }
    return true;
}

static void note_row(Company *company, int32_t row, FlTime at, bool own)
{
    DemoLooks *looks = &company->setup->board->looks;
    DemoRow *r = demo_look_begin(looks, row, company->look);
    memset(r->thing, 0, sizeof r->thing);
    for (int32_t p = 0; p < company->count; p++) {
        const ArenaPeer *peer = &company->peers[p];
        if (peer->lobby) {
            continue;
        }
        for (int32_t i = 0; peer->plays && i < company->setup->player_count; i++) {
            if (!own || i == arena_peer_place(peer)) {
                r->thing[i] = arena_peer_thing(peer, i, at);
            }
        }
        const ArenaState *view = &peer->node.view;
        for (int32_t m = 0; !own && peer->plays && m < view->missile_count; m++) {
            FlVec3 place = arena_missile_position(view, &view->missile[m]);
            if (r->shot_count < DEMO_SHOTS_MAX) {
                r->shot[r->shot_count][0] = (float)place.x;
                r->shot[r->shot_count++][1] = (float)place.y;
            }
        }
    }
    demo_look_done(r, company->look);
}

static void note(Company *company, FlTime now)
{
    const DemoLooks *looks = &company->setup->board->looks;
    for (; demo_look_time(looks, company->look) <= now; company->look++) {
        FlTime at = demo_look_time(looks, company->look);
        note_row(company, ARENA_ROW_TRUE + company->actor->number, at, true);
        if (company->actor->number == 0) {
            note_row(company, ARENA_ROW_SEEN, at, false);
        }
    }
}

static void rest(Company *company, FlTime began)
{
    FlNet *nets[MOST] = {NULL};
    int32_t open[MOST] = {0};
    bool ready[MOST] = {false};
    int32_t count = 0;
    FlTime next = demo_look_time(&company->setup->board->looks, company->look);
    for (int32_t i = 0; i < company->count; i++) {
        company->ready[i] = false;
        next = company->due[i] < next ? company->due[i] : next;
        if (company->peers[i].open) {
            open[count] = i;
            nets[count++] = company->peers[i].far.net;
        }
    }
    if (play_tape_replays(company->actor->tape)) {
        count = 0;
    } else {
        if (company->actor->number > 0) {
            (void)fl_net_wait(NULL, 0, began + ROUND_APART, NULL);
        }
        (void)fl_net_wait(nets, count, next, ready);
    }
    for (int32_t i = 0; i < count; i++) {
        company->ready[open[i]] = ready[i];
    }
    play_tape_ready(company->actor->tape, company->ready, company->count);
}

int demo_arena_play(const ArenaSetup *setup, const DemoActor *actor)
{
    static Company company; // one to a process, and large
    company.setup = setup;
    company.actor = actor;
    company.order = setup->first;
    gather(&company);
    FlTime now = demo_actor_now(actor);
    while (obey(&company, now)) {
        ArenaDoors doors = {atomic_load(&setup->board->door), atomic_load(&setup->board->lobby)};
        demo_actor_board(actor, &doors, &company.doors, (int32_t)sizeof doors);
        for (int32_t i = 0; i < company.count; i++) {
            ArenaPeer *peer = &company.peers[i];
            arena_peer_join(peer, setup, actor, &company.order, &doors, now);
            if (company.ready[i] || company.due[i] <= now) {
                company.due[i] = arena_peer_step(peer, setup, &company.order, now);
            }
        }
        note(&company, now);
        rest(&company, now);
        now = demo_actor_now(actor);
    }
    for (int32_t i = 0; i < company.count; i++) {
        arena_peer_leave(&company.peers[i], now);
    }
    return 0;
}
