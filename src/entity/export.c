// Updates on their way out: packed, and put into the ledger to be distributed.
#include "export.h"
#include "private.h"

#include "motion/motion.h"
#include "send/send.h"

// In a crowd whoever watches gets every frame, straight on or not: silence is how it notices that
// a player is gone.
void fl__exporter_start(const FlSession *session, const Entity *entity)
{
    FlExporterDef exporter = fl_exporter_def_default();
    exporter.model = entity->def->model;
    exporter.trigger = entity->def->trigger;
    exporter.experience = &session->entities->experience[entity->def->kind % KINDS_LEARNT];
    exporter.paced = entity->def->send.policy != FL_SEND_BASE || entity->def->send.every != 1.0;
    if (session->topology == FL_TOPOLOGY_CROWD) {
        FlTime frame = session->def.tuning.crowd.frame_ns * 3 / 4;
        exporter.trigger.silence_ns = fl_time_min(exporter.trigger.silence_ns, frame);
    }
    fl_exporter_init(&entity->detail->exporter, &exporter);
}

#define SHORTEST FL_MS(20) // what a receiver sees later than this it may foresee

// How long after it happens receivers hear of something.
typedef struct Delays {
    FlTime shortest, longest;
} Delays;

static Delays delays_here(const FlSession *session)
{
    Delays here = {FL_FOREVER, 0};
    for (int32_t i = 0; i < session->connection_count; i++) {
        if (fl__connection_used(session, i)) {
            FlTime delay = fl_ledger_receiver(session->entities->ledger, i).delay_ns;
            here.shortest = fl_time_min(here.shortest, delay);
            here.longest = delay > here.longest ? delay : here.longest;
        }
    }
    return here;
}

// Of those behind a host its reports say how far from it they are. Until one has come they are
// taken to be as far from it as we are, give or take.
static Delays delays_of(const FlSession *session, const Entity *entity, Delays here)
{
    Delays all = here;
    const Reported *reported = &entity->detail->reported;
    int32_t host = fl__member_connection(session, session->host);
    if (!fl__is_host(session) && reported->known && host != FL__NONE) {
        FlTime ours = fl_ledger_receiver(session->entities->ledger, host).delay_ns;
        FlTime farthest = fl_time_add(ours, reported->farthest);
        all.longest = farthest > all.longest ? farthest : all.longest;
    } else if (!fl__is_host(session) && session->topology == FL_TOPOLOGY_STAR) {
        all.longest = 2 * all.longest + FL_MS(100);
    }
    all.longest = all.longest > SHORTEST ? all.longest : SHORTEST;
    all.shortest = all.shortest > SHORTEST ? fl_time_min(all.shortest, all.longest) : SHORTEST;
    return all;
}

#define LEARN_EVERY FL_SEC(1)
#define PACED_AGE FL_MS(300) // more than its delay: how old an update gets that waits for bytes

void fl__exporters_aim(FlSession *session, FlTime now)
{
    Entities *entities = session->entities;
    if (now < entities->aim_next) {
        return;
    }
    entities->aim_next = fl_time_add(now, LEARN_EVERY);
    Delays here = delays_here(session);
    for (int32_t i = 0; i < session->def.entity_capacity; i++) {
        Entity *entity = fl__entity(session, i);
        if (fl__is_live(entity) && entity->ours) {
            FlExporter *exporter = &entity->detail->exporter;
            FlTime waits = exporter->def.paced ? PACED_AGE : 0;
            Delays delays = delays_of(session, entity, here);
            fl__exporter_receivers(exporter, delays.shortest, delays.longest + waits);
        }
    }
}

int32_t fl__entity_pack(const FlSession *session, const Entity *entity, const FlMotion *motion,
                        uint32_t life, uint8_t *bytes)
{
    FlUpdate update = {entity->number, life, *motion};
    FlWriter writer;
    fl_writer_init(&writer, bytes, FL_UPDATE_BYTES_MAX);
    return fl_update_encode(&writer, &session->world, &update) ? fl_writer_size(&writer) : 0;
}

// An update takes the place of one that waited for bytes: counts whom it never went to.
static void count_replaced(FlSession *session, int32_t slot)
{
    for (int32_t i = 0; fl__connections_short(session) && i < session->connection_count; i++) {
        FlDue due;
        bool waits = fl__connection_used(session, i) && fl__connection_short(session, i) &&
                     fl_ledger_due(session->entities->ledger, i, slot, &due) && due.entity == slot;
        session->count[FL_SESSION_UPDATES_HELD_BACK] += waits ? 1 : 0;
    }
}

void fl__entity_export(FlSession *session, Entity *entity, const FlMotion *motion, uint32_t life,
                       FlTime time)
{
    entity->detail->packed_time = motion->time;
    if (session->entities->carrier != NULL) {
        session->entities->carrier->exported(session, fl__slot(session, entity),
                                             entity->detail->packed, entity->detail->packed_bytes,
                                             motion->time);
    }
    if (session->entities->ledger == NULL) {
        return;
    }
    if (entity->detail->packed_bytes > 0) {
        fl__ledger_update_bytes(session->entities->ledger, fl__slot(session, entity),
                                entity->detail->packed_bytes + (entity->epoch != 0 ? 1 : 0));
    }
    count_replaced(session, fl__slot(session, entity));
    entity->detail->packed_serial =
        fl__ledger_add(session->entities->ledger, fl__slot(session, entity), motion, life, time);
    session->entities->exported = true;
}
