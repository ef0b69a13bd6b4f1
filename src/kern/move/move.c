/* SPDX-License-Identifier: Apache-2.0
 * kern/move/move.c - merges the dimensions of a strided copy, then copies runs, elements or transposed blocks. */
#include "kern/move/move.h"

#include <string.h>

enum {
  /* A block of a transposition: at 4 bytes an element it reads 4 cache lines a row, writes whole lines, and is 64 KiB.
   */
  BLOCK_COLS = 64,
  BLOCK_ROWS = 256,
  BLOCK_SHORT = 16,  /* if a side of the matrix is no longer than this, blocks are longer on the other */
  TRANSPOSE_MIN = 2, /* rows and columns that a matrix has at least */
  SHORT_LOOP = 8,    /* a shorter inner loop changes places with a longer one outside it */
  /* Output rows whose addresses are equal modulo PAGE use the same cache sets, so only CACHE_WAYS of them stay in the
   * cache: blocks get fewer columns. Not for matrices larger than CACHED bytes: these come from memory, where only
   * whole lines are read fast. */
  PAGE = 4096,
  CACHE_WAYS = 8,
  CACHED = 1 << 22
};

int64_t ox_move_tiles(int64_t bytes, int64_t units) {
  int64_t n = bytes / OX_MOVE_CHUNK;
  n = OX_MIN(n, OX_MOVE_MAX_TILES);
  n = OX_MIN(n, units);
  return OX_MAX(n, 1);
}

ox_transpose_fn ox_transpose_select(int64_t elem, ox_isa have) {
  static const struct {
    int64_t bytes;
    ox_isa needs;
    ox_transpose_fn fn;
  } table[] = {
#define OX_TRANSPOSE(bytes, needs, symbol) {bytes, needs, symbol},
#include "kern/move/transpose_variants.inc"
#undef OX_TRANSPOSE
  };
  for (size_t i = 0; i < OX_COUNT(table); i++)
    if (table[i].bytes == elem && (table[i].needs & ~have) == 0) return table[i].fn;
  return NULL;
}

/* Drops dimensions of 1 and merges adjacent ones that are contiguous on both sides. Strides become bytes. Returns the
 * number of elements. */
static int64_t merge(ox_move *m, int64_t elem, const ox_region *r) {
  int64_t dim[OX_MOVE_DIMS], is[OX_MOVE_DIMS], os[OX_MOVE_DIMS], count = 1;
  int n = 0; /* innermost first */
  for (int i = r->rank - 1; i >= 0; i--) {
    int64_t d = r->dim[i], a = r->is[i] * elem, b = r->os[i] * elem;
    count *= d;
    if (d == 1) continue;
    if (n && a == is[n - 1] * dim[n - 1] && b == os[n - 1] * dim[n - 1]) {
      dim[n - 1] *= d;
    } else {
      dim[n] = d, is[n] = a, os[n] = b, n++;
    }
  }
  for (int i = 0; i < n; i++) m->dim[i] = dim[n - 1 - i], m->is[i] = is[n - 1 - i], m->os[i] = os[n - 1 - i];
  m->rank = n;
  return count;
}

static void swap_dims(ox_move *m, int a, int b) {
  int64_t d = m->dim[a], i = m->is[a], o = m->os[a];
  m->dim[a] = m->dim[b], m->is[a] = m->is[b], m->os[a] = m->os[b];
  m->dim[b] = d, m->is[b] = i, m->os[b] = o;
}

/* The last dimension is contiguous in the output; if an outer one is contiguous in the input, the two are a matrix. */
static bool find_matrix(ox_move *m) {
  int last = m->rank - 1;
  if (last < 1 || m->os[last] != m->run || m->dim[last] < TRANSPOSE_MIN) return false;
  for (int j = 0; j < last; j++)
    if (m->is[j] == m->run && m->dim[j] >= TRANSPOSE_MIN) {
      for (int k = j; k < last - 1; k++) swap_dims(m, k, k + 1);
      return true;
    }
  return false;
}

