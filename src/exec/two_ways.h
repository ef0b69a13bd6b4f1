/* SPDX-License-Identifier: Apache-2.0
 * exec/two_ways.h - chooses between two ways to do the same repeated work, from how long they took. Which is faster
 * changes with the load of the machine, so the other way is tried from time to time. */
#ifndef OX_EXEC_TWO_WAYS_H
#define OX_EXEC_TWO_WAYS_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: way 0 is preferred, and way 1 is tried at once. */
typedef struct ox_two_ways {
  int64_t last_ns[2][3]; /* of each way, of turns that followed a turn of the same */
  uint32_t n[2];         /* such turns */
  uint32_t turn;
  int preferred, before; /* before: the way of the last turn, if that was noted */
} ox_two_ways;

/* The way for the next turn: the preferred one, except in 4 turns of 128. */
int ox_two_ways_next(ox_two_ways *w);
/* Notes that the turn on |way| took |ns|. Not called for turns that failed or whose time means nothing: see
 * ox_two_ways_break. */
void ox_two_ways_note(ox_two_ways *w, int way, int64_t ns);
/* Notes that the caches are cold, so that the next turn is not counted. */
void ox_two_ways_break(ox_two_ways *w);

#endif
