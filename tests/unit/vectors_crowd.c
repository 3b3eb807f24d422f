// spec/vectors/crowd.json: a crowd's packets and what they mean, for decoders in other languages.
//
// Each packet is one that the library takes. Who carries between whom is there too, for it must
// come out alike everywhere. The Python test test_crowd_vectors.py reads it all with a decoder
// written from spec/WIRE.md alone.
#include "crowd/light.h"
#include "crowd_support.h"
#include "show/show.h"
#include "vectors.h"

enum { PLAYERS = 13 };

// ---------------------------------------------------------------- what packets say

static void say_update(Text *text, FlReader *r, FlTime now)
{
    FlWorld world = crowd_world();
    FlUpdate update;
    assert_int_equal(fl_update_decode(r, &world, now, &update), FL_UPDATE_OK);
    say(text, "{\"entity\": %u, \"life\": %u, \"time_ns\": %lld", (unsigned)update.entity,
        (unsigned)update.life, (long long)update.motion.time);
    say_vec3(text, "position", update.motion.position);
    say_vec3(text, "velocity", update.motion.velocity);
    say(text, "}");
}

static void say_guidance(Text *text, FlReader *r, FlTime now)
{
    FlWorld world = crowd_world();
    FlGuidance guidance;
    assert_true(fl__guidance_decode(r, &world, now, &guidance));
    say(text, "{\"entity\": %u, \"life\": %u, \"time_ns\": %lld, \"ahead_ns\": %lld",
        (unsigned)guidance.entity, (unsigned)guidance.life, (long long)guidance.time,
        (long long)guidance.ahead_ns);
    say_vec3(text, "position", guidance.position);
    say(text, ", \"points\": %d, \"actions\": [%u, %u]}", guidance.point_count,
        (unsigned)guidance.actions[0], (unsigned)guidance.actions[1]);
}

static void say_numbers(Text *text, FlReader *r, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        say(text, "%s%u", i > 0 ? ", " : "", (unsigned)fl_reader_take(r, 16));
    }
}

static int32_t say_section(Text *text, FlReader *r, FlTime now)
{
    int32_t kind = (int32_t)fl_reader_take(r, 8);
    say(text, "{\"kind\": %d", kind);
    int32_t count = 0;
    switch (kind) {
    case HEARTBEAT:
        say(text, ", \"stamp\": %u", (unsigned)fl_reader_take(r, 16));
        say(text, ", \"spare\": %u", (unsigned)fl_reader_take(r, 8));
        say(text, ", \"passes\": %u", (unsigned)fl_reader_take(r, 8));
        say(text, ", \"newest\": %u", (unsigned)fl_reader_take(r, 16));
        say(text, ", \"before\": %u", (unsigned)fl_reader_take(r, 32));
        break;
    case STREAM:
        count = (int32_t)fl_reader_take(r, 8);
        say(text, ", \"hops\": %d", count & 127);
        say(text, ", \"epoch\": %u", count > 127 ? (unsigned)fl_reader_take(r, 8) : 0u);
        say(text, ", \"update\": ");
        say_update(text, r, now);
        break;
    case BATCH:
    case BATCH_EPOCH:
        count = (int32_t)fl_reader_take(r, 8);
        say(text, ", \"updates\": [");
        for (int32_t i = 0; i < count; i++) {
            say(text, "%s{\"epoch\": %u, \"update\": ", i > 0 ? ",\n      " : "",
                kind == BATCH_EPOCH ? (unsigned)fl_reader_take(r, 8) : 0u);
            say_update(text, r, now);
            say(text, "}");
        }
        say(text, "]");
        break;
    case GUIDED:
        count = (int32_t)fl_reader_take(r, 8);
        say(text, ", \"guided\": [");
        for (int32_t i = 0; i < count; i++) {
            say(text, "%s{\"epoch\": %u, \"guidance\": ", i > 0 ? ",\n      " : "",
                (unsigned)fl_reader_take(r, 8));
            say_guidance(text, r, now);
            say(text, "}");
        }
        say(text, "]");
        break;
    case LOOK:
        say(text, ", \"of\": %u", (unsigned)fl_reader_take(r, 16));
        say(text, ", \"attention\": %u", (unsigned)fl_reader_take(r, 8));
        say(text, ", \"avoid\": %u", (unsigned)fl_reader_take(r, 16));
        break;
    case REDIRECT:
        say(text, ", \"of\": %u", (unsigned)fl_reader_take(r, 16));
        count = (int32_t)fl_reader_take(r, 8);
        say(text, ", \"to\": [");
        say_numbers(text, r, count);
        say(text, "]");
        break;
    case MISSED:
        count = (int32_t)fl_reader_take(r, 8);
        say(text, ", \"carriers\": [");
        say_numbers(text, r, count);
        say(text, "]");
        break;
    case MESSAGE:
        count = (int32_t)fl_reader_take(r, 16);
        say(text, ", ");
        say_hex(text, "message", fl_reader_bytes(r, count), count);
        break;
    default:
        assert_int_equal(kind, PART);
        break;
    }
    say(text, "}");
    assert_false(r->failed);
    return kind;
}

