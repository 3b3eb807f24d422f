// What others see: from the ledger where we distribute, from the host's reports where it does.

// REPORT: how an entity of yours is seen.                        spec/WIRE.md section 7.9
//
//   bits  field      unit          valid
//   8     kind       -             7
//   16    number     -             the entity's
//   16    receivers  -             how many the host passes it on to
//   32    mean       distance * s  of their accumulated errors; a float, finite, not negative
//   32    sd         distance * s  likewise: their population standard deviation
//   8     count      -             0..16 of them follow, others the next time
//   per receiver: 16 its number, 32 its accumulated error
#include "private.h"

#include <string.h>

#define REPORT_HEAD 14
#define REPORT_EACH 6
#define REPORT_AT_MOST 16
#define REPORT_EVERY FL_SEC(1)

// ---------------------------------------------------------------- asking

static bool exact_view(const FlSession *session, const Entity *entity, int32_t member, FlTime time,
                       FlLedgerView *view)
{
    int32_t line = session->members[member].line;
    int32_t slot = fl__entity_slot(session, entity);
    return line != FL__NONE && fl_ledger_read(session->ledger, slot, line, time, view);
}

static float *reported(const FlSession *session, const Entity *entity, int32_t member)
{
    int32_t slot = fl__entity_slot(session, entity);
    return &session->reported[(int64_t)slot * session->member_count + member];
}

FlResult fl_entity_view(const FlSession *session, FlEntityId id, FlPeerId peer, FlTime now,
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
    float error = *reported(session, entity, member);
    if (!entity->ours || error < 0.0f) {
        return FL_NOT_FOUND;
    }
    view->last_sent = FL_FOREVER;
    view->cumulative = (double)error;
    view->accumulated = (double)error;
    return FL_OK;
}

// A receiver's accumulated error: by the moment, or as far as it is counted, which costs nothing.
static bool error_at(const FlSession *session, int32_t slot, int32_t line, FlTime time, bool exact,
                     double *error)
{
    if (!exact) {
        return fl_ledger_counted(session->ledger, slot, line, error);
    }
    FlLedgerView view;
    bool watches = fl_ledger_read(session->ledger, slot, line, time, &view);
    *error = view.accumulated;
    return watches;
}

