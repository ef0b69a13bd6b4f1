/* SPDX-License-Identifier: Apache-2.0
 * kern/resize/resize_kernels.c - the passes of an interpolation, and nearest-neighbour copies. */
#include "kern/resize/resize.h"

#include <string.h>

#include "base/macros.h"
#include "kern/variants.h"
#include "onyx/ep.h"

OX_VARIANTS_SELECT(ox_resize_variant, ox_resize_f32__, ox_resize_select)

void ox_resize_f64(const ox_resize_pass *p, const double *x, double *y, int64_t begin, int64_t end) {
  int64_t n = p->inner;
  for (int64_t r = begin; r < end; r++) {
    const int32_t *at = p->index + r % p->out * p->taps;
    const double *w = (const double *)p->weight + r % p->out * p->taps, *from = x + r / p->out * p->in * n;
    double *to = y + r * n;
    for (int64_t i = 0; i < n; i++) to[i] = at[0] < 0 ? p->fill : 0;
    for (int64_t t = 0; t < p->taps && at[0] >= 0; t++)
      for (int64_t i = 0; i < n; i++) to[i] += w[t] * from[at[t] * n + i];
  }
}

static void fill_row(char *y, const void *fill, size_t elem, int64_t n) {
  for (int64_t i = 0; i < n; i++) memcpy(y + (size_t)i * elem, fill, elem);
}

/* y[i] = x[at[i]] with the element size known to the compiler. */
#define COPY_AS(type)                                                                       \
  for (int64_t i = 0; i < n; i++) {                                                         \
    if (at[i] >= 0)                                                                         \
      memcpy(y + (size_t)i * sizeof(type), x + (size_t)at[i] * sizeof(type), sizeof(type)); \
    else                                                                                    \
      memcpy(y + (size_t)i * sizeof(type), fill, sizeof(type));                             \
  }

typedef struct {
  uint64_t w[4];
} of_32;
typedef struct {
  uint64_t w[8];
} of_64;

static void copy_row(char *y, const char *x, const int32_t *at, int64_t n, size_t elem, const void *fill) {
  switch (elem) {
    case 1:
      COPY_AS(uint8_t) break;
    case 2:
      COPY_AS(uint16_t) break;
    case 4:
      COPY_AS(uint32_t) break;
    case 8:
      COPY_AS(uint64_t) break;
    case 32:
      COPY_AS(of_32) break;
    case 64:
      COPY_AS(of_64) break;
    default:
      for (int64_t i = 0; i < n; i++) memcpy(y + (size_t)i * elem, at[i] >= 0 ? x + (size_t)at[i] * elem : fill, elem);
  }
}

/* The coordinates of output row |r| on each axis but the last. */
static void find_row(const ox_resize_near *p, int64_t r, int64_t *at) {
  for (int a = p->rank - 1; a-- > 0; r /= p->out[a]) at[a] = r % p->out[a];
}
static void next_row(const ox_resize_near *p, int64_t *at) {
  for (int a = p->rank - 1; a-- > 0 && ++at[a] == p->out[a];) at[a] = 0;
}

/* The input row of the output row at |at|; -1: outside. */
static int64_t source_row(const ox_resize_near *p, const int64_t *at) {
  int64_t row = 0;
  bool outside = false;
  for (int a = 0; a + 1 < p->rank; a++) {
    int64_t i = p->index[a] ? p->index[a][at[a]] : at[a];
    outside |= i < 0;
    row = row * p->in[a] + i;
  }
  return outside ? -1 : row;
}

/* Doubles each element of an input row; |pair|: writes the row twice. */
static void near_twice(const ox_resize_near *p, const char *x, char *to, int64_t in, bool pair) {
  int width = p->elem == 1 ? 0 : p->elem == 2 ? 1 : p->elem == 4 ? 2 : 3;
  p->variant->twice[width](x, to, pair ? to + (size_t)(2 * in) * p->elem : NULL, in);
}

/* Doubled rows, in pairs. */
static void near_pairs(const ox_resize_near *p, const char *x, char *y, int64_t begin, int64_t end) {
  int64_t in = p->in[p->rank - 1];
  for (int64_t r = begin, n; r < end; r += n) {
    n = r % 2 == 0 && r + 1 < end ? 2 : 1;
    near_twice(p, x + (size_t)(r / 2 * in) * p->elem, y + (size_t)(r * 2 * in) * p->elem, in, n == 2);
  }
}

void ox_resize_nearest(const ox_resize_near *p, const void *x, void *y, int64_t begin, int64_t end) {
  int64_t in = p->rank ? p->in[p->rank - 1] : 1, n = p->rank ? p->out[p->rank - 1] : 1, last = -2;
  const int32_t *at = p->rank ? p->index[p->rank - 1] : NULL;
  int64_t place[OX_MAX_RANK];
  if (p->rows_twice) {
    near_pairs(p, x, y, begin, end);
    return;
  }
  find_row(p, begin, place);
  for (int64_t r = begin; r < end; r++, next_row(p, place)) {
    char *to = (char *)y + (size_t)(r * n) * p->elem;
    int64_t row = source_row(p, place);
    if (row < 0)
      fill_row(to, p->fill, p->elem, n);
    else if (row == last)
      memcpy(to, to - (size_t)n * p->elem, (size_t)n * p->elem); /* the same input row as the output row before */
    else if (at && p->twice)
      near_twice(p, (const char *)x + (size_t)(row * in) * p->elem, to, in, false);
    else if (at && p->last)
      p->variant->near_line(p->last, (const float *)x + row * in, (float *)(void *)to);
    else if (at)
      copy_row(to, (const char *)x + (size_t)(row * in) * p->elem, at, n, p->elem, p->fill);
    else
      memcpy(to, (const char *)x + (size_t)(row * in) * p->elem, (size_t)n * p->elem);
    last = row;
  }
}
