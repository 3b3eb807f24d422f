// Watching a replay, and playing its motion over its network with another policy.
//
// Studied is the stretch in which the same receivers saw the same things, the longest for the most
// receivers: an error adds up over time, so it can be compared only for those who were there.
#include "app/replay/replay_policy.h"

#include <stdlib.h>
#include <string.h>

#include "lab/world/play.h"

#define SAMPLE_EVERY FL_MS(250)
#define SAMPLES_MOST 2400 // ten minutes
#define THINGS 8          // of the first node
#define STRETCH_LEAST 8   // samples
#define LUCKS 10

/// One receiver at one time.
typedef struct Receiver {
    FlPeerId peer;
    FlDelay out, back;
    FlTime trip;
    uint64_t delivered, lost;
} Receiver;

typedef struct Sample {
    FlTime at;
    int32_t receiver_count;
    int32_t thing_count;
    Receiver receiver[FAIRNESS_RECEIVERS];
    uint32_t sent[THINGS][FAIRNESS_RECEIVERS]; // updates
    double error[THINGS][FAIRNESS_RECEIVERS];  // accumulated
} Sample;

typedef struct Thing {
    FlEntityDef def;
    Recording motion; // all of it, on the node's clock
} Thing;

struct PolicyStudy {
    const PlayNode *node; // the first
    FlWorldDef world;
    FlSend policy;
    FlTime begun;
    Thing things[THINGS];
    Sample *samples;
    int32_t count;
    FlResult result; // of keeping all this
    // the stretch
    int32_t first, last;
};

PolicyStudy *policy_study_make(void)
{
    return calloc(1, sizeof(PolicyStudy));
}

void policy_study_free(PolicyStudy *study)
{
    if (study != NULL) {
        for (int32_t i = 0; i < THINGS; i++) {
            recording_free(&study->things[i].motion);
        }
        free(study->samples);
        free(study);
    }
}

// ---------------------------------------------------------------- watching

static bool is_watched(const PolicyStudy *study, const PlayNode *node, int32_t own)
{
    return node->port.number == 0 && own < THINGS && study->count < SAMPLES_MOST;
}

void policy_study_made(PolicyStudy *study, const PlayNode *node, int32_t own,
                       const FlEntityDef *def)
{
    if (is_watched(study, node, own)) {
        study->things[own].def = *def;
        study->policy = node->policy;
    }
}

void policy_study_moved(PolicyStudy *study, const PlayNode *node, int32_t own, const FlState *state)
{
    FlEntityStatus status;
    if (!is_watched(study, node, own) || study->result != FL_OK ||
        fl_entity_status(node->session, node->own[own].entity, &status) != FL_OK) {
        return;
    }
    FlResult result = recording_add(&study->things[own].motion, state, status.life);
    // A session's time may be put right by a little less than a tick: that one is left out.
    study->result = result == FL_OUT_OF_ORDER ? FL_OK : result;
}

// False: somebody is not ours to tell, or nothing is known of its network yet.
static bool read_receivers(const PlayNode *node, FlTime now, Sample *sample)
{
    FlPeerId peer = {0};
    while (fl_peer_next(node->session, &peer)) {
        FlPeerStatus status;
        FlLinkStats stats;
        bool known = fl_peer_status(node->session, peer, &status) == FL_OK && status.direct &&
                     fl_peer_stats(node->session, now, peer, &stats) == FL_OK && stats.delays.known;
        if (!known) {
            return false;
        }
        if (sample->receiver_count < FAIRNESS_RECEIVERS) {
            sample->receiver[sample->receiver_count++] =
                (Receiver){.peer = peer,
                           .out = stats.delays.out,
                           .back = stats.delays.in,
                           .trip = stats.delays.trip.average_ns,
                           .delivered = stats.delivered,
                           .lost = stats.lost};
        }
    }
    return sample->receiver_count > 0;
}

static bool read_things(const PlayNode *node, FlTime now, Sample *sample)
{
    int32_t most = node->own_count < THINGS ? node->own_count : THINGS;
    for (int32_t i = 0; i < most && play_own_there(node, i); i++) {
        for (int32_t r = 0; r < sample->receiver_count; r++) {
            FlLedgerView view;
            if (fl_entity_view(node->session, now, node->own[i].entity, sample->receiver[r].peer,
                               &view) != FL_OK) {
                return false;
            }
            sample->sent[i][r] = view.sent;
            sample->error[i][r] = view.accumulated;
        }
        sample->thing_count++;
    }
    return sample->thing_count > 0;
}

void policy_study_stepped(PolicyStudy *study, const PlayNode *node, FlTime now)
{
    if (!is_watched(study, node, 0)) {
        return;
    }
    if (study->node == NULL) {
        study->node = node;
        study->begun = now;
        study->world = node->game->world();
        study->samples = calloc(SAMPLES_MOST, sizeof *study->samples);
        study->result = study->samples != NULL ? FL_OK : FL_NO_MEMORY;
    }
    if (study->result != FL_OK || study->samples == NULL ||
        (study->count > 0 && now < study->samples[study->count - 1].at + SAMPLE_EVERY)) {
        return;
    }
    Sample *sample = &study->samples[study->count];
    *sample = (Sample){.at = now};
    if (!read_receivers(node, now, sample) || !read_things(node, now, sample)) {
        *sample = (Sample){.at = now}; // nobody, for now
    }
    study->count++;
}

