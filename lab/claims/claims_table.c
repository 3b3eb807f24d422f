// Every claim, in our words.
#include "lab/claims/claims.h"

#define ACCURACY claims_accuracy, "run accuracy", NULL
#define ACCURACY_TRACE claims_accuracy, "run accuracy --trace data/tanks/match01.csv.gz", NULL
#define RELAY claims_relay, "verify --only L1", NULL
#define SHOTS claims_shots, "verify --only A8", NULL
#define FAIRNESS                                                                                   \
    claims_fairness, "run fairness --trace data/tanks/match01.csv.gz --jitter 0,100,180", NULL
#define THRESHOLDS claims_fairness, "verify --only F21,F22", NULL
#define THEOREM claims_theorem, "verify --only F23", NULL
#define RACING claims_racing, "run racing", NULL
#define RACING_MORE claims_racing, "verify --only R15", NULL
#define PERCEPTIVE claims_perceptive, "run simultaneity", NULL
#define DUELS claims_duels, "run duels", NULL
#define ATTENTION claims_attention, "run attention", NULL
#define GUESSES claims_attention, "verify --only D5", NULL
#define SCALE claims_scale, "verify --only D9", NULL
#define CROWD claims_scale, "run crowd", NULL

const Claim claims[] = {
    {"A1", "straight motion by the global clock: no error between updates",
     "median error < 0.05 units at 100, 300, 800 ms", ACCURACY},
    {"A2", "straight motion by the local clock: off by speed times delay",
     "mean within 10 % of it at each delay", ACCURACY},
    {"A3", "circular motion with the circular model behaves alike", "A1 and A2 on circles",
     ACCURACY},
    {"A4", "random motion: the global clock's mean error is well below the local clock's",
     "ratio < 0.7, pooled, circular model", ACCURACY_TRACE},
    {"A5", "the global clock's error grows with the delay", "mean rises from 100 to 300 to 800 ms",
     ACCURACY_TRACE},
    {"A6", "a tank that stops is overshot: for a moment global is worse than local",
     "such moments are more frequent right after stops", ACCURACY_TRACE},
    {"A7", "once an update has arrived, what is shown is what was sent",
     "difference 0 at equal session time; with estimated clocks: stated", ACCURACY_TRACE},
    {"A8", "shots hit more often where the shooter sees by the global clock",
     "bots' hits per shot, global above local at 300 and 800 ms", SHOTS},
    {"F1", "schedule1: errors far more equal than with base",
     "sd ratio < 0.5 at jitter 0, 100, 180", FAIRNESS},
    {"F2", "schedule1: mean error grows several-fold", "ratio >= 2", FAIRNESS},
    {"F3", "schedule1: every receiver ends above base's worst", "all receivers", FAIRNESS},
    {"F4", "schedule1 sends fewer updates than base", "count", FAIRNESS},
    {"F5", "schedule2: errors more equal than with base at fixed delays", "sd ratio < 1", FAIRNESS},
    {"F6", "schedule2: mean error up, but less than with schedule1",
     "1 < ratio of schedule2 < ratio of schedule1", FAIRNESS},
    {"F7", "schedule2: the farthest receiver fares as with base", "within 5 %", FAIRNESS},
    {"F8", "schedule2's price is below schedule1's under jitter too", "mean ratio at 100, 180",
     FAIRNESS},
    {"F9", "probabilistic, five weightings, fixed delay: more equal than base/3", "sd, each",
     FAIRNESS},
    {"F10", "probabilistic: mean error above base/3 at each receiver", "each", FAIRNESS},
    {"F11", "probabilistic: weighing the error in use gives the most equal errors",
     "(0,1,0) has the lowest sd", FAIRNESS},
    {"F12", "a fixed chance of 1/3: more error at each receiver than base/3", "all receivers",
     FAIRNESS},
    {"F13", "deterministic: more equal than base and than base/3", "sd, both", FAIRNESS},
    {"F14", "deterministic: mean error about that of base/3", "within 15 %", FAIRNESS},
    {"F15", "deterministic: the farthest gains, the nearest pays, against base/3", "both",
     FAIRNESS},
    {"F16", "deterministic: weighing accumulated error is best",
     "(1,0,0) is not beaten in both sd and mean", FAIRNESS},
    {"F17", "probabilistic and deterministic: the same at jitter 100 and 180 ms", "each", FAIRNESS},
    {"F18", "deterministic's mean error is below probabilistic's", "at every jitter", FAIRNESS},
    {"F19", "deterministic is more equal than probabilistic at jitter 0 and 100", "sd, both",
     FAIRNESS},
    {"F20", "the budgets send as many updates as base/3", "within 2 %, pooled", FAIRNESS},
    {"F21", "as accurate as base with fewer updates",
     "deterministic at a finer threshold reaches base's mean", THRESHOLDS},
    {"F22", "a lower threshold is better for the budget policies",
     "sd and mean fall with it at equal updates per second", THRESHOLDS},
    {"F23", "theorem 4.1: accumulated errors are equal at every scheduling moment",
     "< 1e-6 under its premises", THEOREM},
    {"L1", "a relay and clients that project by one-way delays need no common clock",
     "mean error within 10 % of the global clock's", RELAY},
    {"R1", "showing on arrival is the least consistent at every delay", "all points", RACING},
    {"R2", "causality is the most consistent up to 75 ms, sd 10", "at 25, 50, 75 ms", RACING},
    {"R3", "causality breaks down past 75 ms", "> 5 times from 75 to 125 ms", RACING},
    {"R4", "dead reckoning, with causality or without, hardly depends on delay",
     "less than doubles from 25 to 125 ms", RACING},
    {"R5", "with causality dead reckoning is more consistent, and best beyond 75 ms", "all points",
     RACING},
    {"R6", "all but causality hardly depend on the deviation", "10 and 30 within 10 %", RACING},
    {"R7", "a deviation of 30 helps causality at 100 and 125 ms, hurts at 50 and 75", "per point",
     RACING},
    {"R8", "showing on arrival: the difference changes sign at 75 ms", "between 50 and 100 ms",
     RACING},
    {"R9", "causality: the difference jumps past 100 ms",
     "at 125 ms above showing on arrival and above a car length", RACING},
    {"R10", "dead reckoning, both ways: the difference is near zero", "< T_dr", RACING},
    {"R11", "loss: showing on arrival worst, dead reckoning with causality almost best",
     "all points; at most 1.1 times the lowest", RACING},
    {"R12", "loss hardly matters to dead reckoning; causality suffers about as showing on arrival",
     "from 0 to 20 %: dead reckoning less than doubles; the others rise, within a factor of 2",
     RACING},
    {"R13", "loss: differences of the other two change sign at 10 %", "between 5 and 15 %", RACING},
    {"R14", "adaptive delta: a bit less consistent, own actions sooner", "both", RACING},
    {"R15", "a finer threshold, higher order and smooth convergence help further", "each, stated",
     RACING_MORE},
    {"P1", "perceptive consistency has no conflicts", "0 in 10 000 random networks", PERCEPTIVE},
    {"P2", "it keeps the time between one source's events", "0 violations, local clocks",
     PERCEPTIVE},
    {"P3", "it is simultaneous without synchronised clocks", "0 violations", PERCEPTIVE},
    {"P4", "there is always a reference", "always", PERCEPTIVE},
    {"P5", "a constant lag is slower in fast networks and inconsistent in slow ones",
     "faster where every way is below 100 ms; conflicts where ways are above 200 ms", PERCEPTIVE},
    {"D1", "108 kbit/s carry a focus of 4 at 20 Hz and the rest at 1 Hz, 32 players",
     "measured, 126 bytes on the wire an update", ATTENTION},
    {"D2", "plain dead reckoning at 108 kbit/s looks bad, Donnybrook nearly as without limit",
     "warps, stalls, facing: lobw above donny (warps twice); donny at most 2 warps and 2 stalls a "
     "minute and 0.1 rad above hibw",
     ATTENTION},
    {"D3", "agreement costs little of the budget", "< 5 % of bytes", ATTENTION},
    {"D4", "both sides of an interaction see it soon and agree",
     "below two round trips; no call on whose verdict they differ", ATTENTION},
    {"D5", "held input predicts well for up to a second",
     "median and p95 at 0.25, 0.5, 1 s; median below half of standing still's", GUESSES},
    {"D6", "a replica that enters focus converges",
     "above a half within a diameter after 0.5 s; time to it", ATTENTION},
    {"D7", "random skills: scores as fair as without limit",
     "correlations >= 0.9 in every mode; donny's not 0.05 below hibw's", DUELS},
    {"D8", "equal skills: much lower, still positive, as with plain dead reckoning",
     "donny and lobw above 0 and within 0.15; donny below random skills', not 0.15 below hibw",
     DUELS},
    {"D9", "ten times as many players as by broadcast",
     "ratio >= 10 at 171 kbit/s by policy focus, 126 bytes an update; 4 at 20 Hz and the rest at 1 "
     "Hz within a tenth",
     SCALE},
    {"D10", "fixed focus sets fail when everybody watches one player",
     "delivered directly < 0.5; through others > 0.8", CROWD},
    {"D11", "players prefer Donnybrook", "a study with 88 people", NULL, NULL,
     "there are no people here"},
};

const int32_t claim_count = (int32_t)(sizeof claims / sizeof *claims);

_Static_assert(sizeof claims / sizeof *claims <= CLAIMS_CAPACITY, "a set has room for all");
