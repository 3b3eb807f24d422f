// Timelines: whatever the order and the delay in which inputs come, the settled states are those of
// a game that had all of them at once; what is shown is what is known; nothing is allocated.
#include "support.h"

#include "fairlead/timeline.h"

#include "agree/timeline.h"

// ---------------------------------------------------------------- a game

enum { PLAYERS = 5, BYTES = 3, TICKS = 400 };

/// Every input changes everything that follows.
typedef struct State {
    uint64_t sum;
    uint64_t tick;
    uint64_t seen[PLAYERS];
} State;

/// One peer: a timeline, and what became of it.
typedef struct Peer {
    FlTimeline *timeline;
    State own;            // of a game that keeps its state itself
    int64_t settled_next; // the state that must be settled next
    uint64_t settled[TICKS + 1];
    int32_t hidden; // a state outside the state, for games with a fault
    int64_t fault_at;
    int32_t steps;
} Peer;

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static void play(State *state, int64_t tick, const FlTimelineInputs *inputs)
{
    assert_int_equal((int64_t)state->tick, tick);
    for (int32_t p = 0; p < PLAYERS; p++) {
        uint32_t word = 0xffffff;
        if (inputs->of[p] != NULL) {
            memcpy(&word, inputs->of[p], BYTES);
            state->seen[p]++;
        }
        state->sum = mix(state->sum, word);
    }
    state->tick++;
}

static void step(void *ctx, void *state, int64_t tick, const FlTimelineInputs *inputs)
{
    Peer *peer = (Peer *)ctx;
    State *s = state != NULL ? (State *)state : &peer->own;
    assert_true(fl__timeline_playing(peer->timeline));
    play(s, tick, inputs);
    peer->steps++;
    peer->hidden++;
    if (tick >= peer->fault_at) {
        s->sum += (uint64_t)peer->hidden;
    }
}

static void save(void *ctx, void *bytes)
{
    memcpy(bytes, &((Peer *)ctx)->own, sizeof(State));
}

static void load(void *ctx, const void *bytes)
{
    memcpy(&((Peer *)ctx)->own, bytes, sizeof(State));
}

static void settled(void *ctx, int64_t tick, const void *bytes)
{
    Peer *peer = (Peer *)ctx;
    State state;
    memcpy(&state, bytes, sizeof state);
    assert_int_equal(tick, peer->settled_next);
    assert_int_equal((int64_t)state.tick, tick);
    peer->settled[tick] = state.sum;
    peer->settled_next++;
}

static FlTimelineDef def_of(Peer *peer)
{
    FlTimelineDef def = fl_timeline_def_default();
    def.player_capacity = PLAYERS;
    def.state_bytes = sizeof(State);
    def.input_bytes = BYTES;
    def.history_ticks = 64;
    def.game.step_fn = step;
    def.game.settled_fn = settled;
    def.game.ctx = peer;
    return def;
}

static void open_peer(Peer *peer, const FlTimelineDef *def)
{
    State start = {.sum = 7};
    assert_int_equal(fl_timeline_create(def, &peer->timeline), FL_OK);
    fl_timeline_begin(peer->timeline, 0, &start);
    peer->settled_next = 1;
    peer->fault_at = INT64_MAX;
}

static void input_of(uint64_t seed, int32_t player, int64_t tick, uint8_t bytes[BYTES])
{
    // Now and then another one: guesses are right at times.
    uint64_t word = fl_random_at(seed, (uint64_t)player, (uint64_t)(tick / (1 + player)));
    bytes[0] = (uint8_t)word;
    bytes[1] = (uint8_t)(word >> 8);
    bytes[2] = (uint8_t)player;
}

/// Who plays when; the same everywhere.
typedef struct Cast {
    int64_t from[PLAYERS], until[PLAYERS];
} Cast;

static Cast everybody(void)
{
    Cast cast;
    for (int32_t p = 0; p < PLAYERS; p++) {
        cast.from[p] = 0;
        cast.until[p] = INT64_MAX;
    }
    return cast;
}

/// The truth: all inputs at once.
static void truth_of(uint64_t seed, const Cast *cast, uint64_t sums[TICKS + 1])
{
    State state = {.sum = 7};
    for (int64_t tick = 0; tick < TICKS; tick++) {
        sums[tick] = state.sum;
        uint8_t bytes[PLAYERS][BYTES];
        FlTimelineInputs inputs = {{NULL}};
        for (int32_t p = 0; p < PLAYERS; p++) {
            input_of(seed, p, tick, bytes[p]);
            inputs.of[p] = tick >= cast->from[p] && tick < cast->until[p] ? bytes[p] : NULL;
        }
        play(&state, tick, &inputs);
    }
    sums[TICKS] = state.sum;
}

