/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/rules/qdq_nbits.c - MatMul by constant weights that DequantizeLinear makes of integers, as quantizers of
 * weights alone write them => com.microsoft.MatMulNBits, which keeps their few bits in memory. It wants columns behind
 * one another: they are turned as the kernel packs them. Blocks of rows have a scale each; or columns do, or all
 * weights have one: then only large matrices are taken, which few rows are multiplied by (an embedding that is the last
 * layer, too, behind a Transpose). Removes a node. */
#include <stdbool.h>

#include "base/macros.h"
#include "base/status.h"
#include "onyx/rewrite.h"

static const char ms[] = "com.microsoft";
enum { X, SCALE, ZERO };
/* Of matrices without blocks: elements from which on a core reads them from memory, rows of A below which it waits for
 * them; the largest block, and the smallest. */
enum { LEAST = 4 << 20, ROWS = 64, LARGEST = 256, SMALLEST = 16 };

static const ox_pat product[] = {{.op = "MatMul", .types = OX_BIT(OX_F32)}};

/* Integers of |bits|, of which |middle| makes unsigned ones: |rows| x |columns|, |block| rows to a scale. |scales|: 0
 * if each block has its own, else how many there are for all columns. turned: columns lie behind one another. */
typedef struct weights {
  int64_t rows, columns, block, blocks, bits, middle, scales;
  bool turned;
} weights;

typedef struct found {
  ox_id top, dequantize, transpose; /* top: makes B; transpose: OX_NONE, or what turns the integers or the floats */
  weights w;
} found;

static int bits_of(uint32_t dtype) {
  return dtype == OX_U4 || dtype == OX_I4 ? 4 : dtype == OX_U8 || dtype == OX_I8 ? 8 : 0;
}

static int shaped(const ox_tensor *t, int64_t rows, int64_t columns) {
  return t->shape.rank == 2 && t->shape.dim[0] == rows && t->shape.dim[1] == columns;
}

/* Scales of blocks of rows. */
static int find_blocks(const ox_rewrite *g, ox_id node, weights *w) {
  const ox_tensor *s = ox_const_type(g, ox_in(g, node, SCALE)), *z = ox_const_type(g, ox_in(g, node, ZERO));
  int64_t block = ox_attr_i(g, node, "block_size", 0), axis = ox_attr_i(g, node, "axis", 1);
  if ((axis != 0 && axis != -2) || block < SMALLEST || block > LARGEST || (block & (block - 1))) return 0;
  w->block = block, w->blocks = OX_CEIL_DIV(w->rows, block);
  return shaped(s, w->blocks, w->columns) && (!z || shaped(z, w->blocks, w->columns));
}

/* One scale, or one for each column; |axis|: the dimension of columns in what the node dequantizes. Blocks are as long
 * as they may be without making the matrix a sixteenth longer. */
static int find_columns(const ox_rewrite *g, ox_id node, int64_t axis, weights *w) {
  const ox_tensor *s = ox_const_type(g, ox_in(g, node, SCALE)), *z = ox_const_type(g, ox_in(g, node, ZERO));
  const int64_t at = ox_attr_i(g, node, "axis", 1);
  w->scales = ox_elements(&s->shape);
  if (w->rows * w->columns < LEAST || w->bits != 8 || ox_attr_i(g, node, "block_size", 0)) return 0;
  if (w->scales != 1 && (w->scales != w->columns || s->shape.rank != 1 || at + (at < 0 ? 2 : 0) != axis)) return 0;
  for (w->block = LARGEST; w->block > SMALLEST; w->block /= 2)
    if (OX_ROUND_UP(w->rows, w->block) - w->rows <= w->rows / 16) break;
  w->blocks = OX_CEIL_DIV(w->rows, w->block);
  return !z || ox_elements(&z->shape) == w->scales;
}

/* Whether the rows of A are known to be many. */
static int is_tall(const ox_rewrite *g, ox_id a) {
  const ox_shape *s = ox_shape_at(g, a);
  return s->rank > 1 && ox_elements_of(s, 0, s->rank - 1) >= ROWS;
}

