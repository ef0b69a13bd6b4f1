/* SPDX-License-Identifier: Apache-2.0
 * base/stop.h - how a long loop, which knows nothing of runs, asks whether to stop. */
#ifndef OX_BASE_STOP_H
#define OX_BASE_STOP_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ox_stop {
  bool (*asked)(const void *ctx); /* NULL: it is never stopped */
  const void *ctx;
} ox_stop;

/* Ask every 10 us of work or so; a loop that stops may leave its results unfinished. */
static inline bool ox_stop_asked(const ox_stop *s) { return s->asked && s->asked(s->ctx); }

/* For loops that move bytes in small pieces: asks after each 128 KiB, about 50 us. */
typedef struct ox_stop_pace {
  const ox_stop *stop; /* NULL: it is never stopped */
  size_t moved;        /* since it last asked */
  bool stopped;        /* once true, stays true */
} ox_stop_pace;
static inline bool ox_stop_moved(ox_stop_pace *p, size_t bytes) {
  if (!p->stop) return false;
  if (!p->stopped && (p->moved += bytes) >= ((size_t)128 << 10)) p->moved = 0, p->stopped = ox_stop_asked(p->stop);
  return p->stopped;
}

#endif
