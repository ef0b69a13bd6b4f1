/* SPDX-License-Identifier: Apache-2.0
 * ops/constant_op.c - Constant and ConstantOfShape. The optimizer folds most of them; these rows serve the rest. */
#include <string.h>

#include "base/cksize.h"
#include "graph/known.h"
#include "ops/move/deferred.h"

typedef struct {
  const ox_tensor *value, *sparse_value;
  float value_float;
  int64_t value_int;
  const char *value_string;
  ox_floats value_floats;
  ox_ints value_ints;
  ox_strs value_strings;
  bool has_value_float, has_value_int, has_value_floats, has_value_ints, has_value_strings;
} constant_attrs;

#define LIST_HAS(field, kind) \
  OX_ATTR_ROW_(constant_attrs, field, #field, kind, false, offsetof(constant_attrs, has_##field), .i = 0)

static const ox_attr_def constant_attr_defs[] = {
    OX_ATTR_TENSOR(constant_attrs, value),
    OX_ATTR_ROW_(constant_attrs, sparse_value, "sparse_value", OX_ATTR_SPARSE_KIND, false, OX_NO_FIELD, .i = 0),
    OX_ATTR_FLOAT_HAS(constant_attrs, value_float, 0),
    OX_ATTR_INT_HAS(constant_attrs, value_int, 0),
    OX_ATTR_STR(constant_attrs, value_string, NULL),
    LIST_HAS(value_floats, OX_ATTR_FLOATS_KIND),
    LIST_HAS(value_ints, OX_ATTR_INTS_KIND),
    LIST_HAS(value_strings, OX_ATTR_STRINGS_KIND),
};

/* The attribute that is given, as a tensor over the attribute's memory; |s| holds a single string. */
static ox_status *constant_content(const constant_attrs *a, ox_str *s, ox_tensor *out) {
  int given = !!a->value + !!a->sparse_value + a->has_value_float + a->has_value_int + !!a->value_string +
              a->has_value_floats + a->has_value_ints + a->has_value_strings;
  ox_shape scalar = ox_shape_scalar(), list = {.rank = 1};
  if (given != 1) return ox_fail(OX_INVALID_MODEL, "Constant: wanted one value attribute, got %d", given);
  if (a->value) {
    *out = *a->value;
  } else if (a->sparse_value) {
    *out = *a->sparse_value;
  } else if (a->has_value_float) {
    *out = ox_tensor_view(OX_F32, &scalar, (void *)(uintptr_t)&a->value_float);
  } else if (a->has_value_int) {
    *out = ox_tensor_view(OX_I64, &scalar, (void *)(uintptr_t)&a->value_int);
  } else if (a->value_string) {
    *s = (ox_str){a->value_string, strlen(a->value_string)};
    *out = ox_tensor_view(OX_STRING, &scalar, s);
  } else if (a->has_value_floats) {
    list.dim[0] = (int64_t)a->value_floats.n;
    *out = ox_tensor_view(OX_F32, &list, (void *)(uintptr_t)a->value_floats.v);
  } else if (a->has_value_ints) {
    list.dim[0] = (int64_t)a->value_ints.n;
    *out = ox_tensor_view(OX_I64, &list, (void *)(uintptr_t)a->value_ints.v);
  } else {
    list.dim[0] = (int64_t)a->value_strings.n;
    *out = ox_tensor_view(OX_STRING, &list, (void *)(uintptr_t)a->value_strings.v);
  }
  return NULL;
}

static uint32_t content_dtype(const ox_tensor *t) {
  return t->kind == OX_SPARSE && t->data ? ((const ox_tensor *)t->data)[0].dtype : t->dtype;
}

static ox_status *constant_infer(ox_infer_ctx *c) {
  ox_str s;
  ox_tensor t;
  OX_TRY(constant_content(c->attrs, &s, &t));
  ox_infer_out(c, 0, content_dtype(&t), &t.shape);
  return NULL;
}

/* Scatters a sparse tensor's values into |out|, which is zeroed. */
static ox_status *densify(const ox_tensor *sparse, const ox_tensor *out) {
  const ox_tensor *values = sparse->data, *indices = values + 1;
  int64_t n = ox_shape_count(&values->shape), total = ox_shape_count(&out->shape), stride[OX_MAX_RANK];
  size_t elem = ox_dtype_bits(out->dtype) / 8;
  int rank = indices->shape.rank == 2 ? out->shape.rank : 1;
  if (ox_dtype_bits(out->dtype) < 8) return ox_fail(OX_NOT_IMPLEMENTED, "sparse %s", ox_dtype_name(out->dtype));
  if (n < 0 || indices->dtype != OX_I64 || ox_shape_count(&indices->shape) != ox_dim_mul(n, rank))
    return ox_fail(OX_INVALID_MODEL, "Constant: sparse_value's indices do not fit its values");
  ox_shape_strides(&out->shape, stride);
  for (int64_t i = 0; i < n; i++) {
    int64_t at = 0;
    for (int k = 0; k < rank; k++) {
      int64_t v = ((const ox_i64u *)indices->data)[i * rank + k];
      int64_t bound = indices->shape.rank == 2 ? out->shape.dim[k] : total;
      if (v < 0 || v >= bound)
        return ox_fail(OX_INVALID_MODEL, "Constant: sparse index %lld, bound %lld", (long long)v, (long long)bound);
      at += indices->shape.rank == 2 ? v * stride[k] : v;
    }
    memcpy((char *)out->data + (size_t)at * elem, (const char *)values->data + (size_t)i * elem, elem);
  }
  return NULL;
}

static ox_status *constant_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  ox_str s;
  ox_tensor t;
  OX_TRY(constant_content(c->attrs, &s, &t));
  ox_tensor *out = c->out[0];
  if (t.kind == OX_SPARSE) {
    memset(out->data, 0, out->bytes);
    return t.data ? densify(&t, out) : NULL;
  }
  if (t.bytes != out->bytes) return ox_fail(OX_INVALID_MODEL, "Constant: %zu bytes, wanted %zu", t.bytes, out->bytes);
  if (t.dtype == OX_STRING && out->bytes) { /* a single string lives on the stack: copy the element, not its address */
    memcpy(out->data, t.data, out->bytes);
    return NULL;
  }
  if (out->bytes) memcpy(out->data, t.data, out->bytes);
  return NULL;
}