// ---------------------------------------------------------------- inputs on their way

/// Who hears whose input how late, in ticks; the word of who comes and goes too.
typedef struct Way {
    uint64_t seed;
    int32_t most;
    bool in_order;
    int64_t given[PLAYERS]; // in order: the next one
} Way;

static int64_t delay_of(const Way *way, int32_t player, int64_t tick)
{
    if (player == 0) {
        return 0; // our own
    }
    uint64_t draw = fl_random_at(way->seed, 100 + (uint64_t)player, (uint64_t)tick);
    return (int64_t)(draw % (uint64_t)way->most);
}

static void give(Peer *peer, uint64_t seed, int32_t player, int64_t tick)
{
    uint8_t bytes[BYTES];
    input_of(seed, player, tick, bytes);
    FlResult result = fl_timeline_input(peer->timeline, player, tick, bytes);
    assert_int_equal(result, FL_OK);
}

// What comes in the frame after `now` ticks were begun.
static void arrive(Peer *peer, Way *way, uint64_t seed, const Cast *cast, int64_t now)
{
    for (int32_t p = 0; p < PLAYERS; p++) {
        int64_t end = cast->until[p] < TICKS ? cast->until[p] : TICKS;
        if (way->in_order) {
            while (way->given[p] < end && way->given[p] < now &&
                   way->given[p] + delay_of(way, p, way->given[p]) < now) {
                int64_t tick = way->given[p]++;
                if (tick >= cast->from[p]) {
                    give(peer, seed, p, tick);
                }
            }
            continue;
        }
        for (int64_t back = way->most; back > 0; back--) {
            int64_t tick = now - back;
            if (tick >= cast->from[p] && tick < end && tick + delay_of(way, p, tick) == now - 1) {
                give(peer, seed, p, tick);
            }
        }
    }
}

static void run(Peer *peer, Way *way, uint64_t seed, const Cast *cast)
{
    for (int64_t now = 1; now <= TICKS + way->most + 40; now++) {
        arrive(peer, way, seed, cast, now);
        fl_timeline_advance(peer->timeline, now < TICKS ? now : TICKS);
    }
}

// ---------------------------------------------------------------- tests

static void settled_states_are_those_of_one_who_knew_everything(void **unused)
{
    (void)unused;
    uint64_t truth[TICKS + 1];
    Cast cast = everybody();
    uint64_t rollbacks = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        Peer *peer = (Peer *)calloc(1, sizeof *peer);
        FlRandom random = {.seed = seed, .stream = 3};
        FlTimelineDef def = def_of(peer);
        def.save_every = 1 << fl_random_below(&random, 4);
        def.budget_ticks = (int32_t)fl_random_below(&random, 30) + 3;
        def.lag_ticks = (int32_t)fl_random_below(&random, 12);
        if (fl_random_below(&random, 2) == 0) {
            def.game.save_fn = save;
            def.game.load_fn = load;
        }
        Way way = {.seed = seed};
        way.most = (int32_t)fl_random_below(&random, 25) + 1;
        way.in_order = fl_random_below(&random, 2) == 0;
        open_peer(peer, &def);
        for (int32_t p = 0; p < PLAYERS; p++) {
            assert_int_equal(fl_timeline_enter(peer->timeline, p, 0), FL_OK);
        }
        run(peer, &way, seed, &cast);
        truth_of(seed, &cast, truth);
        int64_t tick;
        assert_non_null(fl_timeline_settled(peer->timeline, &tick));
        assert_int_equal(tick, TICKS - def.lag_ticks);
        for (int64_t i = 1; i <= tick; i++) {
            assert_true(peer->settled[i] == truth[i]);
        }
        State shown;
        memcpy(&shown, fl_timeline_present(peer->timeline, &tick), sizeof shown);
        assert_int_equal(tick, TICKS);
        assert_true(shown.sum == truth[TICKS]);
        FlTimelineFigures figures = fl_timeline_figures(peer->timeline);
        assert_int_equal(figures.played, TICKS);
        assert_int_equal(figures.inputs, TICKS * PLAYERS);
        assert_int_equal(figures.dropped + figures.conflicts + figures.stalls, 0);
        assert_true(way.most > 1 || figures.rollbacks == 0);
        rollbacks += figures.rollbacks;
        fl_timeline_destroy(peer->timeline);
        free(peer);
    }
    print_message("             %llu rollbacks\n", (unsigned long long)rollbacks);
    assert_true(rollbacks > 1000);
}

