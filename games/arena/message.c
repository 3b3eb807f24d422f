// What peers of the arena tell each other besides where players are.
//
// INPUT: see arena_input_encode in arena.h.
//
// STATUS: a player's state blob, ARENA_STATUS_BYTES.
//
//   bits  field    valid
//   16    life     -
//   16    shots    -
//   16    jumps    -
//   16    deaths   -
//   16    score    two's complement
//   8     health   0 … 200
//   8     armour   0 … 200
//   2     weapon   -
//   2     carries  0 … 2; 2: no flag
//   4     padding  zero
//
// DEED: a call to the owner of its target, ARENA_DEED_BYTES.
//
//   bits  field    valid
//   3     kind     less 1: 1 … 8
//   7     actor    -
//   7     target   -
//   2     weapon   0 unless damage or score
//   7     amount   damage 1 … 127; score 1 or -1, two's complement; else 0
//   32    which    -
//   18    x        two's complement; damage -1000 … 1000; 0 unless damage or drop
//   18    y        the same
//   18    z        the same
//
// ANSWER: what the target is like now, ARENA_ANSWER_BYTES.
//
//   bits  field    valid
//   32    first    two's complement
//   32    second   two's complement
//   32    third    -
//   18    x        two's complement
//   18    y        two's complement
//   18    z        two's complement
//   32    back_at  two's complement
//   2     padding  zero
//
// MISSILE: its launch, ARENA_MISSILE_BYTES.
//
//   bits  field    unit            valid
//   7     owner    -               -
//   32    number   -               -
//   30    born     tick            -
//   17    x        1/8 unit        two's complement
//   17    y        1/8 unit        two's complement
//   17    z        1/8 unit        two's complement
//   16    yaw      2 pi / 65536    two's complement
//   16    pitch    2 pi / 65536    -16384 … 16384
#include <string.h>

#include "private.h"

#define PLAYER_WIDTH 7
#define BORN_WIDTH 30
#define PLACE_WIDTH 18
#define PLACE_MOST 131071
#define EIGHTHS_WIDTH 17
#define EIGHTHS_MOST 65535
#define PUSH_MOST 1000
#define QUARTER 16384

_Static_assert(ARENA_PLAYER_CAPACITY <= 128 && ARENA_ITEM_CAPACITY <= 64, "seven bits, six bits");
_Static_assert(ARENA_WEAPON_COUNT <= 4 && ARENA_DEED_COUNT <= 9, "two bits, three bits");

static void put_signed(FlWriter *writer, int32_t value, int32_t width)
{
    uint64_t mask = (UINT64_C(1) << width) - 1;
    fl_writer_put(writer, (uint64_t)(int64_t)value & mask, width);
}

static int32_t take_signed(FlReader *reader, int32_t width)
{
    int64_t bits = (int64_t)fl_reader_take(reader, width);
    int64_t sign = INT64_C(1) << (width - 1);
    return (int32_t)((bits ^ sign) - sign);
}

static bool within(int32_t value, int32_t low, int32_t high)
{
    return value >= low && value <= high;
}

// ---------------------------------------------------------------- input

int16_t arena_angle_steps(double angle)
{
    double wrapped = fl_angle_wrap(angle);
    double steps = floor(wrapped * (32768.0 / FL_PI) + 0.5);
    if (!(steps > -32768.0)) {
        return steps == -32768.0 ? INT16_MIN : 0; // not finite: straight ahead
    }
    return steps < 32768.0 ? (int16_t)steps : INT16_MIN;
}

double arena_angle(int16_t steps)
{
    return steps * (FL_PI / 32768.0);
}

void arena_input_encode(ArenaInput input, uint8_t bytes[ARENA_INPUT_BYTES])
{
    FlWriter writer;
    fl_writer_init(&writer, bytes, ARENA_INPUT_BYTES);
    const int32_t push[3] = {input.forward, input.right, input.up};
    for (int32_t i = 0; i < 3; i++) {
        int32_t raised = number_clamp_whole(push[i], -127, 127) + 127;
        fl_writer_put(&writer, (uint64_t)raised, 8);
    }
    put_signed(&writer, input.yaw, 16);
    put_signed(&writer, number_clamp_whole(input.pitch, -QUARTER, QUARTER), 16);
    fl_writer_put(&writer, input.buttons & 3u, 2);
    fl_writer_put(&writer, input.weapon < ARENA_WEAPON_COUNT ? input.weapon : 0, 2);
    fl_writer_align(&writer);
}