// Which kinds it has, as bits.
static uint32_t say_packet(Text *text, const uint8_t *bytes, int32_t count, int32_t from,
                           FlTime now)
{
    FlReader r;
    fl_reader_init(&r, bytes, count);
    say(text, "  {");
    say_hex(text, "bytes", bytes, count);
    say(text, ", \"from\": %d, \"now_ns\": %lld,\n", from, (long long)now);
    say(text, "   \"number\": %u, \"sections\": [", (unsigned)fl_reader_take(&r, 16));
    uint32_t kinds = 0;
    while (fl_reader_left(&r) > 0) {
        say(text, "%s", kinds != 0 ? ",\n    " : "");
        kinds |= 1u << say_section(text, &r, now);
    }
    say(text, "]}");
    return kinds;
}

// ---------------------------------------------------------------- packets

#define NOW (FL_SEC(70) + FL_MS(1)) // stamps have wrapped

static void craft_redirect(Craft *craft, int32_t of, int32_t count)
{
    craft_put(craft, REDIRECT, 8);
    craft_put(craft, (uint64_t)of, 16);
    craft_put(craft, (uint64_t)count, 8);
    for (int32_t i = 0; i < count; i++) {
        craft_put(craft, (uint64_t)(5 + i), 16);
    }
}

static void craft_guidance(Craft *craft, int32_t of, uint8_t epoch, int32_t points)
{
    FlWorld world = crowd_world();
    FlTime time = NOW - FL_MS(40);
    FlGuidance guidance = {.entity = (uint32_t)of, .life = 2, .ahead_ns = FL_MS(1424)};
    guidance.time = time - time % FL_UPDATE_STEP_NS;
    guidance.position = crowd_state(of, time + guidance.ahead_ns).position;
    guidance.point_count = points;
    guidance.points[0] = crowd_state(of, time).position;
    guidance.aimed = points > 0;
    guidance.target = points > 0 ? 9 : 0;
    guidance.actions[0] = 5;
    FlGuidance rounded;
    assert_int_equal(fl__guidance_round(&world, &guidance, &rounded), FL_OK);
    craft_put(craft, epoch, 8);
    assert_true(fl__guidance_encode(&craft->w, &world, &rounded));
}

static void craft_many(Craft *craft)
{
    craft_put(craft, BATCH, 8);
    craft_put(craft, 3, 8);
    for (int32_t of = 2; of < 5; of++) {
        FlState there = crowd_state(of, NOW - FL_MS(210) * of);
        there.position.y += of == 4 ? 1.0e6 : 0.0; // outside of the world
        craft_update(craft, of, (uint32_t)of & 3u, &there);
    }
}

