// What the parts of the harness of a hostile member share: the scene and its nodes. fuzz_member.c
// says what it plays.
#ifndef FUZZ_MEMBER_SCENE_H
#define FUZZ_MEMBER_SCENE_H

#include "fuzz.h"

#include "../tests/scene/session_inside.h"
#include "fairlead/fairlead.h"
#include "fairlead/predict.h"
#include "fairlead/rewind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);                     \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

enum { HOST, OWNER, BYSTANDER, HOSTILE, NODES, LATE = NODES, PLACES };
enum { STEPS_AT_MOST = 300, PUMP_AT_MOST = 2000, QUEUE = 4096, KEPT = 16, SECTION_BYTES = 500 };
enum { STRANGER_NONE, STRANGER_PLAIN, STRANGER_OTHER };
enum { SORT = 5, NUMBERS = 64, INPUT_BYTES = 2, TICK_MS = 20 };

#define WAY FL_MS(15)
#define MEMORY_SLACK (512 * 1024) // connections that are made anew, with their histories, and seals
#define UNIX_NOW UINT64_C(1700000000)

typedef struct Datagram {
    FlTime at;
    int32_t from, to;
    uint16_t port; // of the sender
    int32_t count;
    uint8_t bytes[FL_SESSION_DATAGRAM_BYTES];
} Datagram;

typedef struct Node {
    FlSession *session; // NULL: it has left
    FlSessionDef def;
    FlRandom keys;
    uint16_t port;
    int64_t live_bytes;
    int64_t base_bytes; // when all had come
    FlEntityId own;
    uint32_t number;                      // of that entity,
    FlEntityId tank;                      // one with fields,
    uint32_t tank_number;                 // and its number
    int32_t kills;                        // in its fields
    int32_t member;                       // and of the node
    uint8_t counter;                      // in its state
    uint8_t sent[NODES], received[NODES]; // events
    FlTime blocked_since;
    FlTimeline *timeline;
    int64_t input_next; // the tick whose input it hands in next; 0: it does not play yet
} Node;

typedef struct Scene {
    FlTime now;
    Node node[PLACES];
    Datagram *queue; // QUEUE of them
    uint32_t first, next;
    Datagram kept[KEPT]; // the hostile one's, to be repeated
    uint32_t kept_next;
    bool silent;        // the hostile one's datagrams get lost
    int32_t section_to; // what its next packet to that member carries besides
    int32_t section_count;
    uint8_t section[SECTION_BYTES];
    uint32_t ball; // an entity that owner and bystander give each other
    int64_t tick;
    uint8_t light[2]; // the conversation of a light connection of the hostile one's
    int32_t light_to;
    bool plays;     // a timeline
    bool predicts;  // the host decides
    bool quiet;     // no more events: those under way arrive
    bool host_lost; // and with it the events that it was relaying
    bool all_in;
    bool parted;      // HOST and BYSTANDER do not reach the others
    bool was_parted;  // once: what honest ones know of each other is not checked any more
    int32_t stranger; // whoever is opened next does not belong here: STRANGER_...
    bool poor;        // an upload that does not carry all who look
    bool rich;        // a limited upload, attention, guidance, rules for hits
    uint8_t how;      // the first byte
    bool refuses;     // the host lets in no newcomer
} Scene;

// ---------------------------------------------------------------- the network and the nodes
// (member_scene.c)

FlAddress member_address_of(int32_t node, uint16_t port);
/// What is on its way.
void member_push(Scene *scene, const Datagram *datagram);
/// What has arrived by now.
void member_deliver(Scene *scene);
/// All that a node's session has to send.
void member_pump(Scene *scene, int32_t node);
/// Makes the session of a node; `how` is the first byte of the script.
void member_open_node(Scene *scene, int32_t i, uint8_t how);
void member_attach_timeline(Scene *scene, int32_t i, bool begun);
/// From now on the host decides what players do.
void member_predict(Scene *scene, int32_t i);
/// A kind of entities with fields.
void member_define_tank(FlSession *session);
/// What carries the hostile one's sections.
extern const Feature member_feature;

// ---------------------------------------------------------------- what honest ones do
// (member_honest.c)

/// It is there, and not the hostile one.
bool member_is_honest(const Scene *scene, int32_t i);
/// A node's entity, as everybody should see it: a metre a second along y.
FlState member_truth(const Scene *scene, int32_t i);
/// A tick: datagrams arrive, the honest ones play, everybody sends.
void member_advance(Scene *scene);
/// Everything that a game may ask, whatever was said before.
void member_ask_all(const Scene *scene, int32_t at);
/// What a game may choose while it runs, for what is another's and for its own.
void member_choose(const Scene *scene, int32_t at, uint8_t which);

// ---------------------------------------------------------------- checks (member_check.c)

/// What must be so at all honest members; `settled`: after a time of rest.
void member_check(const Scene *scene, bool settled);

// ---------------------------------------------------------------- what the hostile one says
// (member_hostile.c)

/// The hostile one sends a message,
void member_say_message(Scene *scene, Script *script);
/// a section with its next packet,
void member_say_section(Scene *scene, Script *script);
/// a packet over a light connection of a crowd that is not sealed,
void member_say_light(Scene *scene, Script *script);
/// or a datagram that it sent before.
void member_repeat(Scene *scene, Script *script);

#endif
