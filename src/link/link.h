// Module `link`, for the modules above it.
#ifndef FAIRLEAD_LINK_LINK_INNER_H
#define FAIRLEAD_LINK_LINK_INNER_H

#include "fairlead/link.h"

/// Bytes that may go at `now`; never negative.
double fl__budget_available(FlBudget *budget, FlTime now);

/// Takes what was sent, even if it was more than there was: then later sends wait for it.
void fl__budget_spend(FlBudget *budget, FlTime now, double bytes);

/// When `bytes` will be available; `now` if they are.
FlTime fl__budget_when(FlBudget *budget, FlTime now, double bytes);

/// Bytes reserved for a link of this definition: the link itself, and its buffers.
void fl__link_memory(const FlLinkDef *def, size_t *link_bytes, size_t *buffer_bytes);

/// With `external_sequence`: a packet of the carrier's own (a keep-alive) arrived with this number,
/// so it is not missing here. Only `stats.loss_in` is the truer for it: a number that comes
/// neither this way nor by fl_link_receive counts there as lost if it lies between two that are and
/// less than a thousand apart.
void fl__link_number_received(FlLink *link, uint64_t sequence);

/// Queues a message of at most one fragment that arrives in the order of its channel (1 or more,
/// the caller's), and waits for none of another. Higher priority goes first where bytes are short.
/// Errors: as fl_link_send.
FL_NODISCARD FlResult fl__link_send_channel(FlLink *link, uint32_t channel, uint8_t priority,
                                            const void *bytes, int32_t count);

/// True when reports, reliable data or a keep-alive are due: build a packet even without a payload.
bool fl__link_wants_to_send(FlLink *link, FlTime now);

/// Other spans than those of its definition, for a conversation that has become more (or less)
/// important. Silence counts from now on.
void fl__link_set_timeouts(FlLink *link, FlTime now, FlTime keep_alive_ns, FlTime timeout_ns);

/// Whether the peer answers. A link whose packets are not answered backs off: what it sends gets
/// rarer, down to a packet every two seconds, until an answer comes.
typedef struct FlLinkSilence {
    FlTime silent_ns;     ///< Since anything came in.
    FlTime unanswered_ns; ///< Since the first packet that wanted an answer and has got none; 0:
                          ///< there is none.
    bool silent;          ///< That is longer than answers take: the way or the peer may be gone.
    FlTime payload_at;    ///< When payload may go, as far as this is concerned; on the caller's
                          ///< clock, `now` while nothing is wrong.
} FlLinkSilence;

FlLinkSilence fl__link_silence(FlLink *link, FlTime now);

void fl__budget_init(FlBudget *budget, double rate_bytes_s, double burst_bytes, FlTime now);

/// How long to wait for an answer before saying something again: a round trip, and what it varies.
FlTime fl__link_answer_timeout(const FlLink *link);

/// The newest stamp received, on the peer's link clock; INT64_MIN: nothing came.
FlTime fl__link_peer_stamp(const FlLink *link);

const char *fl__link_drop_name(FlLinkDrop drop);

/// False after a time-out or fl__link_close.
bool fl__link_alive(const FlLink *link);

/// The link clock of this end: time since the link was created. It is what stamps carry.
FlTime fl__link_clock(const FlLink *link, FlTime now);

/// What is known of the peer's link clock against ours (both in link-clock time).
const FlClock *fl__link_peer_clock(const FlLink *link);

/// Ends the conversation here: what is under way becomes unknown.
void fl__link_close(FlLink *link);

#endif
