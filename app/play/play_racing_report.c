// Racing for people and machines: the picture, standings, and what is told at the end.
#include "app/play/play_racing.h"

#include <stdio.h>
#include <string.h>

#include "app/cli/json_output.h"
#include "app/play/play_maps.h"

static const char *const phase_words[PLAY_PHASES] = {"gathering", "running", "finished", "closed"};

// ---------------------------------------------------------------- standings

static bool leads(const RacingCar *a, const RacingCar *b)
{
    if (a->finish_ns != b->finish_ns) {
        return b->finish_ns < 0 || (a->finish_ns >= 0 && a->finish_ns < b->finish_ns);
    }
    return a->finish_ns < 0 && a->progress > b->progress;
}

int32_t play_racing_order(const PlayNode *node, int32_t order[PLAY_PLACES])
{
    const PlayRacing *match = play_racing_of(node);
    RacingCar car[PLAY_PLACES];
    int32_t count = 0;
    for (int32_t p = 0; p < match->view.car_count; p++) {
        PlayCarStatus status;
        if (!play_racing_status(node, p, &status)) {
            continue;
        }
        car[p] = match->view.car[p];
        car[p].finish_ns = status.finish_ns;
        int32_t rank = count++;
        for (; rank > 0 && leads(&car[p], &car[order[rank - 1]]); rank--) {
            order[rank] = order[rank - 1];
        }
        order[rank] = p;
    }
    return count;
}

int32_t play_racing_seen(const PlayNode *node)
{
    const PlayRacing *match = play_racing_of(node);
    int32_t count = 0;
    for (int32_t p = 0; p < match->view.car_count; p++) {
        count += match->rivals[p].shown || play_racing_own_at(node, p) >= 0 ? 1 : 0;
    }
    return count;
}

// ---------------------------------------------------------------- the picture

static void headline(const PlayNode *node, char *out, size_t size)
{
    const PlayRacing *match = play_racing_of(node);
    const PlayRace *race = &match->race;
    int64_t hz = node->game->tick_hz;
    int64_t tick = play_tick_at(node, node->time_last);
    char when[48];
    if (race->phase == PLAY_GATHERING) {
        snprintf(when, sizeof when, "waiting for others");
    } else if (race->phase == PLAY_RUNNING && tick < race->start) {
        snprintf(when, sizeof when, "starts in %d", (int)((race->start - tick) / hz + 1));
    } else if (race->phase == PLAY_RUNNING) {
        snprintf(when, sizeof when, "%d s", (int)((tick - race->start) / hz));
    } else {
        snprintf(when, sizeof when, "over");
    }
    bool drives = node->own_count > 0 && node->own[0].keys && match->own[0].place >= 0 &&
                  play_own_there(node, 0);
    snprintf(out, size, "race %u, %d lap%s of the %s, %s%s%s", (unsigned)race->round,
             (int)race->laps, race->laps == 1 ? "" : "s", racing_course_name(race->course), when,
             drives ? "; you are " : "", drives ? node->own[0].name : "");
}

// Those places of the view that are in use, so that nobody else is listed.
static RacingState drawn_view(const PlayNode *node)
{
    const PlayRacing *match = play_racing_of(node);
    RacingState view = match->view;
    int32_t last = 0;
    for (int32_t p = 0; p < view.car_count; p++) {
        last = view.car[p].progress > PLAY_PARKED ? p : last;
    }
    view.car_count = last + 1;
    memset(&view.car[last + 1], 0, (size_t)(PLAY_PLACES - last - 1) * sizeof view.car[0]);
    return view;
}