// ---------------------------------------------------------------- the stretch

static bool same_company(const Sample *a, const Sample *b)
{
    if (a->receiver_count != b->receiver_count || a->thing_count != b->thing_count) {
        return false;
    }
    for (int32_t r = 0; r < a->receiver_count; r++) {
        if (a->receiver[r].peer.index1 != b->receiver[r].peer.index1 ||
            a->receiver[r].peer.generation != b->receiver[r].peer.generation) {
            return false;
        }
    }
    return true;
}

static void choose_stretch(PolicyStudy *study)
{
    int64_t best = 0;
    int32_t first = 0;
    for (int32_t i = 0; i < study->count; i++) {
        first = i > 0 && same_company(&study->samples[first], &study->samples[i]) ? first : i;
        int64_t worth = (int64_t)(i - first) * study->samples[i].receiver_count;
        if (worth > best) {
            best = worth;
            study->first = first;
            study->last = i;
        }
    }
}

// ---------------------------------------------------------------- the network

/// For fairness_play: the sample in force.
static const Sample *sample_at(const PolicyStudy *study, FlTime time)
{
    int32_t at = study->first + (int32_t)(time / SAMPLE_EVERY);
    return &study->samples[at < study->last ? at : study->last];
}

// What was lost on the way out is learnt a round trip later.
static double loss_at(const PolicyStudy *study, int32_t receiver, FlTime time)
{
    const Receiver *a = &sample_at(study, time)->receiver[receiver];
    const Receiver *b = &sample_at(study, time + a->trip + SAMPLE_EVERY)->receiver[receiver];
    const Receiver *begin = &sample_at(study, time + a->trip)->receiver[receiver];
    double lost = (double)(b->lost - begin->lost);
    double all = lost + (double)(b->delivered - begin->delivered);
    return all > 0.0 ? lost / all : 0.0;
}

// Mean absolute deviation of a uniform delay is half its half-width.
static FlImpairSettings way_of(const FlDelay *delay, double loss)
{
    FlTime mean = delay->average_ns > 0 ? delay->average_ns : 0;
    return play_way(mean, 2 * delay->deviation_ns, loss);
}

/// Losses on the way back are as many as those on the way out: acknowledgements are not missed one
/// by one, so they cannot be counted.
static void ways(const void *ctx, int32_t receiver, FlTime time, FlImpairSettings *out,
                 FlImpairSettings *back)
{
    const PolicyStudy *study = ctx;
    const Receiver *known = &sample_at(study, time)->receiver[receiver];
    double loss = loss_at(study, receiver, time);
    *out = way_of(&known->out, loss);
    *back = way_of(&known->back, loss);
}

static void describe_network(const PolicyStudy *study, PolicyAnswer *answer)
{
    const Sample *begin = &study->samples[study->first];
    const Sample *end = &study->samples[study->last];
    double lost = 0.0;
    double all = 0.0;
    double delay = 0.0;
    for (int32_t r = 0; r < answer->receivers; r++) {
        lost += (double)(end->receiver[r].lost - begin->receiver[r].lost);
        all += (double)(end->receiver[r].delivered - begin->receiver[r].delivered);
        for (int32_t i = study->first; i <= study->last; i++) {
            delay += (double)study->samples[i].receiver[r].out.average_ns;
        }
    }
    all += lost;
    int32_t samples = (study->last - study->first + 1) * answer->receivers;
    answer->loss = all > 0.0 ? lost / all : 0.0;
    answer->delay_ms = delay / (double)samples / 1e6;
}

// ---------------------------------------------------------------- asking

/// The motion of a thing in the stretch, from 0 on.
static FlResult motion_of(const PolicyStudy *study, const Thing *thing, Recording *motion)
{
    FlTime from = study->samples[study->first].at;
    FlTime to = study->samples[study->last].at;
    *motion = (Recording){0};
    FlResult result = FL_OK;
    for (int32_t i = 0; i < thing->motion.count && result == FL_OK; i++) {
        Frame frame = thing->motion.frames[i];
        if (frame.state.time >= from && frame.state.time <= to) {
            frame.state.time -= from;
            result = recording_add(motion, &frame.state, frame.life);
        }
    }
    return result;
}

// Adds one thing's figures.
static void add_thing(PolicyFigures *sum, int64_t updates, const double *errors,
                      const PolicyAnswer *answer)
{
    double mean;
    double sd;
    fairness_spread(errors, answer->receivers, &mean, &sd);
    sum->updates += (double)updates;
    sum->mean += mean / (double)answer->things;
    sum->sd += sd / (double)answer->things;
}

