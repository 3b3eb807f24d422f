// One player's process of the racing demo.
//
// As long as bots drive both cars, both processes play the same race to the bit, as recordings are
// played in the experiments: close, with many changes of the lead. Each tells of its own car alone
// and shows the other as it was told. Once somebody takes the wheel nobody can know both: from then
// on each steps its own car among the others as it sees them.
#include "app/demo/demo_racing.h"

#include <math.h>

#include "lab/figures/jumps.h"
#include "lab/world/distant.h"

#define TELL_TICKS 2            // a sample every 33 ms, as in the experiments
#define FIRST_TOLD 5            // a prediction needs two or three to start from
#define START_AHEAD FL_MS(1500) // from the word of a race to its start
#define AGAIN_AFTER FL_SEC(1)
#define SETTLE_TICKS RACING_TICK_HZ // before that all are on the grid, or not heard of yet

typedef struct Player {
    const RacingSetup *setup;
    const DemoActor *actor;
    RacingPlayer *figures;
    RacingOrder order;
    Distant node;
    DemoWay way;
    RacingNews news, last;
    bool open;
    FlTime open_at;
    int32_t own, other; // numbers of the cars
    FlEntityId car;     // own
    bool shown;         // the other's car is shown by the scheme
    uint32_t race;      // in which it drives
    FlTime start;       // of it, session time
    bool driving;
    bool by_view;              // somebody took the wheel in this race
    RacingState view;          // own car truly, the other as shown
    RacingState screen;        // both as shown: for their progress
    bool seen[RACING_PLAYERS]; // on that screen, in this race
    FlShow picture;            // own car, by the scheme
    FlShow guess;              // what others will predict from what was told
    int32_t told;              // by this scheme
    FlDeltaControl control;
    FlTime received_at;
    int64_t look; // that comes next
} Player;

// ---------------------------------------------------------------- the scheme

static FlShowDef show_of(const Player *player)
{
    FlShowDef def = player->order.scheme.show;
    double top = racing_def(player->setup->game)->top_speed_m_s * RACING_SPEED_BOUND;
    def.speed_limit = (1.0 + 0.5 * JUMP_TOLERANCE) * top;
    return def;
}

/// Everything that belongs to a scheme begins anew.
static void begin_scheme(Player *player)
{
    FlShowDef show = show_of(player);
    FlShowDef guess = fl_show_def_default();
    FlDeltaDef delta = fl_delta_def_default();
    guess.placement = show.placement;
    guess.convergence = FL_CONVERGENCE_AT_ONCE; // where others place it
    delta.initial_ns = show.delta_ns;
    delta.high_ns = show.delta_ns;
    fl_show_init(&player->picture, &show);
    fl_show_init(&player->guess, &guess);
    fl_delta_control_init(&player->control, &delta);
    player->told = 0;
    player->shown = false;
}

static FlEntityId other_car(const Player *player)
{
    uint32_t number1 = player->news.number1[player->other];
    FlEntityId none = {0};
    return number1 == 0 ? none : fl_entity_of_number(player->node.session, number1 - 1);
}

static void notice_other(Player *player)
{
    if (!player->shown) {
        FlShowDef show = show_of(player);
        player->shown = fl_entity_show(player->node.session, other_car(player), &show) == FL_OK;
    }
}

// ---------------------------------------------------------------- one Δ for both

static void hear(Player *player, FlTime time)
{
    FlEvent event;
    while (fl_event_take(player->node.session, &event) == FL_OK) {
        (void)fl_delta_control_receive(&player->control, event.bytes, event.count, time);
    }
}

static void speak(Player *player, FlTime time)
{
    uint8_t bytes[FL_DELTA_BYTES];
    if (fl_delta_control_next(&player->control, time, bytes)) {
        FlPeerId all = {0};
        FlEvent event = {
            .delivery = FL_DELIVERY_UNORDERED, .bytes = bytes, .count = FL_DELTA_BYTES};
        FlResult sent = fl_event_send(player->node.session, all, &event);
        (void)sent; // if not now, then the next one
    }
}

/// Measures how late updates come, and agrees with the other player on a Δ.
static void agree(Player *player, FlTime time)
{
    FlDeltaChange change;
    FlEntityStatus status;
    FlEntityId other = other_car(player);
    hear(player, time);
    if (player->order.scheme.show.hold != FL_HOLD_ADAPTIVE) {
        return;
    }
    if (fl_entity_status(player->node.session, other, &status) == FL_OK &&
        status.received_at != FL_FOREVER && status.received_at != player->received_at) {
        player->received_at = status.received_at;
        fl_delta_control_arrived(&player->control, player->other, status.received,
                                 status.received_at);
    }
    if (fl_delta_control_update(&player->control, time, &change)) {
        (void)fl_show_delta(&player->picture, change.delta_ns, change.from);
        FlResult changed = fl_entity_delta(player->node.session, other, &change);
        (void)changed; // not heard of yet: it begins with the first Δ
    }
    speak(player, time);
}

