/* SPDX-License-Identifier: Apache-2.0
 * exec/two_ways.h - two ways to do the same work again and again: which to take next, from how long they took. What is
 * faster changes with what else the machine does, so the other way is tried from time to time. */
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

/* The way of the next turn: the preferred one, but for 4 turns in 128. */
int ox_two_ways_next(ox_two_ways *w);
/* The turn on |way| took |ns|. Not called for a turn that failed, or whose time says nothing: see break. */
void ox_two_ways_note(ox_two_ways *w, int way, int64_t ns);
/* What was in the cache is gone: the next turn counts as the first on its way, which does not count. */
void ox_two_ways_break(ox_two_ways *w);

#endif
