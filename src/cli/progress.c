/* SPDX-License-Identifier: Apache-2.0
 * cli/progress.c - a bar on a terminal for work that takes over a second; nothing elsewhere. */
#include <unistd.h>

#include "cli.h"

enum { WIDTH = 30 };
static const double first_after_ms = 1000, step_ms = 100;

void cli_progress_start(cli_progress *p, const char *what) {
  *p = (cli_progress){.what = what, .terminal = isatty(STDERR_FILENO) != 0, .start_ms = cli_now_ms()};
}

void cli_progress_at(cli_progress *p, double part, size_t done) {
  double now = p->terminal ? cli_now_ms() : 0;
  if (!p->terminal || now - p->start_ms < first_after_ms || now - p->shown_ms < step_ms) return;
  p->shown_ms = now;
  if (part < 0) { /* the end is not known */
    fprintf(stderr, "\r%s: %zu ", p->what, done);
  } else {
    int full = part >= 1 ? WIDTH : (int)(part * WIDTH);
    fprintf(stderr, "\r%s [", p->what);
    for (int i = 0; i < WIDTH; i++) fputc(i < full ? '#' : '.', stderr);
    fprintf(stderr, "] %3.0f%% ", part >= 1 ? 100 : 100 * part);
  }
  fflush(stderr);
}

void cli_progress_end(cli_progress *p) {
  if (p->shown_ms > 0) fprintf(stderr, "\r%*s\r", WIDTH + 40, "");
}
