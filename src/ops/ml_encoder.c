/* SPDX-License-Identifier: Apache-2.0
 * ops/ml_encoder.c - LabelEncoder, CategoryMapper and OneHotEncoder of ai.onnx.ml: keys looked up in a hash index. */
#include <math.h>
#include <string.h>

#include "base/cksize.h"
#include "graph/op_def.h"
#include "kern/ml/key_index.h"

enum { TILE = 2048 };

typedef struct encoder_attrs {
  ox_strs classes_strings, keys_strings, values_strings, cats_strings;
  ox_ints keys_int64s, values_int64s, cats_int64s;
  ox_floats keys_floats, values_floats;
  const ox_tensor *keys_tensor, *values_tensor, *default_tensor;
  const char *default_string;
  int64_t default_int64, zeros;
  float default_float;
} encoder_attrs;

/* What a lookup needs, from whichever attributes gave it. */
typedef struct encoder {
  ox_arena arena;
  ox_key_index index;
  uint32_t in, out;   /* element types */
  size_t n_values;    /* 0: the value is the position */
  const void *values; /* of |out|, or ox_str[], int64_t[] */
  const void *dflt;
} encoder;

/* ---- lists ---- */

/* Number |i| of a tensor attribute, for keys. */
static double double_at(const ox_tensor *t, size_t i) {
  return t->dtype == OX_F64 ? ((const ox_f64u *)t->data)[i] : (double)((const ox_f32u *)t->data)[i];
}
static int64_t int_at(const ox_tensor *t, size_t i) {
  if (t->dtype == OX_I64) return ((const ox_i64u *)t->data)[i];
  if (t->dtype == OX_I32) return ((const ox_i32u *)t->data)[i];
  return (int16_t)((const ox_u16u *)t->data)[i];
}

static bool is_real(uint32_t dtype) { return dtype == OX_F32 || dtype == OX_F64; }

/* Fills the index from a tensor of keys. */
static ox_status *keys_of_tensor(const ox_tensor *t, size_t n, ox_arena *arena, ox_key_index *x) {
  if (t->dtype == OX_STRING) {
    x->strs = t->data;
    return NULL;
  }
  void *keys = ox_arena_array(arena, OX_MAX(n, 1), 8);
  if (!keys) return ox_oom();
  for (size_t i = 0; i < n; i++) {
    if (is_real(t->dtype))
      ((double *)keys)[i] = double_at(t, i);
    else
      ((int64_t *)keys)[i] = int_at(t, i);
  }
  if (is_real(t->dtype))
    x->doubles = keys;
  else
    x->ints = keys;
  return NULL;
}

#define LABEL_TYPES \
  (OX_BIT(OX_STRING) | OX_BIT(OX_I64) | OX_BIT(OX_I32) | OX_BIT(OX_I16) | OX_BIT(OX_F32) | OX_BIT(OX_F64))

static ox_status *check_tensor(const char *what, const ox_tensor *t) {
  if (!(OX_BIT(t->dtype) & LABEL_TYPES) || ox_shape_count(&t->shape) < 0)
    return ox_fail(OX_INVALID_MODEL, "%s has the type %s", what, ox_dtype_name(t->dtype));
  return NULL;
}

/* ---- LabelEncoder ---- */
static const ox_attr_def label_attrs[] = {
    OX_ATTR_STRS(encoder_attrs, keys_strings),     OX_ATTR_STRS(encoder_attrs, values_strings),
    OX_ATTR_INTS(encoder_attrs, keys_int64s),      OX_ATTR_INTS(encoder_attrs, values_int64s),
    OX_ATTR_FLOATS(encoder_attrs, keys_floats),    OX_ATTR_FLOATS(encoder_attrs, values_floats),
    OX_ATTR_TENSOR(encoder_attrs, keys_tensor),    OX_ATTR_TENSOR(encoder_attrs, values_tensor),
    OX_ATTR_TENSOR(encoder_attrs, default_tensor), OX_ATTR_STR(encoder_attrs, default_string, "_Unused"),
    OX_ATTR_INT(encoder_attrs, default_int64, -1), OX_ATTR_FLOAT(encoder_attrs, default_float, -0.0f),
};

static uint32_t label_out(const encoder_attrs *a) {
  if (a->values_tensor) return a->values_tensor->dtype;
  return a->values_strings.n ? OX_STRING : a->values_int64s.n ? OX_I64 : a->values_floats.n ? OX_F32 : OX_UNDEFINED;
}