bool arena_input_decode(const uint8_t bytes[ARENA_INPUT_BYTES], ArenaInput *input)
{
    *input = (ArenaInput){0};
    FlReader reader;
    fl_reader_init(&reader, bytes, ARENA_INPUT_BYTES);
    int32_t forward = (int32_t)fl_reader_take(&reader, 8) - 127;
    int32_t right = (int32_t)fl_reader_take(&reader, 8) - 127;
    int32_t up = (int32_t)fl_reader_take(&reader, 8) - 127;
    int32_t yaw = take_signed(&reader, 16), pitch = take_signed(&reader, 16);
    uint32_t buttons = (uint32_t)fl_reader_take(&reader, 2);
    uint32_t weapon = (uint32_t)fl_reader_take(&reader, 2);
    fl_reader_align(&reader);
    if (reader.failed || forward > 127 || right > 127 || up > 127 ||
        !within(pitch, -QUARTER, QUARTER)) {
        return false;
    }
    *input = (ArenaInput){(int8_t)forward, (int8_t)right,  (int8_t)up,     (uint8_t)buttons,
                          (int16_t)yaw,    (int16_t)pitch, (uint8_t)weapon};
    return true;
}

// ---------------------------------------------------------------- status

static bool status_fits(const ArenaStatus *s)
{
    return s->health <= ARENA_HEALTH_MAX && s->armour <= ARENA_HEALTH_MAX &&
           s->weapon < ARENA_WEAPON_COUNT && s->carries <= ARENA_TEAM_COUNT;
}

bool arena_status_encode(FlWriter *writer, const ArenaStatus *status)
{
    if (!status_fits(status)) {
        return false;
    }
    fl_writer_put(writer, status->life, 16);
    fl_writer_put(writer, status->shots, 16);
    fl_writer_put(writer, status->jumps, 16);
    fl_writer_put(writer, status->deaths, 16);
    put_signed(writer, status->score, 16);
    fl_writer_put(writer, status->health, 8);
    fl_writer_put(writer, status->armour, 8);
    fl_writer_put(writer, status->weapon, 2);
    fl_writer_put(writer, status->carries, 2);
    fl_writer_align(writer);
    return !writer->failed;
}

bool arena_status_decode(FlReader *reader, ArenaStatus *status)
{
    memset(status, 0, sizeof *status);
    ArenaStatus got = {0};
    got.life = (uint16_t)fl_reader_take(reader, 16);
    got.shots = (uint16_t)fl_reader_take(reader, 16);
    got.jumps = (uint16_t)fl_reader_take(reader, 16);
    got.deaths = (uint16_t)fl_reader_take(reader, 16);
    got.score = (int16_t)take_signed(reader, 16);
    got.health = (uint8_t)fl_reader_take(reader, 8);
    got.armour = (uint8_t)fl_reader_take(reader, 8);
    got.weapon = (uint8_t)fl_reader_take(reader, 2);
    got.carries = (uint8_t)fl_reader_take(reader, 2);
    fl_reader_align(reader);
    if (reader->failed || !status_fits(&got)) {
        return false;
    }
    *status = got;
    return true;
}

// ---------------------------------------------------------------- deed

static bool deed_fits(const ArenaDeed *d)
{
    bool damage = d->kind == ARENA_DEED_DAMAGE, score = d->kind == ARENA_DEED_SCORE;
    int32_t most = damage ? PUSH_MOST : d->kind == ARENA_DEED_DROP ? PLACE_MOST : 0;
    bool amount = damage  ? within(d->amount, 1, 127)
                  : score ? d->amount == 1 || d->amount == -1
                          : d->amount == 0;
    return d->kind > ARENA_DEED_NONE && d->kind < ARENA_DEED_COUNT &&
           within(d->actor, 0, ARENA_PLAYER_CAPACITY - 1) &&
           within(d->target, 0, ARENA_PLAYER_CAPACITY - 1) && amount &&
           within(d->weapon, 0, damage || score ? ARENA_WEAPON_COUNT - 1 : 0) &&
           within(d->x, -most, most) && within(d->y, -most, most) && within(d->z, -most, most);
}

bool arena_deed_encode(FlWriter *writer, const ArenaDeed *deed)
{
    if (!deed_fits(deed)) {
        return false;
    }
    fl_writer_put(writer, (uint64_t)deed->kind - 1, 3);
    fl_writer_put(writer, (uint64_t)deed->actor, PLAYER_WIDTH);
    fl_writer_put(writer, (uint64_t)deed->target, PLAYER_WIDTH);
    fl_writer_put(writer, (uint64_t)deed->weapon, 2);
    put_signed(writer, deed->amount, 7);
    fl_writer_put(writer, deed->which, 32);
    put_signed(writer, deed->x, PLACE_WIDTH);
    put_signed(writer, deed->y, PLACE_WIDTH);
    put_signed(writer, deed->z, PLACE_WIDTH);
    return !writer->failed;
}

