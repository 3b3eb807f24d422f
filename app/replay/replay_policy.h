// "What would have happened with another policy?" on the motion and the network of a recording.
//
// Packets cannot be replayed with other contents. So while a session is replayed its first node's
// own things are watched: where they really were, what each receiver's network did, and how wrong
// the receivers saw them. Then the lab plays the same motion over such a network with real
// sessions: with the policy that was recorded, which shows how faithful this is, and with the other
// one. Which packet is lost is luck, and one lost update can weigh more than all the others; so
// both are played several times with another luck each.
//
//     replay ── states ───────────────▶ motion ──▶ fairness_play ──▶ recorded policy, other policy
//            ── delays, losses, 1/4 s ▶ weather ──▶
//            ── ledger ───────────────▶ as recorded
#ifndef APP_REPLAY_POLICY_H
#define APP_REPLAY_POLICY_H

#include "app/play/play_node.h"
#include "lab/experiments/fairness/fairness.h"

typedef struct PolicyStudy PolicyStudy;

/// NULL: out of memory.
PolicyStudy *policy_study_make(void);
void policy_study_free(PolicyStudy *study);

/// To be called by whoever looks on at the replay.
void policy_study_made(PolicyStudy *study, const PlayNode *node, int32_t own,
                       const FlEntityDef *def);
void policy_study_moved(PolicyStudy *study, const PlayNode *node, int32_t own,
                        const FlState *state);
void policy_study_stepped(PolicyStudy *study, const PlayNode *node, FlTime now);

/// What a policy did: updates of all things together; mean and deviation of the receivers'
/// accumulated errors (distance times seconds), on average over things.
typedef struct PolicyFigures {
    double updates, mean, sd;
} PolicyFigures;

/// One row of the answer.
typedef struct PolicyRow {
    char policy[FL_SEND_TEXT_BYTES];
    PolicyFigures figures; ///< On average over lucks,
    PolicyFigures luck;    ///< and how far these lie apart: standard deviations.
} PolicyRow;

typedef struct PolicyAnswer {
    FlTime from, length; ///< The stretch that was studied, from the recording's beginning.
    int32_t things, receivers;
    int32_t lucks;
    double delay_ms, loss; ///< On average over receivers and time, towards them.
    PolicyRow recorded, again, other;
} PolicyAnswer;

/// Plays the two. Errors: LAB_BAD_INPUT (the recording cannot answer that), LAB_FAILED.
LabStatus policy_study_ask(PolicyStudy *study, const FlSend *other, PolicyAnswer *answer,
                           LabError *error);

#endif