// ---------------------------------------------------------------- telling

/// Would the other, who predicts, be too far off?
static bool must_tell(const Player *player, const FlState *truth)
{
    const RaceScheme *scheme = &player->order.scheme;
    FlPose pose;
    if (scheme->show.placement == FL_PLACEMENT_SNAP || player->told < FIRST_TOLD ||
        fl_show_placed(&player->guess, truth->time, &pose) != FL_OK) {
        return true;
    }
    return fl_vec3_distance(pose.position, truth->position) > scheme->threshold * RACE_CAR_LENGTH;
}

/// `truth` is by session time.
static void tell(Player *player, const FlState *truth)
{
    FlSession *session = player->node.session;
    const RaceScheme *scheme = &player->order.scheme;
    FlState handed = *truth;
    FlPose told;
    if (!scheme->sent) {
        (void)fl_show_own(&player->picture, FL_MODEL_LINEAR, truth, player->race);
    }
    handed.time = fl_session_local_time(session, truth->time);
    if (!must_tell(player, truth) || fl_entity_set(session, player->car, &handed) != FL_OK ||
        !fl_entity_pose_at(session, handed.time, player->car, &told)) {
        return;
    }
    player->told++;
    atomic_fetch_add(&player->figures->told, 1);
    FlState exported = *truth; // what travelled, rounded
    exported.position = told.position;
    exported.velocity = told.velocity;
    (void)fl_show_own(&player->guess, FL_MODEL_LINEAR, &exported, player->race);
    if (scheme->sent) {
        (void)fl_show_own(&player->picture, FL_MODEL_LINEAR, &exported, player->race);
    }
}

// ---------------------------------------------------------------- driving

/// The host says when the next race starts: once all are in, when one is over, or when asked to.
static void call_race(Player *player, FlTime time)
{
    RacingBoard *board = player->setup->board;
    bool all_in = true;
    for (int32_t p = 0; p < RACING_PLAYERS; p++) {
        all_in = all_in && player->news.in[p] != 0;
    }
    bool over = player->driving && player->view.tick >= RACING_OVER_TICK;
    bool none = player->news.race == 0;
    if (player->own == 0 && all_in && (over || none)) {
        player->driving = false;
        atomic_store(&board->start, time + START_AHEAD);
        atomic_fetch_add(&board->race, 1);
    }
}

static void begin_race(Player *player)
{
    uint32_t race = player->news.race;
    if (race == player->race) {
        return;
    }
    if (player->race != 0) {
        FlResult cut = fl_entity_cut(player->node.session, player->car);
        (void)cut;
    }
    player->race = race;
    player->start = player->news.start;
    player->driving = true;
    player->by_view = false;
    racing_start(player->setup->game, &player->view);
    player->screen = player->view;
    for (int32_t c = 0; c < RACING_PLAYERS; c++) {
        player->seen[c] = false;
    }
    begin_scheme(player);
}

/// Where this player sees a car at a moment; false: nowhere.
static bool look_at(Player *player, int32_t car, FlTime now, FlPose *pose)
{
    FlSession *session = player->node.session;
    FlTime local = distant_time(&player->node, now);
    FlTime time = fl_session_time(session, local);
    return car == player->own ? fl_show_pose(&player->picture, time, pose) == FL_OK
                              : fl_entity_pose_at(session, local, other_car(player), pose);
}

/// A car's progress as its owner tells it, to a quarter of a lap: what is shown of it may have
/// frozen and jumped since.
static double told_progress(const Player *player, int32_t car)
{
    double half = racing_length_m(player->setup->game) / 2.0;
    return car == player->own ? player->view.car[car].progress
                              : (player->news.half_laps[car] + 0.5) * half;
}

static FlTime next_tick(const Player *player)
{
    return player->start + racing_tick_time(player->view.tick + 1);
}

static RacingInput bot_input(const Player *player, int32_t car)
{
    return racing_bot_drive(player->setup->game, player->setup->seed + player->race, &player->view,
                            car);
}

static void step_both(Player *player)
{
    RacingInput inputs[RACING_PLAYERS];
    for (int32_t c = 0; c < RACING_PLAYERS; c++) {
        inputs[c] = bot_input(player, c);
    }
    racing_step(player->setup->game, &player->view, inputs);
}

