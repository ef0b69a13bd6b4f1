/* SPDX-License-Identifier: Apache-2.0
 * kern/binary/broadcast.c - merges dimensions and iterates over runs. */
#include "kern/binary/broadcast.h"

#include <string.h>

#include "base/macros.h"
#include "kern/move/move.h"

void ox_bcast_init(ox_bcast *b, const ox_shape *out, int n, const ox_shape *const *in) {
  int64_t full[OX_BCAST_MAX][OX_MAX_RANK];
  *b = (ox_bcast){.n = n, .count = 1};
  for (int d = 0; d < out->rank; d++) b->count *= out->dim[d];
  for (int k = 0; k < n; k++) {
    int64_t step = 1;
    for (int d = out->rank - 1, i = in[k]->rank - 1; d >= 0; d--, i--) {
      int64_t extent = i >= 0 ? in[k]->dim[i] : 1;
      full[k][d] = extent == 1 ? 0 : step;
      step *= extent;
    }
    b->dense[k] = step == b->count;
  }
  for (int d = 0; d < out->rank; d++) {
    if (out->dim[d] == 1) continue;
    bool merge = b->rank > 0;
    for (int k = 0; k < n && merge; k++) merge = b->stride[k][b->rank - 1] == full[k][d] * out->dim[d];
    if (!merge) b->dim[b->rank++] = 1;
    b->dim[b->rank - 1] *= out->dim[d];
    for (int k = 0; k < n; k++) b->stride[k][b->rank - 1] = full[k][d];
  }
  if (b->rank == 0) b->rank = 1, b->dim[0] = 1;
}

/* Sets the run that begins at output |at|; it ends with its innermost row. */
static void place(const ox_bcast *b, ox_bcast_run *r) {
  int last = b->rank - 1;
  for (int k = 0; k < b->n; k++) {
    r->off[k] = 0;
    for (int d = 0; d <= last; d++) r->off[k] += r->index[d] * b->stride[k][d];
    r->step[k] = b->stride[k][last] != 0;
  }
  r->n = OX_MIN(b->dim[last] - r->index[last], r->end - r->at);
}

bool ox_bcast_first(const ox_bcast *b, int64_t begin, int64_t end, ox_bcast_run *r) {
  if (begin >= end) return false;
  r->at = begin, r->end = end;
  for (int d = b->rank - 1; d >= 0; d--) {
    r->index[d] = begin % b->dim[d];
    begin /= b->dim[d];
  }
  place(b, r);
  return true;
}

bool ox_bcast_next(const ox_bcast *b, ox_bcast_run *r) {
  r->at += r->n;
  if (r->at >= r->end) return false;
  int d = b->rank - 1;
  r->index[d] = 0; /* a run ends at its row's end */
  while (--d >= 0 && ++r->index[d] == b->dim[d]) r->index[d] = 0;
  place(b, r);
  return true;
}

#define FILL(bytes, type)                                 \
  case bytes: {                                           \
    type v = *(const type *)src;                          \
    for (int64_t i = 0; i < n; i++) ((type *)dst)[i] = v; \
    break;                                                \
  }

static void fill(const void *src, size_t size, int64_t n, void *dst) {
  typedef struct {
    uint64_t w[2];
  } wide;
  switch (size) {
    FILL(1, uint8_t)
    FILL(2, uint16_t)
    FILL(4, uint32_t)
    FILL(8, uint64_t)
    default: {
      wide v;
      memcpy(&v, src, sizeof v);
      for (int64_t i = 0; i < n; i++) memcpy((char *)dst + (size_t)i * sizeof v, &v, sizeof v);
    }
  }
}

/* Runs are often short: a few elements are copied without a call. */
#define MOVE(bytes, type)                                                      \
  case bytes:                                                                  \
    for (int64_t i = 0; i < n; i++) ((type *)dst)[i] = ((const type *)src)[i]; \
    break;
static void move(const void *src, size_t size, int64_t n, void *dst) {
  if (n >= 64) {
    memcpy(dst, src, (size_t)n * size);
    return;
  }
  switch (size) {
    MOVE(1, uint8_t)
    MOVE(2, uint16_t)
    MOVE(4, uint32_t)
    MOVE(8, uint64_t)
    default:
      memcpy(dst, src, (size_t)n * size);
  }
}

/* |rows| rows of |n| equal elements each, whose values are |stride| elements apart. Short rows are written 16 bytes at
 * a time, the last time possibly over bytes that were written before. */
#define FILL_ROWS(bytes, type)                                                       \
  case bytes:                                                                        \
    for (; rows > 0; rows--, from += stride * (bytes), out += row) {                 \
      type v = *(const type *)from, many[16 / (bytes)];                              \
      for (int i = 0; i < 16 / (bytes); i++) many[i] = v;                            \
      for (size_t i = 0; i + 16 <= row; i += 16) memcpy(out + i, many, sizeof many); \
      memcpy(out + row - 16, many, sizeof many);                                     \
    }                                                                                \
    break;

static void fill_rows(const char *from, size_t size, int64_t stride, int64_t rows, int64_t n, char *out) {
  size_t row = (size_t)n * size;
  switch (row < 16 ? 0 : size) {
    FILL_ROWS(1, uint8_t)
    FILL_ROWS(2, uint16_t)
    FILL_ROWS(4, uint32_t)
    FILL_ROWS(8, uint64_t)
    default:
      for (; rows > 0; rows--, from += stride * (int64_t)size, out += row) fill(from, size, n, out);
  }
}

/* |rows| copies of one row: what is there already is doubled. */
static void repeat_row(const char *from, size_t size, int64_t rows, int64_t n, char *out) {
  int64_t row = n * (int64_t)size;
  move(from, size, n, out);
  ox_fill_on(out, row, rows * row, rows * row);
}

static void move_rows(const char *from, size_t size, int64_t stride, int64_t rows, int64_t n, char *out) {
  if (stride == n) n *= rows, rows = 1;
  for (; rows > 0; rows--, from += stride * (int64_t)size, out += (size_t)n * size) move(from, size, n, out);
}

void ox_bcast_gather(const ox_bcast *b, int k, const void *src, size_t size, int64_t at, int64_t n, void *dst) {
  int last = b->rank - 1;
  int64_t index[OX_MAX_RANK], off = 0, rest = at, row = b->dim[last];
  for (int d = last; d >= 0; d--) {
    index[d] = rest % b->dim[d], rest /= b->dim[d];
    off += index[d] * b->stride[k][d];
  }
  bool moves = b->stride[k][last] != 0;
  int64_t stride = last > 0 ? b->stride[k][last - 1] : 0;
  char *out = dst;
  while (n > 0) {
    const char *from = (const char *)src + (size_t)off * size;
    int64_t run = OX_MIN(row - index[last], n), rows = 1;
    if (last > 0 && run == row) rows = OX_MIN(n / row, b->dim[last - 1] - index[last - 1]); /* whole ones */
    if (!moves)
      fill_rows(from, size, stride, rows, run, out);
    else if (stride == 0)
      repeat_row(from, size, rows, run, out);
    else
      move_rows(from, size, stride, rows, run, out);
    out += (size_t)(rows * run) * size, n -= rows * run;
    if (last == 0) break; /* there is but one row */
    off += rows * stride - (moves ? index[last] : 0);
    index[last] = 0, index[last - 1] += rows;
    for (int d = last - 1; d > 0 && index[d] == b->dim[d]; d--) {
      off += b->stride[k][d - 1] - b->dim[d] * b->stride[k][d];
      index[d] = 0, index[d - 1]++;
    }
  }
}
