// What others see: from the ledger where we distribute, from the host's reports where it does.

// REPORT: how an entity of yours is seen.                        spec/WIRE.md section 7.9
//
//   bits  field      unit          valid
//   8     kind       -             7
//   16    number     -             the entity's
//   16    receivers  -             how many the host passes it on to
//   32    mean       distance * s  of their accumulated errors; a float, finite, not negative
//   32    sd         distance * s  likewise: their population standard deviation
//   16    farthest   0.25 ms       one way from the host to the farthest of them; 16.38 s at most
//   8     count      -             0..16 of them follow, others the next time
//   per receiver: 16 its number, 32 its accumulated error
#include "private.h"

#include "send/send.h"

#include <string.h>

#define REPORT_HEAD 16
#define DELAY_MAX 65535
#define REPORT_EACH 6
#define REPORT_AT_MOST 16
#define REPORT_EVERY FL_SEC(1)

// ---------------------------------------------------------------- asking

static bool exact_view(const FlSession *session, const Entity *entity, int32_t member, FlTime time,
                       FlLedgerView *view)
{
    int32_t connection = fl__member_connection(session, member);
    int32_t slot = fl__slot(session, entity);
    return connection != FL__NONE && session->entities->ledger != NULL &&
           fl_ledger_read(session->entities->ledger, slot, connection, time, view);
}

static float *reported(const FlSession *session, const Entity *entity, int32_t member)
{
    int32_t at = fl__detail_index(session, entity);
    return &session->entities->reported[(int64_t)at * session->member_count + member];
}

FlResult fl_entity_view(const FlSession *session, FlTime now, FlEntityId id, FlPeerId peer,
                        FlLedgerView *view)
{
    memset(view, 0, sizeof *view);
    const Entity *entity = fl__entity_find(session, id);
    int32_t member = fl__member_of(session, peer);
    if (entity == NULL || member == FL__NONE) {
        return FL_STALE_ID;
    }
    if (exact_view(session, entity, member, fl_session_time(session, now), view)) {
        return FL_OK;
    }
    float error = entity->ours ? *reported(session, entity, member) : -1.0f;
    if (error < 0.0f) {
        return FL_NOT_FOUND;
    }
    view->last_sent = FL_FOREVER;
    view->cumulative = (double)error;
    view->accumulated = (double)error;
    return FL_OK;
}

// A receiver's accumulated error: by the moment, or as far as it is counted, which costs nothing.
static bool error_at(const FlSession *session, int32_t slot, int32_t connection, FlTime time,
                     bool exact, double *error)
{
    if (!exact) {
        return fl__ledger_counted(session->entities->ledger, slot, connection, error);
    }
    FlLedgerView view;
    bool watches = fl_ledger_read(session->entities->ledger, slot, connection, time, &view);
    *error = view.accumulated;
    return watches;
}

// Mean and deviation over the connections that an entity goes over.
static FlEntityReport measure(const FlSession *session, const Entity *entity, FlTime time,
                              bool exact)
{
    FlEntityReport report = {0, 0.0, 0.0};
    double sum = 0.0;
    double squares = 0.0;
    int32_t slot = fl__slot(session, entity);
    int32_t connections = session->entities->ledger != NULL ? session->connection_count : 0;
    for (int32_t connection = 0; connection < connections; connection++) {
        double error;
        if (error_at(session, slot, connection, time, exact, &error)) {
            report.receiver_count++;
            sum += error;
            squares += error * error;
        }
    }
    if (report.receiver_count > 0) {
        double n = (double)report.receiver_count;
        double variance = squares / n - (sum / n) * (sum / n);
        report.mean = sum / n;
        report.sd = variance > 0.0 ? sqrt(variance) : 0.0;
    }
    return report;
}

// Two groups of receivers as one.
static FlEntityReport together(FlEntityReport a, FlEntityReport b)
{
    int32_t count = a.receiver_count + b.receiver_count;
    FlEntityReport all = {count, 0.0, 0.0};
    if (count > 0) {
        double share = (double)a.receiver_count / (double)count;
        double apart = a.mean - b.mean;
        double within = share * a.sd * a.sd + (1.0 - share) * b.sd * b.sd;
        all.mean = share * a.mean + (1.0 - share) * b.mean;
        all.sd = sqrt(within + share * (1.0 - share) * apart * apart);
    }
    return all;
}

FlResult fl_entity_report(const FlSession *session, FlTime now, FlEntityId id,
                          FlEntityReport *report)
{
    memset(report, 0, sizeof *report);
    const Entity *entity = fl__entity_find(session, id);
    if (entity == NULL) {
        return FL_STALE_ID;
    }
    *report = measure(session, entity, fl_session_time(session, now), true);
    if (entity->ours && entity->detail->reported.known) {
        *report = together(*report, entity->detail->reported.all);
    }
    return report->receiver_count > 0 ? FL_OK : FL_NOT_FOUND;
}