static void add_recorded(const PolicyStudy *study, int32_t thing, PolicyAnswer *answer)
{
    const Sample *begin = &study->samples[study->first];
    const Sample *end = &study->samples[study->last];
    double errors[FAIRNESS_RECEIVERS];
    int64_t updates = 0;
    for (int32_t r = 0; r < answer->receivers; r++) {
        errors[r] = end->error[thing][r] - begin->error[thing][r];
        updates += (int64_t)end->sent[thing][r] - begin->sent[thing][r];
    }
    add_thing(&answer->recorded.figures, updates, errors, answer);
}

// What both policies do with all things, by their luck.
typedef struct Played {
    PolicyFigures again[LUCKS], other[LUCKS];
} Played;

static LabStatus play_lucks(FairnessPlay *play, int32_t thing, const PolicyAnswer *answer,
                            Played *played, LabError *error)
{
    LabStatus status = LAB_OK;
    for (int32_t i = 0; i < LUCKS && status == LAB_OK; i++) {
        FairnessFigures figures[2];
        play->seed = 1 + (uint64_t)thing + (uint64_t)i * THINGS;
        status = fairness_play(play, figures, NULL, error);
        if (status == LAB_OK) {
            add_thing(&played->again[i], figures[0].updates_sent, figures[0].ledger, answer);
            add_thing(&played->other[i], figures[1].updates_sent, figures[1].ledger, answer);
        }
    }
    return status;
}

/// Plays one thing with both policies.
static LabStatus play_thing(const PolicyStudy *study, int32_t thing, const FlSend *other,
                            const PolicyAnswer *answer, Played *played, LabError *error)
{
    MaterialRun run = {.entity = thing};
    FlResult result = motion_of(study, &study->things[thing], &run.recording);
    run.source = source_recording(&run.recording);
    const FlEntityDef *def = &study->things[thing].def;
    Material material = {.motion = "recorded",
                         .model = def->model,
                         .world = study->world,
                         .top_speed = run.recording.top_speed,
                         .runs = &run,
                         .run_count = 1};
    const FairnessWeather weather = {ways, study, SAMPLE_EVERY};
    FairnessPlay play = fairness_play_default(&material, 0, 1);
    play.receiver_count = answer->receivers;
    play.weather = &weather;
    play.model = def->model;
    play.trigger = def->trigger;
    play.policy[play.policy_count++] = study->policy;
    play.policy[play.policy_count++] = *other;
    LabStatus status = LAB_OK;
    if (result != FL_OK) {
        status = lab_fail_result(error, result, "keeping the motion");
    } else if (run.recording.count < 2) {
        status = lab_fail(error, LAB_BAD_INPUT, "nothing of ours moved while others saw it");
    } else {
        status = play_lucks(&play, thing, answer, played, error);
    }
    recording_free(&run.recording);
    return status;
}

static void finish_row(const PolicyFigures *played, PolicyRow *row)
{
    double updates[LUCKS];
    double mean[LUCKS];
    double sd[LUCKS];
    for (int32_t i = 0; i < LUCKS; i++) {
        updates[i] = played[i].updates;
        mean[i] = played[i].mean;
        sd[i] = played[i].sd;
    }
    fairness_spread(updates, LUCKS, &row->figures.updates, &row->luck.updates);
    fairness_spread(mean, LUCKS, &row->figures.mean, &row->luck.mean);
    fairness_spread(sd, LUCKS, &row->figures.sd, &row->luck.sd);
}

LabStatus policy_study_ask(PolicyStudy *study, const FlSend *other, PolicyAnswer *answer,
                           LabError *error)
{
    *answer = (PolicyAnswer){.lucks = LUCKS};
    if (study->result != FL_OK) {
        return lab_fail_result(error, study->result, "keeping the motion");
    }
    choose_stretch(study);
    if (study->last - study->first < STRETCH_LEAST) {
        return lab_fail(error, LAB_BAD_INPUT,
                        "nothing to compare: the first node needs things of its own that it tells "
                        "to everybody itself, for two seconds (a host with --bots, or a mesh)");
    }
    const Sample *begin = &study->samples[study->first];
    answer->from = fl_span(begin->at, study->begun);
    answer->length = fl_span(study->samples[study->last].at, begin->at);
    answer->things = begin->thing_count;
    answer->receivers = begin->receiver_count;
    describe_network(study, answer);
    fl_send_text(&study->policy, answer->recorded.policy);
    fl_send_text(&study->policy, answer->again.policy);
    fl_send_text(other, answer->other.policy);
    Played played;
    memset(&played, 0, sizeof played);
    LabStatus status = LAB_OK;
    for (int32_t i = 0; i < answer->things && status == LAB_OK; i++) {
        add_recorded(study, i, answer);
        status = play_thing(study, i, other, answer, &played, error);
    }
    finish_row(played.again, &answer->again);
    finish_row(played.other, &answer->other);
    return status;
}
