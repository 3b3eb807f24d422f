// A stranger's program: knows nothing but the installed library. See CMakeLists.txt beside it, or
//   cc main.c $(pkg-config --cflags --libs fairlead)
#include <fairlead/fairlead.h>
#include <stdio.h>

int main(void)
{
    FlState state = {.position = fl_vec3(1.0, 2.0, 0.0), .velocity = fl_vec3(3.0, 0.0, 0.0)};
    FlMotion motion = fl_motion_make(FL_MODEL_LINEAR, &state);
    FlVec3 later = fl_motion_position(&motion, FL_SEC(2));
    double moved = fl_vec3_distance(state.position, later);
    printf("after 2 s at (%g, %g, %g), %g from where it was\n", later.x, later.y, later.z, moved);
    return moved == 6.0 ? 0 : 1;
}
