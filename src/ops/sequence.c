/* SPDX-License-Identifier: Apache-2.0
 * ops/sequence.c - sequences of tensors. Items never change, so sequences share them by pointer. */
#include <string.h>

#include "base/cksize.h"
#include "ops/move/deferred.h"
#include "ops/move/sequence_values.h"

#define IGNORE_TILES (void)stage, (void)tiles, (void)scratch

static const ox_tensor **items_of(const ox_tensor *seq) { return seq->data; }
static int64_t length_of(const ox_tensor *seq) { return seq->shape.dim[0]; }

static ox_status *need_sequence(const char *op, const ox_tensor *t) {
  return t->kind == OX_SEQUENCE ? NULL : ox_fail(OX_SHAPE_MISMATCH, "%s: input 0 is no sequence", op);
}

/* The scalar position in input |i|, counted from the front, below |bound|; |dflt| if the input is omitted. */
static ox_status *position_of(const ox_kernel_ctx *c, const char *op, uint32_t i, int64_t n, int64_t bound,
                              int64_t dflt, int64_t *out) {
  *out = dflt;
  if (ox_ctx_has(c, i)) {
    if (c->in[i]->kind != OX_TENSOR) return ox_fail(OX_INVALID_MODEL, "%s: position is no tensor", op);
    if (ox_shape_count(&c->in[i]->shape) != 1) return ox_fail(OX_SHAPE_MISMATCH, "%s: position is no scalar", op);
    *out = ox_int_at(c->in[i], 0);
    if (*out < 0 && *out >= -n) *out += n;
  }
  if (*out < 0 || *out >= bound)
    return ox_fail(OX_INVALID_ARGUMENT, "%s: position %lld, the sequence has %lld items", op,
                   (long long)(ox_ctx_has(c, i) ? ox_int_at(c->in[i], 0) : dflt), (long long)n);
  return NULL;
}

static const ox_tensor **new_items(const ox_kernel_ctx *c, int64_t n) {
  return ox_ctx_run_array(c, n, sizeof(ox_tensor *));
}

/* ---- SequenceConstruct, SequenceEmpty ---- */

static ox_status *construct_infer(ox_infer_ctx *c) {
  if (!ox_infer_has(c, 0)) return NULL;
  ox_type elem = *c->in[0];
  for (uint32_t i = 1; i < c->n_in; i++) {
    if (!c->in[i]) return ox_fail(OX_INVALID_MODEL, "SequenceConstruct: input %u is missing", i);
    if (elem.dtype && c->in[i]->dtype && elem.dtype != c->in[i]->dtype)
      return ox_fail(OX_INVALID_MODEL, "SequenceConstruct: input %u is %s, wanted %s", i,
                     ox_dtype_name(c->in[i]->dtype), ox_dtype_name(elem.dtype));
    elem = ox_type_common(c, &elem, c->in[i]);
  }
  c->out[0] = ox_type_sequence(c, &elem);
  return NULL;
}

static ox_status *construct_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  IGNORE_TILES;
  const ox_tensor **items = new_items(c, c->n_in);
  if (!items) return ox_oom();
  for (uint32_t i = 0; i < c->n_in; i++)
    if (!(items[i] = ox_value_copy(c, c->in[i]))) return ox_oom();
  ox_output_set_sequence(c, 0, c->in[0]->dtype, items, c->n_in);
  return NULL;
}

typedef struct {
  int64_t dtype;
} empty_attrs;
static const ox_attr_def empty_attr_defs[] = {OX_ATTR_INT_IN(empty_attrs, dtype, OX_F32, 1, OX_DTYPE_COUNT - 1)};

static ox_status *empty_infer(ox_infer_ctx *c) {
  const empty_attrs *a = c->attrs;
  ox_type elem = ox_type_tensor((uint32_t)a->dtype, NULL);
  c->out[0] = ox_type_sequence(c, &elem);
  return NULL;
}

static ox_status *empty_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  IGNORE_TILES;
  ox_output_set_sequence(c, 0, (uint32_t)((const empty_attrs *)c->attrs)->dtype, NULL, 0);
  return NULL;
}

/* ---- SequenceInsert, SequenceErase ---- */

static ox_status *insert_infer(ox_infer_ctx *c) {
  if (!ox_infer_has(c, 0) || !ox_infer_has(c, 1)) return NULL;
  if (c->in[1]->kind != OX_TENSOR || c->in[1]->optional)
    return ox_fail(OX_INVALID_MODEL, "SequenceInsert: input 1 is no tensor");
  ox_type elem =
      c->in[0]->elem ? ox_type_common(c, c->in[0]->elem, c->in[1]) : ox_type_tensor(c->in[1]->dtype, NULL);
  c->out[0] = ox_type_sequence(c, &elem);
  return NULL;
}

