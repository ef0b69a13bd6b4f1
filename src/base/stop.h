/* SPDX-License-Identifier: Apache-2.0
 * base/stop.h - how a long loop that knows nothing of runs asks whether it should go on. */
#ifndef OX_BASE_STOP_H
#define OX_BASE_STOP_H

#include <stdbool.h>

typedef struct ox_stop {
  bool (*asked)(const void *ctx); /* NULL: nobody stops it */
  const void *ctx;
} ox_stop;

/* Every 10 us of work or so; a loop that stops may leave its results as they are. */
static inline bool ox_stop_asked(const ox_stop *s) { return s->asked && s->asked(s->ctx); }

#endif