// Packets of player 2: each section, and several in one. False: that was all.
static bool craft(Craft *craft, int32_t i)
{
    FlState own = crowd_state(2, NOW - FL_MS(3));
    FlState other = crowd_state(7, NOW - FL_MS(80));
    craft_begin(craft, (uint16_t)(65533 + i)); // round the circle
    switch (i) {
    case 0:
        craft_heartbeat(craft, NOW, 7, 0xfffe, 0x80000005u);
        return true;
    case 1:
        craft_stream(craft, 0, 2, &own);
        return true;
    case 2:
        craft_stream(craft, 15, 7, &other);
        return true;
    case 3:
        craft_many(craft);
        return true;
    case 4:
        craft_look(craft, 1, 255);
        craft_look(craft, 13, 0);
        return true;
    case 5:
        craft_redirect(craft, 2, 0);
        craft_redirect(craft, 13, 1);
        craft_redirect(craft, 9, 2);
        return true;
    case 6:
        craft_stream(craft, 0, 2, &own);
        craft_stream(craft, 1, 7, &other);
        craft_many(craft);
        craft_heartbeat(craft, NOW, 255, 0, 0);
        craft_put(craft, PART, 8);
        return true;
    case 7: // an owner after the first
        craft_put(craft, STREAM, 8);
        craft_put(craft, 128 + 1, 8);
        craft_put(craft, 200, 8);
        craft_update(craft, 20, 0, &other);
        craft_put(craft, BATCH_EPOCH, 8);
        craft_put(craft, 2, 8);
        craft_put(craft, 200, 8);
        craft_update(craft, 20, 0, &other);
        craft_put(craft, 1, 8);
        craft_update(craft, 21, 0, &other);
        return true;
    case 8:
        craft_put(craft, MISSED, 8);
        craft_put(craft, 2, 8);
        craft_put(craft, 5, 16);
        craft_put(craft, 9, 16);
        return true;
    case 9:
        craft_put(craft, MESSAGE, 8);
        craft_put(craft, 3, 16);
        craft_put(craft, 0x0a0b0d, 24); // what is in it is the session's business
        return true;
    case 10:
        craft_put(craft, GUIDED, 8);
        craft_put(craft, 2, 8);
        craft_guidance(craft, 2, 0, 0);
        craft_guidance(craft, 20, 200, 1);
        return true;
    default:
        return false;
    }
}

static void say_packets(Text *text)
{
    FlCrowd *crowd = crowd_make(1, PLAYERS, NOW);
    assert_int_equal(fl__crowd_light_open(crowd, 2, NOW), FL_OK);
    fl__crowd_entity(crowd, 20, 7, 200);
    fl__crowd_entity(crowd, 21, 7, 257);
    uint32_t seen = 0;
    Craft made;
    for (int32_t i = 0; craft(&made, i); i++) {
        craft_give(&made, crowd, 2, NOW);
        assert_int_equal(fl__crowd_stats(crowd).malformed, 0);
        assert_int_equal(fl__crowd_stats(crowd).strangers, 0);
        say(text, "%s", i > 0 ? ",\n" : "");
        seen |= say_packet(text, made.bytes, craft_size(&made), 2, NOW);
    }
    assert_int_equal(seen, 0x7fe); // all ten
    fl__crowd_destroy(crowd);
}

// ---------------------------------------------------------------- what is refused

