// 00_readme, in C++: `00_readme_cpp` hosts and prints an invite, `00_readme_cpp INVITE` joins.
#include <cstdio>
#include <cstring>
#include <fairlead/fairlead.hpp>

int main(int argc, char **argv)
try {
    bool guest = argc > 1 && std::strncmp(argv[1], "fairlead:", 9) == 0;
    FlSessionDef def = fl_session_def_default();
    def.address = argc > 1 && !guest ? argv[1] : nullptr;
    fl::Session session = guest ? fl::Session::join(argv[1], def) : fl::Session::host(def);
    std::puts(guest ? "joining" : session.invite(argc > 2 ? argv[2] : nullptr).c_str());
    FlEntityId tank = session.create();
    while (session.running()) {
        FlTime now = session.pump(FL_MS(10));
        double t = fl_span_seconds(fl_session_time(session, now));
        FlState state = {};
        state.time = now, state.position.y = 5.0 * t, state.velocity.y = 5.0;
        fl_entity_set(session, tank, &state);
        for (FlEntityId id : session.entities()) {
            auto pose = fl_entity_is_ours(session, id) ? std::nullopt : session.pose(id);
            double other = pose ? pose->position.y : 0.0;
            pose ? std::printf("our tank is at %.2f m, the other's at %.2f m\n", 5.0 * t, other)
                 : 0;
        }
    }
    std::puts(session.end_text());
} catch (const std::exception &error) {
    return std::puts(error.what()), 1;
}
