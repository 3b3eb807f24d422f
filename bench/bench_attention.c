// fairlead bench attention: how much everybody looks at everybody, and a frame of the focus
// policies.
#include "bench/bench.h"
#include "send/send.h"

#include <math.h>
#include <stdlib.h>

// ---------------------------------------------------------------- all pairs

#define PLAYERS 1000
#define PAIRS ((double)PLAYERS * PLAYERS)

typedef struct Crowd {
    FlAttention *attention;
    FlTime now;
    FlVec3 position[PLAYERS], forward[PLAYERS];
    double angle[PLAYERS][PLAYERS];
    float value[PLAYERS][PLAYERS];
} Crowd;

static bool crowd_open(Crowd *crowd)
{
    FlAttentionDef def = fl_attention_def_default();
    def.player_capacity = PLAYERS;
    def.everybody = true;
    if (fl_attention_create(&def, &crowd->attention) != FL_OK) {
        return false;
    }
    FlRandom random = {.seed = 4};
    crowd->now = 0;
    for (int32_t i = 0; i < PLAYERS; i++) {
        double x = fl_random_between(&random, -100.0, 100.0);
        double y = fl_random_between(&random, -100.0, 100.0);
        double z = fl_random_between(&random, -10.0, 10.0);
        double yaw = fl_random_between(&random, -FL_PI, FL_PI);
        crowd->position[i] = fl_vec3(x, y, z);
        crowd->forward[i] = fl_vec3(cos(yaw), sin(yaw), 0.0);
        fl_attention_place(crowd->attention, i, crowd->position[i], crowd->forward[i]);
        for (int32_t j = 0; j < PLAYERS; j++) {
            crowd->angle[i][j] = 1.0;
        }
    }
    return true;
}

// The formula as it is written, with libm's functions.
static double plain_value(Crowd *crowd, int32_t i, int32_t j)
{
    FlVec3 way = fl_vec3_sub(crowd->position[j], crowd->position[i]);
    double d = fl_vec3_length(way);
    double cosine = fl_vec3_dot(way, crowd->forward[i]) / d;
    double angle = acos(cosine > 1.0 ? 1.0 : cosine < -1.0 ? -1.0 : cosine);
    crowd->angle[i][j] += 0.2 * (angle - crowd->angle[i][j]);
    double near = pow(fmax(1.0 - d / 100.0, 0.0), 1.5);
    double aimed = fmax(1.0 - crowd->angle[i][j] / (FL_PI / 4.0), 0.0);
    double aim = pow(aimed, 1.5 * fmax(1.0, log(d)));
    return (near + aim) / 3.5;
}

static double work_libm(void *ctx)
{
    Crowd *crowd = (Crowd *)ctx;
    for (int32_t i = 0; i < PLAYERS; i++) {
        for (int32_t j = 0; j < PLAYERS; j++) {
            crowd->value[i][j] = i != j ? (float)plain_value(crowd, i, j) : 0.0f;
        }
    }
    return (double)crowd->value[1][2];
}

static double work_ours(void *ctx)
{
    Crowd *crowd = (Crowd *)ctx;
    crowd->now += FL_MS(50);
    fl_attention_look(crowd->attention, FL_ATTENTION_ALL, crowd->now);
    return (double)fl_attention_of(crowd->attention, 1)[2];
}

static bool all_pairs(BenchReport *report)
{
    static const BenchContender contenders[] = {
        {"plain libm", work_libm},
        {"ours", work_ours},
    };
    Crowd *crowd = malloc(sizeof *crowd);
    bool enough = crowd != NULL && crowd_open(crowd);
    if (enough) {
        bench_contest(report, "attention of 1000 players, per pair", contenders, 2, crowd, PAIRS,
                      15);
        fl_attention_destroy(crowd->attention);
    }
    free(crowd);
    return enough;
}

// ---------------------------------------------------------------- a frame

#define NODES 64
#define FRAMES 20

typedef struct Stage {
    FlLedger *ledger[2];
    FlRandom random;
    FlTime now[2];
} Stage;

static bool stage_open(Stage *stage)
{
    const FlSend policies[2] = {fl_send_make(FL_SEND_FOCUS), fl_send_make(FL_SEND_FOCUS_EQUAL)};
    FlLedgerDef def = fl_ledger_def_default();
    def.entity_capacity = NODES;
    def.receiver_capacity = NODES;
    for (int32_t p = 0; p < 2; p++) {
        if (fl_ledger_create(&def, &stage->ledger[p]) != FL_OK) {
            return false;
        }
        for (int32_t e = 0; e < NODES; e++) {
            fl_ledger_entity_begin(stage->ledger[p], e, &policies[p]);
            for (int32_t r = 0; r < NODES; r++) {
                fl_ledger_watch(stage->ledger[p], e, r, true, 0);
                fl__ledger_attention(stage->ledger[p], e, r,
                                     fl_random_between(&stage->random, 0.0, 1.0));
            }
        }
    }
    return true;
}

static void stage_export(Stage *stage, int32_t p)
{
    for (int32_t e = 0; e < NODES; e++) {
        double x = fl_random_between(&stage->random, -100.0, 100.0);
        FlState state = {.time = stage->now[p], .position = {x, 0.0, 0.0}};
        FlMotion motion = fl_motion_make(FL_MODEL_LINEAR, &state);
        fl_ledger_export(stage->ledger[p], e, &motion, 1, stage->now[p]);
    }
}

// Twenty frames with bytes for a tenth of all pairs.
static double frames(Stage *stage, int32_t p)
{
    FlLedger *ledger = stage->ledger[p];
    double sent = 0.0;
    for (int32_t i = 0; i < FRAMES; i++) {
        stage->now[p] += FL_MS(50);
        stage_export(stage, p);
        fl__ledger_allow(ledger, 0.1 * NODES * NODES * 64.0, 40.0);
        fl_ledger_update(ledger, stage->now[p]);
        for (int32_t r = 0; r < NODES; r++) {
            FlDue due;
            for (int32_t e = 0; fl_ledger_due(ledger, r, e, &due); e = due.entity + 1) {
                fl_ledger_sent(ledger, r, due, stage->now[p]);
                sent += 1.0;
            }
        }
    }
    return sent;
}

static double work_focus(void *ctx)
{
    return frames((Stage *)ctx, 0);
}

static double work_focus_equal(void *ctx)
{
    return frames((Stage *)ctx, 1);
}

static bool a_frame(BenchReport *report)
{
    static const BenchContender contenders[] = {
        {"focus", work_focus},
        {"focus+equal", work_focus_equal},
    };
    Stage stage = {.random = {.seed = 5}};
    bool enough = stage_open(&stage);
    if (enough) {
        bench_contest(report, "a frame of 64 x 64, per pair", contenders, 2, &stage,
                      (double)FRAMES * NODES * NODES, 15);
    }
    fl_ledger_destroy(stage.ledger[0]);
    fl_ledger_destroy(stage.ledger[1]);
    return enough;
}

const char *bench_attention(const BenchSettings *settings, BenchReport *report)
{
    (void)settings;
    return all_pairs(report) && a_frame(report) ? NULL : "out of memory";
}