static void step_own(Player *player, FlTime now)
{
    const RacingGame *game = player->setup->game;
    FlPose pose;
    if (player->seen[player->other] && look_at(player, player->other, now, &pose)) {
        double told = told_progress(player, player->other);
        (void)racing_car_follow(game, &player->view, player->other, &pose, told);
    }
    bool by_hand = player->own == 0 && player->order.driven;
    RacingInput input = by_hand ? player->order.input : bot_input(player, player->own);
    racing_step_one(game, &player->view, player->own, input);
}

static void drive(Player *player, FlTime now)
{
    FlTime local = distant_time(&player->node, now);
    FlTime time = fl_session_time(player->node.session, local);
    call_race(player, time);
    begin_race(player);
    while (player->driving && player->view.tick < RACING_OVER_TICK && next_tick(player) <= time) {
        FlTime at = next_tick(player);
        player->by_view = player->by_view || player->order.driven;
        if (player->by_view) {
            step_own(player, now);
        } else {
            step_both(player);
        }
        if (player->view.tick % TELL_TICKS == 0) {
            FlState truth = racing_car_state(&player->view.car[player->own], at);
            notice_other(player);
            agree(player, at);
            tell(player, &truth);
        }
    }
}

// ---------------------------------------------------------------- noting

/// Alive: the race has begun, and is not over.
static DemoThing thing_of(const Player *player, const RacingCar *car)
{
    bool alive = player->view.tick >= SETTLE_TICKS && player->view.tick < RACING_OVER_TICK;
    DemoThing thing = {.x = car->x,
                       .y = car->y,
                       .yaw = car->yaw,
                       .value = car->progress,
                       .life = player->race,
                       .there = true,
                       .alive = alive};
    return thing;
}

/// A car as the screen shows it: on the grid until there is something to show of this race. Far
/// from where it was last, what is shown is still of the race before.
static DemoThing note_car(Player *player, int32_t c, FlTime at)
{
    const RacingGame *game = player->setup->game;
    RacingCar *car = &player->screen.car[c];
    FlPose pose;
    if (look_at(player, c, at, &pose)) {
        double way = hypot(pose.position.x - car->x, pose.position.y - car->y);
        player->seen[c] = player->seen[c] || way < 15.0;
        if (player->seen[c]) {
            double told = told_progress(player, c);
            (void)racing_car_follow(game, &player->screen, c, &pose, told);
        }
    }
    return thing_of(player, car);
}

static void note(Player *player, FlTime now)
{
    DemoLooks *looks = &player->setup->board->looks;
    for (; demo_look_time(looks, player->look) <= now; player->look++) {
        FlTime at = demo_look_time(looks, player->look);
        DemoRow *row = demo_look_begin(looks, player->own, player->look);
        DemoThing none = {0};
        for (int32_t c = 0; c < RACING_PLAYERS; c++) {
            row->thing[c] = player->race == 0 ? none : note_car(player, c, at);
        }
        row->thing[RACING_TRUTH] =
            player->race == 0 ? none : thing_of(player, &player->view.car[player->own]);
        demo_look_done(row, player->look);
    }
    FlTime time = fl_session_time(player->node.session, distant_time(&player->node, now));
    atomic_store(&player->figures->delta_ns, time - fl_show_time(&player->picture, time));
    double half = racing_length_m(player->setup->game) / 2.0;
    int32_t half_laps = (int32_t)floor(player->view.car[player->own].progress / half);
    atomic_store(&player->figures->half_laps, half_laps);
    atomic_store(&player->figures->tick, player->view.tick);
}

// ---------------------------------------------------------------- the session

static FlImpairSettings way_of(const RacingOrder *order)
{
    FlImpairSettings way = fl_impair_def_default().settings;
    way.delay_ns = order->delay_ns;
    way.jitter_ns = order->jitter_ns;
    way.shape = order->jitter_ns > 0 ? FL_SHAPE_PARETO_NORMAL : FL_SHAPE_CONSTANT;
    way.loss_ppm = order->loss_ppm;
    return way;
}

static FlSessionDef session_of(const Player *player)
{
    const RacingGame *game = player->setup->game;
    FlSessionDef def = fl_session_def_default();
    double reach = racing_length_m(game); // no course is wider than it is long
    def.role = player->own == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    def.world.low = fl_vec3(-reach, -reach, 0.0);
    def.world.high = fl_vec3(reach, reach, 0.0);
    def.world.precision = 0.001;
    def.world.top_speed = racing_def(game)->top_speed_m_s * RACING_SPEED_BOUND;
    def.peer_capacity = RACING_PLAYERS;
    def.entity_capacity = 2 * RACING_PLAYERS;
    def.join_timeout_ns = FL_SEC(15);
    def.host = player->setup->host;
    def.seed = player->setup->seed + (uint64_t)player->own;
    return def;
}

