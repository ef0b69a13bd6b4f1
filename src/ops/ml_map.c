/* SPDX-License-Identifier: Apache-2.0
 * ops/ml_map.c - ZipMap, CastMap and DictVectorizer of ai.onnx.ml: tensors to maps and back. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cksize.h"
#include "kern/ml/key_index.h"
#include "ops/ml/ml_trees.h"
#include "ops/move/sequence_values.h"

/* ---- ZipMap: each row of scores becomes a map from labels to scores ---- */
typedef struct zip_attrs {
  ox_ints classlabels_int64s;
  ox_strs classlabels_strings;
} zip_attrs;
static const ox_attr_def zip_attr_defs[] = {
    OX_ATTR_INTS(zip_attrs, classlabels_int64s),
    OX_ATTR_STRS(zip_attrs, classlabels_strings),
};

static ox_status *infer_zip(ox_infer_ctx *c) {
  const zip_attrs *a = c->attrs;
  int64_t rows, labels = (int64_t)OX_MAX(a->classlabels_int64s.n, a->classlabels_strings.n), scores;
  OX_TRY(ox_ml_rows(&c->in[0]->shape, &rows, &scores));
  if (!a->classlabels_int64s.n == !a->classlabels_strings.n)
    return ox_fail(OX_INVALID_MODEL, "ZipMap needs either classlabels_int64s or classlabels_strings");
  if (scores >= 0 && scores != labels)
    return ox_fail(OX_SHAPE_MISMATCH, "ZipMap has %lld labels for %lld scores", (long long)labels, (long long)scores);
  ox_type *elem = OX_INFER_NEW(c, ox_type), *value = OX_INFER_NEW(c, ox_type);
  if (!elem || !value) return ox_oom();
  *value = ox_type_tensor(OX_F32, NULL);
  *elem = (ox_type){.kind = OX_MAP,
                    .dtype = OX_F32,
                    .key_dtype = a->classlabels_strings.n ? OX_STRING : OX_I64,
                    .shape = ox_shape_unknown(),
                    .elem = value};
  c->out[0] = ox_type_sequence(c, elem);
  return NULL;
}

static ox_status *run_zip(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  const zip_attrs *a = c->attrs;
  bool strings = a->classlabels_strings.n > 0;
  int64_t rows, n;
  OX_TRY(ox_ml_rows(&c->in[0]->shape, &rows, &n));
  const ox_shape line = ox_shape_of(1, &n);
  size_t label_bytes = (size_t)n * (strings ? sizeof(ox_str) : sizeof(int64_t));
  ox_tensor *maps = ox_ctx_run_array(c, rows, 3 * sizeof *maps); /* the map, keys, values */
  const ox_tensor **items = ox_ctx_run_array(c, rows, sizeof *items);
  void *labels = ox_ctx_run_alloc(c, OX_MAX(label_bytes, 1));
  float *scores = ox_ctx_run_alloc(c, (size_t)OX_MAX(rows * n, 1) * sizeof *scores);
  if (!maps || !items || !labels || !scores) return ox_oom();
  if (n) memcpy(labels, strings ? (const void *)a->classlabels_strings.v : a->classlabels_int64s.v, label_bytes);
  if (rows * n > 0) memcpy(scores, c->in[0]->data, (size_t)(rows * n) * sizeof *scores);
  for (int64_t r = 0; r < rows; r++) {
    ox_tensor *m = maps + 3 * r;
    m[1] = ox_tensor_view(strings ? OX_STRING : OX_I64, &line, labels);
    m[2] = ox_tensor_view(OX_F32, &line, scores + r * n);
    m[0] = (ox_tensor){.kind = OX_MAP, .dtype = OX_F32, .data = m + 1, .bytes = 2 * sizeof *m, .shape = line};
    items[r] = m;
  }
  ox_output_set_sequence(c, 0, OX_F32, items, rows);
  return NULL;
}

/* ---- DictVectorizer: a map's values at the places of a vocabulary ---- */
typedef struct dict_attrs {
  ox_ints int64_vocabulary;
  ox_strs string_vocabulary;
} dict_attrs;
static const ox_attr_def dict_attr_defs[] = {
    OX_ATTR_INTS(dict_attrs, int64_vocabulary),
    OX_ATTR_STRS(dict_attrs, string_vocabulary),
};

static uint32_t value_type(const ox_type *map) { return map->elem ? map->elem->dtype : OX_UNDEFINED; }

