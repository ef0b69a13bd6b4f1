/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/pool_kernels.c - pools over planes of doubles, any number of axes. */
#include "kern/pool/pool.h"

#include <math.h>
#include <string.h>

#include "base/macros.h"

void ox_pool_clip(const ox_pool *p, int a, int64_t o, int64_t least, int64_t end, int64_t *out_from, int64_t *out_to) {
  int64_t first = o * p->stride[a] - p->lo[a], d = p->dilation[a];
  int64_t from = first < least ? least - first : 0, to = first < end ? end - first : 0;
  if (d != 1) from = OX_CEIL_DIV(from, d), to = OX_CEIL_DIV(to, d); /* a division, which the usual case avoids */
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

/* One tap of a row: |n| outputs, whose inputs lie |stride| apart; their indices begin at |index|, |pitch| apart. */
typedef struct tap {
  const double *x;
  int64_t n, stride, index, pitch;
} tap;

/* A row begins with NaN, and a number replaces NaN. Without branches, as they would be unpredictable. take_most_index
 * does the same for the index of the element. */
static void take_most(const tap *t, double *y) {
  const double *x = t->x;
  int64_t n = t->n, stride = t->stride;
  OX_IVDEP for (int64_t i = 0; i < n; i++) {
    double v = x[i * stride], most = y[i];
    y[i] = (most != most) | (v > most) ? v : most;
  }
}

static void take_most_index(const tap *t, double *y, int64_t *index) {
  const double *x = t->x;
  int64_t n = t->n, stride = t->stride, at = t->index, pitch = t->pitch;
  OX_IVDEP for (int64_t i = 0; i < n; i++) {
    double v = x[i * stride], most = y[i];
    uint64_t more = 0 - (uint64_t)((most != most) | (v > most)), bits, old;
    memcpy(&bits, &v, 8), memcpy(&old, &y[i], 8);
    bits = old ^ ((old ^ bits) & more);
    memcpy(&y[i], &bits, 8);
    index[i] ^= (index[i] ^ (at + i * pitch)) & (int64_t)more;
  }
}

static void take(const ox_pool *p, const tap *t, double *y, int64_t *index) {
  const double *x = t->x;
  if (p->kind == OX_POOL_MAX && index) {
    take_most_index(t, y, index);
  } else if (p->kind == OX_POOL_MAX) {
    take_most(t, y);
  } else if (p->kind == OX_POOL_AVERAGE) {
    for (int64_t i = 0; i < t->n; i++) y[i] += x[i * t->stride];
  } else if (p->p == 2) {
    for (int64_t i = 0; i < t->n; i++) y[i] += x[i * t->stride] * x[i * t->stride];
  } else if (p->p == 1) {
    for (int64_t i = 0; i < t->n; i++) y[i] += fabs(x[i * t->stride]);
  } else {
    for (int64_t i = 0; i < t->n; i++) y[i] += pow(fabs(x[i * t->stride]), p->p);
  }
}

/* The outputs [*out_from, *out_to) of the last axis whose tap |t| is inside the input. */
static void reach(const ox_pool *p, int a, int64_t t, int64_t *out_from, int64_t *out_to) {
  int64_t first = t * p->dilation[a] - p->lo[a], s = p->stride[a];
  int64_t from = first < 0 ? OX_CEIL_DIV(-first, s) : 0, to = first < p->in[a] ? (p->in[a] - first + s - 1) / s : 0;
  *out_from = from, *out_to = OX_MAX(OX_MIN(to, p->out[a]), from);
}

/* The taps [*from, *to) along the last axis that are inside the input for at least one output. */
static void taps_of(const ox_pool *p, int a, int64_t *from, int64_t *to) {
  int64_t other;
  ox_pool_clip(p, a, p->out[a] - 1, 0, p->in[a], from, &other);
  ox_pool_clip(p, a, 0, 0, p->in[a], &other, to);
  *to = OX_MIN(*to, p->kernel[a]);
}

/* Computes the row of outputs at |o|, whose last coordinate is 0, tap by tap. Outputs with empty windows keep the value
 * that they begin with. */
static void fold_row(const ox_pool *p, const double *x, const int64_t *o, double *y, int64_t *index,
                     const ox_stop *stop) {
  int last = p->axes - 1;
  enum { BETWEEN = 1 << 13 /* elements between two checks of |stop| */ };
  int64_t t[OX_POOL_AXES], begin[OX_POOL_AXES], end[OX_POOL_AXES], from, to, done = 0;
  for (int a = 0; a < last; a++) {
    ox_pool_clip(p, a, o[a], 0, p->in[a], &begin[a], &end[a]);
    if (begin[a] == end[a]) return;
    t[a] = begin[a];
  }
  taps_of(p, last, &from, &to);
  do {
    int64_t at = 0, column = 0, pitch = 1;
    for (int a = 0; a < last; a++) {
      int64_t i = o[a] * p->stride[a] - p->lo[a] + t[a] * p->dilation[a];
      at = at * p->in[a] + i, column += i * pitch, pitch *= p->in[a];
    }
    for (int64_t k = from; k < to; k++) {
      int64_t first, beyond;
      reach(p, last, k, &first, &beyond);
      int64_t i = first * p->stride[last] - p->lo[last] + k * p->dilation[last];
      tap each = {x + at * p->in[last] + i, beyond - first, p->stride[last], at * p->in[last] + i, p->stride[last]};
      if (p->column_major) each.index = column + i * pitch, each.pitch = pitch * p->stride[last];
      take(p, &each, y + first, index ? index + first : NULL);
      done += each.n;
      if (done < BETWEEN) continue;
      if (ox_stop_asked(stop)) return;
      done = 0;
    }
  } while (step(t, begin, end, last));
}

/* Turns sums into averages or norms. */
static void finish_row(const ox_pool *p, const int64_t *o, double *y) {
  int last = p->axes - 1;
  if (p->kind == OX_POOL_AVERAGE) {
    int64_t outer = 1;
    for (int a = 0; a < last; a++) outer *= ox_pool_count(p, a, o[a]);
    for (int64_t i = 0; i < p->out[last]; i++) {
      int64_t n = outer * ox_pool_count(p, last, i);
      y[i] = n ? y[i] / (double)n : 0;
    }
  } else if (p->p == 2) {
    for (int64_t i = 0; i < p->out[last]; i++) y[i] = sqrt(y[i]);
  } else if (p->p != 1) {
    for (int64_t i = 0; i < p->out[last]; i++) y[i] = pow(y[i], 1 / p->p);
  }
}

/* Maxima of empty windows are still NaN, like those of windows with nothing but NaN: the former become -infinity. */
static void empty_to_least(const ox_pool *p, const int64_t *o, double *y) {
  int last = p->axes - 1;
  int64_t from, to;
  bool none = false;
  for (int a = 0; a < last; a++) {
    ox_pool_clip(p, a, o[a], 0, p->in[a], &from, &to);
    none |= from == to;
  }
  for (int64_t i = 0; i < p->out[last]; i++) {
    if (y[i] == y[i]) continue;
    ox_pool_clip(p, last, i, 0, p->in[last], &from, &to);
    if (none || from == to) y[i] = -INFINITY;
  }
}

void ox_pool_plane(const ox_pool *p, const double *x, double *y, int64_t *index, const ox_stop *stop) {
  static const int64_t zeros[OX_POOL_AXES] = {0};
  int64_t o[OX_POOL_AXES] = {0}, row = p->out[p->axes - 1];
  for (int a = 0; a < p->axes; a++)
    if (p->out[a] == 0) return;
  do {
    if (ox_stop_asked(stop)) return;
    for (int64_t i = 0; i < row; i++) y[i] = p->kind == OX_POOL_MAX ? NAN : 0;
    for (int64_t i = 0; index && i < row; i++) index[i] = -1;
    fold_row(p, x, o, y, index, stop);
    if (p->kind == OX_POOL_MAX)
      empty_to_least(p, o, y);
    else
      finish_row(p, o, y);
    y += row, index = index ? index + row : NULL;
  } while (step(o, zeros, p->out, p->axes - 1));
}
