// The race itself: its blob, and what the host does with it.
//
// RACE: the blob of the host's entity, PLAY_RACE_BYTES.
//
//   bits  field    valid
//   32    round    1 or more
//   4     phase    0 gathering, 1 running, 2 finished, 3 closed
//   4     course   as in RACING_COURSE_TABLE
//   8     show     as in FL_SHOW_SCHEME_TABLE
//   16    laps     1 … 100
//   8     cars     2 … 16
//   32    races    0: without end
//   64    seed     -
//   40    start    tick
//   16 × 16        the entity of each place plus one; 0: nobody
//
// CAR: the blob of a car, PLAY_CAR_BYTES.
//
//   bits  field      unit   valid
//   32    round      -      -
//   16    half laps  -      32768 is 0
//   40    finish     us     after the start; all ones: not yet
//   12    contacts   -      the last of them stands for more
//   12    borders    -      the same
//
// The host gives places on the grid in the order in which cars appear, and takes them back when
// cars go. It starts when the grid is full, or nobody came for a while; ends the round when
// everybody has finished or had time to; and begins the next one. Who takes over from a host that
// left goes on with the race as it was last told.
#include "app/play/play_racing.h"

#include <string.h>

#define GATHER_S 10 // after the last one came
#define COUNTDOWN_S 3
#define FLAG_S 30    // after the winner
#define SLOW_M_S 5.0 // who is slower is not waited for
#define RESULT_S 4
#define NOT_YET ((UINT64_C(1) << 40) - 1)
#define CONTACTS_MAX 4095

// ---------------------------------------------------------------- blobs

void play_race_write(FlWriter *writer, const PlayRace *race)
{
    fl_writer_put(writer, race->round, 32);
    fl_writer_put(writer, (uint64_t)race->phase, 4);
    fl_writer_put(writer, (uint64_t)race->course, 4);
    fl_writer_put(writer, (uint64_t)race->show, 8);
    fl_writer_put(writer, (uint64_t)race->laps, 16);
    fl_writer_put(writer, (uint64_t)race->cars, 8);
    fl_writer_put(writer, (uint64_t)race->races, 32);
    fl_writer_put(writer, race->seed, 64);
    fl_writer_put(writer, (uint64_t)race->start, 40);
    for (int32_t p = 0; p < PLAY_PLACES; p++) {
        fl_writer_put(writer, (uint32_t)race->number[p] + 1u, 16);
    }
}

bool play_race_read(const uint8_t *bytes, int32_t count, PlayRace *race)
{
    FlReader reader;
    fl_reader_init(&reader, bytes, count);
    race->round = (uint32_t)fl_reader_take(&reader, 32);
    race->phase = (PlayPhase)fl_reader_take(&reader, 4);
    race->course = (RacingCourse)fl_reader_take(&reader, 4);
    race->show = (FlShowScheme)fl_reader_take(&reader, 8);
    race->laps = (int32_t)fl_reader_take(&reader, 16);
    race->cars = (int32_t)fl_reader_take(&reader, 8);
    uint64_t races = fl_reader_take(&reader, 32);
    race->races = (int32_t)races;
    race->seed = fl_reader_take(&reader, 64);
    race->start = (int64_t)fl_reader_take(&reader, 40);
    for (int32_t p = 0; p < PLAY_PLACES; p++) {
        race->number[p] = (int32_t)fl_reader_take(&reader, 16) - 1;
    }
    bool good = count == PLAY_RACE_BYTES && !reader.failed && race->round > 0 &&
                race->phase < PLAY_PHASES && race->course < RACING_COURSE_COUNT &&
                race->show < FL_SHOW_SCHEME_COUNT && race->laps >= 1 && race->laps <= 100 &&
                race->cars >= 2 && race->cars <= PLAY_PLACES && races <= INT32_MAX;
    if (!good) {
        memset(race, 0, sizeof *race);
    }
    return good;
}

static uint64_t at_most(int32_t value, int32_t most)
{
    return (uint64_t)(value < most ? value : most);
}

void play_car_write(FlWriter *writer, const PlayCarStatus *status)
{
    uint64_t finish = status->finish_ns < 0 ? NOT_YET : (uint64_t)(status->finish_ns / 1000);
    fl_writer_put(writer, status->round, 32);
    fl_writer_put(writer, (uint64_t)(status->half_laps + 32768) & 0xffff, 16);
    fl_writer_put(writer, finish, 40);
    fl_writer_put(writer, at_most(status->contacts, CONTACTS_MAX), 12);
    fl_writer_put(writer, at_most(status->borders, CONTACTS_MAX), 12);
}