bool play_racing_draw(const PlayNode *node, PlayPicture *picture)
{
    const PlayRacing *match = play_racing_of(node);
    char line[160];
    if (match->game == NULL) {
        bool room = play_picture_reserve(picture, sizeof line);
        if (room) {
            snprintf(picture->text, picture->size, "asking for the race\n");
        }
        return room;
    }
    RacingState view = drawn_view(node);
    int32_t rows = picture->rows - 1 - view.car_count;
    rows = rows < 4 ? 4 : rows;
    size_t bytes = RACING_DRAW_BYTES(picture->columns, rows, view.car_count);
    if (!play_picture_reserve(picture, sizeof line + 1 + bytes)) {
        return false;
    }
    headline(node, line, sizeof line);
    int count = snprintf(picture->text, picture->size, "%s\n", line);
    return racing_draw(match->game, &view, picture->columns, rows, picture->text + count, bytes) >
           0;
}

json_t *play_racing_map(const PlayNode *node)
{
    const PlayRacing *match = play_racing_of(node);
    return match->game != NULL ? play_map_racing(match->game) : NULL;
}

// ---------------------------------------------------------------- for machines and at the end

static json_t *seconds_json(FlTime finish_ns)
{
    return finish_ns < 0 ? json_null() : json_number((double)finish_ns / 1e9);
}

json_t *play_racing_json(const PlayNode *node, int32_t own)
{
    const PlayRacing *match = play_racing_of(node);
    const PlayCar *car = &match->own[own];
    bool raced = car->round != 0;
    return json_pack("{s:s,s:i,s:i,s:o,s:i,s:i}", "car", node->own[own].name, "place", car->place,
                     "laps", raced ? racing_lap(match->game, &car->car) : 0, "finish_s",
                     seconds_json(raced ? car->car.finish_ns : -1), "contacts",
                     car->car.contact_count, "borders", car->car.border_count);
}

static json_t *race_json(const PlayNode *node)
{
    const PlayRacing *match = play_racing_of(node);
    const PlayRace *race = &match->race;
    json_t *result = json_array();
    int32_t order[PLAY_PLACES];
    int32_t count = play_racing_order(node, order);
    for (int32_t i = 0; i < count; i++) {
        PlayCarStatus status;
        char name[2] = {(char)('A' + order[i]), '\0'};
        (void)play_racing_status(node, order[i], &status);
        json_array_append_new(result, json_pack("{s:s,s:o,s:i}", "car", name, "finish_s",
                                                seconds_json(status.finish_ns), "contacts",
                                                status.contacts));
    }
    return json_pack("{s:I,s:s,s:s,s:i,s:s,s:f,s:o}", "round", (json_int_t)race->round, "phase",
                     phase_words[race->phase], "course", racing_course_name(race->course), "laps",
                     race->laps, "show", play_racing_scheme(race->show), "delta_ms",
                     (double)match->show.delta_ns / 1e6, "result", result);
}

void play_racing_node_json(const PlayNode *node, json_t *object)
{
    json_object_set_new(object, "race", race_json(node));
}

void play_racing_sum_json(PlayNode *const *nodes, int32_t count, json_t *object)
{
    (void)count;
    json_object_set_new(object, "race", race_json(nodes[0])); // all see the same one
}

void play_racing_sum_line(PlayNode *const *nodes, int32_t count, const PlayChecks *sum, char *out,
                          size_t size)
{
    const PlayNode *node = nodes[0];
    const PlayRacing *match = play_racing_of(node);
    int32_t order[PLAY_PLACES];
    int32_t cars = play_racing_order(node, order);
    PlayCarStatus winner;
    (void)count;
    if (cars > 0 && play_racing_status(node, order[0], &winner) && winner.finish_ns >= 0) {
        snprintf(out, size, "race %u, %c wins in %.3f s, %llu updates told",
                 (unsigned)match->race.round, 'A' + order[0], (double)winner.finish_ns / 1e9,
                 (unsigned long long)sum->count[PLAY_TOLD]);
    } else {
        snprintf(out, size, "race %u, nobody has finished, %llu updates told",
                 (unsigned)match->race.round, (unsigned long long)sum->count[PLAY_TOLD]);
    }
}