// What is shown is played from everything known, and the last known input again where nothing is.
static void the_present_is_what_is_known_and_the_same_again(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        Peer *peer = (Peer *)calloc(1, sizeof *peer);
        FlTimelineDef def = def_of(peer);
        def.save_every = 1 << seed % 3;
        Way way = {.seed = seed, .most = 12, .in_order = true};
        Cast cast = everybody();
        open_peer(peer, &def);
        for (int32_t p = 0; p < PLAYERS; p++) {
            assert_int_equal(fl_timeline_enter(peer->timeline, p, 0), FL_OK);
        }
        for (int64_t now = 1; now < 200; now++) {
            arrive(peer, &way, seed, &cast, now);
            fl_timeline_advance(peer->timeline, now);
            State state = {.sum = 7};
            for (int64_t tick = 0; tick < now; tick++) {
                FlTimelineInputs inputs = {{NULL}};
                uint8_t bytes[PLAYERS][BYTES] = {{0}};
                for (int32_t p = 0; p < PLAYERS; p++) {
                    int64_t known = way.given[p] - 1 < tick ? way.given[p] - 1 : tick;
                    if (known >= 0) {
                        input_of(seed, p, known, bytes[p]);
                    }
                    inputs.of[p] = bytes[p];
                }
                play(&state, tick, &inputs);
            }
            int64_t tick;
            State shown;
            memcpy(&shown, fl_timeline_present(peer->timeline, &tick), sizeof shown);
            assert_int_equal(tick, now);
            assert_true(shown.sum == state.sum);
        }
        fl_timeline_destroy(peer->timeline);
        free(peer);
    }
}

// Players come and go at ticks that some peers hear of late.
static void who_comes_and_goes_at_the_same_ticks_is_the_same_everywhere(void **unused)
{
    (void)unused;
    uint64_t truth[TICKS + 1];
    for (uint64_t seed = 1; seed <= 100; seed++) {
        Peer *peer = (Peer *)calloc(1, sizeof *peer);
        FlRandom random = {.seed = seed, .stream = 4};
        FlTimelineDef def = def_of(peer);
        def.save_every = 1 << seed % 3;
        Cast cast = everybody();
        cast.from[3] = 50 + (int64_t)fl_random_below(&random, 20);
        cast.until[4] = 100 + (int64_t)fl_random_below(&random, 20);
        cast.from[2] = 30;
        cast.until[2] = 60;
        Way way = {.seed = seed, .most = 10};
        open_peer(peer, &def);
        int64_t word = (int64_t)fl_random_below(&random, 9); // how late it is told
        for (int32_t p = 0; p < PLAYERS; p++) {
            if (cast.from[p] == 0) {
                assert_int_equal(fl_timeline_enter(peer->timeline, p, 0), FL_OK);
            }
        }
        for (int64_t now = 1; now <= TICKS + 40; now++) {
            for (int32_t p = 1; p < PLAYERS; p++) {
                if (now == cast.from[p] - 2) { // who comes is told of before its first input
                    assert_int_equal(fl_timeline_enter(peer->timeline, p, cast.from[p]), FL_OK);
                }
                if (now - word == cast.until[p]) { // without its input nothing is settled
                    assert_int_equal(fl_timeline_leave(peer->timeline, p, cast.until[p]), FL_OK);
                }
            }
            arrive(peer, &way, seed, &cast, now);
            fl_timeline_advance(peer->timeline, now < TICKS ? now : TICKS);
        }
        truth_of(seed, &cast, truth);
        assert_int_equal(peer->settled_next, TICKS + 1);
        for (int64_t i = 1; i <= TICKS; i++) {
            assert_true(peer->settled[i] == truth[i]);
        }
        assert_int_equal(fl_timeline_leave(peer->timeline, 1, 20), FL_OUT_OF_ORDER);
        assert_int_equal(fl_timeline_enter(peer->timeline, 4, 20), FL_OUT_OF_ORDER);
        fl_timeline_destroy(peer->timeline);
        free(peer);
    }
}

