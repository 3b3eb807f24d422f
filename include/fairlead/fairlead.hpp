// fairlead/fairlead.hpp: fairlead.h for C++17: sessions that close themselves, errors that are
// thrown, loops over what is there. Header only; every function of fairlead.h takes a Session, too.
//
//     fl::Session session = fl::Session::host();
//     FlEntityId tank = session.create();
//     while (session.running()) {
//         FlTime now = session.pump(FL_MS(10));
//         fl_entity_set(session, tank, &state);
//         for (FlEntityId id : session.entities()) {
//             if (auto pose = session.pose(id)) {
//                 draw(*pose);
//             }
//         }
//         while (auto notice = session.notice()) { ... } // and event(), call(), call_done(now)
//     }
#ifndef FAIRLEAD_FAIRLEAD_HPP
#define FAIRLEAD_FAIRLEAD_HPP

#include "fairlead/fairlead.h"

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace fl
{

/// Why something could not be made: what() is the sentence.
class Error : public std::runtime_error
{
  public:
    explicit Error(const FlError &error) : std::runtime_error(error.text), code(error.code)
    {
    }
    FlResult code;
};

/// Iterates over what `next` gives: entities or peers.
template <class Id, bool (*next)(const FlSession *, Id *)> class Range
{
  public:
    class Iterator
    {
      public:
        Iterator(const FlSession *session, Id id) : session_(session), id_(id)
        {
        }
        Id operator*() const
        {
            return id_;
        }
        Iterator &operator++()
        {
            (void)next(session_, &id_);
            return *this;
        }
        bool operator!=(const Iterator &other) const
        {
            return id_.index1 != other.id_.index1;
        }

      private:
        const FlSession *session_;
        Id id_;
    };
    explicit Range(const FlSession *session) : session_(session)
    {
    }
    Iterator begin() const
    {
        return ++Iterator(session_, Id{});
    }
    Iterator end() const
    {
        return Iterator(session_, Id{});
    }

  private:
    const FlSession *session_;
};

/// A session, closed when it goes. It can be moved, not copied.
class Session
{
  public:
    static Session host(const FlSessionDef &def = fl_session_def_default())
    {
        FlError error;
        return Session(fl_session_host(&def, &error), error);
    }
    static Session join(const char *invite, const FlSessionDef &def = fl_session_def_default())
    {
        FlError error;
        return Session(fl_session_join(&def, invite, &error), error);
    }
    Session(Session &&other) noexcept : session_(std::exchange(other.session_, nullptr))
    {
    }
    Session &operator=(Session &&other) noexcept
    {
        std::swap(session_, other.session_);
        return *this;
    }
    ~Session()
    {
        fl_session_close(session_);
    }
    operator FlSession *() const
    {
        return session_;
    }

    FlTime pump(FlTime wait)
    {
        return fl_session_pump(session_, wait);
    }
    bool running() const
    {
        return fl_session_running(session_);
    }
    const char *end_text() const
    {
        return fl_session_end_text(session_);
    }
    /// Throws Error.
    std::string invite(const char *address = nullptr)
    {
        char text[FL_INVITE_TEXT];
        FlResult result = fl_session_invite(session_, address, text);
        if (result != FL_OK) {
            throw std::runtime_error(fl_result_text(result));
        }
        return text;
    }
    FlEntityId create(const FlEntityDef *def = nullptr)
    {
        return fl_entity_create(session_, def);
    }
    std::optional<FlPose> pose(FlEntityId id)
    {
        FlPose pose;
        return fl_entity_pose(session_, id, &pose) ? std::optional<FlPose>(pose) : std::nullopt;
    }
    /// What waits, one after the other: none when all is taken.
    std::optional<FlNotice> notice()
    {
        FlNotice notice;
        return got(fl_notice_take(session_, &notice), notice);
    }
    std::optional<FlEvent> event()
    {
        FlEvent event;
        return got(fl_event_take(session_, &event), event);
    }
    std::optional<FlCall> call()
    {
        FlCall call;
        return got(fl_call_take(session_, &call), call);
    }
    std::optional<FlCallDone> call_done(FlTime now)
    {
        FlCallDone done;
        return got(fl_call_take_done(session_, now, &done), done);
    }
    Range<FlEntityId, fl_entity_next> entities() const
    {
        return Range<FlEntityId, fl_entity_next>(session_);
    }
    Range<FlPeerId, fl_peer_next> peers() const
    {
        return Range<FlPeerId, fl_peer_next>(session_);
    }

  private:
    template <class Thing> static std::optional<Thing> got(FlResult result, const Thing &thing)
    {
        return result == FL_OK ? std::optional<Thing>(thing) : std::nullopt;
    }
    Session(FlSession *session, const FlError &error) : session_(session)
    {
        if (session == nullptr) {
            throw Error(error);
        }
    }
    FlSession *session_;
};

} // namespace fl

#endif