static bool is_element(int64_t bytes) { return bytes <= 16 && (bytes & (bytes - 1)) == 0; }

void ox_move_init(ox_move *m, int64_t elem, const ox_region *r) {
  int64_t count = merge(m, elem, r), outer = 1;
  m->in_off = r->in_off * elem, m->out_off = r->out_off * elem;
  m->total_bytes = count * elem, m->run = elem, m->pieces = m->col_pieces = 1, m->kind = OX_MOVE_RUNS, m->units = 0;
  if (count == 0) return;
  int last = m->rank - 1;
  if (last >= 0 && m->is[last] == elem && m->os[last] == elem) m->run = m->dim[last] * elem, m->rank = last--;
  if (m->rank && is_element(m->run)) {
    m->kind = m->is[last] == 0 && m->os[last] == m->run ? OX_MOVE_FILL : OX_MOVE_ELEMENTS;
    if (m->kind == OX_MOVE_ELEMENTS && find_matrix(m)) m->kind = OX_MOVE_TRANSPOSE;
  }
  /* a short inner loop costs more than a larger stride */
  if ((m->kind == OX_MOVE_RUNS || m->kind == OX_MOVE_ELEMENTS) && last > 0 && m->dim[last] < SHORT_LOOP &&
      m->dim[last - 1] > m->dim[last])
    swap_dims(m, last - 1, last);
  for (int i = 0; i < m->rank - (m->kind == OX_MOVE_TRANSPOSE ? 2 : 0); i++) outer *= m->dim[i];
  if (m->kind == OX_MOVE_RUNS) {
    m->pieces = OX_MAX(m->run / OX_MOVE_CHUNK, 1);
  } else if (m->kind == OX_MOVE_TRANSPOSE) {
    int64_t rows = m->dim[last], cols = m->dim[last - 1], most = BLOCK_COLS * BLOCK_ROWS / BLOCK_SHORT;
    m->block_cols = rows <= BLOCK_SHORT ? most : BLOCK_COLS, m->block_rows = cols <= BLOCK_SHORT ? most : BLOCK_ROWS;
    int64_t pitch = m->os[last - 1], step = OX_MIN(pitch & -pitch, PAGE);
    int64_t fit = OX_MAX(PAGE / step * CACHE_WAYS, m->run == 1 ? 16 : 8); /* at least a block in registers */
    if (fit < BLOCK_COLS && rows > BLOCK_ROWS && m->total_bytes <= CACHED)
      m->block_cols = fit, m->block_rows = BLOCK_COLS * BLOCK_ROWS / fit;
    m->col_pieces = OX_CEIL_DIV(cols, m->block_cols);
    m->pieces = m->col_pieces * OX_CEIL_DIV(rows, m->block_rows);
  }
  m->units = outer * m->pieces;
}

/* Position of an |n|-dimensional loop. */
typedef struct cursor {
  int64_t at[OX_MOVE_DIMS];
  const char *in;
  char *out;
} cursor;

static void seek(const ox_move *m, int n, int64_t index, const char *in, char *out, cursor *c) {
  c->in = in + m->in_off, c->out = out + m->out_off;
  for (int i = n - 1; i >= 0; i--) {
    c->at[i] = index % m->dim[i], index /= m->dim[i];
    c->in += c->at[i] * m->is[i], c->out += c->at[i] * m->os[i];
  }
}

/* Advances dimension |i| by |by|, which reaches at most its end, and carries. */
static inline void advance(const ox_move *m, int i, int64_t by, cursor *c) {
  c->at[i] += by, c->in += by * m->is[i], c->out += by * m->os[i];
  while (i > 0 && c->at[i] == m->dim[i]) {
    c->in -= c->at[i] * m->is[i], c->out -= c->at[i] * m->os[i];
    c->at[i--] = 0;
    c->at[i]++, c->in += m->is[i], c->out += m->os[i];
  }
}