bool arena_deed_decode(FlReader *reader, ArenaDeed *deed)
{
    memset(deed, 0, sizeof *deed);
    ArenaDeed got = {0};
    got.kind = (ArenaDeedKind)(fl_reader_take(reader, 3) + 1);
    got.actor = (int32_t)fl_reader_take(reader, PLAYER_WIDTH);
    got.target = (int32_t)fl_reader_take(reader, PLAYER_WIDTH);
    got.weapon = (int32_t)fl_reader_take(reader, 2);
    got.amount =
        got.kind == ARENA_DEED_DAMAGE ? (int32_t)fl_reader_take(reader, 7) : take_signed(reader, 7);
    got.which = (uint32_t)fl_reader_take(reader, 32);
    got.x = take_signed(reader, PLACE_WIDTH);
    got.y = take_signed(reader, PLACE_WIDTH);
    got.z = take_signed(reader, PLACE_WIDTH);
    if (reader->failed || !deed_fits(&got)) {
        return false;
    }
    *deed = got;
    return true;
}

// ---------------------------------------------------------------- answer

bool arena_answer_encode(FlWriter *writer, const ArenaAnswer *answer)
{
    put_signed(writer, answer->first, 32);
    put_signed(writer, answer->second, 32);
    fl_writer_put(writer, answer->third, 32);
    put_signed(writer, number_clamp_whole(answer->x, -PLACE_MOST, PLACE_MOST), PLACE_WIDTH);
    put_signed(writer, number_clamp_whole(answer->y, -PLACE_MOST, PLACE_MOST), PLACE_WIDTH);
    put_signed(writer, number_clamp_whole(answer->z, -PLACE_MOST, PLACE_MOST), PLACE_WIDTH);
    put_signed(writer, answer->back_at, 32);
    fl_writer_align(writer);
    return !writer->failed;
}

bool arena_answer_decode(FlReader *reader, ArenaAnswer *answer)
{
    memset(answer, 0, sizeof *answer);
    ArenaAnswer got = {0};
    got.first = take_signed(reader, 32);
    got.second = take_signed(reader, 32);
    got.third = (uint32_t)fl_reader_take(reader, 32);
    got.x = take_signed(reader, PLACE_WIDTH);
    got.y = take_signed(reader, PLACE_WIDTH);
    got.z = take_signed(reader, PLACE_WIDTH);
    got.back_at = take_signed(reader, 32);
    fl_reader_align(reader);
    if (reader->failed || got.x < -PLACE_MOST || got.y < -PLACE_MOST || got.z < -PLACE_MOST) {
        return false;
    }
    *answer = got;
    return true;
}

// ---------------------------------------------------------------- missile

static bool missile_fits(const ArenaMissile *m)
{
    const double place[3] = {m->x * 8.0, m->y * 8.0, m->z * 8.0};
    for (int32_t i = 0; i < 3; i++) {
        if (!(fabs(place[i]) <= EIGHTHS_MOST) || place[i] != floor(place[i])) {
            return false;
        }
    }
    return within(m->owner, 0, ARENA_PLAYER_CAPACITY - 1) && m->born >= 0 &&
           m->born < 1 << BORN_WIDTH && within(m->pitch, -QUARTER, QUARTER);
}

bool arena_missile_encode(FlWriter *writer, const ArenaMissile *missile)
{
    if (!missile_fits(missile)) {
        return false;
    }
    fl_writer_put(writer, (uint64_t)missile->owner, PLAYER_WIDTH);
    fl_writer_put(writer, missile->number, 32);
    fl_writer_put(writer, (uint64_t)missile->born, BORN_WIDTH);
    put_signed(writer, (int32_t)(missile->x * 8.0), EIGHTHS_WIDTH);
    put_signed(writer, (int32_t)(missile->y * 8.0), EIGHTHS_WIDTH);
    put_signed(writer, (int32_t)(missile->z * 8.0), EIGHTHS_WIDTH);
    put_signed(writer, missile->yaw, 16);
    put_signed(writer, missile->pitch, 16);
    return !writer->failed;
}

bool arena_missile_decode(FlReader *reader, ArenaMissile *missile)
{
    memset(missile, 0, sizeof *missile);
    ArenaMissile got = {0};
    got.owner = (int32_t)fl_reader_take(reader, PLAYER_WIDTH);
    got.number = (uint32_t)fl_reader_take(reader, 32);
    got.born = (int32_t)fl_reader_take(reader, BORN_WIDTH);
    got.x = take_signed(reader, EIGHTHS_WIDTH) / 8.0;
    got.y = take_signed(reader, EIGHTHS_WIDTH) / 8.0;
    got.z = take_signed(reader, EIGHTHS_WIDTH) / 8.0;
    got.yaw = (int16_t)take_signed(reader, 16);
    got.pitch = (int16_t)take_signed(reader, 16);
    if (reader->failed || !missile_fits(&got)) {
        return false;
    }
    *missile = got;
    return true;
}