FlResult fl_entity_seen(const FlSession *session, FlEntityId id, FlPeerId peer, FlTime time,
                        FlPose *pose)
{
    memset(pose, 0, sizeof *pose);
    const Entity *entity = fl__entity_find(session, id);
    int32_t member = fl__member_of(session, peer);
    if (entity == NULL || member == FL__NONE) {
        return FL_STALE_ID;
    }
    int32_t connection = fl__member_connection(session, member);
    int32_t slot = fl__slot(session, entity);
    return connection == FL__NONE || session->entities->ledger == NULL ||
                   fl__entity_elsewhere(session, slot, connection)
               ? FL_NOT_FOUND
               : fl_ledger_seen(session->entities->ledger, slot, connection, time, pose);
}

// ---------------------------------------------------------------- reporting

static bool is_reported(const FlSession *session, const Entity *entity, int32_t connection)
{
    return fl__is_live(entity) && entity->owner == fl__connection_member(session, connection) &&
           entity->announced && entity->detail->packed_bytes > 0;
}

static bool is_news(const Entity *entity, const FlEntityReport *all)
{
    const Reported *before = &entity->detail->reported;
    bool same = before->known && before->all.mean == all->mean &&
                before->all.receiver_count == all->receiver_count;
    return all->receiver_count > 0 && !same;
}

// Whether some entity of the member's is to be reported, from its turn on.
static bool has_news(const FlSession *session, int32_t index, FlTime time)
{
    for (int32_t i = fl__stream(session, index)->report_turn; i < session->def.entity_capacity;
         i++) {
        const Entity *entity = fl__entity(session, i);
        if (is_reported(session, entity, index)) {
            FlEntityReport all = measure(session, entity, time, false);
            if (is_news(entity, &all)) {
                return true;
            }
        }
    }
    return false;
}

static bool reports(const FlSession *session)
{
    return fl__is_host(session) && session->entities->ledger != NULL;
}

static Want want(const void *self, int32_t index, FlTime now)
{
    (void)now;
    const FlSession *session = (const FlSession *)self;
    Want want = {fl__stream(session, index)->report_next, 0, REPORT_HEAD, 0, 0};
    return reports(session) ? want : fl__want_none();
}

// Nothing to say now: the next time.
static void look(void *self, int32_t index, FlTime now)
{
    FlSession *session = (FlSession *)self;
    Stream *stream = fl__stream(session, index);
    if (reports(session) && now >= stream->report_next &&
        !has_news(session, index, fl_session_time(session, now))) {
        stream->report_turn = 0;
        stream->report_next = fl_time_add(now, REPORT_EVERY);
    }
}

// The receivers named in private scopes take turns, by the second.
static int32_t list_receivers(const FlSession *session, const Entity *entity, FlWriter *w,
                              int32_t fits, FlTime time)
{
    int32_t slot = fl__slot(session, entity);
    int32_t start = (int32_t)((time / REPORT_EVERY * REPORT_AT_MOST) % session->connection_count);
    int32_t count = 0;
    for (int32_t i = 0; i < session->connection_count && count < fits; i++) {
        int32_t connection = (start + i) % session->connection_count;
        double error;
        if (error_at(session, slot, connection, time, false, &error)) {
            fl_writer_put(w, (uint64_t)fl__connection_member(session, connection), 16);
            fl_writer_put(w, fl__float_bits((float)error), 32);
            count++;
        }
    }
    return count;
}

// How far the receivers are, in steps: the owner learns what its things do in that time.
static uint64_t farthest_of(const FlSession *session, const Entity *entity)
{
    FlTime farthest = 0;
    int32_t slot = fl__slot(session, entity);
    for (int32_t i = 0; i < session->connection_count; i++) {
        double error;
        if (fl__ledger_counted(session->entities->ledger, slot, i, &error)) {
            FlTime delay = fl_ledger_receiver(session->entities->ledger, i).delay_ns;
            farthest = delay > farthest ? delay : farthest;
        }
    }
    return (uint64_t)fl_time_min(farthest / FL_UPDATE_STEP_NS, DELAY_MAX);
}

