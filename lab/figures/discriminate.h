// Can one tell two kinds of things apart by a few figures of each?
//
// Several plain classifiers learn it on some matches and are asked about others: the best single
// figure, a logistic regression with squares, boosted stumps. The answer is the area under the
// curve of the one that does best there (0.5: they cannot be told apart, 1: always), so it is the
// worst case for who wants them to look alike; with nothing to find it is a little above a half.
#ifndef LAB_DISCRIMINATE_H
#define LAB_DISCRIMINATE_H

#include <stdbool.h>
#include <stdint.h>

#define DISCRIMINATE_FIGURES 16

typedef struct DiscriminateSample {
    double figures[DISCRIMINATE_FIGURES];
    int32_t match;
    bool label;
} DiscriminateSample;

/// Learns from matches with an even number and asks about the odd ones, then the other way round;
/// the mean of both. NaN if either has none, or only one kind; or if there is no memory.
double discriminate(const DiscriminateSample *samples, int32_t count);

#endif