bool play_car_read(const uint8_t *bytes, int32_t count, PlayCarStatus *status)
{
    FlReader reader;
    fl_reader_init(&reader, bytes, count);
    status->round = (uint32_t)fl_reader_take(&reader, 32);
    status->half_laps = (int32_t)fl_reader_take(&reader, 16) - 32768;
    uint64_t finish = fl_reader_take(&reader, 40);
    status->finish_ns = finish == NOT_YET ? -1 : (FlTime)finish * 1000;
    status->contacts = (int32_t)fl_reader_take(&reader, 12);
    status->borders = (int32_t)fl_reader_take(&reader, 12);
    bool good = count == PLAY_CAR_BYTES && !reader.failed;
    if (!good) {
        memset(status, 0, sizeof *status);
    }
    return good;
}

// ---------------------------------------------------------------- everybody

// The course and the grid of a round. False: out of memory, and the old ones stay.
static bool make_game(PlayRacing *match, const PlayRace *race)
{
    RacingDef def = racing_def_default();
    def.course = race->course;
    def.car_count = race->cars;
    def.lap_count = race->laps;
    def.time_limit = 0;
    def.start_speed_m_s = 0.0; // cars stand on the grid until it starts
    def.seed = race->seed + race->round;
    RacingGame *game;
    if (racing_create(&def, &game) != FL_OK) {
        return false;
    }
    racing_destroy(match->game);
    match->game = game;
    racing_start(game, &match->view);
    return true;
}

// The first word of the race: how things are shown never changes afterwards.
static void begin(PlayRacing *match, const PlayRace *race)
{
    match->show = fl_show_def_scheme(race->show);
    match->adaptive = match->show.hold == FL_HOLD_ADAPTIVE;
    FlDeltaDef delta = fl_delta_def_default();
    delta.initial_ns = match->show.delta_ns;
    fl_delta_control_init(&match->control, &delta);
}

void play_race_adopt(PlayNode *node, const PlayRace *race)
{
    PlayRacing *match = play_racing_of(node);
    if (match->race.round == 0) {
        begin(match, race);
    }
    if (race->round != match->race.round) {
        if (!make_game(match, race)) {
            return; // with the next frame
        }
        for (int32_t p = 0; p < PLAY_PLACES; p++) {
            match->rivals[p].shown = false;
            match->told[p] = (PlayCarStatus){.finish_ns = -1};
        }
    }
    match->race = *race;
}

void play_race_follow(PlayNode *node)
{
    FlPeerId host = fl_peer_host(node->session);
    FlEntityId id = {0};
    while (fl_entity_next(node->session, &id)) {
        FlEntityStatus status;
        const uint8_t *bytes;
        int32_t count;
        if (fl_entity_status(node->session, id, &status) != FL_OK ||
            status.kind != PLAY_KIND_RACE || status.owner.index1 != host.index1 ||
            fl_entity_state_get(node->session, id, &bytes, &count) != FL_OK || count == 0) {
            continue;
        }
        PlayRace race;
        bool good = play_race_read(bytes, count, &race);
        play_expect(node, PLAY_BAD_STATUS, good);
        if (good) {
            play_expect(node, PLAY_RACE_BACK, race.round >= play_racing_of(node)->race.round);
            play_race_adopt(node, &race);
        }
        return;
    }
}

// ---------------------------------------------------------------- the host

static bool is_car(const PlayNode *node, int32_t number)
{
    FlEntityStatus status;
    FlEntityId id = fl_entity_of_number(node->session, (uint32_t)number);
    return fl_entity_status(node->session, id, &status) == FL_OK && status.kind == PLAY_KIND_CAR;
}

static int32_t place_of(const PlayRace *race, int32_t number)
{
    for (int32_t p = 0; p < race->cars; p++) {
        if (race->number[p] == number) {
            return p;
        }
    }
    return -1;
}

