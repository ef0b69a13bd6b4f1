/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/max_lines.h - MaxPool of channels-last bytes, signed or unsigned: maxima of lines of bytes, first down the
 * rows of a window, then along the row. */
#ifndef OX_KERN_POOL_MAX_LINES_H
#define OX_KERN_POOL_MAX_LINES_H

#include <stdbool.h>

#include "base/cpu.h"
#include "kern/pool/pool.h"

typedef struct ox_max_lines {
  ox_isa needs;
  const char *name;
  /* y[i] = the largest of x[t * step + i], t below |taps|, for i below n; the type's least value if |taps| is 0. */
  void (*fn)(uint8_t *y, const uint8_t *x, ptrdiff_t step, int64_t taps, size_t n, bool is_signed);
} ox_max_lines;
const ox_max_lines *ox_max_lines_select(ox_isa have);
/* All variants, best first: for tests. */
const ox_max_lines *const *ox_max_lines_variants(size_t *out_n);

/* Row |row| of the outputs of one image, channels last: of at most two axes. |scratch|: a row of the image. */
void ox_max_pool_last(const ox_max_lines *v, const ox_pool *p, int64_t channels, bool is_signed, const uint8_t *x,
                      uint8_t *y, int64_t row, void *scratch);

#endif
