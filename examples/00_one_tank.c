// 00_one_tank: dead reckoning by itself, without any network.            difficulty: *
//
// A tank drives a slalom. Its owner hands the truth to an exporter every frame and hears when
// others must be told. A player 200 ms away shows the updates as they arrive, timestamped, so each
// stands where the tank really is then.
#include <fairlead/fairlead.h>
#include <math.h>
#include <stdio.h>

#define FRAMES 600 // ten seconds at 60 Hz
#define DELAY FL_MS(200)

// Where the tank really is: 10 m/s ahead, swinging from left to right.
static FlState truth_at(FlTime time)
{
    double t = fl_span_seconds(time);
    FlState state = {
        .time = time,
        .position = {10.0 * t, 5.0 * sin(0.8 * t), 0.0},
        .velocity = {10.0, 4.0 * cos(0.8 * t), 0.0},
        .acceleration = {0.0, -3.2 * sin(0.8 * t), 0.0},
    };
    return state;
}

int main(void)
{
    FlExporterDef def = fl_exporter_def_default();
    FlExporter exporter;
    fl_exporter_init(&exporter, &def);

    FlPiece storage[2][64];
    FlPath exported, placed;
    fl_path_init(&exported, storage[0], 64);
    fl_path_init(&placed, storage[1], 64);

    int updates = 0;
    double worst = 0.0;
    for (int frame = 0; frame <= FRAMES; frame++) {
        FlState truth = truth_at(FL_SEC(frame) / 60);
        FlMotion update;
        if (fl_exporter_feed(&exporter, &truth, &update) != FL_TRIGGER_NONE) {
            fl_exporter_commit(&exporter, &update); // sent as it is: no rounding here
            FlPiece told = fl_piece_placed(&update, 0, update.time);
            FlPiece shown = fl_piece_placed(&update, 0, update.time + DELAY);
            if (fl_path_add(&exported, &told) != FL_OK || fl_path_add(&placed, &shown) != FL_OK) {
                return 1;
            }
            updates++;
        }
        const FlPiece *piece = fl_path_at(&placed, truth.time);
        if (piece != NULL) {
            FlVec3 seen = fl_motion_position(&piece->motion, truth.time);
            double off = fl_vec3_distance(seen, truth.position);
            worst = off > worst ? off : worst;
        }
    }
    double error = fl_path_distance_integral(&exported, &placed, 0, FL_SEC(10));
    printf("%d updates for %d frames\n", updates, FRAMES);
    printf("seen 200 ms away: at worst %.3f m off, on average %.3f m from what was told\n", worst,
           error / 10.0);
    return updates > 1 && updates < 60 && worst < 1.0 ? 0 : 1;
}
