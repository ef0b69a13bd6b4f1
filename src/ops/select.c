/* SPDX-License-Identifier: Apache-2.0
 * ops/select.c - NonZero and Compress: the size of the output is known only in a run. */
#include <string.h>

#include "ops/move/deferred.h"

/* ---- NonZero: stage 0 counts by tile, stage 1 allocates the output, stage 2 writes by tile ---- */

static ox_status *nonzero_infer(ox_infer_ctx *c) {
  ox_shape s = {.rank = 2, .dim = {-1, -1}};
  if (ox_infer_has(c, 0) && c->in[0]->shape.rank >= 0) s.dim[0] = c->in[0]->shape.rank;
  ox_infer_out(c, 0, OX_I64, &s);
  return NULL;
}

/* Elements per word of bits. Bits, then counts, are in shared memory. */
enum { WORD = 64 };

static int64_t nonzero_tiles(int64_t n) { return ox_move_tiles(8 * n, OX_CEIL_DIV(n, WORD)); }

static ox_status *nonzero_prepare(ox_kernel_ctx *c) {
  int64_t n = ox_shape_count(&c->in[0]->shape), words = OX_CEIL_DIV(n, WORD), tiles = nonzero_tiles(n);
  c->n_stages = 3, c->n_tiles[0] = tiles, c->n_tiles[1] = 1, c->n_tiles[2] = tiles;
  c->shared_bytes = (size_t)(words + tiles + 1) * sizeof(int64_t);
  return NULL;
}

/* Element |i| differs from zero: any bit set, but for a float's sign. NaN is not zero, an empty string is. */
static inline bool nonzero_at(const char *data, uint32_t dtype, int64_t i) {
  uint64_t w[2];
  switch (dtype) {
    case OX_F32:
      return (((const uint32_t *)(const void *)data)[i] & 0x7fffffff) != 0;
    case OX_F64:
      return ((const uint64_t *)(const void *)data)[i] << 1 != 0;
    case OX_F16:
    case OX_BF16:
      return (((const uint16_t *)(const void *)data)[i] & 0x7fff) != 0;
    case OX_STRING:
      return ((const ox_str *)(const void *)data)[i].n != 0;
    case OX_C64:
      memcpy(w, data + i * 8, 8);
      return (w[0] & 0x7fffffff7fffffff) != 0;
    case OX_C128:
      memcpy(w, data + i * 16, 16);
      return (w[0] | w[1]) << 1 != 0;
    case OX_I64:
    case OX_U64:
      return ((const uint64_t *)(const void *)data)[i] != 0;
    case OX_I32:
    case OX_U32:
      return ((const uint32_t *)(const void *)data)[i] != 0;
    case OX_I16:
    case OX_U16:
      return ((const uint16_t *)(const void *)data)[i] != 0;
    default:
      return data[i] != 0;
  }
}

/* Bit i: element |first| + i is not zero. Types of one size share a loop that compilers vectorize. */
#define NONZERO_FLAGS(T, mask)                                           \
  do {                                                                   \
    const T *v = (const T *)(const void *)t->data + first;               \
    if (n == WORD)                                                       \
      for (int i = 0; i < WORD; i++) flag[i] = (v[i] & (T)(mask)) != 0;  \
    else                                                                 \
      for (int64_t i = 0; i < n; i++) flag[i] = (v[i] & (T)(mask)) != 0; \
  } while (0)

static uint64_t nonzero_word(const ox_tensor *t, int64_t first, int64_t n) {
  uint8_t flag[WORD] = {0};
  if (t->dtype == OX_F32)
    NONZERO_FLAGS(uint32_t, 0x7fffffff);
  else if (t->dtype == OX_I32 || t->dtype == OX_U32)
    NONZERO_FLAGS(uint32_t, UINT32_MAX);
  else if (t->dtype == OX_I64 || t->dtype == OX_U64)
    NONZERO_FLAGS(uint64_t, UINT64_MAX);
  else if (t->dtype == OX_BOOL || t->dtype == OX_U8 || t->dtype == OX_I8)
    NONZERO_FLAGS(uint8_t, UINT8_MAX);
  else
    for (int64_t i = 0; i < n; i++) flag[i] = nonzero_at(t->data, t->dtype, first + i);
  uint64_t bits = 0;
  for (int i = 0; i < WORD; i += 8) { /* eight flags become the top eight bits of a product */
    uint64_t eight = 0;
    for (int k = 0; k < 8; k++) eight |= (uint64_t)flag[i + k] << 8 * k;
    bits |= (eight * UINT64_C(0x0102040810204080)) >> 56 << i;
  }
  return bits;
}

/* Writes the coordinates of non-zeros in words [begin, end) to columns from |column| on. */
static void nonzero_write(const ox_shape *s, const uint64_t *words, int64_t begin, int64_t end, int64_t *out,
                          int64_t column, int64_t columns) {
  int last = s->rank - 1;
  int64_t at[OX_MAX_RANK + 1], wide = s->rank ? s->dim[last] : 1, rest = begin * WORD / wide, line = rest * wide;
  for (int d = last - 1; d >= 0; d--) at[d] = rest % s->dim[d], rest /= s->dim[d];
  for (int64_t w = begin; w < end; w++)
    for (uint64_t bits = words[w]; bits; bits &= bits - 1, column++) {
      int64_t i = w * WORD + __builtin_ctzll(bits);
      for (; i - line >= wide; line += wide)
        for (int d = last - 1; d >= 0 && ++at[d] == s->dim[d]; d--) at[d] = 0;
      for (int d = 0; d < last; d++) out[d * columns + column] = at[d];
      if (last >= 0) out[last * columns + column] = i - line;
    }
}