static ox_status *infer_dict(ox_infer_ctx *c) {
  const dict_attrs *a = c->attrs;
  if (!a->int64_vocabulary.n == !a->string_vocabulary.n)
    return ox_fail(OX_INVALID_MODEL, "DictVectorizer needs either int64_vocabulary or string_vocabulary");
  ox_shape y = ox_shape_of(2, (int64_t[]){1, (int64_t)OX_MAX(a->int64_vocabulary.n, a->string_vocabulary.n)});
  ox_infer_out(c, 0, value_type(c->in[0]), &y);
  return NULL;
}

/* Position of the vocabulary per key. */
typedef struct {
  ox_arena arena;
  ox_key_index index;
} dict_state;

static ox_status *load_dict(ox_load_ctx *c) {
  const dict_attrs *a = c->attrs;
  dict_state *s = c->state = OX_LOAD_NEW(c, dict_state);
  if (!s) return ox_oom();
  ox_arena_init(&s->arena, c->alloc);
  ox_key_index *x = &s->index;
  x->ints = a->string_vocabulary.n ? NULL : a->int64_vocabulary.v;
  x->strs = a->string_vocabulary.n ? a->string_vocabulary.v : NULL;
  return ox_key_index_build(x, OX_MAX(a->int64_vocabulary.n, a->string_vocabulary.n), &s->arena) ? NULL : ox_oom();
}

static ox_status *check_map(const ox_tensor *t, uint32_t key, const ox_tensor **out) {
  if (t->kind != OX_MAP) return ox_fail(OX_SHAPE_MISMATCH, "the input is no map");
  const ox_tensor *pair = t->data;
  if (pair[0].dtype != key || pair[1].kind != OX_TENSOR ||
      ox_shape_count(&pair[0].shape) != ox_shape_count(&pair[1].shape))
    return ox_fail(OX_SHAPE_MISMATCH, "the map has keys of %s, wanted %s", ox_dtype_name(pair[0].dtype),
                   ox_dtype_name(key));
  *out = pair;
  return NULL;
}

static ox_status *run_dict(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  const ox_key_index *x = &((const dict_state *)c->state)->index;
  const ox_tensor *map = NULL;
  OX_TRY(check_map(c->in[0], x->strs ? OX_STRING : OX_I64, &map));
  if (map[1].dtype != c->out[0]->dtype)
    return ox_fail(OX_SHAPE_MISMATCH, "the map has values of %s, wanted %s", ox_dtype_name(map[1].dtype),
                   ox_dtype_name(c->out[0]->dtype));
  size_t item = ox_dtype_bits(map[1].dtype) / 8;
  memset(c->out[0]->data, 0, c->out[0]->bytes); /* zeros, and empty strings */
  for (int64_t i = 0; i < ox_shape_count(&map[0].shape); i++) {
    int64_t at = x->strs ? ox_key_index_str(x, ((const ox_str *)map[0].data)[i])
                         : ox_key_index_int(x, ((const int64_t *)map[0].data)[i]);
    if (at >= 0)
      memcpy((char *)c->out[0]->data + (size_t)at * item, (const char *)map[1].data + (size_t)i * item, item);
  }
  return NULL;
}

/* ---- CastMap: a map's values in the order of its keys, or each at the place its key says ---- */
typedef struct cast_attrs {
  const char *cast_to, *map_form;
  int64_t max_map;
} cast_attrs;
static const ox_attr_def cast_attr_defs[] = {
    OX_ATTR_STR(cast_attrs, cast_to, "TO_FLOAT"),
    OX_ATTR_STR(cast_attrs, map_form, "DENSE"),
    OX_ATTR_INT_IN(cast_attrs, max_map, 1, 0, OX_COUNT_MAX),
};

static ox_status *infer_cast(ox_infer_ctx *c) {
  static const char *const names[] = {"TO_FLOAT", "TO_INT64", "TO_STRING"};
  static const uint32_t types[] = {OX_F32, OX_I64, OX_STRING};
  const cast_attrs *a = c->attrs;
  bool sparse = !strcmp(a->map_form, "SPARSE");
  size_t to = 0;
  while (to < OX_COUNT(names) && strcmp(a->cast_to, names[to])) to++;
  if (to == OX_COUNT(names) || (!sparse && strcmp(a->map_form, "DENSE")))
    return ox_fail(OX_INVALID_MODEL, "CastMap: cast_to \"%.40s\", map_form \"%.40s\"", a->cast_to, a->map_form);
  ox_shape y = ox_shape_of(2, (int64_t[]){1, sparse ? a->max_map : -1});
  ox_infer_out(c, 0, types[to], &y);
  return NULL;
}

