/* SPDX-License-Identifier: Apache-2.0
 * ops/concat_split.c - Concat and Split: one copy in two directions. */
#include <math.h>
#include <string.h>

#include "base/cksize.h"
#include "graph/known.h"
#include "onyx/onyx.h"
#include "ops/move/deferred.h"

/* Rows of |row| bytes on the joined side; part k is |size[k]| bytes of each row, from |size[0] + ... + size[k-1]| on.
 * Units are rows, or pieces of rows when rows are long. */
typedef struct parts {
  int64_t rows, row, pieces, n_tiles;
  uint32_t n;
  int64_t size[];
} parts;

enum { LONG_ROW = 16 * 1024 };

static parts *parts_new(ox_kernel_ctx *c, const ox_shape *joined, int axis, uint32_t dtype, uint32_t n) {
  parts *p = ox_ctx_alloc(c, sizeof(parts) + n * sizeof(int64_t));
  if (!p) return NULL;
  p->rows = ox_shape_span(joined, 0, axis), p->n = n;
  p->row = ox_shape_span(joined, axis, joined->rank) * (int64_t)(ox_dtype_bits(dtype) / 8);
  if (p->row == 0) p->rows = 0;
  p->pieces = p->row > LONG_ROW ? OX_CEIL_DIV(p->row, OX_MOVE_CHUNK) : 1;
  p->n_tiles = ox_move_tiles(p->rows * p->row, p->rows * p->pieces);
  return p;
}

/* Bytes [lo, hi) of row |r|. */
static void copy_piece(const parts *p, int64_t r, int64_t lo, int64_t hi, char *joined,
                       char *(*part)(const void *, uint32_t), const void *ctx, bool join) {
  int64_t at = 0;
  for (uint32_t k = 0; k < p->n && at < hi; at += p->size[k++]) {
    int64_t a = OX_MAX(lo, at), b = OX_MIN(hi, at + p->size[k]);
    char *one = a < b ? part(ctx, k) : NULL;
    if (!one) continue;
    one += r * p->size[k] + (a - at);
    char *row = joined + r * p->row + a;
    if (one == row) continue; /* it lies there already */
    if (join)
      memcpy(row, one, (size_t)(b - a));
    else
      memcpy(one, row, (size_t)(b - a));
  }
}

/* Parts of one element each are columns: some rows at a time are turned, from or to a copy in the first-level cache. */
enum { TURNED = 4096, LEAST_ROWS = 16 };
static bool are_columns(const parts *p) {
  int64_t e = p->size[0];
  bool alike = p->n > (e == 8 ? 2 : 1) && p->row * LEAST_ROWS <= TURNED && (e == 1 || e == 2 || e == 4 || e == 8);
  for (uint32_t k = 1; k < p->n && alike; k++) alike = p->size[k] == e;
  return alike;
}

static void turn_parts(const parts *p, ox_isa isa, ox_range rows, char *joined, char *(*part)(const void *, uint32_t),
                       const void *ctx, bool join) {
  char block[TURNED];
  int64_t e = p->size[0], some = TURNED / p->row;
  ox_transpose_fn turn = ox_transpose_select(e, isa);
  for (int64_t r = rows.begin; r < rows.end; r += some) {
    int64_t m = OX_MIN(some, rows.end - r);
    if (!join) turn(joined + r * p->row, p->row, block, some * e, m, p->n);
    for (uint32_t k = 0; k < p->n; k++) {
      char *one = part(ctx, k), *column = block + k * some * e;
      if (one && join)
        memcpy(column, one + r * e, (size_t)(m * e));
      else if (one)
        memcpy(one + r * e, column, (size_t)(m * e));
    }
    if (join) turn(block, some * e, joined + r * p->row, p->row, p->n, m);
  }
}