// Somebody else gets the number of one who has left before that is settled.
static void a_number_that_is_given_again_has_the_new_ones_inputs_only(void **unused)
{
    (void)unused;
    Peer *peer = (Peer *)calloc(1, sizeof *peer);
    FlTimelineDef def = def_of(peer);
    open_peer(peer, &def);
    FlTimeline *t = peer->timeline;
    assert_int_equal(fl_timeline_enter(t, 0, 0), FL_OK);
    assert_int_equal(fl_timeline_enter(t, 1, 0), FL_OK);
    uint8_t one[BYTES] = {1}, two[BYTES] = {2};
    for (int64_t tick = 0; tick < 12; tick++) { // two of them will not count
        assert_int_equal(fl_timeline_input(t, 1, tick, one), FL_OK);
    }
    fl_timeline_advance(t, 15);
    assert_int_equal(fl_timeline_enter(t, 1, 20), FL_FULL); // the first has not left
    assert_int_equal(fl_timeline_leave(t, 1, 10), FL_OK);
    assert_int_equal(fl_timeline_enter(t, 1, 11), FL_OK);
    for (int64_t tick = 12; tick < 20; tick++) {
        assert_int_equal(fl_timeline_input(t, 1, tick, two), FL_OK);
    }
    assert_int_equal(fl_timeline_input(t, 1, 10, two), FL_NOT_FOUND);
    for (int64_t tick = 0; tick < 20; tick++) {
        assert_int_equal(fl_timeline_input(t, 0, tick, one), FL_OK);
    }
    fl_timeline_advance(t, 20);
    assert_int_equal(peer->settled_next, 12); // the newcomer's first is missing
    assert_int_equal(fl__timeline_known(t, 1), 10);
    assert_int_equal(fl_timeline_input(t, 1, 11, two), FL_OK);
    fl_timeline_advance(t, 20);
    assert_int_equal(peer->settled_next, 21);
    assert_int_equal(fl__timeline_known(t, 1), 19);
    State state = {.sum = 7};
    for (int64_t tick = 0; tick < 20; tick++) {
        FlTimelineInputs inputs = {{one, tick < 10 ? one : tick > 10 ? two : NULL}};
        play(&state, tick, &inputs);
    }
    assert_true(peer->settled[20] == state.sum);
    fl_timeline_destroy(t);
    free(peer);
}

static void a_constant_drops_and_counts_what_comes_too_late(void **unused)
{
    (void)unused;
    uint64_t truth[TICKS + 1];
    Cast cast = everybody();
    truth_of(9, &cast, truth);
    for (int32_t lag = 4; lag <= 16; lag += 4) {
        Peer *peer = (Peer *)calloc(1, sizeof *peer);
        FlTimelineDef def = def_of(peer);
        def.control = FL_CONTROL_CONSTANT;
        def.lag_ticks = lag;
        open_peer(peer, &def);
        for (int32_t p = 0; p < PLAYERS; p++) {
            assert_int_equal(fl_timeline_enter(peer->timeline, p, 0), FL_OK);
        }
        uint64_t too_late = 0;
        Way way = {.seed = 5, .most = 12};
        for (int64_t now = 1; now <= TICKS; now++) {
            for (int32_t p = 0; p < PLAYERS; p++) {
                for (int64_t tick = now > 12 ? now - 12 : 0; tick < now; tick++) {
                    int64_t delay = delay_of(&way, p, tick);
                    if (tick + delay != now - 1) {
                        continue;
                    }
                    uint8_t bytes[BYTES];
                    input_of(9, p, tick, bytes);
                    bool late = delay > lag; // its state was settled in the frame before
                    assert_int_equal(fl_timeline_input(peer->timeline, p, tick, bytes),
                                     late ? FL_OUT_OF_ORDER : FL_OK);
                    too_late += late ? 1 : 0;
                }
            }
            fl_timeline_advance(peer->timeline, now);
            int64_t tick;
            assert_non_null(fl_timeline_settled(peer->timeline, &tick));
            assert_int_equal(tick, now > lag ? now - lag : 0);
        }
        FlTimelineFigures figures = fl_timeline_figures(peer->timeline);
        assert_int_equal(figures.dropped, too_late);
        assert_int_equal(too_late > 0, lag < 11);
        bool same = peer->settled[TICKS - lag] == truth[TICKS - lag];
        assert_int_equal(same, too_late == 0);
        fl_timeline_destroy(peer->timeline);
        free(peer);
    }
}

static void without_control_an_input_counts_when_it_comes(void **unused)
{
    (void)unused;
    Peer *peer = (Peer *)calloc(1, sizeof *peer);
    FlTimelineDef def = def_of(peer);
    def.control = FL_CONTROL_NONE;
    open_peer(peer, &def);
    FlTimeline *t = peer->timeline;
    assert_int_equal(fl_timeline_enter(t, 1, 0), FL_OK);
    fl_timeline_advance(t, 5);
    uint8_t bytes[BYTES] = {3};
    assert_int_equal(fl_timeline_input(t, 1, 2, bytes), FL_OK);
    bytes[0] = 4;
    assert_int_equal(fl_timeline_input(t, 1, 3, bytes), FL_OK); // newer, at the same time
    bytes[0] = 5;
    assert_int_equal(fl_timeline_input(t, 1, 1, bytes), FL_OUT_OF_ORDER);
    fl_timeline_advance(t, 8);
    State state = {.sum = 7};
    uint8_t none[BYTES] = {0}, late[BYTES] = {4};
    for (int64_t tick = 0; tick < 8; tick++) {
        FlTimelineInputs inputs = {{NULL, tick < 5 ? none : late}};
        play(&state, tick, &inputs);
    }
    assert_true(peer->settled[8] == state.sum);
    FlTimelineFigures figures = fl_timeline_figures(t);
    assert_int_equal(figures.rollbacks, 0);
    assert_int_equal(figures.replayed, 0);
    assert_int_equal(figures.late, 2);
    fl_timeline_destroy(t);
    free(peer);
}

