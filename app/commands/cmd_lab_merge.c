// fairlead lab merge: the result of shards, as the command without --shard would have given it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/cli/command.h"
#include "app/commands/commands.h"
#include "app/lab/unit_store.h"

static const char who[] = "fairlead lab merge";

static void print_help(void)
{
    printf("Usage: fairlead lab merge DIR... [options]\n\n"
           "The result of all shards that lab run or lab verify has kept in these folders: the\n"
           "same, byte for byte, as one run without --shard. Nothing is played. Options are those\n"
           "of the command that was shared out, as --json, --markdown or --out DIR.\n");
}

/// The words of the command that made the folders, then the options given here. Borrowed from
/// `command`.
static char **make_words(const json_t *command, int more, char **options, int *count)
{
    size_t kept = json_array_size(command);
    char **words = (char **)calloc(kept + (size_t)more + 1, sizeof *words);
    *count = 0;
    for (size_t i = 0; i < kept && words != NULL; i++) {
        const char *word = json_string_value(json_array_get(command, i));
        words[(*count)++] = (char *)(uintptr_t)(word != NULL ? word : "");
    }
    for (int i = 0; i < more && words != NULL; i++) {
        words[(*count)++] = options[i];
    }
    return words;
}

int cmd_lab_merge(int argc, char **argv)
{
    int folders = 0;
    while (1 + folders < argc && strncmp(argv[1 + folders], "--", 2) != 0) {
        folders++;
    }
    if (1 + folders < argc && strcmp(argv[1 + folders], "--help") == 0) {
        print_help();
        return 0;
    }
    if (folders == 0 || folders > UNIT_FOLDERS) {
        return command_fail(EXIT_BAD_INPUT, who,
                            "1 to %d folders of lab run|verify --shard I/N "
                            "--state DIR are needed, before any options",
                            (int)UNIT_FOLDERS);
    }
    json_t *command = unit_store_command(who, argv[1]);
    if (command == NULL) {
        return EXIT_BAD_INPUT;
    }
    int count;
    char **words = make_words(command, argc - 1 - folders, argv + 1 + folders, &count);
    UnitOptions merged = {
        .jobs = 1, .merged = (const char *const *)argv + 1, .merged_count = folders};
    int status = EXIT_FAILED;
    if (words == NULL || words[0] == NULL) {
        (void)command_fail(status, who, "out of memory");
    } else if (strcmp(words[0], "verify") == 0) {
        status = lab_verify(count, words, &merged);
    } else {
        status = lab_run(count, words, &merged);
    }
    free(words);
    json_decref(command);
    return status;
}
