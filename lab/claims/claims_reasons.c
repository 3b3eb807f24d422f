// Why a claim does not hold here: the paper, the set-up, or ourselves; and how we know.
#include <string.h>

#include "lab/claims/claims.h"

typedef struct Reason {
    const char *id;
    const char *cause;
    const char *words;
} Reason;

#define PAPER "the paper"
#define SETUP "the set-up"
#define OURS "our implementation"

static const Reason reasons[] = {
    {"F11", PAPER,
     "it has one run of each weighting and no intervals; over our runs (1,1,0) and appendix B's "
     "waiting are as equal"},
    {"F16", PAPER,
     "one run of each; over ours (0,1,0) and (1,1,0) are more equal and less accurate: none is "
     "best"},
    {"F19", PAPER,
     "one run of each; over ours chance is more equal, because everybody is worse off: its mean is "
     "half as high again (F18)"},
    {"F20", SETUP,
     "most weightings are within 2 %; where waiting is weighed, the share is read just before a "
     "send, when it is highest for the one that is served"},
    {"F21", PAPER,
     "argued, not measured: the thesis did not lower its threshold. Nearly all of base's error is "
     "delay: halving the threshold takes 2 % off base's own mean (lab run fairness --distance "
     "0.045), and whatever is left out adds error"},
    {"F22", PAPER,
     "argued, not measured. A coarse threshold picks the moments that matter; among the triggers "
     "of a fine one a timetable or chance picks any, so at equal updates the mean rises"},
    {"R1", SETUP,
     "where everything is late, causality shows the car on the grid for ever, and players disagree "
     "whenever it leads; the paper's cars start anew every 30 s as ours do, its rates are read off "
     "a picture"},
    {"R2", SETUP,
     "the other way is 75±10 ms throughout, so some 3 % of its updates miss the limit at any "
     "delay of this one; their network lost fewer"},
    {"R6", SETUP,
     "the more delays vary, the more often an update overtakes another, and the newest is "
     "younger; the rates fall, at every mean"},
    {"R7", SETUP,
     "at 100 ms the mean is the limit itself: the share that is late is the same, whatever the "
     "deviation"},
    {"R12", SETUP,
     "what is lost is missed until the next update, a quarter of a second later; and causality "
     "starts from a rate near zero, so it rises more than showing on arrival, which starts near 40 "
     "%"},
    {"R15", PAPER,
     "its outlook, not measured. Three updates span half a second and more, so a parabola goes by "
     "an acceleration of long ago; what is corrected in steps is wrong for longer, though it jumps "
     "less (own column in lab run racing)"},
    {"D1", SETUP,
     "the published 108 kbit/s are 107 updates of 126 bytes and nothing else; ours carry states, "
     "calls and reports too, which take what is missing"},
    {"D2", OURS,
     "warps are gone and stalls are below two a minute; a replica that knows where a player will "
     "be, once in 1.3 s, faces wrongly when the player changes its mind meanwhile. Guidance with "
     "the present, which the paper does not have, is not in this mode"},
    {"D5", SETUP,
     "of recorded players the pace is held, keys are not read; they turn within half a second, "
     "when what is held is half as wrong as standing still. Where keys are held, as of bots, it "
     "holds"},
    {"D7", SETUP,
     "sixteen bots of five levels: an hour's scores are partly chance, see hibw's own"},
    {"D8", SETUP, "characters alone make little difference, so an hour's order is mostly chance"},
    {"D9", OURS, "reports, states and keep-alives take what the last tenth would need"},
};

const char *claim_reason(const char *id, const char **cause)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (strcmp(reasons[i].id, id) == 0) {
            *cause = reasons[i].cause;
            return reasons[i].words;
        }
    }
    *cause = NULL;
    return NULL;
}
