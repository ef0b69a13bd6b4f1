/* SPDX-License-Identifier: Apache-2.0
 * exec/two_ways.c - see two_ways.h. */
#include "exec/two_ways.h"

#include "base/macros.h"

enum { PERIOD = 128, TRIAL = 4, NO_WAY = -1 };

int ox_two_ways_next(ox_two_ways *w) {
  bool trial = w->turn++ % PERIOD < TRIAL;
  return trial ? !w->preferred : w->preferred;
}

/* One turn that was interrupted says nothing. */
static int64_t median(const int64_t *v) { return OX_MAX(OX_MIN(v[0], v[1]), OX_MIN(OX_MAX(v[0], v[1]), v[2])); }

void ox_two_ways_note(ox_two_ways *w, int way, int64_t ns) {
  bool first = way != w->before;
  w->before = way;
  if (first) return;
  w->last_ns[way][w->n[way]++ % 3] = ns;
  if (w->n[0] < 3 || w->n[1] < 3) return;
  int64_t now = median(w->last_ns[w->preferred]), other = median(w->last_ns[!w->preferred]);
  if (other < now - now / 32) w->preferred = !w->preferred;
}

void ox_two_ways_break(ox_two_ways *w) { w->before = NO_WAY; }
