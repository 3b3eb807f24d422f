// Module `send`, for the modules above it.
#ifndef FAIRLEAD_SEND_SEND_INNER_H
#define FAIRLEAD_SEND_SEND_INNER_H

#include "fairlead/send.h"

/// The policy's word, without settings.
const char *fl__send_name(FlSendPolicy policy);

/// Bytes for one more entity, receiver, and (entity, receiver) pair.
typedef struct FlLedgerMemory {
    size_t entity, receiver, pair;
} FlLedgerMemory;

FlLedgerMemory fl__ledger_memory(const FlLedgerDef *def);

/// Another policy from now on. What was counted stays; the newest update goes to everybody, and the
/// new policy starts from there.
void fl__ledger_policy(FlLedger *ledger, int32_t entity, const FlSend *send, FlTime now);

/// Another distributor serves the receiver as well: frame policies send it an update a second.
void fl__ledger_rarely(FlLedger *ledger, int32_t entity, int32_t receiver, bool rarely);

/// The newest update is due to a receiver now, without waiting for a frame; if it watches.
void fl__ledger_urge(FlLedger *ledger, int32_t entity, int32_t receiver);

/// As fl_ledger_export; returns the serial that it has from then on, or one that nothing has.
uint32_t fl__ledger_add(FlLedger *ledger, int32_t entity, const FlMotion *motion, uint32_t life,
                        FlTime now);

/// As fl_ledger_arrived, for updates that one packet carried.
void fl__ledger_arrivals(FlLedger *ledger, int32_t receiver, const FlDue *due, int32_t count,
                         FlTime sent, FlTime arrived, FlTime now);

bool fl__ledger_watches(const FlLedger *ledger, int32_t entity, int32_t receiver);

/// Settings of both policies; a ledger begins with the default. Errors: FL_BAD_VALUE (no time, or a
/// share outside 0 to 1).
FL_NODISCARD FlResult fl__ledger_focus(FlLedger *ledger, const FlFocusDef *def);

/// How long the updates of an entity are, from the next one on; 24 until set.
void fl__ledger_update_bytes(FlLedger *ledger, int32_t entity, int32_t bytes);

double fl__ledger_attention_of(const FlLedger *ledger, int32_t entity, int32_t receiver);

/// Which a pair is: in focus at once, out of it when it was not in the set for ten frames. Under
/// other policies all are FL_CLASS_FOCUS.
FlSendClass fl__ledger_class(const FlLedger *ledger, int32_t entity, int32_t receiver);

FlFocusFrame fl__ledger_frame(const FlLedger *ledger);

/// What a ledger met that it should not.
typedef struct FlLedgerCounts {
    uint32_t refused;   ///< Exports not finite or out of order.
    uint32_t forgotten; ///< Stretches not counted, because their pieces were forgotten.
    uint32_t stray;     ///< Fates of updates that are not under way (any more).
} FlLedgerCounts;

FlLedgerCounts fl__ledger_counts(const FlLedger *ledger);

/// The error as far as it is counted already, which costs nothing to ask: behind `cumulative` by at
/// most an update or so. False: the receiver does not watch it.
bool fl__ledger_counted(const FlLedger *ledger, int32_t entity, int32_t receiver, double *error);

/// One update that went to a receiver.
typedef struct FlLedgerSent {
    FlTime sent;
    FlTime arrived; ///< FL_FOREVER: it has not, as far as is reported.
    uint32_t serial;
} FlLedgerSent;

/// What of an entity went to a receiver since it watches it, in that order: the last
/// `history_capacity` of them. Returns how many.
int32_t fl__ledger_history(const FlLedger *ledger, int32_t entity, int32_t receiver,
                           FlLedgerSent *sent);

/// The exported path at a time, as far back as it is remembered; NULL: nothing is.
const FlPiece *fl__ledger_exported_at(const FlLedger *ledger, int32_t entity, FlTime time);

/// True if every setting is in its range.
bool fl__send_valid(const FlSend *send);

/// As published: 50 ms, three quarters.
FlFocusDef fl__focus_def_default(void);

/// Whether a definition is sound; `error` says which field. Errors: FL_BAD_VALUE.
FL_NODISCARD FlResult fl__focus_def_problem(const FlFocusDef *def, FlError *error);

/// What the next frame may spend: `bytes` in all, and what an update takes besides its own bytes,
/// its part of all headers. Unlimited until set. Credit is the caller's business (FlBudget): what
/// is too little for an update now is more at the next frame.
void fl__ledger_allow(FlLedger *ledger, double bytes, double header_bytes);

/// How much a receiver looks at an entity: 0 to 1, kept in steps of 1/255; begins at 0 with every
/// watch. What is not a number counts as 0, what lies outside as the nearer end.
void fl__ledger_attention(FlLedger *ledger, int32_t entity, int32_t receiver, double value);

#endif