/* Four at a time: how fast a loop of two instructions is depends on where it happens to lie. */
#define COPY_LINE(bytes)                                                              \
  do {                                                                                \
    int64_t i = 0;                                                                    \
    for (; i + 4 <= n; i += 4, out += 4 * os, in += 4 * is)                           \
      OX_UNROLL for (int k = 0; k < 4; k++) memcpy(out + k * os, in + k * is, bytes); \
    for (; i < n; i++, out += os, in += is) memcpy(out, in, bytes);                   \
  } while (0)

/* Runs of up to 4 vectors without a call of memcpy: |half| vectors from the front, and |half| that end with the run and
 * may overlap those. */
OX_INLINE void copy_short(const char *in, int64_t is, char *out, int64_t os, int64_t n, int64_t run, const int half) {
  enum { VECTOR = 16 };
  for (int64_t i = 0; i < n; i++, in += is, out += os) {
    const char *end = in + run - half * VECTOR;
    OX_UNROLL for (int k = 0; k < half; k++) memcpy(out + k * VECTOR, in + k * VECTOR, VECTOR);
    OX_UNROLL for (int k = 0; k < half; k++) memcpy(out + run - (half - k) * VECTOR, end + k * VECTOR, VECTOR);
  }
}

static OX_NOINLINE void copy_runs(const char *in, int64_t is, char *out, int64_t os, int64_t n, int64_t run) {
  if (run > 16 && run <= 32)
    copy_short(in, is, out, os, n, run, 1);
  else if (run > 32 && run <= 64)
    copy_short(in, is, out, os, n, run, 2);
  else
    COPY_LINE((size_t)run);
}

void ox_copy_lines(const char *in, int64_t is, char *out, int64_t os, int64_t n, int64_t run) {
  switch (run) {
    case 1:
      COPY_LINE(1);
      break;
    case 2:
      COPY_LINE(2);
      break;
    case 4:
      COPY_LINE(4);
      break;
    case 8:
      COPY_LINE(8);
      break;
    case 12:
      COPY_LINE(12);
      break;
    case 16:
      COPY_LINE(16);
      break;
    default:
      copy_runs(in, is, out, os, n, run);
      break;
  }
}

enum { FILL_BLOCK = 4096 };

/* Not in line: that made GCC 12's calls of memcpy a third slower. */
OX_NOINLINE void ox_fill_on(char *to, int64_t done, int64_t bytes, int64_t most) {
  while (done < bytes) {
    int64_t piece = OX_MIN(OX_MIN(done, most), bytes - done);
    memcpy(to + done, to, (size_t)piece);
    done += piece;
  }
}

static bool one_byte(const unsigned char *p, int64_t n) {
  for (int64_t i = 1; i < n; i++)
    if (p[i] != p[0]) return false;
  return true;
}

/* Up to so many bytes without a call, by vectors that begin with an element. */
enum { FILL_SHORT = 256, FILL_VECTOR = 16 };

OX_INLINE void fill_short(char *to, const void *value, int64_t elem, int64_t bytes) {
  char vector[FILL_VECTOR];
  for (int64_t i = 0; i < FILL_VECTOR; i += elem) memcpy(vector + i, value, (size_t)elem);
  if (bytes < FILL_VECTOR) {
    for (int64_t i = 0; i < bytes; i++) to[i] = vector[i];
    return;
  }
  for (int64_t i = 0; i + FILL_VECTOR <= bytes; i += FILL_VECTOR) memcpy(to + i, vector, FILL_VECTOR);
  memcpy(to + bytes - FILL_VECTOR, vector, FILL_VECTOR);
}

void ox_fill(void *out, const void *value, int64_t elem, int64_t n) {
  int64_t bytes = n * elem, done = OX_MIN(bytes, FILL_SHORT);
  char *to = out;
  if (bytes > FILL_SHORT && one_byte(value, elem)) {
    memset(out, *(const unsigned char *)value, (size_t)bytes);
    return;
  }
  switch (elem) { /* of a size that the compiler knows */
    case 1:
      fill_short(to, value, 1, done);
      break;
    case 2:
      fill_short(to, value, 2, done);
      break;
    case 4:
      fill_short(to, value, 4, done);
      break;
    case 8:
      fill_short(to, value, 8, done);
      break;
    default:
      fill_short(to, value, 16, done);
      break;
  }
  ox_fill_on(to, done, bytes, FILL_BLOCK);
}