/* ---- ConstantOfShape ---- */

typedef struct {
  const ox_tensor *value;
} fill_attrs;
static const ox_attr_def fill_attr_defs[] = {OX_ATTR_TENSOR(fill_attrs, value)};

static ox_status *fill_infer(ox_infer_ctx *c) {
  const fill_attrs *a = c->attrs;
  ox_shape s = ox_shape_unknown();
  const ox_shape *in = ox_infer_has(c, 0) ? &c->in[0]->shape : &s;
  int64_t dims[OX_MAX_RANK];
  int n = 0;
  if (in->rank >= 0 && in->rank != 1)
    return ox_fail(OX_SHAPE_MISMATCH, "ConstantOfShape: shape has rank %d, wanted 1", in->rank);
  if (a->value && ox_shape_count(&a->value->shape) != 1)
    return ox_fail(OX_INVALID_MODEL, "ConstantOfShape: value has %lld elements, wanted 1",
                   (long long)ox_shape_count(&a->value->shape));
  if (in->rank == 1 && in->dim[0] > OX_MAX_RANK)
    return ox_fail(OX_LIMIT, "ConstantOfShape: rank %lld, at most %d", (long long)in->dim[0], OX_MAX_RANK);
  int known = ox_infer_ints(c, 0, dims, OX_MAX_RANK, &n);
  if (known < 0) return ox_fail(OX_INVALID_MODEL, "ConstantOfShape: shape is no list of integers");
  if (known) {
    for (int i = 0; i < n; i++)
      if (dims[i] < 0)
        return ox_fail(OX_SHAPE_MISMATCH, "ConstantOfShape: dimension %d is %lld", i, (long long)dims[i]);
    s = ox_shape_of(n, dims);
  } else if (in->rank == 1 && in->dim[0] >= 0) {
    s.rank = (int32_t)in->dim[0];
    for (int i = 0; i < s.rank; i++) s.dim[i] = -1;
  }
  ox_infer_out(c, 0, a->value ? a->value->dtype : OX_F32, &s);
  return NULL;
}