static void say_refused(Text *text)
{
    FlCrowd *crowd = crowd_make(1, PLAYERS, FL_SEC(70));
    assert_int_equal(fl__crowd_light_open(crowd, 2, FL_SEC(70)), FL_OK);
    static const struct {
        const char *why;
        int32_t count;
        uint8_t bytes[16];
    } bad[] = {
        {"no section", 2, {1, 0}},
        {"no kind", 3, {1, 0, 0}},
        {"a kind that there is not", 3, {1, 0, 11}},
        {"a HEARTBEAT cut short", 12, {1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
        {"a BATCH of nothing", 4, {1, 0, 3, 0}},
        {"a BATCH_EPOCH of nothing", 4, {1, 0, 7, 0}},
        {"a GUIDED of nothing", 4, {1, 0, 10, 0}},
        {"a GUIDED cut short", 8, {1, 0, 10, 1, 0, 2, 0, 0}},
        {"a LOOK at a number that no entity can have", 8, {1, 0, 4, 0, 16, 9, 255, 255}},
        {"a REDIRECT to three", 12, {1, 0, 5, 3, 0, 3, 4, 0, 5, 0, 6, 0}},
        {"a MISSED of nobody", 4, {1, 0, 8, 0}},
        {"a MISSED of five", 14, {1, 0, 8, 5, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0}},
        {"a MISSED host", 6, {1, 0, 8, 1, 0, 0}},
        {"a MESSAGE of nothing", 5, {1, 0, 9, 0, 0}},
        {"a MESSAGE cut short", 6, {1, 0, 9, 2, 0, 13}},
        {"something after the last section", 4, {1, 0, 6, 0}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        fl__crowd_receive(crowd, 2, bad[i].bytes, bad[i].count, FL_SEC(70));
        assert_int_equal(fl__crowd_stats(crowd).malformed, i + 1);
        say(text, "%s  {", i > 0 ? ",\n" : "");
        say_hex(text, "bytes", bad[i].bytes, bad[i].count);
        say(text, ", \"from\": 2, \"why\": \"%s\"}", bad[i].why);
    }
    fl__crowd_destroy(crowd);
}

// ---------------------------------------------------------------- who carries

// For every two: 0 neighbours, else who carries.
static void say_plan(Text *text, int32_t order, int32_t capacity, int32_t gone_one_in)
{
    FlCrowd *crowd = crowd_make(1, capacity - 1, 0);
    say(text, "  {\"order\": %d, \"first\": 1, \"gone\": [", order);
    const char *comma = "";
    for (int32_t m = 2; m < capacity && gone_one_in > 0; m++) {
        if (m % gone_one_in == 0) {
            crowd_member(crowd, m, false);
            say(text, "%s%d", comma, m);
            comma = ", ";
        }
    }
    fl__crowd_plan(crowd, order);
    fl__crowd_replan(crowd, FL_SEC(1));
    say(text, "], \"members\": %d, \"carriers\": [\n", capacity);
    for (int32_t a = 1; a < capacity; a++) {
        say(text, "%s   [", a > 1 ? ",\n" : "");
        for (int32_t b = 1; b < capacity; b++) {
            bool there = crowd->present[a] && crowd->present[b] && a != b;
            int32_t carrier =
                !there || fl__crowd_linked(crowd, a, b) ? 0 : fl__crowd_carrier(crowd, a, b);
            say(text, "%s%d", b > 1 ? ", " : "", carrier);
        }
        say(text, "]");
    }
    say(text, "]}");
    fl__crowd_destroy(crowd);
}

static void say_messages(Text *text)
{
    uint8_t bytes[MESSAGE_SHORT];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__want_message_write(&w, 777);
    say(text, "  {");
    say_hex(text, "bytes", bytes, fl_writer_size(&w));
    say(text, ", \"want\": 777},\n  {");
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__plan_message_write(&w, 31);
    say_hex(text, "bytes", bytes, fl_writer_size(&w));
    say(text, ", \"plan\": 31}");
}

// ---------------------------------------------------------------- the file

static void say_world_of_it(Text *text)
{
    FlWorld world = crowd_world();
    const FlWorldDef *def = &world.def;
    say(text, "{\"wire_version\": %d,\n \"world\": {\"name\": \"crowd\"", FL_WIRE_VERSION);
    say_vec3(text, "low", def->low);
    say_vec3(text, "high", def->high);
    say_named(text, "precision", def->precision);
    say_named(text, "top_speed", def->top_speed);
    say_named(text, "top_acceleration", def->top_acceleration);
    say_named(text, "top_turn_rate", def->top_turn_rate);
    say_named(text, "angle_precision", def->angle_precision);
    say(text, ", \"entity_capacity\": %d, \"application_version\": %u},\n", def->entity_capacity,
        (unsigned)def->application_version);
}

void vectors_crowd(Text *text)
{
    say_world_of_it(text);
    say(text, " \"first\": 1, \"members\": %d,\n \"packets\": [\n", PLAYERS + 1);
    say_packets(text);
    say(text, "],\n \"refused\": [\n");
    say_refused(text);
    say(text, "],\n \"messages\": [\n");
    say_messages(text);
    say(text, "],\n \"plans\": [\n");
    say_plan(text, 3, 14, 0);
    say(text, ",\n");
    say_plan(text, 2, 20, 0); // several at each seat
    say(text, ",\n");
    say_plan(text, 3, 18, 4); // some fill gaps, and some seats are empty
    say(text, ",\n");
    say_plan(text, 5, 32, 3); // many stand in, some twice
    say(text, "]}\n");
}