static ox_status *insert_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  IGNORE_TILES;
  OX_TRY(need_sequence("SequenceInsert", c->in[0]));
  int64_t n = length_of(c->in[0]), at;
  const ox_tensor **from = items_of(c->in[0]), **items;
  if (n && c->in[0]->dtype && c->in[0]->dtype != c->in[1]->dtype)
    return ox_fail(OX_SHAPE_MISMATCH, "SequenceInsert: %s into a sequence of %s", ox_dtype_name(c->in[1]->dtype),
                   ox_dtype_name(c->in[0]->dtype));
  OX_TRY(position_of(c, "SequenceInsert", 2, n, n + 1, n, &at));
  items = at == n ? ox_ctx_run_extend(c, from, (size_t)n * sizeof *items, sizeof *items) : new_items(c, n + 1);
  if (!items) return ox_oom();
  if (at < n) {
    memcpy(items, from, (size_t)at * sizeof *items);
    memcpy(items + at + 1, from + at, (size_t)(n - at) * sizeof *items);
  }
  if (!(items[at] = ox_value_copy(c, c->in[1]))) return ox_oom();
  ox_output_set_sequence(c, 0, c->in[1]->dtype, items, n + 1);
  return NULL;
}

static ox_status *erase_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  IGNORE_TILES;
  OX_TRY(need_sequence("SequenceErase", c->in[0]));
  int64_t n = length_of(c->in[0]), at;
  const ox_tensor **items = new_items(c, n), **from = items_of(c->in[0]);
  if (!items) return ox_oom();
  OX_TRY(position_of(c, "SequenceErase", 1, n, n, n - 1, &at));
  memcpy(items, from, (size_t)at * sizeof *items);
  memcpy(items + at, from + at + 1, (size_t)(n - at - 1) * sizeof *items);
  ox_output_set_sequence(c, 0, c->in[0]->dtype, items, n - 1);
  return NULL;
}

/* ---- SequenceAt, SequenceLength ---- */

static ox_status *at_infer(ox_infer_ctx *c) {
  if (!ox_infer_has(c, 0)) return NULL;
  if (c->in[0]->elem)
    c->out[0] = *c->in[0]->elem;
  else
    ox_infer_out(c, 0, c->in[0]->dtype, NULL);
  return NULL;
}

static ox_status *at_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  IGNORE_TILES;
  OX_TRY(need_sequence("SequenceAt", c->in[0]));
  int64_t n = length_of(c->in[0]), at;
  OX_TRY(position_of(c, "SequenceAt", 1, n, n, -1, &at));
  return ox_output_set_value(c, 0, items_of(c->in[0])[at]);
}

static ox_status *length_infer(ox_infer_ctx *c) {
  ox_shape s = ox_shape_scalar();
  ox_infer_out(c, 0, OX_I64, &s);
  return NULL;
}

static ox_status *length_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  IGNORE_TILES;
  OX_TRY(need_sequence("SequenceLength", c->in[0]));
  *(int64_t *)c->out[0]->data = length_of(c->in[0]);
  return NULL;
}

/* ---- SplitToSequence ---- */

typedef struct {
  int64_t axis, keepdims;
} split_attrs;
static const ox_attr_def split_attr_defs[] = {OX_ATTR_INT_IN(split_attrs, axis, 0, OX_AXIS_RANGE),
                                              OX_ATTR_INT(split_attrs, keepdims, 1)};

static ox_status *split_infer(ox_infer_ctx *c) {
  const split_attrs *a = c->attrs;
  if (!ox_infer_has(c, 0)) return NULL;
  ox_shape s = c->in[0]->shape;
  bool drop = !a->keepdims && !ox_infer_has(c, 1);
  int axis;
  if (s.rank >= 0) {
    if (!ox_axis_ok(a->axis, s.rank, &axis))
      return ox_fail(OX_INVALID_MODEL, "SplitToSequence: axis %lld is outside rank %d", (long long)a->axis, s.rank);
    s.dim[axis] = ox_infer_has(c, 1) ? -1 : 1;
    if (drop) {
      for (int i = axis; i + 1 < s.rank; i++) s.dim[i] = s.dim[i + 1];
      s.rank--;
    }
  }
  ox_type elem = ox_type_tensor(c->in[0]->dtype, &s);
  c->out[0] = ox_type_sequence(c, &elem);
  return NULL;
}