static void a_small_budget_shows_the_old_present_and_catches_up(void **unused)
{
    (void)unused;
    Peer *peer = (Peer *)calloc(1, sizeof *peer);
    FlTimelineDef def = def_of(peer);
    def.budget_ticks = 5;
    open_peer(peer, &def);
    FlTimeline *t = peer->timeline;
    assert_int_equal(fl_timeline_enter(t, 0, 0), FL_OK);
    fl_timeline_advance(t, 20);
    int32_t steps = peer->steps;
    State before, after;
    int64_t tick;
    memcpy(&before, fl_timeline_present(t, &tick), sizeof before);
    uint8_t bytes[BYTES] = {9};
    assert_int_equal(fl_timeline_input(t, 0, 0, bytes), FL_OK);
    for (int32_t call = 0; call < 3; call++) {
        fl_timeline_advance(t, 20 + call); // the present moves on, and is not shown
        memcpy(&after, fl_timeline_present(t, &tick), sizeof after);
        assert_int_equal(tick, 20);
        assert_memory_equal(&after, &before, sizeof after);
        assert_int_equal(peer->steps - steps, 5 * (call + 1));
    }
    fl_timeline_advance(t, 24);
    memcpy(&after, fl_timeline_present(t, &tick), sizeof after);
    assert_int_equal(tick, 24);
    assert_true(after.sum != before.sum);
    FlTimelineFigures figures = fl_timeline_figures(t);
    assert_int_equal(figures.held, 3);
    assert_int_equal(figures.rollbacks, 1);
    assert_int_equal(figures.replayed, 20);
    assert_int_equal(figures.deepest, 20);
    fl_timeline_destroy(t);
    free(peer);
}

static void the_present_waits_when_the_history_is_full(void **unused)
{
    (void)unused;
    Peer *peer = (Peer *)calloc(1, sizeof *peer);
    FlTimelineDef def = def_of(peer);
    open_peer(peer, &def);
    FlTimeline *t = peer->timeline;
    assert_int_equal(fl_timeline_enter(t, 0, 0), FL_OK);
    uint8_t bytes[BYTES] = {9};
    int64_t tick;
    fl_timeline_advance(t, 1000);
    assert_non_null(fl_timeline_present(t, &tick));
    assert_int_equal(tick, 63);
    assert_int_equal(fl_timeline_input(t, 0, 64, bytes), FL_FULL);
    for (int64_t i = 0; i < 64; i++) {
        assert_int_equal(fl_timeline_input(t, 0, i, bytes), FL_OK);
    }
    fl_timeline_advance(t, 1000);
    assert_non_null(fl_timeline_settled(t, &tick));
    assert_int_equal(tick, 63);
    assert_int_equal(fl_timeline_figures(t).stalls, 2);
    bytes[0] = 8;
    assert_int_equal(fl_timeline_input(t, 0, 63, bytes), FL_OK);
    assert_int_equal(fl_timeline_figures(t).conflicts, 1);
    assert_int_equal(fl__timeline_input_at(t, 0, 63)[0], 9);
    assert_null(fl__timeline_input_at(t, 0, 64));
    fl_timeline_destroy(t);
    free(peer);
}

static void stress_finds_what_is_neither_state_nor_input(void **unused)
{
    (void)unused;
    for (int32_t kind = 0; kind < 4; kind++) {
        for (int64_t fault = 30; fault <= 130; fault += 50) {
            Peer *peer = (Peer *)calloc(1, sizeof *peer);
            FlTimelineDef def = def_of(peer);
            def.stress_ticks = kind % 2 == 0 ? 1 : 7;
            def.save_every = kind % 2 == 0 ? 1 : 4;
            def.game.save_fn = kind < 2 ? NULL : save;
            def.game.load_fn = kind < 2 ? NULL : load;
            open_peer(peer, &def);
            peer->fault_at = fault <= 80 ? fault : INT64_MAX;
            assert_int_equal(fl_timeline_enter(peer->timeline, 0, 0), FL_OK);
            uint64_t truth[TICKS + 1];
            Cast cast = everybody();
            for (int32_t p = 1; p < PLAYERS; p++) {
                cast.from[p] = INT64_MAX;
            }
            truth_of(2, &cast, truth);
            for (int64_t tick = 0; tick < 200; tick++) {
                give(peer, 2, 0, tick);
                fl_timeline_advance(peer->timeline, tick + 1);
            }
            FlTimelineFigures figures = fl_timeline_figures(peer->timeline);
            assert_true(peer->steps > 390);
            if (fault <= 80) {
                assert_int_equal(figures.unstable_at, fault);
                assert_true(figures.unstable > 0);
            } else {
                assert_int_equal(figures.unstable, 0);
                assert_true(figures.unstable_at == FL_TIMELINE_NEVER);
                assert_true(peer->settled[200] == truth[200]); // it leaves no trace
            }
            assert_int_equal(figures.replayed, 0);
            fl_timeline_destroy(peer->timeline);
            free(peer);
        }
    }
}