/* Value |i| of the map as the output's type, to |out|. */
static ox_status *cast_value(const ox_kernel_ctx *c, const ox_tensor *v, int64_t i, ox_tensor *y, int64_t at) {
  char text[64];
  if (v->dtype == OX_STRING && y->dtype == OX_STRING) {
    ((ox_str *)y->data)[at] = ((const ox_str *)v->data)[i];
  } else if (v->dtype == OX_STRING) {
    ox_str s = ((const ox_str *)v->data)[i];
    snprintf(text, sizeof text, "%.*s", (int)OX_MIN(s.n, sizeof text - 1), s.p ? s.p : "");
    if (y->dtype == OX_F32)
      ((float *)y->data)[at] = strtof(text, NULL);
    else
      ((int64_t *)y->data)[at] = strtoll(text, NULL, 10);
  } else {
    float f = ((const float *)v->data)[i];
    if (y->dtype == OX_F32) {
      ((float *)y->data)[at] = f;
    } else if (y->dtype == OX_I64) {
      ((int64_t *)y->data)[at] = fabsf(f) < 0x1p63f ? ox_i64_of((double)f) : INT64_MIN;
    } else {
      int n = snprintf(text, sizeof text, "%f", (double)f);
      char *p = ox_ctx_run_alloc(c, (size_t)n + 1);
      if (!p) return ox_oom();
      memcpy(p, text, (size_t)n + 1);
      ((ox_str *)y->data)[at] = (ox_str){p, (size_t)n};
    }
  }
  return NULL;
}

typedef struct cast_key {
  int64_t key, at;
} cast_key;

static int compare_keys(const void *a, const void *b) {
  int64_t x = ((const cast_key *)a)->key, y = ((const cast_key *)b)->key;
  return (x > y) - (x < y);
}

static ox_status *run_cast(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  const cast_attrs *a = c->attrs;
  const ox_tensor *map = NULL;
  OX_TRY(check_map(c->in[0], OX_I64, &map));
  if (map[1].dtype != OX_F32 && map[1].dtype != OX_STRING)
    return ox_fail(OX_SHAPE_MISMATCH, "CastMap needs values of float32 or strings");
  bool sparse = !strcmp(a->map_form, "SPARSE");
  int64_t n = ox_shape_count(&map[0].shape);
  ox_shape s = ox_shape_of(2, (int64_t[]){1, sparse ? a->max_map : n});
  cast_key *keys = ox_ctx_run_array(c, n, sizeof *keys);
  if (!keys || (!sparse && !ox_ctx_output(c, 0, &s))) return ox_oom();
  for (int64_t i = 0; i < n; i++) keys[i] = (cast_key){((const int64_t *)map[0].data)[i], i};
  qsort(keys, (size_t)n, sizeof *keys, compare_keys);
  if (sparse && c->out[0]->bytes) memset(c->out[0]->data, 0, c->out[0]->bytes);
  for (int64_t i = 0; i < n; i++) {
    int64_t at = sparse ? keys[i].key : i;
    if (sparse && at < 0) return ox_fail(OX_INVALID_ARGUMENT, "CastMap: the map has the key %lld", (long long)at);
    if (!sparse || at < a->max_map) OX_TRY(cast_value(c, &map[1], keys[i].at, c->out[0], at));
  }
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "ZipMap", .domain = "ai.onnx.ml", .since = 1, .min_in = 1, .max_in = 1,
               .types = {OX_BIT(OX_F32)}, OX_ATTRS(zip_attr_defs), .attrs_bytes = sizeof(zip_attrs),
               .infer = infer_zip),
     OX_KERNEL(.run = run_zip)},
    {OX_SCHEMA(.name = "DictVectorizer", .domain = "ai.onnx.ml", .since = 1, .min_in = 1, .max_in = 1,
               .traits = OX_ANY_KIND, OX_ATTRS(dict_attr_defs), .attrs_bytes = sizeof(dict_attrs), .infer = infer_dict),
     OX_KERNEL(.load = load_dict, .unload = ox_unload_arena, .run = run_dict)},
    {OX_SCHEMA(.name = "CastMap", .domain = "ai.onnx.ml", .since = 1, .min_in = 1, .max_in = 1, .traits = OX_ANY_KIND,
               OX_ATTRS(cast_attr_defs), .attrs_bytes = sizeof(cast_attrs), .infer = infer_cast),
     OX_KERNEL(.run = run_cast)},
};
const ox_op_set ox_ops_ml_map = {ops, OX_COUNT(ops)};
