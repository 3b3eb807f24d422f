// The shell of all demos, as the parent sees them: starting, following, ordering, ending.
#include <stdlib.h>

#include "app/cli/command.h"
#include "app/cli/options.h"
#include "app/demo/demo.h"
#include "app/demo/demo_json.h"
#include "lab/world/distant.h"

#define STOP_DRIVING FL_SEC(6) // without a key the bot takes over again

static void use_board(Demo *demo, void *board)
{
    demo->board = board;
    demo->looks = board != NULL ? (void *)((char *)board + demo->kind->looks_at) : NULL;
}

static int act(void *ctx, const DemoActor *actor)
{
    Demo *demo = ctx;
    demo_actor_begin(actor, demo->kind->name, &demo->host, &demo->looks->begin);
    int status = demo->kind->act(demo, actor);
    demo_actor_end(actor);
    return status;
}

// ---------------------------------------------------------------- making

void demo_close(Demo *demo)
{
    demo_stage_close(&demo->stage);
    fl_net_destroy(demo->host_net);
    if (demo->kind->unmake != NULL) {
        demo->kind->unmake(demo);
    }
    json_decref(demo->refused);
    free(demo);
}

/// With the settings that it begins with. NULL: *status says why, and it was printed.
static Demo *make_demo(const DemoKind *kind, const DemoDef *def, int *status)
{
    Demo *demo = calloc(1, kind->self_bytes);
    if (demo == NULL) {
        *status = command_fail(EXIT_FAILED, def->who, "out of memory");
        return NULL;
    }
    demo->kind = kind;
    *status = kind->choose(demo, def);
    if (*status == OPTIONS_GO_ON) {
        *status = demo_record_check(&def->record, kind->process_count);
    }
    if (*status != OPTIONS_GO_ON) {
        demo_close(demo);
        return NULL;
    }
    return demo;
}

static bool open_host(Demo *demo)
{
    if (!demo->kind->has_host) {
        return true;
    }
    if (distant_net_open(&demo->host_net) != FL_OK) {
        return false;
    }
    demo->host = fl_net_address(demo->host_net);
    return true;
}

static bool start(Demo *demo, const DemoDef *def)
{
    const DemoKind *kind = demo->kind;
    if (!demo_stage_open(&demo->stage, kind->board_bytes) || !open_host(demo)) {
        return false;
    }
    use_board(demo, demo->stage.board);
    demo->stage.record = def->record;
    if (!kind->make(demo, def)) {
        return false;
    }
    demo_looks_init(demo->looks, fl_net_now());
    return demo_stage_start(&demo->stage, kind->process_count, act, demo);
}

int demo_open(const DemoKind *kind, const DemoDef *def, Demo **out)
{
    int status;
    Demo *demo = make_demo(kind, def, &status);
    *out = NULL;
    if (demo == NULL) {
        return status;
    }
    if (!start(demo, def)) {
        demo_close(demo);
        return command_fail(EXIT_FAILED, def->who, "cannot start the processes of the demo");
    }
    *out = demo;
    return OPTIONS_GO_ON;
}

int demo_again(const DemoKind *kind, const DemoDef *def, const DemoActor *actor)
{
    int status;
    Demo *demo = make_demo(kind, def, &status);
    if (demo == NULL) {
        return status;
    }
    void *board = calloc(1, kind->board_bytes);
    use_board(demo, board);
    bool ok = board != NULL && actor->number < kind->process_count && kind->make(demo, def);
    status = ok ? act(demo, actor) : command_fail(EXIT_FAILED, def->who, "cannot begin again");
    free(board);
    demo_close(demo);
    return status;
}

bool demo_alive(Demo *demo)
{
    return demo_stage_alive(&demo->stage);
}

// ---------------------------------------------------------------- following

static void send_order(Demo *demo)
{
    demo_stage_order(&demo->stage, demo->order, demo->kind->order_bytes);
}

json_t *demo_frame(Demo *demo, FlTime now)
{
    int64_t newest = demo_looks_due(demo->looks, now, &demo->look);
    while (demo->look < newest) {
        demo->look++;
        if (demo->kind->follow(demo, demo->look)) {
            demo->has_picture = true;
        }
    }
    if (*demo->driven && now - demo->driven_at > STOP_DRIVING) {
        *demo->driven = false;
        send_order(demo);
    }
    return demo->has_picture ? demo->kind->frame(demo) : NULL;
}

int64_t demo_time_ms(const Demo *demo)
{
    return demo->look * (DEMO_LOOK_EVERY / FL_MS(1));
}

// ---------------------------------------------------------------- commands

static void drive(Demo *demo, const json_t *input, FlTime now)
{
    DemoKeys keys = {.fire = json_is_true(json_object_get(input, "fire"))};
    *demo->driven = demo_json_number(input, "drive", -1.0, 1.0, &keys.drive) &&
                    demo_json_number(input, "turn", -1.0, 1.0, &keys.turn);
    demo->kind->drive(demo, &keys);
    demo->driven_at = now;
}

bool demo_command(Demo *demo, const json_t *command, FlTime now)
{
    const json_t *settings = json_object_get(command, "set");
    const json_t *input = json_object_get(command, "drive");
    bool sets = json_is_object(settings);
    if (sets) {
        demo->kind->set(demo, settings);
    }
    if (input != NULL) {
        drive(demo, input, now);
    }
    if (json_is_true(json_object_get(command, "restart"))) {
        demo->kind->restart(demo);
    }
    send_order(demo);
    return sets;
}
