/* SPDX-License-Identifier: Apache-2.0
 * kern/move/pad.c - padding by rows: what lies inside is one copy, the borders go index by index. */
#include "kern/move/pad.h"

#include <string.h>

#include "kern/move/sub_byte.h"

int64_t ox_pad_source(ox_pad_mode mode, int64_t o, int64_t begin, int64_t dim) {
  int64_t i = o - begin;
  if (i >= 0 && i < dim) return i;
  switch (mode) {
    case OX_PAD_EDGE:
      return i < 0 ? 0 : dim - 1;
    case OX_PAD_WRAP:
      return (i % dim + dim) % dim;
    case OX_PAD_REFLECT: {
      if (dim == 1) return 0;
      int64_t period = 2 * (dim - 1), at = (i % period + period) % period;
      return at < dim ? at : period - at;
    }
    default:
      return -1;
  }
}

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

static void fill(const ox_pad *p, const void *value, char *out, int64_t n) {
  ox_move m;
  ox_move_init(&m, p->elem, &(ox_region){.rank = 1, .dim = {n * p->block / p->elem}, .is = {0}, .os = {1}});
  ox_move_run(&m, 0, value, out, 0, m.units);
}

/* Indices [from, to) of the last axis, all outside the input. */
static void border(const ox_pad *p, const char *row, const void *value, char *out, int64_t from, int64_t to) {
  int last = p->rank - 1;
  if (from >= to) return;
  if (p->mode == OX_PAD_CONSTANT) {
    fill(p, value, out + from * p->block, to - from);
    return;
  }
  for (int64_t o = from; o < to; o++) {
    int64_t i = ox_pad_source(p->mode, o, p->begin[last], p->in[last]);
    memcpy(out + o * p->block, row + i * p->block, (size_t)p->block);
  }
}

void ox_pad_run(const ox_pad *p, const void *in, const void *value, void *out, int64_t unit_begin, int64_t unit_end) {
  int last = p->rank - 1;
  int64_t begin = p->begin[last];
  for (int64_t u = unit_begin; u < unit_end; u++) {
    int64_t r = u / p->pieces, from = u % p->pieces * p->piece, to = OX_MIN(from + p->piece, p->out[last]), rest = r;
    const char *row = in;
    char *to_row = (char *)out + r * p->out[last] * p->block;
    for (int i = last - 1; i >= 0 && row; i--) {
      int64_t k = ox_pad_source(p->mode, rest % p->out[i], p->begin[i], p->in[i]);
      rest /= p->out[i];
      row = k < 0 ? NULL : row + k * p->stride[i];
    }
    if (!row) {
      fill(p, value, to_row + from * p->block, to - from);
      continue;
    }
    int64_t lo = OX_MIN(OX_MAX(begin, from), to), hi = OX_MAX(OX_MIN(begin + p->in[last], to), lo);
    border(p, row, value, to_row, from, lo);
    if (lo < hi) memcpy(to_row + lo * p->block, row + (lo - begin) * p->block, (size_t)((hi - lo) * p->block));
    border(p, row, value, to_row, hi, to);
  }
}

void ox_pad_sub_byte(const ox_pad *p, unsigned bits, const void *in, unsigned value, void *out) {
  int64_t per = 8 / (int)bits, n = p->total_bytes; /* with elements of 1 "byte" */
  for (int64_t o = 0; o < n; o++) {
    int64_t rest = o / p->block, at = o % p->block;
    bool inside = true;
    for (int i = p->rank - 1; i >= 0; i--) {
      int64_t k = ox_pad_source(p->mode, rest % p->out[i], p->begin[i], p->in[i]);
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
