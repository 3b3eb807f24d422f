// A command line of `fairlead lab run`: an experiment, its settings, and how it is run.
#ifndef APP_LAB_REQUEST_H
#define APP_LAB_REQUEST_H

#include "app/lab/unit_store.h"
#include "lab/experiments/experiment.h"

enum { LAB_OPTIONS_MAX = 40 };

/// The command line as given.
typedef struct LabRequest {
    char who[64];
    const Experiment *experiment;
    _Alignas(max_align_t) unsigned char settings[LAB_SETTINGS_BYTES];
    NumberList lists[LAB_OPTIONS_MAX]; ///< Of the settings that are lists, by their index.
    int64_t runs;
    int64_t seed;
    const char *out;
    const char *svg;
    const char *db;
    bool plain;
    bool json;
    UnitOptions units;
} LabRequest;

/// Reads the experiment's name (argv[0]) and its options into an empty request. Answers
/// OPTIONS_GO_ON, or the exit status.
int lab_request_parse(LabRequest *request, int argc, char **argv);

/// Runs it, with a progress line; argc and argv are the whole command's. Answers 0 and a result
/// (lab_result_free), or the exit status; the error has been printed. A shard has no result: then
/// *result is empty and 0 means that all its units are kept.
int lab_request_run(LabRequest *request, int argc, char **argv, LabRun *run, LabResult *result);

#endif
