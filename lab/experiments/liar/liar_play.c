// One game on a ledger: triggers, flights, reports, and the true errors.
#include <stdlib.h>

#include "lab/experiments/liar/liar.h"
#include "motion/motion.h"

enum { FLIGHTS = 4096 };

/// As sessions doubt a receiver's clock: its round trip, and a little more.
#define DOUBT FL_MS(10)

/// An update under way, and after its arrival the report of it.
typedef struct Flight {
    FlDue due;
    int32_t receiver;
    FlTime sent, arrives, reported;
    bool arrived;
} Flight;

/// The exported path of a run.
typedef struct Exports {
    FlPiece *pieces;
    int32_t count, capacity;
} Exports;

/// What a receiver shows.
typedef struct Screen {
    bool on;
    FlPiece piece;
    uint32_t serial;
} Screen;

typedef struct Game {
    const LiarPlay *def;
    FlLedger *ledger;
    FlRandom random;
    Flight flights[FLIGHTS];
    int32_t flight_count;
    Screen screens[FAIRNESS_RECEIVERS];
    FlPiece exported;
    FlTime counted; // errors are counted up to here
    LiarFigures *figures;
    bool crowded;
} Game;

// ---------------------------------------------------------------- triggers

static bool add_export(Exports *exports, const FlMotion *motion, FlTime from, uint32_t life)
{
    if (exports->count == exports->capacity) {
        int32_t capacity = exports->capacity < 1024 ? 1024 : 2 * exports->capacity;
        FlPiece *pieces =
            (FlPiece *)realloc(exports->pieces, (size_t)capacity * sizeof *exports->pieces);
        if (pieces == NULL) {
            return false;
        }
        exports->pieces = pieces;
        exports->capacity = capacity;
    }
    exports->pieces[exports->count++] = (FlPiece){.from = from, .life = life, .motion = *motion};
    return true;
}

static bool make_exports(const FairnessPlay *game, Exports *exports)
{
    const Source *source = &game->material->runs[game->run].source;
    FlExporterDef def = fl_exporter_def_default();
    def.model = game->model;
    def.trigger = game->trigger;
    FlExporter exporter;
    fl_exporter_init(&exporter, &def);
    uint32_t life = UINT32_MAX;
    bool ok = true;
    for (FlTime at = source->frame_fn(source->ctx, 0); ok && at <= source->length;
         at = source->frame_fn(source->ctx, at + 1)) {
        Truth truth;
        FlMotion motion;
        if (!source->truth_fn(source->ctx, at, &truth)) {
            continue;
        }
        if (truth.life != life) {
            fl_exporter_cut(&exporter);
        }
        FlTrigger trigger = fl_exporter_feed(&exporter, &truth.state, &motion);
        if (trigger != FL_TRIGGER_NONE && trigger != FL_TRIGGER_REFUSED) {
            fl_exporter_commit(&exporter, &motion);
            ok = add_export(exports, &motion, at, truth.life);
        }
        life = truth.life;
    }
    return ok;
}

// ---------------------------------------------------------------- errors

/// The errors of all receivers from the last time on; what is exported and shown has not changed.
static void count_errors(Game *game, FlTime now)
{
    for (int32_t r = 0; r < game->def->game->receiver_count; r++) {
        const Screen *screen = &game->screens[r];
        if (screen->on && screen->piece.life == game->exported.life &&
            game->exported.life != FL_LIFE_NONE) {
            game->figures->aee[r] += fl__distance_integral(
                &game->exported.motion, &screen->piece.motion, game->counted, now);
        }
    }
    game->counted = now;
}

// ---------------------------------------------------------------- the network

static FlTime draw_delay(Game *game, int32_t receiver)
{
    const FairnessPlay *def = game->def->game;
    double jitter =
        fl_span_seconds(def->jitter < def->delay[receiver] ? def->jitter : def->delay[receiver]);
    double off = fl_random_between(&game->random, -1.0, 1.0);
    return def->delay[receiver] + fl_span_from_seconds(off * jitter);
}

static void send_due(Game *game, FlTime now)
{
    const LiarPlay *def = game->def;
    for (int32_t r = 0; r < def->game->receiver_count; r++) {
        FlDue due;
        while (fl_ledger_due(game->ledger, r, 0, &due)) {
            fl_ledger_sent(game->ledger, r, due, now);
            game->figures->updates_sent++;
            game->figures->updates_to[r]++;
            if (game->flight_count == FLIGHTS) {
                game->crowded = true;
                return;
            }
            FlTime there = draw_delay(game, r);
            FlTime back = draw_delay(game, r);
            FlTime holds = r == def->liar ? def->holds : 0;
            game->flights[game->flight_count++] =
                (Flight){.due = due,
                         .receiver = r,
                         .sent = now,
                         .arrives = now + there,
                         .reported = now + there + back + 2 * holds};
        }
    }
}