static void copy_parts(const parts *p, ox_isa isa, ox_range units, char *joined, char *(*part)(const void *, uint32_t),
                       const void *ctx, bool join) {
  if (p->pieces > 1) {
    for (int64_t u = units.begin; u < units.end; u++) {
      int64_t r = u / p->pieces, lo = u % p->pieces * OX_MOVE_CHUNK;
      copy_piece(p, r, lo, OX_MIN(lo + OX_MOVE_CHUNK, p->row), joined, part, ctx, join);
    }
    return;
  }
  int64_t at = units.begin * p->row, n = units.end - units.begin;
  if (n >= LEAST_ROWS && are_columns(p)) {
    turn_parts(p, isa, units, joined, part, ctx, join);
    return;
  }
  for (uint32_t k = 0; k < p->n && n > 0; at += p->size[k++]) {
    char *one = p->size[k] ? part(ctx, k) : NULL;
    if (!one) continue;
    one += units.begin * p->size[k];
    if (one == joined + at) continue;
    if (join)
      ox_copy_lines(one, p->size[k], joined + at, p->row, n, p->size[k]);
    else
      ox_copy_lines(joined + at, p->row, one, p->size[k], n, p->size[k]);
  }
}

/* ---- Concat ---- */

typedef struct {
  int64_t axis;
} concat_attrs;
static const ox_attr_def concat1_attr_defs[] = {OX_ATTR_INT_IN(concat_attrs, axis, 1, OX_AXIS_RANGE)};
static const ox_attr_def concat_attr_defs[] = {OX_ATTR_INT_REQUIRED_IN(concat_attrs, axis, OX_AXIS_RANGE)};

/* Takes over what |in| knows about the dimensions beside |axis|; adds up those at |axis|. */
static ox_status *concat_one(ox_shape *s, const ox_shape *in, int axis, uint32_t k) {
  if (in->rank != s->rank)
    return ox_fail(OX_SHAPE_MISMATCH, "Concat: input %u has rank %d, wanted %d", k, in->rank, s->rank);
  for (int i = 0; i < s->rank; i++) {
    if (i == axis) {
      s->dim[i] = ox_dim_add(s->dim[i], in->dim[i]);
    } else if (s->dim[i] < 0) {
      if (in->dim[i] >= 0 || s->dim[i] == -1) s->dim[i] = in->dim[i];
    } else if (in->dim[i] >= 0 && in->dim[i] != s->dim[i]) {
      return ox_fail(OX_SHAPE_MISMATCH, "Concat: input %u has dimension %d = %lld, wanted %lld", k, i,
                     (long long)in->dim[i], (long long)s->dim[i]);
    }
  }
  return NULL;
}

static ox_status *concat_infer(ox_infer_ctx *c) {
  const concat_attrs *a = c->attrs;
  ox_shape s = ox_shape_unknown();
  uint32_t dtype = OX_UNDEFINED;
  bool all = true;
  int axis = 0;
  for (uint32_t k = 0; k < c->n_in; k++) {
    if (!c->in[k]) return ox_fail(OX_INVALID_MODEL, "Concat: input %u is missing", k);
    if (!dtype) dtype = c->in[k]->dtype;
    if (c->in[k]->dtype && c->in[k]->dtype != dtype)
      return ox_fail(OX_INVALID_MODEL, "Concat: input %u is %s, wanted %s", k, ox_dtype_name(c->in[k]->dtype),
                     ox_dtype_name(dtype));
    if (c->in[k]->shape.rank < 0)
      all = false;
    else if (s.rank < 0)
      s = c->in[k]->shape;
  }
  if (s.rank >= 0) {
    if (!ox_axis_ok(a->axis, s.rank, &axis))
      return ox_fail(OX_INVALID_MODEL, "Concat: axis %lld is outside rank %d", (long long)a->axis, s.rank);
    s.dim[axis] = 0;
    for (uint32_t k = 0; k < c->n_in; k++)
      if (c->in[k]->shape.rank >= 0) OX_TRY(concat_one(&s, &c->in[k]->shape, axis, k));
    if (!all) s.dim[axis] = -1;
  }
  ox_infer_out(c, 0, dtype, &s);
  return NULL;
}

