// What all modules of a session share.
#include "kernel.h"

#include "agree/timeline.h"

bool fl__replaying(FlSession *session)
{
    bool playing = session->timeline != NULL && fl__timeline_playing(session->timeline);
    session->count[FL_SESSION_REPLAY_WRITES] += playing ? 1 : 0;
    return playing;
}

void fl__note(const FlSession *session, const char *format, ...)
{
    if (session->def.log_fn == NULL) {
        return;
    }
    char text[sizeof session->end_text];
    va_list values;
    va_start(values, format);
    fl__format_list(text, sizeof text, format, values);
    va_end(values);
    session->def.log_fn(session->def.log_ctx, text);
}

void fl__session_end(FlSession *session, FlEnd why, const char *format, ...)
{
    if (session->state == FL_SESSION_ENDED) {
        return;
    }
    session->state = FL_SESSION_ENDED;
    session->end = why;
    session->wakes = true;
    va_list values;
    va_start(values, format);
    fl__format_list(session->end_text, sizeof session->end_text, format, values);
    va_end(values);
    fl__note(session, "%s", session->end_text);
}

uint64_t fl_session_count(const FlSession *session, FlSessionCount which)
{
    FL_ASSERT(which < FL_SESSION_COUNTS);
    return session->count[which];
}

const char *fl__session_count_name(FlSessionCount which)
{
    switch (which) {
#define ROW(name, word, meaning)                                                                   \
    case FL_SESSION_##name:                                                                        \
        return word;
        FL_SESSION_COUNT_TABLE(ROW)
#undef ROW
    case FL_SESSION_COUNTS:
        break;
    }
    return "unknown";
}

const char *fl_left_text(FlLeft left)
{
    static const char *const words[] = {
#define ROW(name, text) text,
        FL_LEFT_TABLE(ROW)
#undef ROW
    };
    return left >= 0 && left < FL_LEFT_COUNT ? words[left] : "unknown";
}