static void hashes_name_the_first_tick_that_differs(void **unused)
{
    (void)unused;
    for (int64_t fault = 20; fault < 120; fault += 20) {
        Peer *peers = (Peer *)calloc(2, sizeof *peers);
        for (int32_t i = 0; i < 2; i++) {
            FlTimelineDef def = def_of(&peers[i]);
            open_peer(&peers[i], &def);
            assert_int_equal(fl_timeline_enter(peers[i].timeline, 0, 0), FL_OK);
        }
        peers[1].fault_at = fault;
        for (int64_t tick = 0; tick < 150; tick++) {
            for (int32_t i = 0; i < 2; i++) {
                give(&peers[i], 2, 0, tick);
            }
            fl_timeline_advance(peers[0].timeline, tick + 1);
            fl_timeline_advance(peers[1].timeline, tick + 1);
            uint16_t hash;
            int64_t told = tick - 10; // one hears it after, the other before it is settled there
            if (told >= 0) {
                assert_int_equal(fl__timeline_hash(peers[0].timeline, told, &hash), FL_OK);
                fl__timeline_hash_received(peers[1].timeline, 3, told, hash);
                assert_int_equal(fl__timeline_hash(peers[1].timeline, tick + 1, &hash), FL_OK);
                assert_int_equal(fl__timeline_hash(peers[1].timeline, tick + 2, &hash),
                                 FL_NOT_FOUND);
                if (told < 60) {
                    fl__timeline_hash_received(peers[0].timeline, 4, tick + 3, 0);
                }
            }
        }
        FlTimelineFigures desync = fl_timeline_figures(peers[1].timeline);
        assert_int_equal(desync.desync_at, fault + 1); // the state after the faulty tick
        assert_int_equal(desync.desync_player, 3);
        assert_int_equal(fl_timeline_figures(peers[0].timeline).compared, 60); // each once
        assert_int_equal(fl_timeline_figures(peers[0].timeline).desync_player, 4);
        assert_int_equal(fl_timeline_figures(peers[0].timeline).desync_at, 13);
        fl_timeline_destroy(peers[0].timeline);
        fl_timeline_destroy(peers[1].timeline);
        free(peers);
    }
}

// ---------------------------------------------------------------- memory

typedef struct Memory {
    int64_t bytes;
    int32_t calls, fail_at;
} Memory;

static void *count_alloc(void *ctx, size_t size, size_t align)
{
    Memory *memory = (Memory *)ctx;
    (void)align;
    if (++memory->calls == memory->fail_at) {
        return NULL;
    }
    memory->bytes += (int64_t)size;
    return malloc(size);
}

static void count_free(void *ctx, void *ptr, size_t size)
{
    ((Memory *)ctx)->bytes -= (int64_t)size;
    free(ptr);
}

static void a_definition_names_the_field_that_is_wrong(void **unused)
{
    (void)unused;
    Peer *peer = (Peer *)calloc(1, sizeof *peer);
    FlTimelineDef good = def_of(peer);
    FlTimelineDef def = good;
    FlError error;
    assert_int_equal(fl_timeline_def_problem(&def, &error), FL_OK);
    assert_string_equal(error.text, "");
#define WRONG(words, ...)                                                                          \
    do {                                                                                           \
        def = good;                                                                                \
        __VA_ARGS__;                                                                               \
        assert_int_equal(fl_timeline_def_problem(&def, &error), FL_BAD_VALUE);                     \
        if (strstr(error.text, words) == NULL) {                                                   \
            print_error("not in it: %s\n%s\n", words, error.text);                                 \
            fail();                                                                                \
        }                                                                                          \
        assert_int_equal(fl_timeline_create(&def, &peer->timeline), FL_BAD_VALUE);                 \
    } while (0)
    WRONG("player_capacity is 65: it must be 1 to 64", def.player_capacity = 65);
    WRONG("state_bytes is 0: it must be 1 to", def.state_bytes = 0);
    WRONG("input_bytes is -1", def.input_bytes = -1);
    WRONG("history_ticks is 63: it must be a power of two", def.history_ticks = 63);
    WRONG("history_ticks is 2: it must be 4 to", def.history_ticks = 2);
    WRONG("save_every is 3", def.save_every = 3);
    WRONG("budget_ticks is 0", def.budget_ticks = 0);
    WRONG("control is 99", def.control = (FlControl)99);
    WRONG("lag_ticks is -1", def.lag_ticks = -1);
    WRONG("stress_ticks is above 0", def.stress_ticks = 1; def.control = FL_CONTROL_NONE);
    WRONG("step_fn", def.game.step_fn = NULL);
    WRONG("fl_timeline_def_default()", def.cookie = 0);
#undef WRONG
    free(peer);
}