/* A run that stands in the input, again and again; false: these lines are others, or too few. */
static bool repeat_run(const char *in, int64_t is, char *out, int64_t os, int64_t n, int64_t run) {
  enum { MANY = 512, SHORT_RUN = 16 };
  if (is != 0 || os != run || n * run < MANY || run > SHORT_RUN) return false;
  memcpy(out, in, (size_t)run);
  ox_fill_on(out, run, n * run, FILL_BLOCK / run * run);
  return true;
}

static void run_lines(const ox_move *m, const char *in, char *out, int64_t begin, int64_t end) {
  cursor c;
  int last = m->rank - 1;
  if (last < 0) { /* one position: a run in one piece */
    memcpy(out + m->out_off, in + m->in_off, (size_t)m->run);
    return;
  }
  seek(m, m->rank, begin, in, out, &c);
  while (begin < end) {
    int64_t n = OX_MIN(m->dim[last] - c.at[last], end - begin);
    if (m->kind == OX_MOVE_FILL)
      ox_fill(c.out, c.in, m->run, n);
    else if (!repeat_run(c.in, m->is[last], c.out, m->os[last], n, m->run))
      ox_copy_lines(c.in, m->is[last], c.out, m->os[last], n, m->run);
    advance(m, last, n, &c);
    begin += n;
  }
}

/* Runs cut into pieces; the pieces differ by at most one byte. */
static void run_pieces(const ox_move *m, const char *in, char *out, int64_t begin, int64_t end) {
  cursor c;
  while (begin < end) {
    int64_t p = begin % m->pieces, n = OX_MIN(m->pieces - p, end - begin);
    int64_t lo = m->run / m->pieces * p + m->run % m->pieces * p / m->pieces;
    int64_t hi = m->run / m->pieces * (p + n) + m->run % m->pieces * (p + n) / m->pieces;
    seek(m, m->rank, begin / m->pieces, in, out, &c);
    memcpy(c.out + lo, c.in + lo, (size_t)(hi - lo));
    begin += n;
  }
}

static void run_transpose(const ox_move *m, ox_isa isa, const char *in, char *out, int64_t begin, int64_t end) {
  ox_transpose_fn fn = ox_transpose_select(m->run, isa);
  int rows = m->rank - 1, cols = m->rank - 2, last = m->rank - 3;
  cursor c;
  seek(m, m->rank - 2, begin / m->pieces, in, out, &c);
  for (int64_t u = begin; u < end && m->pieces == 1; u++) { /* many small matrices */
    fn(c.in, m->is[rows], c.out, m->os[cols], m->dim[rows], m->dim[cols]);
    if (last >= 0) advance(m, last, 1, &c);
  }
  for (int64_t u = begin; u < end && m->pieces > 1; u++) {
    int64_t p = u % m->pieces, col = p % m->col_pieces * m->block_cols, row = p / m->col_pieces * m->block_rows;
    seek(m, m->rank - 2, u / m->pieces, in, out, &c);
    fn(c.in + row * m->is[rows] + col * m->is[cols], m->is[rows], c.out + row * m->os[rows] + col * m->os[cols],
       m->os[cols], OX_MIN(m->block_rows, m->dim[rows] - row), OX_MIN(m->block_cols, m->dim[cols] - col));
  }
}

void ox_move_run(const ox_move *m, ox_isa isa, const void *in, void *out, int64_t begin, int64_t end) {
  if (begin >= end) return;
  if (m->kind == OX_MOVE_TRANSPOSE)
    run_transpose(m, isa, in, out, begin, end);
  else if (m->pieces > 1)
    run_pieces(m, in, out, begin, end);
  else
    run_lines(m, in, out, begin, end);
}
