// FairleadMeasure.h: what measurements need of BZFlag; no part of the game.
#ifndef FAIRLEAD_MEASURE_H
#define FAIRLEAD_MEASURE_H

class PlayerState;

/// FAIRLEAD_LOG names a file: where a tank truly was ('T'), or was shown ('S'), in this frame.
void fairleadLog(char kind, int player, const PlayerState &state);

/// Server: once a second, what every player has suffered of every tank, and the bytes sent.
void fairleadLogServer();

/// The time of this frame, for the log.
void fairleadLogTick(long long now_ns);

/// FAIRLEAD_HEADLESS is set: nothing is drawn. fairleadSleep ends a frame of 1/60 s then.
bool fairleadHeadless();
void fairleadSleep();

#endif
