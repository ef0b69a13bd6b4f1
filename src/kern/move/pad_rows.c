/* SPDX-License-Identifier: Apache-2.0
 * kern/move/pad_rows.c - padding by rows: the part inside the input is one copy, borders are written element by
 * element. */
#include "kern/move/pad_rows.h"

#include <string.h>

#include "kern/move/sub_byte.h"

OX_INLINE int64_t source(ox_pad_mode mode, int64_t o, int64_t begin, int64_t dim) {
  int64_t i = o - begin;
  if (i >= 0 && i < dim) return i;
  switch (mode) {
    case OX_PAD_EDGE:
      return i < 0 ? 0 : dim - 1;
    case OX_PAD_WRAP:
      return (i % dim + dim) % dim;
    case OX_PAD_REFLECT: {
      if (dim == 1) return 0;
      int64_t at = i < 0 ? -i : i, period = 2 * (dim - 1);
      if (at >= period) at %= period;
      return at < dim ? at : period - at;
    }
    default:
      return -1;
  }
}

int64_t ox_pad_source(ox_pad_mode mode, int64_t o, int64_t begin, int64_t dim) { return source(mode, o, begin, dim); }

void ox_pad_init(ox_pad *p, ox_pad_mode mode, int64_t elem, int rank, const int64_t *in, const int64_t *out,
                 const int64_t *begin) {
  int64_t stride = elem, count = 1, rows = 1, n = 0, at[16];
  *p = (ox_pad){.mode = mode, .elem = elem, .block = elem};
  for (int i = rank - 1; i >= 0; stride *= in[i--]) { /* innermost first, into the front of the arrays */
    bool whole = begin[i] == 0 && in[i] == out[i];
    count *= out[i];
    if (whole && n == 0) {
      p->block *= in[i];
    } else if (whole && p->begin[n - 1] == 0 && p->in[n - 1] == p->out[n - 1]) {
      p->in[n - 1] *= in[i], p->out[n - 1] *= in[i];
    } else {
      p->in[n] = in[i], p->out[n] = out[i], p->begin[n] = begin[i], p->stride[n] = stride, n++;
    }
  }
  if (n == 0) p->in[0] = p->out[0] = 1, p->stride[0] = p->block, n = 1;
  for (int64_t *list[] = {p->in, p->out, p->begin, p->stride}, k = 0; k < 4; k++) {
    memcpy(at, list[k], sizeof at);
    for (int64_t i = 0; i < n; i++) list[k][i] = at[n - 1 - i];
  }
  p->rank = (int)n, p->total_bytes = count * elem;
  for (int i = 0; i < n - 1; i++) rows *= p->out[i];
  p->piece = OX_MAX(OX_MOVE_CHUNK / OX_MAX(p->block, 1), 1);
  p->pieces = OX_CEIL_DIV(p->out[n - 1], p->piece);
  p->units = count ? rows * p->pieces : 0;
}

static inline void fill(const ox_pad *p, const void *value, char *out, int64_t n) {
  ox_fill(out, value, p->elem, n * p->block / p->elem);
}

enum { FEW = 16 /* borders of up to so many elements are written without a call of ox_fill */ };

/* Blocks of |bytes|, a constant at every call: n copies of |from|. */
OX_INLINE void repeat(const void *from, char *out, int64_t n, size_t bytes) {
  for (int64_t i = 0; i < n; i++) memcpy(out + i * (int64_t)bytes, from, bytes);
}
/* The same, each from the input index that output index [from, to) shows: REFLECT or WRAP. */
OX_INLINE void copy_indexed(const ox_pad *p, const char *row, char *out, int64_t from, int64_t to, size_t bytes) {
  int64_t begin = p->begin[p->rank - 1], dim = p->in[p->rank - 1], step = (int64_t)bytes;
  int64_t mirror = from < begin ? 0 : 2 * (dim - 1), first = mirror + begin - from, end = mirror + begin - to;
  if (p->mode == OX_PAD_REFLECT && first < dim && end >= -1) /* once, so that indices count down */
    for (const char *at = row + first * step; from < to; from++, at -= step) memcpy(out + from * step, at, bytes);
  else if (p->mode == OX_PAD_REFLECT)
    for (int64_t o = from; o < to; o++)
      memcpy(out + o * step, row + source(OX_PAD_REFLECT, o, begin, dim) * step, bytes);
  else
    for (int64_t o = from; o < to; o++) memcpy(out + o * step, row + source(OX_PAD_WRAP, o, begin, dim) * step, bytes);
}

