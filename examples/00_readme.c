// 00_readme: the README's example: a host and its guest, a tank here and seen there. difficulty: *
#include <fairlead/fairlead.h>
#include <stdio.h>
#include <time.h>

#define MUST(call)                                                                                 \
    if ((call) != FL_OK) {                                                                         \
        return 1; /* fl_result_text() of it says why */                                            \
    }

int main(void)
{
    FlTime now = fl_net_now(), end = now + FL_SEC(2);
    FlNetDef socket = fl_net_def_default();
    FlNet *host_net, *guest_net;
    MUST(fl_address_parse("127.0.0.1:0", &socket.bind));
    MUST(fl_net_create(&socket, &host_net));
    MUST(fl_net_create(&socket, &guest_net));
    FlSessionDef def = fl_session_def_default();
    FlSealServerDef seal = fl_seal_server_def_default(); // nobody joins without an invite
    FlSession *host, *guest;
    char invite[FL_SEAL_INVITE_TEXT]; // a line of text, to send to a friend
    fl_seal_key(&def.random, seal.private_key);
    seal.address[seal.address_count++] = fl_net_address(host_net);
    def.role = FL_ROLE_HOST;
    def.seal_server = &seal;
    def.unix_s = (uint64_t)time(NULL);
    MUST(fl_session_create(&def, now, &host));
    MUST(fl_session_invite(host, now, seal.address[0], 1, def.unix_s + 600, invite));
    FlSealInvite invited; // the guest's, who would be another program
    uint8_t token[FL_SEAL_TOKEN_BYTES], about_me[FL_SEAL_USER_BYTES] = {0};
    MUST(fl_seal_invite_parse(invite, &invited));
    MUST(fl_seal_invite_token(&invited, 1, def.unix_s, 10, about_me, &def.random, token));
    def.role = FL_ROLE_CLIENT;
    def.token = token;
    MUST(fl_session_create(&def, now, &guest));
    FlEntityDef kind = fl_entity_def_default();
    FlEntityId tank;
    FlState state = {.velocity = {10.0, 0.0, 0.0}};
    MUST(fl_entity_create(host, &kind, &tank));
    for (; now < end; now = fl_net_now()) {
        fl_run_receive(host_net, host);
        fl_run_receive(guest_net, guest);
        state.time = now;
        state.position.x = 10.0 * fl_span_seconds(fl_session_time(host, now));
        MUST(fl_entity_set(host, tank, &state)); // the truth; who must hear of it is not your worry
        fl_run_send(host_net, host, now);
        fl_run_send(guest_net, guest, now);
        (void)fl_net_wait(guest_net, now + FL_MS(10));
    }
    FlPose pose;
    MUST(fl_entity_pose(guest, fl_entity_of_number(guest, 0), state.time, &pose));
    printf("it is at %.2f m, seen at %.2f m\n", state.position.x, pose.position.x);
    fl_session_destroy(guest);
    fl_session_destroy(host);
    fl_net_destroy(guest_net);
    fl_net_destroy(host_net);
    return fl_vec3_distance(state.position, pose.position) < 0.5 ? 0 : 1;
}
