// fairlead lab figures: the pictures of the documentation, made again by the experiments they show.
//
// To add one: a line in the table. It names the file, the experiment with its options, and which of
// its charts.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/cli/command.h"
#include "app/cli/output.h"
#include "app/commands/commands.h"
#include "app/lab/lab_request.h"

static const char who[] = "fairlead lab figures";

enum { ARGUMENTS_MAX = 12, PATH_BYTES = 4096 };

typedef struct Figure {
    const char *name; ///< Of the file, without ".svg".
    int32_t chart;    ///< Of the experiment's; -1: the picture that it draws itself.
    const char *arguments[ARGUMENTS_MAX];
} Figure;

static const Figure figures[] = {
    {"accuracy", 2, {"accuracy", "--trace", "data/tanks/match01.csv.gz"}},
    {"fairness",
     1,
     {"fairness", "--trace", "data/tanks/match01.csv.gz", "--policies",
      "base base/3 schedule1 deterministic probabilistic equal-0 equal-50 equal-100", "--jitter",
      "0,100,180"}},
    {"tradeoff", -1, {"tradeoff", "--trace", "data/tanks/match01.csv.gz"}},
    {"attention", -1, {"attention", "--trace", "data/arena/ctf32_20s.csv.gz", "--seconds", "4"}},
    {"scale", 0, {"scale", "--kbps", "64,108,128,171", "--seconds", "5"}},
    {"scale_cost",
     1,
     {"scale", "--modes", "ours", "--kbps", "256", "--players", "10,30,100,300,1000", "--seconds",
      "5"}},
};

enum { FIGURES = sizeof figures / sizeof *figures };

/// The picture of a figure as SVG. False: the error has been printed.
static bool draw(const Figure *figure, LabRequest *request, Text *svg)
{
    LabRun run;
    LabResult result;
    if (lab_request_run(request, 0, NULL, &run, &result) != 0) {
        return false;
    }
    bool drawn = figure->chart < 0
                     ? result.picture.count > 0
                     : chart_draw(&request->experiment->charts[figure->chart], result.rows, svg);
    if (drawn && figure->chart < 0) {
        text_add(svg, "%s", text_of(&result.picture));
    }
    lab_result_free(&result);
    if (!drawn || svg->failed) {
        command_fail(EXIT_FAILED, who, "%s: there is nothing to draw", figure->name);
    }
    return drawn && !svg->failed;
}

static bool path_of(const char *folder, const char *name, char path[PATH_BYTES])
{
    return snprintf(path, PATH_BYTES, "%s/%s.svg", folder, name) < PATH_BYTES;
}

static bool is_wanted(const Figure *figure, const char *only)
{
    return only == NULL || strcmp(only, figure->name) == 0;
}

/// Before the work: there are such figures, and they can be written.
static int check(const char *only, const char *folder)
{
    bool made = false;
    int32_t wanted = 0;
    for (int32_t i = 0; i < FIGURES; i++) {
        wanted += is_wanted(&figures[i], only) ? 1 : 0;
    }
    if (wanted == 0) {
        return command_fail(EXIT_BAD_INPUT, who, "there is no figure '%s'", only);
    }
    int status = output_folder(who, "--out", folder, &made);
    for (int32_t i = 0; i < FIGURES && status == OPTIONS_GO_ON; i++) {
        char path[PATH_BYTES];
        if (!path_of(folder, figures[i].name, path)) {
            status = command_fail(EXIT_BAD_INPUT, who, "--out: the folder's name is too long");
        } else if (is_wanted(&figures[i], only)) {
            status = output_check(who, "--out", path);
        }
    }
    return status;
}

static bool write_svg(const char *folder, const char *name, const Text *svg)
{
    char path[PATH_BYTES];
    Output output;
    if (!path_of(folder, name, path) || !output_open(&output, who, path)) {
        return false;
    }
    fputs(text_of(svg), output.stream);
    return output_close(&output, who);
}

static int make(const Figure *figure, const char *folder)
{
    LabRequest *request = (LabRequest *)calloc(1, sizeof *request);
    if (request == NULL) {
        return command_fail(EXIT_FAILED, who, "out of memory");
    }
    char *argv[ARGUMENTS_MAX];
    int argc = 0;
    while (argc < ARGUMENTS_MAX && figure->arguments[argc] != NULL) {
        argv[argc] = (char *)(uintptr_t)figure->arguments[argc]; // parsing changes none
        argc++;
    }
    int status = lab_request_parse(request, argc, argv);
    if (status == OPTIONS_GO_ON) {
        Text svg = {0};
        status =
            draw(figure, request, &svg) && write_svg(folder, figure->name, &svg) ? 0 : EXIT_FAILED;
        text_free(&svg);
    }
    free(request);
    return status;
}

int cmd_lab_figures(int argc, char **argv)
{
    const char *folder = "docs/pictures";
    const char *only = NULL;
    const Option options[] = {
        {.value = "NAME", .text = &only, .help = "only this one"},
        {.name = "out", .value = "DIR", .text = &folder, .help = "where to (docs/pictures)"},
    };
    const CommandLine line = {who,
                              "The pictures of the documentation, made again. Start it where the\n"
                              "folder data/ is.",
                              options, 2};
    int status = options_parse(&line, argc, argv);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    status = check(only, folder);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    status = 0;
    for (int32_t i = 0; i < FIGURES && status == 0; i++) {
        status = is_wanted(&figures[i], only) ? make(&figures[i], folder) : 0;
    }
    return status;
}