static void arrive(Game *game, Flight *flight)
{
    const FlPiece *piece = fl_ledger_exported(game->ledger, 0, flight->due.serial);
    Screen *screen = &game->screens[flight->receiver];
    count_errors(game, flight->arrives);
    if (piece != NULL && (!screen->on || flight->due.serial > screen->serial)) {
        *screen = (Screen){true, *piece, flight->due.serial};
    }
    flight->arrived = true;
}

static void report(Game *game, int32_t number)
{
    Flight flight = game->flights[number];
    const LiarPlay *def = game->def;
    game->flights[number] = game->flights[--game->flight_count];
    FlTime says = flight.arrives;
    if (flight.receiver == def->liar) {
        says += def->claims + def->holds;
    }
    fl_ledger_arrived(game->ledger, flight.receiver, flight.due, flight.sent, says,
                      flight.reported);
}

static FlTime next_flight(const Game *game, int32_t *number)
{
    FlTime next = FL_FOREVER;
    *number = -1;
    for (int32_t i = 0; i < game->flight_count; i++) {
        const Flight *flight = &game->flights[i];
        FlTime time = flight->arrived ? flight->reported : flight->arrives;
        if (time < next) {
            next = time;
            *number = i;
        }
    }
    return next;
}

/// Everything up to `until`.
static void advance(Game *game, FlTime until)
{
    for (;;) {
        int32_t number;
        FlTime flight = next_flight(game, &number);
        FlTime asked = fl_ledger_deadline(game->ledger);
        FlTime now = flight < asked ? flight : asked;
        if (now > until || now == FL_FOREVER) {
            return;
        }
        if (flight > asked) {
            fl_ledger_update(game->ledger, now);
        } else if (game->flights[number].arrived) {
            report(game, number);
        } else {
            arrive(game, &game->flights[number]);
        }
        send_due(game, now);
    }
}

// ---------------------------------------------------------------- a game

static FlResult open_ledger(Game *game)
{
    const FairnessPlay *def = game->def->game;
    FlLedgerDef ledger = fl_ledger_def_default();
    ledger.entity_capacity = 1;
    ledger.receiver_capacity = def->receiver_count;
    ledger.path_capacity = 1024;
    ledger.shown_capacity = 16;
    ledger.seed = def->seed;
    FlResult result = fl_ledger_create(&ledger, &game->ledger);
    if (result != FL_OK) {
        return result;
    }
    fl_ledger_entity_begin(game->ledger, 0, &game->def->send);
    for (int32_t r = 0; r < def->receiver_count; r++) {
        FlTime holds = r == game->def->liar ? game->def->holds : 0;
        fl_ledger_clock_error(game->ledger, r, 2 * (def->delay[r] + holds) + DOUBT);
        fl_ledger_watch(game->ledger, 0, r, true, 0);
    }
    return FL_OK;
}

static void finish(Game *game)
{
    LiarFigures *figures = game->figures;
    int32_t count = game->def->game->receiver_count;
    fairness_spread(figures->aee, count, &figures->mean, &figures->sd);
    double others = figures->mean * count - figures->aee[game->def->liar];
    figures->others = count > 1 ? others / (count - 1) : 0.0;
    figures->contradictions = fl_ledger_receiver(game->ledger, game->def->liar).contradictions;
}

LabStatus liar_play(const LiarPlay *def, LiarFigures *figures, LabError *error)
{
    Exports exports = {0};
    *figures = (LiarFigures){0};
    Game *game = (Game *)calloc(1, sizeof *game);
    if (game == NULL || !make_exports(def->game, &exports)) {
        free(game);
        free(exports.pieces);
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    game->def = def;
    game->figures = figures;
    game->random = (FlRandom){.seed = def->game->seed, .stream = 9};
    game->exported.life = FL_LIFE_NONE;
    FlResult result = open_ledger(game);
    for (int32_t i = 0; i < exports.count && result == FL_OK && !game->crowded; i++) {
        const FlPiece *piece = &exports.pieces[i];
        advance(game, piece->from);
        count_errors(game, piece->from);
        fl_ledger_export(game->ledger, 0, &piece->motion, piece->life, piece->from);
        game->exported = *piece;
        send_due(game, piece->from);
    }
    if (result == FL_OK) {
        FlTime end = def->game->material->runs[def->game->run].source.length;
        advance(game, end);
        count_errors(game, end);
    }
    LabStatus status = LAB_OK;
    if (result != FL_OK) {
        status = lab_fail_result(error, result, "making a ledger");
    } else if (game->crowded) {
        status = lab_fail(error, LAB_FAILED, "too many updates under way");
    } else {
        finish(game);
    }
    fl_ledger_destroy(game->ledger);
    free(exports.pieces);
    free(game);
    return status;
}
