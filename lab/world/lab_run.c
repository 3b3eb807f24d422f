// Errors and progress of a run.
#include "lab/world/lab_run.h"

#include <stdarg.h>
#include <stdio.h>

LabStatus lab_fail(LabError *error, LabStatus status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return status;
}

LabStatus lab_fail_result(LabError *error, FlResult result, const char *what)
{
    return lab_fail(error, LAB_FAILED, "%s: %s", what, fl_result_text(result));
}

void lab_progress(const LabRun *run, int64_t done, int64_t of)
{
    if (run->progress_fn != NULL) {
        run->progress_fn(run->progress_ctx, done, of);
    }
}
