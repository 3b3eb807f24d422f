// Arguments of the well-known kinds of calls.                    spec/WIRE.md section 8.11
//
// Bits one after the other, padded with zeros to a whole byte. Positions and velocities take as
// many bits as the world's quantisers say.
#include "private.h"

#include "wire/wire.h"

static bool put_vector(FlWriter *w, const FlQuantiser *quantisers, FlVec3 v)
{
    const double values[3] = {v.x, v.y, v.z};
    bool inside = true;
    for (int32_t i = 0; i < 3; i++) {
        uint32_t index = 0;
        inside = fl__quantise(&quantisers[i], values[i], &index) && inside;
        fl_writer_put(w, index, quantisers[i].width);
    }
    return inside;
}

static FlVec3 take_vector(FlReader *r, const FlQuantiser *quantisers)
{
    double values[3];
    for (int32_t i = 0; i < 3; i++) {
        const FlQuantiser *q = &quantisers[i];
        uint32_t index = (uint32_t)fl_reader_take(r, q->width);
        if (index > q->last) {
            fl__reader_fail(r);
            index = 0;
        }
        values[i] = fl__dequantise(q, index);
    }
    return fl_vec3(values[0], values[1], values[2]);
}

static bool finish(FlWriter *w, bool good)
{
    fl_writer_align(w);
    return good && !w->failed && fl_writer_size(w) <= FL_CALL_BYTES;
}

// Padding is zero, and nothing follows.
static bool is_whole(FlReader *r)
{
    fl_reader_align(r);
    return fl__reader_whole(r);
}

bool fl_hit_call_write(FlWriter *w, const FlWorld *world, const FlHitCall *call)
{
    fl_writer_put(w, call->shooter, 16);
    fl_writer_put(w, call->weapon, 8);
    fl_writer_put(w, call->damage, 16);
    fl__call_time_put(w, call->time);
    bool inside = put_vector(w, &world->quantiser[FL_QUANTISER_POSITION], call->target);
    return finish(w, inside);
}

bool fl__hit_call_read(FlReader *r, const FlWorld *world, FlHitCall *call)
{
    call->shooter = (uint16_t)fl_reader_take(r, 16);
    call->weapon = (uint8_t)fl_reader_take(r, 8);
    call->damage = (uint16_t)fl_reader_take(r, 16);
    call->time = fl__call_time_take(r);
    call->target = take_vector(r, &world->quantiser[FL_QUANTISER_POSITION]);
    return is_whole(r);
}

bool fl__death_call_write(FlWriter *w, const FlDeathCall *call)
{
    fl_writer_put(w, call->victim, 16);
    fl_writer_put(w, call->weapon, 8);
    fl__call_time_put(w, call->time);
    return finish(w, true);
}

bool fl__death_call_read(FlReader *r, FlDeathCall *call)
{
    call->victim = (uint16_t)fl_reader_take(r, 16);
    call->weapon = (uint8_t)fl_reader_take(r, 8);
    call->time = fl__call_time_take(r);
    return is_whole(r);
}

bool fl__pickup_call_write(FlWriter *w, const FlPickupCall *call)
{
    fl_writer_put(w, call->taker, 16);
    fl__call_time_put(w, call->time);
    return finish(w, true);
}

bool fl__pickup_call_read(FlReader *r, FlPickupCall *call)
{
    call->taker = (uint16_t)fl_reader_take(r, 16);
    call->time = fl__call_time_take(r);
    return is_whole(r);
}

bool fl__door_call_write(FlWriter *w, const FlDoorCall *call)
{
    fl_writer_put(w, call->by, 16);
    fl_writer_put(w, call->open ? 1 : 0, 1);
    fl__call_time_put(w, call->time);
    return finish(w, true);
}

bool fl__door_call_read(FlReader *r, FlDoorCall *call)
{
    call->by = (uint16_t)fl_reader_take(r, 16);
    call->open = fl_reader_take(r, 1) == 1;
    call->time = fl__call_time_take(r);
    return is_whole(r);
}

bool fl__missile_call_write(FlWriter *w, const FlWorld *world, const FlMissileCall *call)
{
    fl_writer_put(w, call->shooter, 16);
    fl_writer_put(w, call->weapon, 8);
    fl__call_time_put(w, call->time);
    bool here = put_vector(w, &world->quantiser[FL_QUANTISER_POSITION], call->position);
    bool inside = put_vector(w, &world->quantiser[FL_QUANTISER_VELOCITY], call->velocity) && here;
    return finish(w, inside);
}

bool fl__missile_call_read(FlReader *r, const FlWorld *world, FlMissileCall *call)
{
    call->shooter = (uint16_t)fl_reader_take(r, 16);
    call->weapon = (uint8_t)fl_reader_take(r, 8);
    call->time = fl__call_time_take(r);
    call->position = take_vector(r, &world->quantiser[FL_QUANTISER_POSITION]);
    call->velocity = take_vector(r, &world->quantiser[FL_QUANTISER_VELOCITY]);
    return is_whole(r);
}
