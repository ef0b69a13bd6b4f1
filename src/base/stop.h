/* SPDX-License-Identifier: Apache-2.0
 * base/stop.h - how a long loop that knows nothing of runs asks whether it should go on. */
#ifndef OX_BASE_STOP_H
#define OX_BASE_STOP_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ox_stop {
  bool (*asked)(const void *ctx); /* NULL: nobody stops it */
  const void *ctx;
} ox_stop;

/* Every 10 us of work or so; a loop that stops may leave its results as they are. */
static inline bool ox_stop_asked(const ox_stop *s) { return s->asked && s->asked(s->ctx); }

/* For loops of small pieces that move bytes: asks after each 128 KiB, which is some 50 us. */
typedef struct ox_stop_pace {
  const ox_stop *stop; /* NULL: nobody stops it */
  size_t moved;        /* since it asked */
  bool stopped;        /* stays */
} ox_stop_pace;
static inline bool ox_stop_moved(ox_stop_pace *p, size_t bytes) {
  if (!p->stop) return false;
  if (!p->stopped && (p->moved += bytes) >= ((size_t)128 << 10)) p->moved = 0, p->stopped = ox_stop_asked(p->stop);
  return p->stopped;
}

#endif