static ox_status *nonzero_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  const ox_tensor *in = c->in[0];
  int64_t n = ox_shape_count(&in->shape), n_tiles = nonzero_tiles(n), n_words = OX_CEIL_DIV(n, WORD);
  int64_t *counts = (int64_t *)c->shared + n_words;
  uint64_t *words = c->shared;
  if (stage == 1) { /* counts become the first column of each tile */
    ox_shape s = {.rank = 2, .dim = {in->shape.rank, 0}};
    for (int64_t t = 0; t < n_tiles; t++) {
      int64_t count = counts[t];
      counts[t] = s.dim[1], s.dim[1] += count;
    }
    counts[n_tiles] = s.dim[1];
    void *out;
    return ox_output_at_run(c, 0, &s, &out);
  }
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    ox_range u = ox_units_of((ox_range){t, t + 1}, n_tiles, n_words);
    if (stage == 2 && u.begin < u.end)
      nonzero_write(&in->shape, words, u.begin, u.end, c->out[0]->data, counts[t], counts[n_tiles]);
    if (stage == 2) continue;
    counts[t] = 0;
    for (int64_t w = u.begin; w < u.end; w++) {
      words[w] = nonzero_word(in, w * WORD, OX_MIN(n - w * WORD, WORD));
      counts[t] += __builtin_popcountll(words[w]);
    }
  }
  return NULL;
}

/* ---- Compress ---- */

typedef struct {
  int64_t axis;
  bool has_axis;
} compress_attrs;
static const ox_attr_def compress_attr_defs[] = {OX_ATTR_INT_HAS_IN(compress_attrs, axis, 0, OX_AXIS_RANGE)};

static ox_status *compress_infer(ox_infer_ctx *c) {
  const compress_attrs *a = c->attrs;
  if (!ox_infer_has(c, 0)) return NULL;
  ox_shape s = {.rank = 1, .dim = {-1}};
  int axis;
  if (a->has_axis) s = c->in[0]->shape;
  if (a->has_axis && s.rank >= 0) {
    if (!ox_axis_ok(a->axis, s.rank, &axis))
      return ox_fail(OX_INVALID_MODEL, "Compress: axis %lld is outside rank %d", (long long)a->axis, s.rank);
    s.dim[axis] = -1;
  }
  if (ox_infer_has(c, 1) && c->in[1]->shape.rank >= 0 && c->in[1]->shape.rank != 1)
    return ox_fail(OX_SHAPE_MISMATCH, "Compress: condition has rank %d, wanted 1", c->in[1]->shape.rank);
  ox_infer_out(c, 0, c->in[0]->dtype, &s);
  return NULL;
}

static ox_status *compress_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  const compress_attrs *a = c->attrs;
  ox_shape s = {.rank = 1, .dim = {ox_shape_count(&c->in[0]->shape)}};
  if (a->has_axis) s = c->in[0]->shape;
  int64_t outer, dim, inner, n = 0, elem = ox_dtype_bits(c->in[0]->dtype) / 8;
  const uint8_t *want = c->in[1]->data;
  int axis;
  OX_TRY(ox_axis_split(&s, a->has_axis ? a->axis : 0, &outer, &dim, &inner));
  (void)ox_axis_ok(a->has_axis ? a->axis : 0, s.rank, &axis);
  int64_t len = OX_MIN(c->in[1]->shape.dim[0], dim);
  for (int64_t i = 0; i < len; i++) n += want[i] != 0;
  s.dim[axis] = n, inner *= elem;
  void *data;
  OX_TRY(ox_output_at_run(c, 0, &s, &data));
  char *out = data;
  for (int64_t o = 0; o < outer && inner && n; o++)
    for (int64_t i = 0; i < len && !ox_ctx_stopped_each(c, i, 4096); i++)
      if (want[i]) {
        memcpy(out, (const char *)c->in[0]->data + (o * dim + i) * inner, (size_t)inner);
        out += inner;
      }
  return NULL;
}

enum { ANY = OX_T_ALL & ~OX_T_SUBBYTE };

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "NonZero", .since = 9, .types = {ANY}, .min_in = 1, .max_in = 1, .infer = nonzero_infer),
     OX_KERNEL(.prepare = nonzero_prepare, .run = nonzero_run)},
    {OX_SCHEMA(.name = "Compress", .since = 9, .types = {ANY, OX_BIT(OX_BOOL)}, .min_in = 2, .max_in = 2,
               OX_ATTRS(compress_attr_defs), .attrs_bytes = sizeof(compress_attrs), .infer = compress_infer),
     OX_KERNEL(.run = compress_run)},
};
const ox_op_set ox_ops_select = {ops, OX_COUNT(ops)};
