// 06_find_your_desync: a game that is not quite the same when it is played again, and how to find
// where. difficulty: **
//
// Peers that step the same game from the same inputs stay together only if a step depends on
// nothing but state and inputs. One forgotten variable, and they part minutes later, on somebody
// else's machine. So let a timeline stress your game while you write it: in every call it goes back
// some ticks, plays them again with the same inputs and compares hashes. What differs is named by
// the tick in which it happened first. Nobody else and no network is needed.
//
// The game: two players collect coins. From tick 200 on coins roll, and their speed comes from a
// variable that the author forgot to put into the state.
#include <fairlead/fairlead.h>
#include <stdio.h>
#include <stdlib.h>

enum { PLAYERS = 2, COINS = 4, TICKS = 400, ROLL_FROM = 200 };

/// All that is saved and loaded: plain bytes, and none of them without a meaning.
typedef struct State {
    int32_t at[PLAYERS]; // on a line of 1000
    int32_t coin[COINS]; // likewise
    int32_t score[PLAYERS];
} State;

typedef struct Game {
    int32_t roll;  // how fast coins are: it changes with every tick, and is not in the state
    bool repaired; // the author has found it: the speed follows from the tick
} Game;

static void step(void *ctx, void *bytes, int64_t tick, const FlTimelineInputs *inputs)
{
    Game *game = (Game *)ctx;
    State *state = (State *)bytes;
    for (int32_t p = 0; p < PLAYERS; p++) {
        int32_t move = inputs->of[p] != NULL ? (int8_t)inputs->of[p][0] : 0;
        state->at[p] = (state->at[p] + move + 1000) % 1000;
    }
    game->roll = game->repaired ? (int32_t)(tick % 7) : (game->roll + 1) % 7;
    for (int32_t c = 0; c < COINS; c++) {
        if (tick >= ROLL_FROM) {
            state->coin[c] = (state->coin[c] + game->roll) % 1000;
        }
        for (int32_t p = 0; p < PLAYERS; p++) {
            if (abs(state->coin[c] - state->at[p]) < 5) {
                state->score[p]++;
                state->coin[c] = (state->coin[c] * 7 + 311) % 1000;
            }
        }
    }
}

static void must(FlResult result, const char *what)
{
    if (result != FL_OK) {
        fprintf(stderr, "%s: %s\n", what, fl_result_text(result));
        exit(1);
    }
}

/// Plays under stress; says which tick is not the same again, or FL_TIMELINE_NEVER.
static int64_t play(Game *game)
{
    FlTimelineDef def = fl_timeline_def_default();
    def.player_capacity = PLAYERS;
    def.input_bytes = 1;
    def.state_bytes = sizeof(State);
    def.game.step_fn = step;
    def.game.ctx = game;
    def.stress_ticks = 8; // all it takes; 0 when you ship
    FlTimeline *timeline;
    must(fl_timeline_create(&def, &timeline), "timeline");
    State start = {.at = {100, 900}, .coin = {200, 400, 600, 800}};
    fl_timeline_begin(timeline, 0, &start);
    for (int32_t p = 0; p < PLAYERS; p++) {
        must(fl_timeline_enter(timeline, p, 0), "player");
    }
    for (int64_t tick = 0; tick < TICKS; tick++) {
        for (int32_t p = 0; p < PLAYERS; p++) {
            int8_t move = (int8_t)(p == 0 ? 3 : -2);
            must(fl_timeline_input(timeline, p, tick, &move), "input");
        }
        fl_timeline_advance(timeline, tick + 1);
    }
    int64_t end;
    const State *state = (const State *)fl_timeline_settled(timeline, &end);
    FlTimelineFigures figures = fl_timeline_figures(timeline);
    printf("%lld ticks, %d : %d coins; ", (long long)end, (int)state->score[0],
           (int)state->score[1]);
    if (figures.unstable > 0) {
        printf("played again, tick %lld comes out otherwise\n", (long long)figures.unstable_at);
    } else {
        printf("played again, everything is the same\n");
    }
    fl_timeline_destroy(timeline);
    return figures.unstable_at;
}

int main(void)
{
    Game game = {0};
    printf("as written: ");
    int64_t found = play(&game);
    Game better = {.repaired = true};
    printf("repaired:   ");
    int64_t left = play(&better);
    bool right = found == ROLL_FROM && left == FL_TIMELINE_NEVER;
    printf("%s\n", right ? "Coins begin to roll in tick 200: look at what they depend on."
                         : "That is not where the fault is.");
    return right ? 0 : 1;
}