// Takes places back and gives them away. True: something changed.
static bool seat(const PlayNode *node, PlayRace *race)
{
    bool changed = false;
    for (int32_t p = 0; p < race->cars; p++) {
        if (race->number[p] >= 0 && !is_car(node, race->number[p])) {
            race->number[p] = -1;
            changed = true;
        }
    }
    FlEntityId id = {0};
    while (fl_entity_next(node->session, &id)) {
        FlEntityStatus status;
        int32_t free_place = place_of(race, -1);
        if (free_place < 0 || fl_entity_status(node->session, id, &status) != FL_OK ||
            status.kind != PLAY_KIND_CAR || place_of(race, (int32_t)status.number) >= 0) {
            continue;
        }
        race->number[free_place] = (int32_t)status.number;
        changed = true;
    }
    return changed;
}

static int32_t seated(const PlayRace *race)
{
    int32_t count = 0;
    for (int32_t p = 0; p < race->cars; p++) {
        count += race->number[p] >= 0 ? 1 : 0;
    }
    return count;
}

// Has everybody finished, or had the time to?
static bool is_decided(const PlayNode *node, const PlayRace *race, int64_t tick)
{
    const PlayRacing *match = play_racing_of(node);
    FlTime spent = (tick - race->start) * FL_SEC(1) / node->game->tick_hz;
    FlTime winner = FL_FOREVER;
    bool all = true;
    for (int32_t p = 0; p < race->cars; p++) {
        PlayCarStatus status;
        bool done = play_racing_status(node, p, &status) && status.finish_ns >= 0;
        all = all && (done || race->number[p] < 0);
        winner = done && status.finish_ns < winner ? status.finish_ns : winner;
    }
    double length = race->laps * racing_length_m(match->game);
    FlTime most = fl_span_from_seconds(length / SLOW_M_S);
    bool flagged = winner != FL_FOREVER && spent > winner + FL_SEC(FLAG_S);
    return all || flagged || spent > most;
}

static void next_round(PlayRace *race, PlayPhase phase, int64_t start)
{
    race->round++;
    race->phase = phase;
    race->start = start;
}

// One step from phase to phase. True: something changed.
static bool advance(const PlayNode *node, PlayRace *race, int64_t tick, int64_t waited)
{
    int64_t hz = node->game->tick_hz;
    int32_t count = seated(race);
    if (race->phase == PLAY_GATHERING) {
        if (count == race->cars || (count > 0 && waited > GATHER_S * hz)) {
            race->phase = PLAY_RUNNING;
            race->start = tick + COUNTDOWN_S * hz;
            return true;
        }
    } else if (race->phase == PLAY_RUNNING) {
        if (count == 0) {
            next_round(race, PLAY_GATHERING, 0);
            return true;
        }
        if (tick > race->start && is_decided(node, race, tick)) {
            race->phase = PLAY_FINISHED;
            return true;
        }
    } else if (race->phase == PLAY_FINISHED && waited > RESULT_S * hz) {
        if (race->races > 0 && race->round >= (uint32_t)race->races) {
            race->phase = PLAY_CLOSED;
        } else {
            next_round(race, PLAY_RUNNING, tick + COUNTDOWN_S * hz);
        }
        return true;
    }
    return false;
}

static void announce(PlayNode *node, const PlayRace *race)
{
    PlayRacing *match = play_racing_of(node);
    FlEntityDef def = fl_entity_def_default();
    def.kind = PLAY_KIND_RACE;
    if (match->director.index1 == 0 &&
        (match->director = fl_entity_create(node->session, &def)).index1 == 0) {
        return; // with the next frame
    }
    uint8_t bytes[PLAY_RACE_BYTES];
    FlWriter writer;
    fl_writer_init(&writer, bytes, sizeof bytes);
    play_race_write(&writer, race);
    play_blob_set(node, match->director, &writer);
}

void play_race_direct(PlayNode *node, int64_t tick)
{
    PlayRacing *match = play_racing_of(node);
    PlayRace race = match->race;
    if (race.round == 0) {
        race = match->plan;
        next_round(&race, PLAY_GATHERING, 0);
    }
    if (match->director.index1 == 0) {
        match->since = tick; // we have just taken over
    }
    bool came = race.phase != PLAY_CLOSED && seat(node, &race);
    bool changed = match->game != NULL && advance(node, &race, tick, tick - match->since);
    if (changed || (came && race.phase == PLAY_GATHERING)) {
        match->since = tick;
    }
    play_race_adopt(node, &race);
    announce(node, &match->race);
}