static const ox_known *concat_known(const ox_known_ctx *c) {
  int64_t axis = ((const concat_attrs *)c->attrs)->axis;
  ox_known_list l = {.n = 0};
  uint32_t dtype = 0;
  if (axis != 0 && axis != -1) return NULL;
  for (uint32_t i = 0; i < c->n_in; i++) {
    const ox_known *k = c->in[i];
    const ox_type *t = c->types[i];
    int64_t n = k ? k->n : t && t->kind == OX_TENSOR && t->shape.rank == 1 ? t->shape.dim[0] : -1;
    if (n < 0 || n > OX_KNOWN_MAX - l.n || (k && k->scalar) || !t) return NULL;
    if (t->dtype != OX_I64 && t->dtype != OX_I32) return NULL;
    dtype = t->dtype;
    for (int64_t e = 0; e < n; e++) ox_known_push(&l, k ? k->v[e] : 0, k ? k->kind[e] : OX_KNOWN_NOT);
  }
  return ox_known_keep(c, dtype, false, &l);
}

static ox_status *concat_prepare(ox_kernel_ctx *c) {
  const concat_attrs *a = c->attrs;
  int axis;
  if (!ox_axis_ok(a->axis, c->out[0]->shape.rank, &axis)) return ox_fail(OX_INVALID_MODEL, "Concat: axis");
  parts *p = parts_new(c, &c->out[0]->shape, axis, c->in[0]->dtype, c->n_in);
  if (!p) return ox_oom();
  int64_t elem = ox_dtype_bits(c->in[0]->dtype) / 8;
  for (uint32_t k = 0; k < c->n_in; k++)
    p->size[k] = ox_shape_span(&c->in[k]->shape, axis, c->in[k]->shape.rank) * elem;
  c->prep = p, c->in_a_row = p->rows == 1 ? OX_INPUTS_IN_A_ROW : 0;
  return ox_ctx_plan(c, p->n_tiles, 0);
}

static char *input_data(const void *ctx, uint32_t k) { return ((const ox_kernel_ctx *)ctx)->in[k]->data; }

static ox_status *concat_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const parts *p = c->prep;
  copy_parts(p, c->isa, ox_units_of(tiles, p->n_tiles, p->rows * p->pieces), c->out[0]->data, input_data, c, true);
  return NULL;
}

/* ---- Split ---- */

typedef struct {
  int64_t axis, num_outputs;
  ox_ints split;
  bool has_num_outputs;
} split_attrs;
static const ox_attr_def split2_attr_defs[] = {OX_ATTR_INT_IN(split_attrs, axis, 0, OX_AXIS_RANGE),
                                               OX_ATTR_INTS(split_attrs, split)};
static const ox_attr_def split13_attr_defs[] = {OX_ATTR_INT_IN(split_attrs, axis, 0, OX_AXIS_RANGE)};
static const ox_attr_def split18_attr_defs[] = {OX_ATTR_INT_IN(split_attrs, axis, 0, OX_AXIS_RANGE),
                                                OX_ATTR_INT_HAS_IN(split_attrs, num_outputs, 0, 1, OX_COUNT_MAX)};

/* Where the lengths come from: the attribute, the input's content, or equal parts. */
typedef struct lengths {
  const ox_ints *ints;
  const ox_tensor *tensor;
  int64_t n, chunk, dim; /* equal parts of |chunk|, the last ones what is left */
} lengths;

/* In version 1 lengths have the type of the data. One that is not an integer becomes -1, which is an error. */
static int64_t stored_length(const ox_tensor *t, int64_t k) {
  if (t->dtype == OX_I64) return ox_int_at(t, k);
  double v = ox_tensor_element(t, k);
  return v >= 0 && v < 0x1p62 && v == floor(v) ? ox_i64_of(v) : -1;
}

static int64_t length_at(const lengths *l, int64_t k) {
  if (l->ints) return l->ints->v[k];
  if (l->tensor) return stored_length(l->tensor, k);
  return OX_MAX(OX_MIN(l->chunk, l->dim - k * l->chunk), 0);
}

