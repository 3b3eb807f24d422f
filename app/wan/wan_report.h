// What the proxy tells: a line a second on a terminal, and a summary for people or machines at the
// end.
#ifndef APP_WAN_REPORT_H
#define APP_WAN_REPORT_H

#include "app/wan/wan_proxy.h"

/// Rewrites the status line on standard error. `before` are the figures of a second ago.
void wan_report_status(FlTime now, const WanStats *before, const WanStats *stats);

/// Ends the status line.
void wan_report_status_end(void);

void wan_report_text(FlTime now, const WanStats *stats);

/// Answers the exit status.
int wan_report_json(const char *who, const WanProxyDef *def, FlAddress listen, FlTime now,
                    const WanStats *stats);

#endif
