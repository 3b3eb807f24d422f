// FairleadMeasure.h: what measurements need of BZFlag; no part of the game.
#ifndef FAIRLEAD_MEASURE_H
#define FAIRLEAD_MEASURE_H

class PlayerState;

/// FAIRLEAD_LOG names a file: where a tank truly was ('T'), or was shown ('S'), in this frame.
void fairleadLog(char kind, int player, const PlayerState &state);

/// Where others believe a tank of ours to be ('E'); 'N' in place of it when that is new.
void fairleadLogSent(int player);

/// Server: a tank was shot ('K', and by whom), or has fired ('F').
void fairleadLogEvent(char kind, int player, int other);

/// FAIRLEAD_DRIVE is "linear" or "circular": how a robot drives; it does not shoot then.
bool fairleadDrive(int player, float &speed, float &turn);

/// Server: ten times a second, what every player has suffered of every tank, and the bytes sent.
void fairleadLogServer();

/// The time of this frame, for the log.
void fairleadLogTick(long long now_ns);

/// FAIRLEAD_HEADLESS is set: nothing is drawn. fairleadSleep ends a frame of 1/60 s then.
bool fairleadHeadless();
void fairleadSleep();

#endif
