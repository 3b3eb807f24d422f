// What modules above ask of `core`.
#include "private.h"

const FlSessionDef *fl__def(const FlSession *session)
{
    return &session->def;
}

FlPlay *fl__play(const FlSession *session)
{
    return session->play;
}

void fl__play_set(FlSession *session, FlPlay *play)
{
    session->play = play;
}

void fl__timeline_set(FlSession *session, const FlTimeline *timeline)
{
    session->timeline = timeline;
}

bool fl__replaying(FlSession *session)
{
    bool playing = session->timeline != NULL && fl_timeline_playing(session->timeline);
    session->count[FL_SESSION_REPLAY_WRITES] += playing ? 1 : 0;
    return playing;
}

void fl__count(FlSession *session, FlSessionCount which, uint64_t more)
{
    session->count[which] += more;
}

// ---------------------------------------------------------------- members

int32_t fl__self(const FlSession *session)
{
    return session->self;
}

int32_t fl__host(const FlSession *session)
{
    return session->host;
}

bool fl__is_host(const FlSession *session)
{
    return session->self != FL__NONE && session->self == session->host;
}

int32_t fl__member_count(const FlSession *session)
{
    return session->member_count;
}

int32_t fl__seat_count(const FlSession *session)
{
    return session->seat_count;
}

FlTopology fl__topology(const FlSession *session)
{
    return session->topology;
}

FlSessionState fl__state(const FlSession *session)
{
    return session->state;
}

bool fl__is_complete(const FlSession *session)
{
    return session->complete;
}

bool fl__member_present(const FlSession *session, int32_t number)
{
    return session->members[number].present;
}

uint32_t fl__member_incarnation(const FlSession *session, int32_t number)
{
    return session->members[number].incarnation;
}

int32_t fl__member_line(const FlSession *session, int32_t number)
{
    return session->members[number].line;
}

bool fl__member_without_us(const FlSession *session, int32_t owner, int32_t member)
{
    return fl__bit_get(&session->direct[owner * session->member_words], member);
}

// ---------------------------------------------------------------- connections

int32_t fl__line_count(const FlSession *session)
{
    return session->line_count;
}

bool fl__line_used(const FlSession *session, int32_t line)
{
    return session->lines[line].used;
}

bool fl__line_heard(const FlSession *session, int32_t line)
{
    return session->lines[line].heard;
}

bool fl__line_answers(const FlSession *session, int32_t line)
{
    return fl__line_reaches(&session->lines[line]);
}

int32_t fl__line_member(const FlSession *session, int32_t line)
{
    return session->lines[line].member;
}

FlLink *fl__line_link(const FlSession *session, int32_t line)
{
    return session->lines[line].link;
}

void fl__line_set_full(FlSession *session, int32_t line, bool full)
{
    session->lines[line].full = full;
}

void fl__line_look(FlSession *session, int32_t line)
{
    if (session->lines[line].used) { // what is not there never wants anything
        fl__line_wake(session, line);
    }
}

void fl__line_foreign(FlSession *session, int32_t line)
{
    fl__count_foreign(session, &session->lines[line]);
}

FlTime fl__heard_at(const FlSession *session)
{
    return session->heard_at;
}
