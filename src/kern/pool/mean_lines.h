/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/mean_lines.h - means of windows of bytes, signed or unsigned, rounded to bytes: exact sums down the rows of
 * a window, then along the row, then one rounding. The same bits on every instruction set. */
#ifndef OX_KERN_POOL_MEAN_LINES_H
#define OX_KERN_POOL_MEAN_LINES_H

#include <stddef.h>

#include "base/cpu.h"
#include "kern/pool/pool.h"

/* How sums become bytes. Signed bytes are computed as unsigned ones, 128 more: |flip| is 128, and x_zero and y_zero are
 * 128 more, too. */
typedef struct ox_mean_bytes {
  double ratio; /* X's scale divided by Y's */
  int32_t x_zero, y_zero;
  uint8_t flip;
} ox_mean_bytes;

typedef struct ox_mean_lines {
  ox_isa needs;
  const char *name;
  /* y[i] = the sum of x[t * step + i] xor |flip|, t below |taps|, which is below 2^23, for i below n */
  void (*down)(int32_t *y, const uint8_t *x, ptrdiff_t step, int64_t taps, size_t n, uint8_t flip);
  /* y[i] = the sum of x[t * step + i * each] */
  void (*along)(int32_t *y, const int32_t *x, ptrdiff_t step, int64_t taps, ptrdiff_t each, size_t n);
  /* The sum of x[i] xor |flip|, i below n; n below 2^23. */
  int32_t (*all)(const uint8_t *x, size_t n, uint8_t flip);
  /* y[i] = rint((x[i] - less) * factor) + zero, saturated, xor |flip|; NaN becomes the least value */
  void (*round)(uint8_t *y, const int32_t *x, size_t n, int32_t less, double factor, int32_t zero, uint8_t flip);
} ox_mean_lines;
const ox_mean_lines *ox_mean_lines_select(ox_isa have);
/* All variants, best first: for tests. */
const ox_mean_lines *const *ox_mean_lines_variants(size_t *out_n);

/* Do sums of windows fit 32 bits, and are there two axes at most? */
bool ox_mean_pool_fits(const ox_pool *p);
/* Row |row| of the outputs of one image, channels last, or of a plane, one channel. |scratch|: a row of the image and
 * one of the outputs, as int32. */
void ox_mean_pool_row(const ox_mean_lines *v, const ox_pool *p, int64_t channels, const ox_mean_bytes *q,
                      const uint8_t *x, uint8_t *y, int64_t row, int32_t *scratch);

#endif