/* Part |k| of the dimension |dim|, by input 1: a scalar chunk, a list, or parts of 1. -1: bad. */
static int64_t part_at(const ox_tensor *split, int64_t k, int64_t done, int64_t dim) {
  if (!split) return 1;
  if (split->shape.rank == 0) return ox_int_at(split, 0) > 0 ? OX_MIN(ox_int_at(split, 0), dim - done) : -1;
  int64_t v = ox_int_at(split, k);
  return v >= 0 && v <= dim - done ? v : -1;
}

static ox_status *split_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  IGNORE_TILES;
  const split_attrs *a = c->attrs;
  const ox_tensor *in = c->in[0], *split = ox_ctx_has(c, 1) ? c->in[1] : NULL;
  bool drop = !a->keepdims && !split, listed = split && split->shape.rank > 0;
  int64_t outer, dim, inner, elem = ox_dtype_bits(in->dtype) / 8, n, done = 0;
  int axis;
  OX_TRY(ox_axis_split(&in->shape, a->axis, &outer, &dim, &inner));
  (void)ox_axis_ok(a->axis, in->shape.rank, &axis);
  inner *= elem;
  if (listed)
    n = ox_shape_count(&split->shape);
  else if (!split)
    n = dim;
  else if (ox_int_at(split, 0) <= 0)
    return ox_fail(OX_INVALID_ARGUMENT, "SplitToSequence: split is %lld", (long long)ox_int_at(split, 0));
  else
    n = dim / ox_int_at(split, 0) + (dim % ox_int_at(split, 0) != 0);
  const ox_tensor **items = new_items(c, n);
  ox_tensor *own = ox_ctx_run_array(c, n, sizeof *own);
  if (!items || !own) return ox_oom();
  for (int64_t k = 0; k < n; k++) {
    int64_t len = part_at(split, k, done, dim);
    ox_shape s = in->shape;
    if (len < 0)
      return ox_fail(OX_INVALID_ARGUMENT, "SplitToSequence: part %lld does not fit dimension %lld", (long long)k,
                     (long long)dim);
    s.dim[axis] = len;
    for (int i = axis; drop && i + 1 < in->shape.rank; i++) s.dim[i] = s.dim[i + 1];
    s.rank -= drop;
    own[k] = ox_tensor_view(in->dtype, &s, NULL), items[k] = &own[k];
    if (own[k].bytes) {
      if (!(own[k].data = ox_ctx_run_alloc(c, own[k].bytes))) return ox_oom();
      ox_copy_lines((const char *)in->data + done * inner, dim * inner, own[k].data, len * inner, outer, len * inner);
    }
    done += len;
  }
  if (listed && done != dim)
    return ox_fail(OX_INVALID_ARGUMENT, "SplitToSequence: parts add up to %lld, the dimension is %lld", (long long)done,
                   (long long)dim);
  ox_output_set_sequence(c, 0, in->dtype, items, n);
  return NULL;
}

/* ---- ConcatFromSequence ---- */

typedef struct {
  int64_t axis, new_axis;
} concat_attrs;
static const ox_attr_def concat_attr_defs[] = {OX_ATTR_INT_REQUIRED_IN(concat_attrs, axis, OX_AXIS_RANGE),
                                               OX_ATTR_INT(concat_attrs, new_axis, 0)};

/* |item| with -1 at the axis that is concatenated or added. */
static ox_status *concat_shape(const concat_attrs *a, const ox_shape *item, ox_shape *out, int *axis) {
  *out = *item;
  if (item->rank < 0) return NULL;
  out->rank += a->new_axis != 0;
  if (out->rank > OX_MAX_RANK) return ox_fail(OX_LIMIT, "ConcatFromSequence: rank above %d", OX_MAX_RANK);
  if (!ox_axis_ok(a->axis, out->rank, axis))
    return ox_fail(OX_INVALID_MODEL, "ConcatFromSequence: axis %lld is outside rank %d", (long long)a->axis, out->rank);
  for (int i = out->rank - 1; a->new_axis && i > *axis; i--) out->dim[i] = out->dim[i - 1];
  out->dim[*axis] = -1;
  return NULL;
}

static ox_status *concat_infer(ox_infer_ctx *c) {
  ox_shape s = ox_shape_unknown();
  int axis;
  if (!ox_infer_has(c, 0)) return NULL;
  if (c->in[0]->elem) OX_TRY(concat_shape(c->attrs, &c->in[0]->elem->shape, &s, &axis));
  ox_infer_out(c, 0, c->in[0]->dtype, &s);
  return NULL;
}

