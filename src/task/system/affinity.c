/* SPDX-License-Identifier: Apache-2.0
 * task/system/affinity.c - parses affinity strings. */
#include "task/system/affinity.h"

#include <string.h>

enum { CPUS = 1024 };

/* A number from 1 to CPUS; 0 if there is none. Moves |*p| behind it. */
static unsigned number(const char **p) {
  unsigned n = 0;
  const char *start = *p;
  for (; **p >= '0' && **p <= '9'; ++*p)
    if (n <= CPUS) n = n * 10 + (unsigned)(**p - '0');
  return *p != start && n <= CPUS ? n : 0;
}

/* "3" or "3-7". */
static bool item(const char **p, ox_cpu_mask *mask) {
  unsigned first = number(p), last = first;
  if (first && **p == '-') ++*p, last = number(p);
  if (!first || last < first) return false;
  for (unsigned cpu = first - 1; cpu < last; cpu++) mask->bits[cpu / 64] |= (uint64_t)1 << cpu % 64;
  return true;
}

ox_status *ox_affinity_parse(const char *text, uint32_t n_workers, ox_cpu_mask *out_masks) {
  memset(out_masks, 0, n_workers * sizeof *out_masks);
  uint32_t n = 0;
  for (const char *p = text;; p++) {
    if (n >= n_workers)
      return ox_fail(OX_INVALID_ARGUMENT, "affinity \"%.100s\" has more entries than the %u workers", text,
                     (unsigned)n_workers);
    if (!item(&p, &out_masks[n]) || (*p && *p != ',' && *p != ';'))
      return ox_fail(OX_INVALID_ARGUMENT,
                     "affinity \"%.100s\", position %zu: wanted a processor from 1 to %d, as in \"1,2;3-4;5\"", text,
                     (size_t)(p - text) + 1, CPUS);
    if (*p != ',') n++;
    if (!*p) break;
  }
  if (n < n_workers)
    return ox_fail(OX_INVALID_ARGUMENT, "affinity \"%.100s\" has %u entries for %u workers", text, (unsigned)n,
                   (unsigned)n_workers);
  return NULL;
}