static bool create_car(Player *player)
{
    FlEntityDef def = fl_entity_def_default();
    FlTriggerDef always = {(double)INFINITY, (double)INFINITY, 1}; // whenever it is handed in
    FlEntityStatus status;
    def.model = FL_MODEL_LINEAR;
    def.trigger = always;
    if (player->car.index1 != 0 || fl_session_time_error(player->node.session) == FL_FOREVER ||
        (player->car = fl_entity_create(player->node.session, &def)).index1 == 0 ||
        fl_entity_status(player->node.session, player->car, &status) != FL_OK) {
        return player->car.index1 != 0;
    }
    atomic_store(&player->figures->number1, status.number + 1);
    return true;
}

static void join(Player *player, FlTime now)
{
    if (player->open || now < player->open_at) {
        return;
    }
    bool host = player->own == 0;
    DistantDef def = {.session = session_of(player),
                      .net = host ? player->setup->host_net : NULL,
                      .clock_shift = FL_SEC(100) * player->own, // a clock of its own
                      .near = host,
                      .way = way_of(&player->order),
                      .seed = player->setup->seed,
                      .number = (uint16_t)player->own,
                      .flight_capacity = 1024,
                      .wire = demo_actor_wire(player->actor, &player->way)};
    player->open = distant_open(&def, now, &player->node) == FL_OK;
    player->open_at = now + AGAIN_AFTER;
}

static void leave(Player *player, FlTime now)
{
    FlEntityId none = {0};
    if (player->open) {
        fl_session_leave(player->node.session, distant_time(&player->node, now));
        distant_send(&player->node, now);
        distant_close(&player->node);
    }
    player->open = false;
    player->open_at = now + AGAIN_AFTER;
    player->car = none;
    player->shown = false;
    atomic_store(&player->figures->in, false);
}

/// False: it is time to leave.
static bool obey(Player *player, FlTime now)
{
    RacingOrder order;
    DemoNews news = demo_actor_poll(player->actor, &order, sizeof order);
    if (news != DEMO_NEWS_ORDER) {
        return news == DEMO_NEWS_NONE;
    }
    bool other = order.schemes != player->order.schemes;
    bool again = order.restarts != player->order.restarts;
    player->order = order;
    if (other) {
        begin_scheme(player);
    }
    if (again && player->driving) {
        player->view.tick = RACING_OVER_TICK; // it is over: the host calls the next
    }
    if (player->open) {
        FlImpairSettings way = way_of(&order);
        FlResult result = distant_set(&player->node, now, &way);
        FL_ASSERT(result == FL_OK);
    }
    return true;
}

// ---------------------------------------------------------------- the process

static FlTime step(Player *player, FlTime now)
{
    FlNotice notice;
    distant_receive(&player->node, now);
    while (fl_notice_take(player->node.session, &notice) == FL_OK) {
    }
    atomic_store(&player->figures->in, create_car(player));
    if (player->car.index1 != 0) {
        drive(player, now);
    }
    distant_send(&player->node, now);
    note(player, now);
    if (fl_session_state(player->node.session) == FL_SESSION_ENDED) {
        leave(player, now);
        return player->open_at;
    }
    FlTime next = distant_deadline(&player->node, now);
    FlTime tick = fl_session_local_time(player->node.session, next_tick(player));
    tick = tick == FL_FOREVER || !player->driving || player->view.tick >= RACING_OVER_TICK
               ? FL_FOREVER
               : tick - player->node.clock_shift;
    return next < tick ? next : tick;
}

int demo_racing_play(const RacingSetup *setup, const DemoActor *actor)
{
    static Player player; // one to a process, and large; its pictures must not be moved
    player.setup = setup;
    player.actor = actor;
    player.own = actor->number;
    player.other = 1 - actor->number;
    player.figures = &setup->board->player[player.own];
    player.order = setup->first;
    begin_scheme(&player);
    FlTime now = demo_actor_now(actor);
    while (obey(&player, now)) {
        player.news = demo_racing_news(setup, actor, &player.last);
        join(&player, now);
        if (player.open) {
            FlTime next = step(&player, now);
            FlTime look = demo_look_time(&setup->board->looks, player.look);
            if (player.open) {
                demo_actor_wait(actor, player.node.net, next < look ? next : look);
            }
        } else {
            player.look = demo_look_at(&setup->board->looks, now) + 1;
            demo_actor_rest(actor);
        }
        now = demo_actor_now(actor);
    }
    leave(&player, now);
    return 0;
}