static int weights_of(const ox_rewrite *g, const ox_match *m, found *f) {
  const ox_id node = f->dequantize, turn = f->transpose;
  const int inside = turn != OX_NONE && ox_producer(g, ox_in(g, node, X)) == turn;
  const ox_tensor *x = ox_const_type(g, ox_in(g, inside ? turn : node, X)),
                  *s = ox_const_type(g, ox_in(g, node, SCALE));
  const ox_id zero = ox_in(g, node, ZERO);
  const ox_tensor *z = ox_const_type(g, zero);
  weights *w = &f->w;
  if (!x || !s || !bits_of(x->dtype) || x->shape.rank != 2 || s->dtype != OX_F32) return 0;
  if (zero != OX_NONE && (!z || z->dtype != x->dtype)) return 0;
  *w = (weights){x->shape.dim[turn != OX_NONE], x->shape.dim[turn == OX_NONE], .bits = bits_of(x->dtype)};
  w->turned = turn != OX_NONE;
  if (x->dtype == OX_I4 || x->dtype == OX_I8) w->middle = (int64_t)1 << (w->bits - 1);
  if (w->rows < 1 || w->columns < 1) return 0;
  if (!w->turned && find_blocks(g, node, w)) return 1;
  return !is_tall(g, ox_in(g, m->node[0], 0)) && find_columns(g, node, w->turned && !inside ? 0 : 1, w);
}

static int is_turn(const ox_rewrite *g, ox_id node) {
  const ox_attr_view *perm = ox_attr_ints(g, node, "perm");
  return !perm || (perm->n == 2 && perm->ints[0] == 1 && perm->ints[1] == 0);
}

static int guard(const ox_rewrite *g, ox_match *m) {
  found *f = OX_CAPTURE(m, found);
  ox_id b = ox_in(g, m->node[0], 1), above = ox_up1(g, b, "Transpose");
  f->top = ox_producer(g, b), f->dequantize = ox_up1(g, above == OX_NONE ? b : ox_in(g, above, 0), "DequantizeLinear");
  if (f->dequantize == OX_NONE) return 0;
  f->transpose = above != OX_NONE ? above : ox_up1(g, ox_in(g, f->dequantize, X), "Transpose");
  if (f->transpose != OX_NONE && !is_turn(g, f->transpose)) return 0;
  return weights_of(g, m, f) && ox_op_serves(g, ms, "MatMulNBits", OX_F32);
}

/* ---- columns of a matrix of integers, packed ---- */

enum { COLUMNS = 64, MOST_BLOCK = 256 };

/* |n| integers from element |at| on, unsigned. */
static void take(const weights *w, const uint8_t *data, int64_t at, int64_t n, uint8_t *to) {
  const uint8_t middle = (uint8_t)w->middle;
  if (w->bits == 8) {
    for (int64_t i = 0; i < n; i++) to[i] = data[at + i] ^ middle;
    return;
  }
  data += at / 2;
  if (at % 2 && n > 0) *to++ = *data++ >> 4 ^ middle, n--;
  for (int64_t i = 0; i < n / 2; i++) to[2 * i] = (data[i] & 15) ^ middle, to[2 * i + 1] = data[i] >> 4 ^ middle;
  if (n % 2) to[n - 1] = (data[n / 2] & 15) ^ middle;
}

/* Copies what lies in [first, first + n) of the bytes [at, at + bytes) of the result. */
static void put(const uint8_t *from, int64_t at, int64_t bytes, int64_t first, int64_t n, uint8_t *to) {
  int64_t begin = OX_MAX(at, first), end = OX_MIN(at + bytes, first + n);
  if (begin < end) memcpy(to + (begin - first), from + (begin - at), (size_t)(end - begin));
}

/* Columns of |bytes| one behind the other, each packed from pieces of |piece| of the matrix's |rows| rows, which begin
 * at a byte. */
static void turn(const weights *w, int64_t rows, int64_t piece, int64_t bytes, const ox_tensor *x, int64_t first,
                 int64_t n, uint8_t *to) {
  uint8_t square[MOST_BLOCK][COLUMNS], packed[MOST_BLOCK];
  const bool pairs = w->bits == 4;
  int64_t each = 8 / w->bits, of_piece = OX_CEIL_DIV(piece, each), last = (first + n - 1) / bytes + 1;
  for (int64_t c0 = first / bytes, c1; c0 < last; c0 = c1) {
    c1 = OX_MIN(c0 + COLUMNS, last);
    for (int64_t r0 = 0; r0 < rows; r0 += piece) {
      int64_t height = OX_MIN(piece, rows - r0), at = r0 / piece * of_piece;
      for (int64_t r = 0; r < height; r++) take(w, x->data, (r0 + r) * w->columns + c0, c1 - c0, square[r]);
      memset(square[height], 0, sizeof square[0] * (size_t)(of_piece * each - height));
      for (int64_t i = 0; i < of_piece && pairs; i++) /* row i: of what were rows 2 i and 2 i + 1 */
        for (int64_t c = 0; c < COLUMNS; c++) square[i][c] = (uint8_t)(square[2 * i][c] | square[2 * i + 1][c] << 4);
      for (int64_t c = 0; c < c1 - c0; c++) {
        for (int64_t i = 0; i < of_piece; i++) packed[i] = square[i][c];
        put(packed, (c0 + c) * bytes + at, OX_MIN(of_piece, bytes - at), first, n, to);
      }
    }
  }
}

