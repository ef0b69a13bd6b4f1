/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/pool_kernels.c - pools over planes of doubles, any number of axes. */
#include "kern/pool/pool.h"

#include <math.h>

#include "base/macros.h"

void ox_pool_clip(const ox_pool *p, int a, int64_t o, int64_t least, int64_t end, int64_t *out_from, int64_t *out_to) {
  int64_t first = o * p->stride[a] - p->lo[a], d = p->dilation[a];
  int64_t from = first < least ? least - first : 0, to = first < end ? end - first : 0;
  if (d != 1) from = OX_CEIL_DIV(from, d), to = OX_CEIL_DIV(to, d); /* the usual case does not divide */
  *out_from = from, *out_to = OX_MAX(OX_MIN(to, p->kernel[a]), from);
}

int64_t ox_pool_count(const ox_pool *p, int a, int64_t o) {
  int64_t least = p->include_pad ? -p->lo[a] : 0, end = p->in[a] + (p->include_pad ? p->hi[a] : 0), from, to;
  ox_pool_clip(p, a, o, least, end, &from, &to);
  return to - from;
}

/* Advances the indices |at| from |begin| below |end|, the last one fastest; false after the last position. */
static bool step(int64_t *at, const int64_t *begin, const int64_t *end, int axes) {
  for (int a = axes; a-- > 0;) {
    if (++at[a] < end[a]) return true;
    at[a] = begin[a];
  }
  return false;
}

typedef struct best {
  double value;
  int64_t index, n;
} best;

/* |n| elements |step| apart, the first of them at |at|; |pitch|: between their indices. */
static void take(const ox_pool *p, const double *x, int64_t at, int64_t step, int64_t n, int64_t column, int64_t pitch,
                 best *b) {
  if (p->kind == OX_POOL_AVERAGE) {
    for (int64_t i = 0; i < n; i++) b->value += x[at + i * step];
  } else if (p->kind == OX_POOL_LP && p->p == 2) {
    for (int64_t i = 0; i < n; i++) b->value += x[at + i * step] * x[at + i * step];
  } else if (p->kind == OX_POOL_LP) {
    for (int64_t i = 0; i < n; i++) b->value += p->p == 1 ? fabs(x[at + i * step]) : pow(fabs(x[at + i * step]), p->p);
  } else {
    int64_t found = -1;
    double most = b->value;
    for (int64_t i = 0; i < n; i++)
      if ((found < 0 && b->index < 0) || most != most || x[at + i * step] > most) most = x[at + i * step], found = i;
    if (found >= 0) b->value = most, b->index = p->column_major ? column + found * pitch : at + found * step;
  }
}

/* Only the part of the window that lies over |x|, however large the window is; a run along the last axis at a time. */
static best window(const ox_pool *p, const double *x, const int64_t *o) {
  best b = {p->kind == OX_POOL_MAX ? -INFINITY : 0, -1, 0};
  int64_t t[OX_POOL_AXES], begin[OX_POOL_AXES], end[OX_POOL_AXES];
  int last = p->axes - 1;
  for (int a = 0; a < p->axes; a++) {
    ox_pool_clip(p, a, o[a], 0, p->in[a], &begin[a], &end[a]);
    if (begin[a] == end[a]) return b;
    t[a] = begin[a];
  }
  do {
    int64_t at = 0, column = 0, pitch = 1;
    for (int a = 0; a < p->axes; a++) {
      int64_t i = o[a] * p->stride[a] - p->lo[a] + t[a] * p->dilation[a];
      at = at * p->in[a] + i, column += i * pitch;
      if (a < last) pitch *= p->in[a];
    }
    take(p, x, at, p->dilation[last], end[last] - begin[last], column, pitch * p->dilation[last], &b);
  } while (step(t, begin, end, last));
  return b;
}

void ox_pool_plane(const ox_pool *p, const double *x, double *y, int64_t *index, const ox_stop *stop) {
  static const int64_t zeros[OX_POOL_AXES] = {0};
  int64_t o[OX_POOL_AXES] = {0}, i = 0;
  for (int a = 0; a < p->axes; a++)
    if (p->out[a] == 0) return;
  do {
    if (i % 16 == 15 && ox_stop_asked(stop)) return;
    best b = window(p, x, o);
    if (p->kind == OX_POOL_AVERAGE) {
      int64_t n = 1;
      for (int a = 0; a < p->axes; a++) n *= ox_pool_count(p, a, o[a]);
      b.value = n ? b.value / (double)n : 0;
    } else if (p->kind == OX_POOL_LP) {
      b.value = p->p == 1 ? b.value : p->p == 2 ? sqrt(b.value) : pow(b.value, 1 / p->p);
    }
    if (index) index[i] = b.index;
    y[i++] = b.value;
  } while (step(o, zeros, p->out, p->axes));
}