static void all_memory_is_taken_at_creation_and_each_lack_of_it_survived(void **unused)
{
    (void)unused;
    Peer *peer = (Peer *)calloc(1, sizeof *peer);
    Memory memory = {0};
    FlTimelineDef def = def_of(peer);
    def.alloc = (FlAlloc){count_alloc, count_free, &memory};
    open_peer(peer, &def);
    int32_t calls = memory.calls;
    assert_int_equal(memory.bytes, fl__timeline_memory(&def));
    Way way = {.seed = 3, .most = 12};
    Cast cast = everybody();
    for (int32_t p = 0; p < PLAYERS; p++) {
        assert_int_equal(fl_timeline_enter(peer->timeline, p, 0), FL_OK);
    }
    run(peer, &way, 3, &cast);
    assert_int_equal(memory.calls, calls);
    fl_timeline_destroy(peer->timeline);
    assert_int_equal(memory.bytes, 0);
    for (int32_t n = 1; n <= calls; n++) {
        memory = (Memory){.fail_at = n};
        assert_int_equal(fl_timeline_create(&def, &peer->timeline), FL_NO_MEMORY);
        assert_null(peer->timeline);
        assert_int_equal(memory.bytes, 0);
    }
    def.history_ticks = 63;
    assert_int_equal(fl_timeline_create(&def, &peer->timeline), FL_BAD_VALUE);
    free(peer);
}

// ---------------------------------------------------------------- messages

static bool read_any(int32_t kind, const uint8_t *bytes, int32_t count)
{
    FlReader r;
    FlHashesMessage hashes;
    FlTickRangeMessage range;
    FlEnterMessage enter;
    fl_reader_init(&r, bytes, count);
    return kind == 0   ? fl__hashes_message_read(&r, 100000, &hashes)
           : kind == 1 ? fl__tick_range_message_read(&r, 100000, BYTES, &range)
                       : fl__enter_message_read(&r, 100000, &enter);
}

static void messages_come_back_and_no_other_length_is_taken(void **unused)
{
    (void)unused;
    FlRandom random = {.seed = 11};
    for (int32_t n = 0; n < 300; n++) {
        int32_t kind = n % 3;
        uint8_t bytes[1200], inputs[64 * BYTES];
        FlWriter w;
        FlReader r;
        fl_writer_init(&w, bytes, sizeof bytes);
        int64_t tick = 99000 + (int64_t)fl_random_below(&random, 2000);
        int32_t count = (int32_t)fl_random_below(&random, 64) + 1;
        FlHashesMessage hashes = {.first = tick, .count = count};
        FlTickRangeMessage range = {.player = count - 1, .of = 7, .final = n % 2 == 0};
        FlEnterMessage enter = {.player = count - 1, .of = 200, .tick = tick};
        for (int32_t i = 0; i < count; i++) {
            hashes.hash[i] = (uint16_t)fl_random_next(&random);
        }
        for (int32_t i = 0; i < 64 * BYTES; i++) {
            inputs[i] = (uint8_t)fl_random_next(&random);
        }
        range.newest = tick + count - 1;
        range.first = tick;
        range.count = count;
        range.bytes = inputs;
        if (kind == 0) {
            fl__hashes_message_write(&w, &hashes);
        } else if (kind == 1) {
            fl__tick_range_message_write(&w, BYTES, &range);
        } else {
            fl__enter_message_write(&w, &enter);
        }
        assert_false(w.failed);
        int32_t size = fl_writer_size(&w);
        fl_reader_init(&r, bytes, size);
        if (kind == 0) {
            FlHashesMessage got;
            assert_true(fl__hashes_message_read(&r, 100000, &got));
            assert_memory_equal(&got, &hashes, sizeof got);
        } else if (kind == 1) {
            FlTickRangeMessage got;
            assert_true(fl__tick_range_message_read(&r, 100000, BYTES, &got));
            assert_true(got.player == range.player && got.of == 7 && !got.more &&
                        got.final == range.final && got.newest == range.newest &&
                        got.first == tick && got.count == count);
            assert_memory_equal(got.bytes, inputs, (size_t)count * BYTES);
        } else {
            FlEnterMessage got;
            assert_true(fl__enter_message_read(&r, 100000, &got));
            assert_true(got.player == enter.player && got.of == 200 && got.tick == tick);
        }
        for (int32_t cut = 0; cut < size; cut++) {
            assert_false(read_any(kind, bytes, cut));
        }
        bytes[size] = 0;
        assert_false(read_any(kind, bytes, size + 1));
    }
}