static int32_t write_entity(FlSession *session, Entity *entity, FlWriter *w, int32_t room,
                            FlTime time)
{
    FlEntityReport all = measure(session, entity, time, false);
    if (!is_news(entity, &all)) {
        return 0;
    }
    entity->detail->reported.all = all;
    entity->detail->reported.known = true;
    fl_writer_put(w, SECTION_REPORT, 8);
    fl_writer_put(w, entity->number, 16);
    fl_writer_put(w, (uint64_t)all.receiver_count, 16);
    fl_writer_put(w, fl__float_bits((float)all.mean), 32);
    fl_writer_put(w, fl__float_bits((float)all.sd), 32);
    fl_writer_put(w, farthest_of(session, entity), 16);
    int32_t count_at = fl_writer_size(w);
    fl_writer_put(w, 0, 8);
    int32_t fits = (room - REPORT_HEAD) / REPORT_EACH;
    fits = fits < REPORT_AT_MOST ? fits : REPORT_AT_MOST;
    int32_t count = list_receivers(session, entity, w, fits, time);
    w->bytes[count_at] = (uint8_t)count;
    return REPORT_HEAD + count * REPORT_EACH;
}

static void write(void *self, PacketOut *out)
{
    FlSession *session = (FlSession *)self;
    Stream *stream = fl__stream(session, out->connection);
    if (!reports(session) || out->now < stream->report_next) {
        return;
    }
    for (; stream->report_turn < session->def.entity_capacity; stream->report_turn++) {
        if (out->left < REPORT_HEAD) {
            return; // goes on with the next packet
        }
        Entity *entity = fl__entity(session, stream->report_turn);
        if (is_reported(session, entity, out->connection)) {
            out->left -= write_entity(session, entity, out->w, out->left, out->time);
        }
    }
    stream->report_turn = 0;
    stream->report_next = fl_time_add(out->now, REPORT_EVERY);
}

static bool take_error(FlReader *r, double *error)
{
    float value = fl__float_of((uint32_t)fl_reader_take(r, 32));
    *error = (double)value;
    return isfinite(value) && value >= 0.0f;
}

static bool read_head(FlReader *r, uint32_t *number, Reported *reported, int32_t *count)
{
    *number = (uint32_t)fl_reader_take(r, 16);
    reported->all.receiver_count = (int32_t)fl_reader_take(r, 16);
    bool sound = take_error(r, &reported->all.mean);
    sound = take_error(r, &reported->all.sd) && sound;
    reported->farthest = (FlTime)fl_reader_take(r, 16) * FL_UPDATE_STEP_NS;
    reported->known = true;
    *count = (int32_t)fl_reader_take(r, 8);
    return sound && *count <= REPORT_AT_MOST && reported->all.receiver_count > 0;
}

static bool skip(const void *self, PacketIn *in)
{
    const FlSession *session = (const FlSession *)self;
    uint32_t number;
    Reported reported;
    int32_t count;
    bool sound = read_head(in->r, &number, &reported, &count) &&
                 number < (uint32_t)session->world.def.entity_capacity;
    for (int32_t i = 0; i < count && sound; i++) {
        double error;
        (void)fl_reader_take(in->r, 16);
        sound = take_error(in->r, &error);
    }
    return sound && !in->r->failed;
}

static void take(void *self, PacketIn *in)
{
    FlSession *session = (FlSession *)self;
    uint32_t number;
    Reported all;
    int32_t count;
    if (!read_head(in->r, &number, &all, &count)) {
        return;
    }
    Entity *entity = fl__entity_numbered(session, number);
    entity = entity != NULL && entity->ours ? entity : NULL;
    for (int32_t i = 0; i < count; i++) {
        int32_t member = (int32_t)fl_reader_take(in->r, 16);
        double error;
        bool sound = take_error(in->r, &error);
        if (sound && entity != NULL && member < session->member_count) {
            *reported(session, entity, member) = (float)error;
        }
    }
    if (entity != NULL) {
        entity->detail->reported = all;
    }
}

const Feature fl__feature_report = {
    .name = "report",
    .sections = {SECTION_REPORT, 1},
    .want = want,
    .look = look,
    .write = write,
    .skip = skip,
    .take = take,
};

FlFocusFrame fl_session_frame(const FlSession *session)
{
    FlFocusFrame none = {0};
    return session->entities->ledger != NULL ? fl__ledger_frame(session->entities->ledger) : none;
}

FlResult fl_peer_status(const FlSession *session, FlPeerId peer, FlPeerStatus *status)
{
    if (!fl__member_status(session, peer, status)) {
        return FL_STALE_ID;
    }
    int32_t connection = fl__member_connection(session, status->number);
    if (session->entities->carrier != NULL) {
        status->contradictions =
            session->entities->carrier->contradictions(session, status->number);
    } else if (status->direct && session->entities->ledger != NULL) {
        status->contradictions =
            fl_ledger_receiver(session->entities->ledger, connection).contradictions +
            fl__stream(session, connection)->contradictions;
    }
    return FL_OK;
}
