/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/onednn_numbers.h - constants of the tests' models. */
#ifndef OX_TEST_ONEDNN_NUMBERS_H
#define OX_TEST_ONEDNN_NUMBERS_H

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"

/* |text| with numbers between -1 and 1 in the place of each #n, integers of int8 for ~n and of uint8 for ^n; malloc'd.
 */
static inline char *onednn_numbers(const char *text) {
  size_t room = 1 << 20, at = 0;
  char *out = malloc(room);
  unsigned seed = 1;
  assert_non_null(out);
  for (const char *p = text; *p;) {
    char kind = *p, *end;
    if (kind != '#' && kind != '~' && kind != '^') {
      out[at++] = *p++;
      continue;
    }
    long n = strtol(p + 1, &end, 10);
    for (long i = 0; i < n; i++) {
      seed = seed * 1103515245 + 12345;
      int byte = (int)(seed >> 16 & 0xff);
      double x = kind == '#' ? (double)(seed >> 8 & 0xffff) / 0x8000 - 1 : kind == '~' ? byte - 128 : byte;
      at += (size_t)snprintf(out + at, room - at, kind == '#' ? "%s%.4f" : "%s%.0f", i ? ", " : "", x);
    }
    p = end;
  }
  out[at] = 0;
  return out;
}

#endif