static void count_up(void *ctx, void *state, int64_t tick, const FlTimelineInputs *inputs)
{
    (void)ctx;
    (void)tick;
    (void)inputs;
    (*(uint64_t *)state)++;
}

static void what_never_came_is_not_known_when_its_place_is_used_again(void **state)
{
    (void)state;
    FlTimelineDef def = fl_timeline_def_default();
    def.state_bytes = 8;
    def.input_bytes = 1;
    def.history_ticks = 16;
    def.control = FL_CONTROL_CONSTANT;
    def.lag_ticks = 4;
    def.game.step_fn = count_up;
    FlTimeline *t;
    uint64_t begin = 0;
    uint8_t input = 1;
    assert_int_equal(fl_timeline_create(&def, &t), FL_OK);
    fl_timeline_begin(t, 0, &begin);
    assert_int_equal(fl_timeline_enter(t, 0, 0), FL_OK);
    for (int64_t tick = 0; tick < 3; tick++) {
        assert_int_equal(fl_timeline_input(t, 0, tick, &input), FL_OK);
    }
    fl_timeline_advance(t, 10); // settled up to 6: 3, 4 and 5 are lost
    assert_int_equal(fl__timeline_known(t, 0), 2);
    assert_int_equal(fl_timeline_input(t, 0, 19, &input), FL_OK); // in the place of 3
    assert_int_equal(fl__timeline_known(t, 0), 2);
    assert_int_equal(fl_timeline_input(t, 0, 3, &input), FL_OUT_OF_ORDER);
    assert_int_equal(fl_timeline_figures(t).dropped, 1);
    fl_timeline_destroy(t);
}

static void another_lag_counts_from_the_next_call_on(void **state)
{
    (void)state;
    FlTimelineDef def = fl_timeline_def_default();
    def.state_bytes = 8;
    def.input_bytes = 1;
    def.history_ticks = 16;
    def.control = FL_CONTROL_CONSTANT;
    def.lag_ticks = 4;
    def.game.step_fn = count_up;
    FlTimeline *t;
    uint64_t begin = 0;
    int64_t tick;
    assert_int_equal(fl_timeline_create(&def, &t), FL_OK);
    fl_timeline_begin(t, 0, &begin);
    const struct {
        int32_t lag;
        int64_t present, settled;
    } calls[] = {{4, 10, 6}, {2, 10, 8}, {6, 12, 8}, {6, 15, 9}, {100, 20, 12}, {-1, 20, 20}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        fl_timeline_lag(t, calls[i].lag);
        fl_timeline_advance(t, calls[i].present);
        (void)fl_timeline_settled(t, &tick);
        assert_int_equal(tick, calls[i].settled);
    }
    assert_int_equal(fl__timeline_def(t)->lag_ticks, 4); // as it was made
    fl_timeline_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settled_states_are_those_of_one_who_knew_everything),
        cmocka_unit_test(another_lag_counts_from_the_next_call_on),
        cmocka_unit_test(the_present_is_what_is_known_and_the_same_again),
        cmocka_unit_test(who_comes_and_goes_at_the_same_ticks_is_the_same_everywhere),
        cmocka_unit_test(a_number_that_is_given_again_has_the_new_ones_inputs_only),
        cmocka_unit_test(a_constant_drops_and_counts_what_comes_too_late),
        cmocka_unit_test(without_control_an_input_counts_when_it_comes),
        cmocka_unit_test(a_small_budget_shows_the_old_present_and_catches_up),
        cmocka_unit_test(the_present_waits_when_the_history_is_full),
        cmocka_unit_test(stress_finds_what_is_neither_state_nor_input),
        cmocka_unit_test(hashes_name_the_first_tick_that_differs),
        cmocka_unit_test(a_definition_names_the_field_that_is_wrong),
        cmocka_unit_test(all_memory_is_taken_at_creation_and_each_lack_of_it_survived),
        cmocka_unit_test(messages_come_back_and_no_other_length_is_taken),
        cmocka_unit_test(what_never_came_is_not_known_when_its_place_is_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
