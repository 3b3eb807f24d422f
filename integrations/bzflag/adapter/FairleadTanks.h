// FairleadTanks.h: BZFlag's tanks as entities of a Fairlead session.
//
// The session's bytes travel in messages of BZFlag's own (MsgFairlead), over the UDP connections
// that client and server have. bzfs hosts. The entity of number n is the tank in player slot n: the
// server makes it and gives it to the client that drives it, so that no client can speak for
// another's tank. A client carries its robots' tanks in its own session.
//
// News of others' tanks come out as BZFlag's own PlayerState (take), so that both programs go on
// with what they have; where a tank is at this tick says pose.
#ifndef FAIRLEAD_TANKS_H
#define FAIRLEAD_TANKS_H

#include <string>

class PlayerState;

/// A message with a session's bytes. One byte over TCP: the player whose session carries a robot.
const unsigned short MsgFairlead = 0x666c; // 'fl'

class FairleadTanks
{
  public:
    /// Sends a MsgFairlead to the player of a slot; at clients: to the server.
    typedef void (*Send)(int player, const void *bytes, int count);

    /// NULL: no memory, or FAIRLEAD_OFF is set in the environment.
    static FairleadTanks *open(Send send, bool hosts);
    ~FairleadTanks();

    /// What the server sets BZDB's _fairlead to: a client with the same joins.
    static std::string version();

    // Both ends.
    void receive(int player, const void *bytes, int count);
    bool take(int &player, PlayerState &state); ///< News of another's tank; call it until false.
    void flush();                               ///< Sends what is due.

    // Clients.
    bool ended() const;
    bool drives(int player) const; ///< Its updates go by the session: send no others.
    void set(int player, const PlayerState &state); ///< Where a tank of ours is, every frame.
    bool shows(int player) const;                   ///< Another's, known by the session.
    bool pose(int player, float pos[3], float &azimuth, float velocity[3]) const;
    float time() const;               ///< For shots: seconds, round; negative until it is known.
    float age(float time_sent) const; ///< Of a shot, by time().

    // The server.
    float wait() const;                      ///< Seconds until flush must be called.
    void carry(int robot, int player);       ///< That player's session has the robot's tank.
    void left(int player);                   ///< Nobody is in the slot any more.
    bool serves(int tank, int player) const; ///< Its updates reach that player by the session.
    std::string command(const std::string &line, bool may_change); ///< "policy NAME", "report".

    /// For measurements. Entities are numbered by slot; a player is the first byte of an address.
    struct FlSession *session() const;

    /// Begins a frame, where BZFlag's own time is set. Its time in nanoseconds, of a clock that all
    /// programs of the machine share.
    static long long tick();

  private:
    struct Inside;
    explicit FairleadTanks(Inside *made) : inside(made)
    {
    }
    FairleadTanks(const FairleadTanks &);
    FairleadTanks &operator=(const FairleadTanks &);
    Inside *inside;
};

/// BZFlag's session; NULL while there is none.
extern FairleadTanks *fairlead;

#endif