/* Makes the size of a block a constant: the border of an image is usually a few elements wide. */
#define BY_BLOCK(call, otherwise) \
  switch (p->block) {             \
    case 1:                       \
      call(1);                    \
      break;                      \
    case 2:                       \
      call(2);                    \
      break;                      \
    case 4:                       \
      call(4);                    \
      break;                      \
    case 8:                       \
      call(8);                    \
      break;                      \
    default:                      \
      otherwise;                  \
  }

/* Indices [from, to) of the last axis, all on one side of the input. */
static void border(const ox_pad *p, const char *row, const void *value, char *out, int64_t from, int64_t to) {
  int last = p->rank - 1;
  if (from >= to) return;
  if (p->mode == OX_PAD_CONSTANT && (to - from > FEW || p->block != p->elem)) {
    fill(p, value, out + from * p->block, to - from);
  } else if (p->mode == OX_PAD_CONSTANT || p->mode == OX_PAD_EDGE) {
    const char *one = value;
    if (p->mode == OX_PAD_EDGE) one = row + (from < p->begin[last] ? 0 : (p->in[last] - 1) * p->block);
#define REPEAT(bytes) repeat(one, out + from * (bytes), to - from, bytes)
    BY_BLOCK(REPEAT, repeat(one, out + from * p->block, to - from, (size_t)p->block))
#undef REPEAT
  } else {
#define COPY(bytes) copy_indexed(p, row, out, from, to, bytes)
    BY_BLOCK(COPY, copy_indexed(p, row, out, from, to, (size_t)p->block))
#undef COPY
  }
}

/* Indices [from, to) of one row; |row| NULL: all of it lies outside. */
static void pad_row(const ox_pad *p, const char *row, const void *value, char *out, int64_t from, int64_t to) {
  int last = p->rank - 1;
  int64_t begin = p->begin[last];
  if (!row) {
    fill(p, value, out + from * p->block, to - from);
    return;
  }
  int64_t lo = OX_MIN(OX_MAX(begin, from), to), hi = OX_MAX(OX_MIN(begin + p->in[last], to), lo);
  border(p, row, value, out, from, lo);
  if (lo < hi) memcpy(out + lo * p->block, row + (lo - begin) * p->block, (size_t)((hi - lo) * p->block));
  border(p, row, value, out, hi, to);
}

/* The input at the first |outer| coordinates of |at|; NULL: outside. */
static const char *outer_of(const ox_pad *p, const char *in, const int64_t *at, int outer) {
  for (int i = 0; i < outer && in; i++) {
    int64_t k = source(p->mode, at[i], p->begin[i], p->in[i]);
    in = k < 0 ? NULL : in + k * p->stride[i];
  }
  return in;
}

void ox_pad_run(const ox_pad *p, const void *in, const void *value, void *out, int64_t unit_begin, int64_t unit_end) {
  int last = p->rank - 1, inner = last - 1;
  int64_t at[16], r = unit_begin / p->pieces, piece = unit_begin % p->pieces, rest = r;
  for (int i = inner; i >= 0; i--) at[i] = rest % p->out[i], rest /= p->out[i];
  const char *outer = outer_of(p, in, at, inner);
  for (int64_t u = unit_begin; u < unit_end; r++, piece = 0) {
    const char *row = outer;
    if (row && inner >= 0) {
      int64_t k = source(p->mode, at[inner], p->begin[inner], p->in[inner]);
      row = k < 0 ? NULL : row + k * p->stride[inner];
    }
    for (; piece < p->pieces && u < unit_end; piece++, u++)
      pad_row(p, row, value, (char *)out + r * p->out[last] * p->block, piece * p->piece,
              OX_MIN((piece + 1) * p->piece, p->out[last]));
    if (inner < 0 || ++at[inner] < p->out[inner]) continue;
    at[inner] = 0;
    for (int i = inner - 1; i >= 0 && ++at[i] == p->out[i]; i--) at[i] = 0;
    outer = outer_of(p, in, at, inner);
  }
}

void ox_pad_sub_byte(const ox_pad *p, unsigned bits, const void *in, unsigned value, void *out) {
  int64_t per = 8 / (int)bits, n = p->total_bytes; /* with elements of 1 "byte" */
  for (int64_t o = 0; o < n; o++) {
    int64_t rest = o / p->block, at = o % p->block;
    bool inside = true;
    for (int i = p->rank - 1; i >= 0; i--) {
      int64_t k = source(p->mode, rest % p->out[i], p->begin[i], p->in[i]);
      rest /= p->out[i];
      if (k < 0)
        inside = false;
      else
        at += k * p->stride[i];
    }
    if (o % per == 0) ((uint8_t *)out)[o / per] = 0;
    ox_sub_byte_set(out, bits, o, inside ? ox_sub_byte_get(in, bits, at) : value);
  }
}
