// The commands of the program `fairlead`.
//
// A command is a function that gets its own name as argv[0] and answers the exit status. To add
// one: write app/commands/cmd_<name>.c, declare its function here, and add one line to the table
// in app/main.c.
#ifndef APP_COMMANDS_H
#define APP_COMMANDS_H

int cmd_bench(int argc, char **argv);
int cmd_bots(int argc, char **argv);
int cmd_demo(int argc, char **argv);
int cmd_join(int argc, char **argv);
int cmd_lab(int argc, char **argv);
int cmd_lab_figures(int argc, char **argv);
int cmd_lab_merge(int argc, char **argv);
int cmd_lab_report(int argc, char **argv);
int cmd_lab_run(int argc, char **argv);
int cmd_lab_runs(int argc, char **argv);
int cmd_lab_verify(int argc, char **argv);
int cmd_page(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_trace_info(int argc, char **argv);
int cmd_trace_reckon(int argc, char **argv);
int cmd_wan(int argc, char **argv);
int cmd_watch(int argc, char **argv);

/// The same commands with units from elsewhere: `lab merge` names folders.
typedef struct UnitOptions UnitOptions;
int lab_run(int argc, char **argv, const UnitOptions *units);
int lab_verify(int argc, char **argv, const UnitOptions *units);

#endif