static void fill_refine(const ox_known_ctx *c, ox_shape *out) {
  const ox_known *k = c->in[0];
  if (!k || k->scalar || k->n > OX_MAX_RANK) return;
  ox_shape s = {.rank = (int32_t)k->n};
  for (uint32_t i = 0; i < k->n; i++) s.dim[i] = ox_known_dim(k, i);
  ox_known_fill(out, &s);
}

/* Units are chunks of the output's bytes. A sub-byte value becomes a byte full of it. */
typedef struct fill_plan {
  ox_deferred_head head;
  int64_t elem;
  char value[16];
} fill_plan;

static ox_status *fill_build(const ox_kernel_ctx *c, const ox_type *out, void *plan) {
  const fill_attrs *a = c->attrs;
  fill_plan *p = plan;
  unsigned bits = ox_dtype_bits(out[0].dtype);
  size_t bytes;
  if (!ox_dtype_bytes(out[0].dtype, ox_shape_count(&out[0].shape), &bytes)) return ox_oom();
  p->elem = OX_MAX(bits / 8, 1);
  if (a->value) {
    memcpy(p->value, a->value->data, (size_t)p->elem);
    if (bits < 8) {
      unsigned v = (unsigned char)p->value[0] & ((1U << bits) - 1);
      for (unsigned k = bits; k < 8; k += bits) v |= v << bits;
      p->value[0] = (char)v;
    }
  }
  p->head.bytes = (int64_t)bytes, p->head.units = OX_CEIL_DIV((int64_t)bytes, OX_MOVE_CHUNK);
  return NULL;
}

static ox_status *fill_work(const ox_kernel_ctx *c, const void *plan, int64_t begin, int64_t end) {
  const fill_plan *p = plan;
  int64_t lo = begin * OX_MOVE_CHUNK, n = (OX_MIN(end * OX_MOVE_CHUNK, p->head.bytes) - lo) / p->elem;
  ox_move m;
  ox_move_init(&m, p->elem, &(ox_region){.rank = 1, .dim = {n}, .is = {0}, .os = {1}});
  ox_move_run(&m, c->isa, p->value, (char *)c->out[0]->data + lo, 0, m.units);
  return NULL;
}

static const ox_deferred_op fill_op = {1, sizeof(fill_plan), fill_infer, fill_build, fill_work};
static ox_status *fill_prepare(ox_kernel_ctx *c) { return ox_deferred_prepare(c, &fill_op); }
static ox_status *fill_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  return ox_deferred_run(c, &fill_op, stage, tiles);
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Constant", .since = 1, OX_ATTRS(constant_attr_defs), .attrs_bytes = sizeof(constant_attrs),
               .infer = constant_infer),
     OX_KERNEL(.run = constant_run)},
    {OX_SCHEMA(.name = "ConstantOfShape", .since = 9, .types = {OX_BIT(OX_I64)}, .min_in = 1, .max_in = 1,
               OX_ATTRS(fill_attr_defs), .attrs_bytes = sizeof(fill_attrs), .value_in = 1, .infer = fill_infer,
               .refine = fill_refine),
     OX_KERNEL(.prepare = fill_prepare, .run = fill_run)},
};
const ox_op_set ox_ops_constant_op = {ops, OX_COUNT(ops)};