static ox_status *infer_label(ox_infer_ctx *c) {
  uint32_t out = label_out(c->attrs);
  if (!out) return ox_fail(OX_INVALID_MODEL, "LabelEncoder has no values");
  ox_infer_out(c, 0, out, &c->in[0]->shape);
  return NULL;
}

/* The default for values of |e->out|, in memory of that type. */
static ox_status *label_default(const encoder_attrs *a, encoder *e) {
  struct {
    ox_str s;
    double d;
  } *room = ox_arena_alloc(&e->arena, sizeof *room);
  if (!room) return ox_oom();
  e->dflt = room;
  const ox_tensor *t = a->default_tensor;
  if (t && (t->dtype != e->out || ox_shape_count(&t->shape) != 1))
    return ox_fail(OX_INVALID_MODEL, "default_tensor must be one %s", ox_dtype_name(e->out));
  if (t) {
    memcpy(room, t->data, ox_dtype_bits(e->out) / 8);
  } else if (e->out == OX_STRING) {
    room->s = (ox_str){a->default_string, strlen(a->default_string)};
  } else if (e->out == OX_F32) {
    memcpy(room, &a->default_float, sizeof(float));
  } else if (e->out == OX_F64) {
    memcpy(room, &(double){a->default_float}, sizeof(double));
  } else {
    memcpy(room, &a->default_int64, ox_dtype_bits(e->out) / 8); /* little-endian: the low bytes */
  }
  return NULL;
}

static ox_status *label_keys(const encoder_attrs *a, uint32_t in, encoder *e, size_t *n) {
  if (a->keys_tensor) {
    OX_TRY(check_tensor("keys_tensor", a->keys_tensor));
    *n = (size_t)ox_shape_count(&a->keys_tensor->shape);
    e->in = a->keys_tensor->dtype;
    OX_TRY(keys_of_tensor(a->keys_tensor, *n, &e->arena, &e->index));
  } else if (a->keys_strings.n) {
    *n = a->keys_strings.n, e->in = OX_STRING, e->index.strs = a->keys_strings.v;
  } else if (a->keys_int64s.n) {
    *n = a->keys_int64s.n, e->in = OX_I64, e->index.ints = a->keys_int64s.v;
  } else {
    *n = a->keys_floats.n, e->in = OX_F32;
    double *keys = OX_ARENA_ARRAY(&e->arena, double, OX_MAX(*n, 1));
    if (!keys) return ox_oom();
    for (size_t i = 0; i < *n; i++) keys[i] = a->keys_floats.v[i];
    e->index.doubles = keys;
  }
  if (in && in != e->in)
    return ox_fail(OX_INVALID_MODEL, "LabelEncoder has keys of %s for an input of %s", ox_dtype_name(e->in),
                   ox_dtype_name(in));
  return NULL;
}

static ox_status *label_values(const encoder_attrs *a, encoder *e) {
  e->out = label_out(a);
  if (a->values_tensor) {
    OX_TRY(check_tensor("values_tensor", a->values_tensor));
    e->n_values = (size_t)ox_shape_count(&a->values_tensor->shape), e->values = a->values_tensor->data;
  } else if (a->values_strings.n) {
    e->n_values = a->values_strings.n, e->values = a->values_strings.v;
  } else if (a->values_int64s.n) {
    e->n_values = a->values_int64s.n, e->values = a->values_int64s.v;
  } else {
    e->n_values = a->values_floats.n, e->values = a->values_floats.v;
  }
  return NULL;
}

static encoder *new_encoder(ox_load_ctx *c) {
  encoder *e = c->state = OX_LOAD_NEW(c, encoder);
  if (e) ox_arena_init(&e->arena, c->alloc);
  return e;
}

static ox_status *load_label(ox_load_ctx *c) {
  const encoder_attrs *a = c->attrs;
  encoder *e = new_encoder(c);
  size_t n = 0;
  if (!e) return ox_oom();
  OX_TRY(label_keys(a, c->in_type[0]->dtype, e, &n));
  OX_TRY(label_values(a, e));
  if (n != e->n_values || !n)
    return ox_fail(OX_INVALID_MODEL, "LabelEncoder has %zu keys and %zu values", n, e->n_values);
  OX_TRY(label_default(a, e));
  return ox_key_index_build(&e->index, n, &e->arena) ? NULL : ox_oom();
}