/* Bytes of columns that lie behind one another already; those of the last block that are no weights are zeros. */
static void copy(const weights *w, const ox_tensor *x, int64_t first, int64_t n, uint8_t *to) {
  const int64_t bytes = w->blocks * w->block;
  for (int64_t end = first + n, next; first < end; to += next - first, first = next) {
    const int64_t column = first / bytes, row = first % bytes, here = OX_MIN(w->rows - row, end - first);
    next = OX_MIN((column + 1) * bytes, end);
    if (here > 0) take(w, x->data, column * w->rows + row, here, to);
    memset(to + OX_MAX(here, 0), 0, (size_t)(next - first - OX_MAX(here, 0)));
  }
}

static void make_weights(const ox_tensor *x, const void *arg, int64_t first, int64_t n, void *to) {
  const weights *w = arg;
  if (w->turned)
    copy(w, x, first, n, to);
  else
    turn(w, w->rows, w->block, w->blocks * w->block * w->bits / 8, x, first, n, to);
}

static void make_zeros(const ox_tensor *z, const void *arg, int64_t first, int64_t n, void *to) {
  const weights *w = arg;
  if (w->scales)
    for (int64_t i = 0; i < n; i++) take(w, z->data, (first + i) / w->blocks % w->scales, 1, (uint8_t *)to + i);
  else
    turn(w, w->blocks, OX_MIN(w->blocks, MOST_BLOCK), OX_CEIL_DIV(w->blocks * w->bits, 8), z, first, n, to);
}

static void make_scales(const ox_tensor *s, const void *arg, int64_t first, int64_t n, void *to) {
  const weights *w = arg;
  const ox_f32u *from = s->data;
  int64_t column = first / w->blocks, block = first % w->blocks;
  for (int64_t i = 0; i < n; i++, block++) {
    if (block == w->blocks) block = 0, column++;
    ((float *)to)[i] = from[w->scales ? column % w->scales : block * w->columns + column];
  }
}

/* ---- the edit ---- */

static ox_status *later(const ox_rewrite *g, const found *f, uint32_t slot, uint32_t dtype, const ox_shape *shape,
                        void (*make)(const ox_tensor *, const void *, int64_t, int64_t, void *), ox_id *out) {
  const ox_id x = ox_in(g, f->dequantize, slot);
  const ox_id v = slot == X && ox_producer(g, x) != OX_NONE ? ox_in(g, f->transpose, 0) : x;
  return g->api->const_later(g, g->api->value_name(g, v), dtype, shape, ox_const(g, v), make, &f->w, sizeof f->w, out);
}

/* Unsigned integers without zero points have that of 0; MatMulNBits takes the middle. */
static ox_status *zeros(const ox_rewrite *g, const found *f, ox_id *out) {
  const weights *w = &f->w;
  ox_shape shape = {.rank = 2, .dim = {w->columns, OX_CEIL_DIV(w->blocks * w->bits, 8)}};
  void *room;
  *out = OX_NONE;
  if (ox_in(g, f->dequantize, ZERO) != OX_NONE) return later(g, f, ZERO, OX_U8, &shape, make_zeros, out);
  if (w->middle) return NULL;
  OX_TRY(g->api->const_room(g, NULL, OX_U8, &shape, &room, out));
  memset(room, 0, (size_t)(shape.dim[0] * shape.dim[1]));
  return NULL;
}

static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  const found *f = OX_CAPTURED(m, found);
  const weights *w = &f->w;
  ox_shape b = {.rank = 3, .dim = {w->columns, w->blocks, w->block * w->bits / 8}};
  ox_shape s = {.rank = 1, .dim = {w->columns * w->blocks}};
  ox_id in[4] = {ox_in(g, m->node[0], 0)}, node = m->node[0];
  OX_TRY(later(g, f, X, OX_U8, &b, make_weights, &in[1]));
  OX_TRY(later(g, f, SCALE, OX_F32, &s, make_scales, &in[2]));
  OX_TRY(zeros(g, f, &in[3]));
  OX_TRY(ox_remake(g, node, ms, "MatMulNBits", in, in[3] == OX_NONE ? 3 : 4));
  OX_TRY(ox_set_int(g, node, "K", w->rows));
  OX_TRY(ox_set_int(g, node, "N", w->columns));
  OX_TRY(ox_set_int(g, node, "bits", w->bits));
  OX_TRY(ox_set_int(g, node, "block_size", w->block));
  return ox_remove_unused(g, f->top);
}

static const ox_rule rules[] = {{OX_RULE("qdq-nbits", OX_OPTIMIZE_EXTENDED, product, guard, apply)}};
const ox_rule_set ox_cpu_rules_qdq_nbits = OX_OWNED_RULE_SET("cpu", rules);