/* |content|: input 1's, if given. |dim|: the split dimension, known. */
static ox_status *lengths_of(const split_attrs *a, const ox_tensor *content, int64_t dim, uint32_t n_out, lengths *l) {
  *l = (lengths){.dim = dim};
  if (a->split.v)
    l->ints = &a->split, l->n = (int64_t)a->split.n;
  else if (content)
    l->tensor = content, l->n = ox_shape_count(&content->shape);
  if (!l->ints && !l->tensor) {
    l->n = a->has_num_outputs ? a->num_outputs : n_out;
    if (l->n < n_out || l->n <= 0)
      return ox_fail(OX_INVALID_MODEL, "Split: num_outputs is %lld, the node has %u outputs", (long long)l->n, n_out);
    l->chunk = dim / l->n + (dim % l->n != 0);
    if (dim % l->n != 0 && !a->has_num_outputs)
      return ox_fail(OX_SHAPE_MISMATCH, "Split: %lld does not divide into %lld equal parts", (long long)dim,
                     (long long)l->n);
    return NULL;
  }
  if (l->n < n_out) return ox_fail(OX_SHAPE_MISMATCH, "Split: %lld lengths for %u outputs", (long long)l->n, n_out);
  int64_t sum = 0;
  for (int64_t k = 0; k < l->n; k++) {
    int64_t v = length_at(l, k);
    if (v < 0 || v > dim - sum)
      return ox_fail(OX_SHAPE_MISMATCH, "Split: length %lld of part %lld exceeds dimension %lld", (long long)v,
                     (long long)k, (long long)dim);
    sum += v;
  }
  if (sum != dim)
    return ox_fail(OX_SHAPE_MISMATCH, "Split: lengths add up to %lld, the dimension is %lld", (long long)sum,
                   (long long)dim);
  return NULL;
}

static ox_status *split_infer(ox_infer_ctx *c) {
  const split_attrs *a = c->attrs;
  if (!ox_infer_has(c, 0)) return NULL;
  ox_shape s = c->in[0]->shape;
  bool by_input = ox_infer_has(c, 1) && !a->split.v;
  const ox_tensor *content = by_input ? c->in_data[1] : NULL;
  bool known = !by_input || content;
  int axis = 0;
  lengths l = {0};
  if (s.rank >= 0 && !ox_axis_ok(a->axis, s.rank, &axis))
    return ox_fail(OX_INVALID_MODEL, "Split: axis %lld is outside rank %d", (long long)a->axis, s.rank);
  bool dim_known = s.rank > 0 && s.dim[axis] >= 0;
  if (by_input && c->op_version >= 2 && c->in[1]->dtype && c->in[1]->dtype != OX_I64)
    return ox_fail(OX_INVALID_MODEL, "Split: the lengths are not int64");
  if (known && dim_known)
    OX_TRY(lengths_of(a, content, s.dim[axis], c->n_out, &l));
  else if (a->split.v && (int64_t)a->split.n >= c->n_out)
    l.ints = &a->split;
  else if (content && ox_shape_count(&content->shape) >= c->n_out)
    l.tensor = content;
  for (uint32_t k = 0; k < c->n_out; k++) {
    if (s.rank > 0) {
      int64_t v = dim_known && known ? length_at(&l, k) : l.ints || l.tensor ? length_at(&l, k) : -1;
      s.dim[axis] = v < 0 ? -1 : v;
    }
    ox_infer_out(c, k, c->in[0]->dtype, &s);
  }
  return NULL;
}

static ox_status *split_prepare(ox_kernel_ctx *c) {
  const split_attrs *a = c->attrs;
  const ox_shape *in = &c->in[0]->shape;
  const ox_tensor *content = ox_ctx_has(c, 1) && !a->split.v ? c->in[1] : NULL;
  int axis;
  lengths l;
  if (content && !content->data && ox_shape_count(&content->shape) != 0) return NULL; /* lengths come with the run */
  if (!ox_axis_ok(a->axis, in->rank, &axis)) return ox_fail(OX_INVALID_MODEL, "Split: axis");
  OX_TRY(lengths_of(a, content, in->dim[axis], c->n_out, &l));
  parts *p = parts_new(c, in, axis, c->in[0]->dtype, c->n_out);
  if (!p) return ox_oom();
  int64_t inner = ox_shape_span(in, axis + 1, in->rank) * (int64_t)(ox_dtype_bits(c->in[0]->dtype) / 8);
  for (uint32_t k = 0; k < c->n_out; k++) p->size[k] = length_at(&l, k) * inner;
  c->prep = p, c->in_a_row = p->rows == 1 ? OX_OUTPUTS_IN_A_ROW : 0;
  return ox_ctx_plan(c, p->n_tiles, 0);
}