/* ---- two lists side by side: LabelEncoder 1 and CategoryMapper ---- */
static const ox_attr_def label1_attrs[] = {
    OX_ATTR_STRS(encoder_attrs, classes_strings),
    OX_ATTR_STR(encoder_attrs, default_string, "_Unused"),
    OX_ATTR_INT(encoder_attrs, default_int64, -1),
};
static const ox_attr_def mapper_attrs[] = {
    OX_ATTR_STRS(encoder_attrs, cats_strings),
    OX_ATTR_INTS(encoder_attrs, cats_int64s),
    OX_ATTR_STR(encoder_attrs, default_string, "_Unused"),
    OX_ATTR_INT(encoder_attrs, default_int64, -1),
};

static ox_status *infer_swap(ox_infer_ctx *c) {
  uint32_t in = c->in[0]->dtype;
  ox_infer_out(c, 0, !in ? OX_UNDEFINED : in == OX_STRING ? OX_I64 : OX_STRING, &c->in[0]->shape);
  return NULL;
}

/* |strs| to |ints| or back; |ints| NULL: positions. */
static ox_status *load_swap(ox_load_ctx *c, ox_strs strs, const int64_t *ints) {
  encoder *e = new_encoder(c);
  if (!e) return ox_oom();
  e->in = c->in_type[0]->dtype;
  e->out = e->in == OX_STRING ? OX_I64 : OX_STRING;
  e->n_values = strs.n;
  int64_t *counted = NULL;
  if (!ints) {
    if (!(counted = OX_ARENA_ARRAY(&e->arena, int64_t, OX_MAX(strs.n, 1)))) return ox_oom();
    for (size_t i = 0; i < strs.n; i++) counted[i] = (int64_t)i;
    ints = counted;
  }
  if (e->in == OX_STRING)
    e->index.strs = strs.v, e->values = ints;
  else
    e->index.ints = ints, e->values = strs.v;
  OX_TRY(label_default(c->attrs, e));
  return ox_key_index_build(&e->index, strs.n, &e->arena) ? NULL : ox_oom();
}

static ox_status *load_label1(ox_load_ctx *c) {
  return load_swap(c, ((const encoder_attrs *)c->attrs)->classes_strings, NULL);
}

static ox_status *load_mapper(ox_load_ctx *c) {
  const encoder_attrs *a = c->attrs;
  if (a->cats_strings.n != a->cats_int64s.n || !a->cats_strings.n)
    return ox_fail(OX_INVALID_MODEL, "CategoryMapper has %zu strings and %zu integers", a->cats_strings.n,
                   a->cats_int64s.n);
  return load_swap(c, a->cats_strings, a->cats_int64s.v);
}

/* ---- lookups ---- */
static int64_t find(const encoder *e, const ox_tensor *x, int64_t i) {
  switch (x->dtype) {
    case OX_STRING:
      return ox_key_index_str(&e->index, ((const ox_str *)x->data)[i]);
    case OX_F32:
      return ox_key_index_double(&e->index, ((const float *)x->data)[i]);
    case OX_F64:
      return ox_key_index_double(&e->index, ((const double *)x->data)[i]);
    case OX_I64:
      return ox_key_index_int(&e->index, ((const int64_t *)x->data)[i]);
    case OX_I32:
      return ox_key_index_int(&e->index, ((const int32_t *)x->data)[i]);
    default:
      return ox_key_index_int(&e->index, ((const int16_t *)x->data)[i]);
  }
}

static ox_status *prepare(ox_kernel_ctx *c) {
  return ox_ctx_plan(c, OX_CEIL_DIV(ox_shape_count(&c->in[0]->shape), TILE), 0);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const encoder *e = c->state;
  size_t item = ox_dtype_bits(e->out) / 8;
  int64_t end = OX_MIN(tiles.end * TILE, ox_shape_count(&c->in[0]->shape));
  for (int64_t i = tiles.begin * TILE; i < end; i++) {
    int64_t at = find(e, c->in[0], i);
    const void *value = at < 0 ? e->dflt : (const char *)e->values + (size_t)at * item;
    memcpy((char *)c->out[0]->data + (size_t)i * item, value, item);
  }
  return NULL;
}