static ox_status *concat_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  IGNORE_TILES;
  const concat_attrs *a = c->attrs;
  OX_TRY(need_sequence("ConcatFromSequence", c->in[0]));
  int64_t n = length_of(c->in[0]), sum = 0, at = 0;
  const ox_tensor **items = items_of(c->in[0]);
  ox_shape s, one;
  int axis, other;
  void *out;
  if (!n) return ox_fail(OX_INVALID_ARGUMENT, "ConcatFromSequence: the sequence is empty");
  OX_TRY(concat_shape(a, &items[0]->shape, &s, &axis));
  for (int64_t k = 0; k < n; k++) {
    OX_TRY(concat_shape(a, &items[k]->shape, &one, &other));
    if (!ox_shape_equal(&one, &s) || items[k]->dtype != items[0]->dtype)
      return ox_fail(OX_SHAPE_MISMATCH, "ConcatFromSequence: item %lld does not fit item 0", (long long)k);
    if (!ox_add_i64_ok(sum, a->new_axis ? 1 : items[k]->shape.dim[axis], &sum))
      return ox_fail(OX_LIMIT, "ConcatFromSequence: %lld items are too long in all", (long long)n);
  }
  s.dim[axis] = sum;
  OX_TRY(ox_output_at_run(c, 0, &s, &out));
  int64_t outer = ox_shape_span(&s, 0, axis);
  int64_t inner = ox_shape_span(&s, axis + 1, s.rank) * (int64_t)(ox_dtype_bits(items[0]->dtype) / 8);
  for (int64_t k = 0; k < n && outer && inner; k++) {
    int64_t run = (a->new_axis ? 1 : items[k]->shape.dim[axis]) * inner;
    if (run) ox_copy_lines(items[k]->data, run, (char *)out + at, sum * inner, outer, run);
    at += run;
  }
  return NULL;
}

enum { ANY = OX_T_ALL & ~OX_T_SUBBYTE };

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "SequenceConstruct", .since = 11, .types = {ANY}, .vars = "T", .min_in = 1,
               .max_in = OX_VARIADIC, .infer = construct_infer),
     OX_KERNEL(.run = construct_run)},
    {OX_SCHEMA(.name = "SequenceEmpty", .since = 11, OX_ATTRS(empty_attr_defs), .attrs_bytes = sizeof(empty_attrs),
               .infer = empty_infer),
     OX_KERNEL(.run = empty_run)},
    {OX_SCHEMA(.name = "SequenceInsert", .since = 11, .types = {ANY, ANY, OX_T_INDEX}, .vars = "TT", .min_in = 2,
               .max_in = 3, .traits = OX_ANY_KIND, .infer = insert_infer),
     OX_KERNEL(.run = insert_run)},
    {OX_SCHEMA(.name = "SequenceErase", .since = 11, .types = {ANY, OX_T_INDEX}, .min_in = 1, .max_in = 2,
               .traits = OX_ANY_KIND, .infer = ox_infer_same_as_input),
     OX_KERNEL(.run = erase_run)},
    {OX_SCHEMA(.name = "SequenceAt", .since = 11, .types = {ANY, OX_T_INDEX}, .min_in = 2, .max_in = 2,
               .traits = OX_ANY_KIND, .infer = at_infer),
     OX_KERNEL(.run = at_run)},
    {OX_SCHEMA(.name = "SequenceLength", .since = 11, .min_in = 1, .max_in = 1, .traits = OX_ANY_KIND,
               .infer = length_infer),
     OX_KERNEL(.run = length_run)},
    {OX_SCHEMA(.name = "SplitToSequence", .since = 11, .types = {ANY, OX_T_INDEX}, .min_in = 1, .max_in = 2,
               OX_ATTRS(split_attr_defs), .attrs_bytes = sizeof(split_attrs), .infer = split_infer),
     OX_KERNEL(.run = split_run)},
    {OX_SCHEMA(.name = "ConcatFromSequence", .since = 11, .min_in = 1, .max_in = 1, .traits = OX_ANY_KIND,
               OX_ATTRS(concat_attr_defs), .attrs_bytes = sizeof(concat_attrs), .infer = concat_infer),
     OX_KERNEL(.run = concat_run)},
};
const ox_op_set ox_ops_sequence = {ops, OX_COUNT(ops)};