// Mean and deviation over the lines that an entity goes over.
static FlEntityReport measure(const FlSession *session, const Entity *entity, FlTime time,
                              bool exact)
{
    FlEntityReport report = {0, 0.0, 0.0};
    double sum = 0.0;
    double squares = 0.0;
    int32_t slot = fl__entity_slot(session, entity);
    for (int32_t line = 0; line < session->line_count; line++) {
        double error;
        if (error_at(session, slot, line, time, exact, &error)) {
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

FlResult fl_entity_report(const FlSession *session, FlEntityId id, FlTime now,
                          FlEntityReport *report)
{
    memset(report, 0, sizeof *report);
    const Entity *entity = fl__entity_find(session, id);
    if (entity == NULL) {
        return FL_STALE_ID;
    }
    *report = measure(session, entity, fl_session_time(session, now), true);
    if (entity->ours && entity->reported.known) {
        *report = together(*report, entity->reported.all);
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
    int32_t line = session->members[member].line;
    int32_t slot = fl__entity_slot(session, entity);
    return line == FL__NONE ? FL_NOT_FOUND
                            : fl_ledger_seen(session->ledger, slot, line, time, pose);
}

// ---------------------------------------------------------------- reporting

static bool is_reported(const FlSession *session, const Entity *entity, int32_t line)
{
    return fl__entity_live(entity) && entity->owner == session->lines[line].member &&
           entity->announced && entity->packed_bytes > 0;
}

static bool is_news(const Entity *entity, const FlEntityReport *all)
{
    const Reported *before = &entity->reported;
    bool same = before->known && before->all.mean == all->mean &&
                before->all.receiver_count == all->receiver_count;
    return all->receiver_count > 0 && !same;
}

// Whether some entity of the member's is to be reported, from its turn on.
static bool has_news(const FlSession *session, int32_t index, FlTime time)
{
    for (int32_t i = session->lines[index].report_turn; i < session->def.entity_capacity; i++) {
        const Entity *entity = &session->entities[i];
        if (is_reported(session, entity, index)) {
            FlEntityReport all = measure(session, entity, time, false);
            if (is_news(entity, &all)) {
                return true;
            }
        }
    }
    return false;
}

static Want want(const void *self, int32_t index, FlTime now)
{
    (void)now;
    const FlSession *session = (const FlSession *)self;
    Want want = {session->lines[index].report_next, 0, REPORT_HEAD, 0};
    return fl__is_host(session) ? want : fl__want_none();
}

// Nothing to say now: the next time.
static void look(void *self, int32_t index, FlTime now)
{
    FlSession *session = (FlSession *)self;
    Line *line = &session->lines[index];
    if (fl__is_host(session) && now >= line->report_next &&
        !has_news(session, index, fl_session_time(session, now))) {
        line->report_turn = 0;
        line->report_next = fl_time_add(now, REPORT_EVERY);
    }
}

static uint32_t float_bits(double value)
{
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return bits;
}

// The receivers that are listed take turns, by the second.
static int32_t list_receivers(const FlSession *session, const Entity *entity, FlWriter *w,
                              int32_t fits, FlTime time)
{
    int32_t slot = fl__entity_slot(session, entity);
    int32_t start = (int32_t)((time / REPORT_EVERY * REPORT_AT_MOST) % session->line_count);
    int32_t count = 0;
    for (int32_t i = 0; i < session->line_count && count < fits; i++) {
        int32_t line = (start + i) % session->line_count;
        double error;
        if (error_at(session, slot, line, time, false, &error)) {
            fl_writer_put(w, (uint64_t)session->lines[line].member, 16);
            fl_writer_put(w, float_bits(error), 32);
            count++;
        }
    }
    return count;
}

static int32_t write_entity(FlSession *session, Entity *entity, FlWriter *w, int32_t room,
                            FlTime time)
{
    FlEntityReport all = measure(session, entity, time, false);
    if (!is_news(entity, &all)) {
        return 0;
    }
    entity->reported.all = all;
    entity->reported.known = true;
    fl_writer_put(w, SECTION_REPORT, 8);
    fl_writer_put(w, entity->number, 16);
    fl_writer_put(w, (uint64_t)all.receiver_count, 16);
    fl_writer_put(w, float_bits(all.mean), 32);
    fl_writer_put(w, float_bits(all.sd), 32);
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
    Line *line = out->line;
    if (!fl__is_host(session) || out->now < line->report_next) {
        return;
    }
    for (; line->report_turn < session->def.entity_capacity; line->report_turn++) {
        if (out->left < REPORT_HEAD) {
            return; // goes on with the next packet
        }
        Entity *entity = &session->entities[line->report_turn];
        if (is_reported(session, entity, out->index)) {
            out->left -= write_entity(session, entity, out->w, out->left, out->time);
        }
    }
    line->report_turn = 0;
    line->report_next = fl_time_add(out->now, REPORT_EVERY);
}

static bool take_error(FlReader *r, double *error)
{
    uint32_t bits = (uint32_t)fl_reader_take(r, 32);
    float value;
    memcpy(&value, &bits, sizeof value);
    *error = (double)value;
    return isfinite(value) && value >= 0.0f;
}

static bool read_head(FlReader *r, uint32_t *number, FlEntityReport *all, int32_t *count)
{
    *number = (uint32_t)fl_reader_take(r, 16);
    all->receiver_count = (int32_t)fl_reader_take(r, 16);
    bool sound = take_error(r, &all->mean);
    sound = take_error(r, &all->sd) && sound;
    *count = (int32_t)fl_reader_take(r, 8);
    return sound && *count <= REPORT_AT_MOST && all->receiver_count > 0;
}

static bool skip(const void *self, PacketIn *in)
{
    const FlSession *session = (const FlSession *)self;
    uint32_t number;
    FlEntityReport all;
    int32_t count;
    bool sound = read_head(in->r, &number, &all, &count) && !fl__is_host(session) &&
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
    FlEntityReport all;
    int32_t count;
    if (!read_head(in->r, &number, &all, &count)) {
        return;
    }
    const Line *line = &session->lines[in->line];
    if (line->direct) { // not our host; it may have become it
        fl__count_foreign(session, line);
    }
    int32_t slot = session->by_number[number];
    bool ours = slot != FL__NONE && session->entities[slot].ours && !line->direct;
    Entity *entity = ours ? &session->entities[slot] : NULL;
    for (int32_t i = 0; i < count; i++) {
        int32_t member = (int32_t)fl_reader_take(in->r, 16);
        double error;
        bool sound = take_error(in->r, &error);
        if (sound && entity != NULL && member < session->member_count) {
            *reported(session, entity, member) = (float)error;
        }
    }
    if (entity != NULL) {
        entity->reported.all = all;
        entity->reported.known = true;
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