/* ---- OneHotEncoder ---- */
static const ox_attr_def onehot_attrs[] = {
    OX_ATTR_STRS(encoder_attrs, cats_strings),
    OX_ATTR_INTS(encoder_attrs, cats_int64s),
    OX_ATTR_INT(encoder_attrs, zeros, 1),
};

static ox_status *infer_onehot(ox_infer_ctx *c) {
  const encoder_attrs *a = c->attrs;
  ox_shape y = c->in[0]->shape;
  if (!a->cats_strings.n == !a->cats_int64s.n)
    return ox_fail(OX_INVALID_MODEL, "OneHotEncoder needs either cats_strings or cats_int64s");
  if (y.rank == OX_MAX_RANK) return ox_fail(OX_LIMIT, "OneHotEncoder: rank above %d", OX_MAX_RANK);
  if (y.rank >= 0) y.dim[y.rank++] = (int64_t)OX_MAX(a->cats_strings.n, a->cats_int64s.n);
  ox_infer_out(c, 0, OX_F32, &y);
  return NULL;
}

static ox_status *load_onehot(ox_load_ctx *c) {
  const encoder_attrs *a = c->attrs;
  encoder *e = new_encoder(c);
  if (!e) return ox_oom();
  e->in = c->in_type[0]->dtype, e->n_values = OX_MAX(a->cats_strings.n, a->cats_int64s.n);
  if (e->in && (e->in == OX_STRING) != (a->cats_strings.n > 0))
    return ox_fail(OX_INVALID_MODEL, "OneHotEncoder has %s categories for an input of %s",
                   a->cats_strings.n ? "string" : "integer", ox_dtype_name(e->in));
  if (a->cats_strings.n)
    e->index.strs = a->cats_strings.v;
  else
    e->index.ints = a->cats_int64s.v;
  return ox_key_index_build(&e->index, e->n_values, &e->arena) ? NULL : ox_oom();
}

/* Real inputs count as the integers they truncate to. */
static int64_t find_category(const encoder *e, const ox_tensor *x, int64_t i) {
  if (!is_real(x->dtype)) return find(e, x, i);
  double v = x->dtype == OX_F32 ? (double)((const float *)x->data)[i] : ((const double *)x->data)[i];
  return fabs(v) < 0x1p63 ? ox_key_index_int(&e->index, ox_i64_of(v)) : -1;
}

static ox_status *run_onehot(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const encoder *e = c->state;
  int64_t end = OX_MIN(tiles.end * TILE, ox_shape_count(&c->in[0]->shape));
  for (int64_t i = tiles.begin * TILE; i < end; i++) {
    float *y = (float *)c->out[0]->data + i * (int64_t)e->n_values;
    int64_t at = find_category(e, c->in[0], i);
    if (at < 0 && !((const encoder_attrs *)c->attrs)->zeros)
      return ox_fail(OX_INVALID_ARGUMENT, "OneHotEncoder: element %lld is no known category", (long long)i);
    memset(y, 0, e->n_values * sizeof *y);
    if (at >= 0) y[at] = 1;
  }
  return NULL;
}

#define ROW(op, version, in_types, table, inf, ld, rn)                                                             \
  {                                                                                                                \
    OX_SCHEMA(.name = op, .domain = "ai.onnx.ml", .since = version, .min_in = 1, .max_in = 1, .types = {in_types}, \
              OX_ATTRS(table), .attrs_bytes = sizeof(encoder_attrs), .infer = inf),                                \
        OX_KERNEL(.load = ld, .unload = ox_unload_arena, .prepare = prepare, .run = rn)                            \
  }
#define SWAPPED (OX_BIT(OX_STRING) | OX_BIT(OX_I64))
static const ox_op ops[] = {
    ROW("LabelEncoder", 1, SWAPPED, label1_attrs, infer_swap, load_label1, run),
    ROW("LabelEncoder", 2, LABEL_TYPES, label_attrs, infer_label, load_label, run),
    ROW("CategoryMapper", 1, SWAPPED, mapper_attrs, infer_swap, load_mapper, run),
    ROW("OneHotEncoder", 1, SWAPPED | OX_BIT(OX_F32) | OX_BIT(OX_F64) | OX_BIT(OX_I32), onehot_attrs, infer_onehot,
        load_onehot, run_onehot),
};
const ox_op_set ox_ops_ml_encoder = {ops, OX_COUNT(ops)};