static char *output_data(const void *ctx, uint32_t k) {
  const ox_tensor *t = ((const ox_kernel_ctx *)ctx)->out[k];
  return t ? t->data : NULL;
}

/* Everything in one tile: only now are the lengths known. */
static ox_status *split_unplanned(const ox_kernel_ctx *c) {
  const split_attrs *a = c->attrs;
  ox_shape s = c->in[0]->shape;
  int64_t outer, dim, inner, at = 0, elem = ox_dtype_bits(c->in[0]->dtype) / 8;
  lengths l;
  int axis;
  OX_TRY(ox_axis_split(&s, a->axis, &outer, &dim, &inner));
  OX_TRY(lengths_of(a, c->in[1], dim, c->n_out, &l));
  (void)ox_axis_ok(a->axis, s.rank, &axis);
  for (uint32_t k = 0; k < c->n_out; at += s.dim[axis], k++) {
    void *out;
    s.dim[axis] = length_at(&l, k);
    if (!c->out[k]) continue;
    OX_TRY(ox_output_at_run(c, k, &s, &out));
    if (ox_shape_count(&s) == 0) continue;
    ox_copy_lines((const char *)c->in[0]->data + at * inner * elem, dim * inner * elem, out, s.dim[axis] * inner * elem,
                  outer, s.dim[axis] * inner * elem);
  }
  return NULL;
}

static ox_status *split_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const parts *p = c->prep;
  if (!p) return split_unplanned(c);
  copy_parts(p, c->isa, ox_units_of(tiles, p->n_tiles, p->rows * p->pieces), c->in[0]->data, output_data, c, false);
  return NULL;
}

enum { ANY = OX_T_ALL & ~OX_T_SUBBYTE };
#define CONCAT                                                                       \
  .name = "Concat", .types = {ANY}, .vars = "T", .min_in = 1, .max_in = OX_VARIADIC, \
  .attrs_bytes = sizeof(concat_attrs), .infer = concat_infer, .known = concat_known
#define CONCAT_KERNEL .prepare = concat_prepare, .run = concat_run
#define SPLIT                                                                                                          \
  .name = "Split", .min_in = 1, .max_in = 2, .min_out = 1, .max_out = OX_VARIADIC, .attrs_bytes = sizeof(split_attrs), \
  .value_in = 2, .infer = split_infer
#define SPLIT_KERNEL .prepare = split_prepare, .run = split_run

static const ox_op ops[] = {
    {OX_SCHEMA(CONCAT, .since = 1, OX_ATTRS(concat1_attr_defs)), OX_KERNEL(CONCAT_KERNEL)},
    {OX_SCHEMA(CONCAT, .since = 4, OX_ATTRS(concat_attr_defs)), OX_KERNEL(CONCAT_KERNEL)},
    {OX_SCHEMA(SPLIT, .since = 1, .types = {ANY, OX_T_FLOAT | OX_BIT(OX_I64)}, OX_ATTRS(split2_attr_defs)),
     OX_KERNEL(SPLIT_KERNEL)},
    {OX_SCHEMA(SPLIT, .since = 13, .types = {ANY, OX_BIT(OX_I64)}, OX_ATTRS(split13_attr_defs)),
     OX_KERNEL(SPLIT_KERNEL)},
    {OX_SCHEMA(SPLIT, .since = 18, .types = {ANY, OX_BIT(OX_I64)}, OX_ATTRS(split18_attr_defs)),
     OX_KERNEL(SPLIT_KERNEL)},
};
const ox_op_set ox_ops_concat_split = {ops, OX_COUNT(ops)};
