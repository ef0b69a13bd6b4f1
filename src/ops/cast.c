/* SPDX-License-Identifier: Apache-2.0
 * ops/cast.c - Cast and CastLike: every numeric type to every other through one working type, and strings. */
#include <string.h>

#include "graph/known.h"
#include "kern/quant/convert.h"
#include "ops/shared/text.h"
#include "ops/shared/tiles.h"

typedef struct {
  int64_t to, saturate;
  const char *to_name, *round_mode; /* to_name: version 1 spells the type */
} cast_attrs;

static const ox_attr_def cast1_table[] = {
    {.name = "to",
     .kind = OX_ATTR_STRING_KIND,
     .offset = offsetof(cast_attrs, to_name),
     .has_offset = OX_NO_FIELD,
     .required = true},
};
static const ox_attr_def cast_table[] = {
    OX_ATTR_INT_REQUIRED(cast_attrs, to),
    OX_ATTR_INT(cast_attrs, saturate, 1),
    OX_ATTR_STR(cast_attrs, round_mode, "up"),
};
static const ox_attr_def like_table[] = {
    OX_ATTR_INT(cast_attrs, saturate, 1),
    OX_ATTR_STR(cast_attrs, round_mode, "up"),
};

static uint32_t dtype_by_name(const char *name) {
  static const struct {
    const char *name;
    uint32_t dtype;
  } names[] = {{"FLOAT", OX_F32},  {"UINT8", OX_U8},   {"INT8", OX_I8},       {"UINT16", OX_U16}, {"INT16", OX_I16},
               {"INT32", OX_I32},  {"INT64", OX_I64},  {"STRING", OX_STRING}, {"BOOL", OX_BOOL},  {"FLOAT16", OX_F16},
               {"DOUBLE", OX_F64}, {"UINT32", OX_U32}, {"UINT64", OX_U64}};
  for (size_t i = 0; i < OX_COUNT(names); i++)
    if (strcmp(names[i].name, name) == 0) return names[i].dtype;
  return OX_UNDEFINED;
}

static ox_status *infer_cast(ox_infer_ctx *c) {
  const cast_attrs *a = c->attrs;
  int64_t to = a->to_name ? (int64_t)dtype_by_name(a->to_name) : a->to;
  if (to <= 0 || to >= OX_DTYPE_COUNT || (OX_BIT(to) & OX_T_COMPLEX))
    return ox_fail(OX_INVALID_MODEL, "attribute 'to': %lld is not an element type for Cast", (long long)to);
  ox_infer_out(c, 0, (uint32_t)to, &c->in[0]->shape);
  return NULL;
}

static ox_status *infer_like(ox_infer_ctx *c) {
  ox_infer_out(c, 0, c->in[1]->dtype, &c->in[0]->shape);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const cast_attrs *a = c->attrs;
  ox_narrow_how *how = ox_ctx_alloc(c, sizeof *how);
  if (!how) return ox_oom();
  how->saturate = a->saturate != 0 || a->to_name;
  const char *mode = a->round_mode ? a->round_mode : "up";
  if (strcmp(mode, "up") == 0)
    how->round = OX_E8M0_UP;
  else if (strcmp(mode, "down") == 0)
    how->round = OX_E8M0_DOWN;
  else if (strcmp(mode, "nearest") == 0)
    how->round = OX_E8M0_NEAREST;
  else
    return ox_fail(OX_INVALID_MODEL, "attribute 'round_mode': wanted up, down or nearest, got '%s'", mode);
  c->prep = how;
  if (c->in[0]->dtype == OX_STRING || c->out[0]->dtype == OX_STRING) return ox_ctx_plan(c, 1, 0);
  return ox_plan_elements(c, OX_TILE_CHEAP);
}

/* ---- strings ---- */
static size_t text_of(const ox_tensor *x, const ox_convert *cv, size_t i, char *buf) {
  uint32_t t = x->dtype;
  if (ox_dtype_is_float(t)) {
    double v;
    cv->load_f64[t](x->data, i, 1, &v);
    return ox_text_of_float(v, t != OX_F64, buf);
  }
  int64_t v;
  cv->load_i64[t](x->data, i, 1, &v);
  if (t == OX_BOOL) v = v != 0;
  uint64_t u = v < 0 && t != OX_U64 ? 0 - (uint64_t)v : (uint64_t)v;
  char digits[20], *d = digits + sizeof digits;
  do *--d = (char)('0' + u % 10);
  while (u /= 10);
  size_t sign = v < 0 && t != OX_U64, n = (size_t)(digits + sizeof digits - d);
  if (sign) buf[0] = '-';
  memcpy(buf + sign, d, n);
  return n + sign;
}

static ox_status *to_strings(const ox_kernel_ctx *c, const ox_convert *cv) {
  const ox_tensor *x = c->in[0];
  ox_str *y = c->out[0]->data;
  size_t n = (size_t)ox_shape_count(&x->shape);
  char buf[OX_NUMBER_TEXT];
  for (size_t i = 0; i < n; i++) {
    size_t len = text_of(x, cv, i, buf);
    char *p = ox_ctx_run_alloc(c, len);
    if (!p) return ox_oom();
    memcpy(p, buf, len);
    y[i] = (ox_str){p, len};
  }
  return NULL;
}

static ox_status *from_strings(const ox_kernel_ctx *c, const ox_convert *cv) {
  const ox_str *x = c->in[0]->data;
  const ox_narrow_how *how = c->prep;
  uint32_t t = c->out[0]->dtype;
  size_t n = (size_t)ox_shape_count(&c->in[0]->shape);
  size_t per = ox_dtype_bits(t) < 8 ? 4 : 1; /* packed elements are stored whole bytes at a time */
  bool integer = !ox_dtype_is_float(t) && t != OX_BOOL;
  for (size_t i = 0; i < n; i += per) {
    double d[4] = {0};
    int64_t v[4] = {0};
    for (size_t k = 0; k < per && i + k < n; k++) {
      const ox_str *s = &x[i + k];
      bool ok = integer ? ox_text_to_int(s->p, s->n, &v[k]) : ox_text_to_double(s->p, s->n, &d[k]);
      if (!ok)
        return ox_fail(OX_INVALID_ARGUMENT, "Cast: element %zu, '%.*s', is not a %s", i + k, (int)OX_MIN(s->n, 40u),
                       s->n ? s->p : "", ox_dtype_name(t));
    }
    size_t m = OX_MIN(per, n - i);
    if (integer)
      cv->store_i64[t](v, c->out[0]->data, i, m, how);
    else
      cv->store_f64[t](d, c->out[0]->data, i, m, how);
  }
  return NULL;
}

/* ---- numbers ---- */
enum { T_WIDE_INT = OX_BIT(OX_I64) | OX_BIT(OX_U64) };

static void through_f64(const ox_convert *cv, const ox_tensor *x, const ox_tensor *y, int64_t begin, int64_t end,
                        const ox_narrow_how *how) {
  double block[OX_CONVERT_BLOCK];
  for (int64_t i = begin; i < end; i += OX_CONVERT_BLOCK) {
    size_t n = (size_t)OX_MIN(end - i, OX_CONVERT_BLOCK);
    cv->load_f64[x->dtype](x->data, (size_t)i, n, block);
    cv->store_f64[y->dtype](block, y->data, (size_t)i, n, how);
  }
}

static void through_i64(const ox_convert *cv, const ox_tensor *x, const ox_tensor *y, int64_t begin, int64_t end) {
  int64_t block[OX_CONVERT_BLOCK];
  for (int64_t i = begin; i < end; i += OX_CONVERT_BLOCK) {
    size_t n = (size_t)OX_MIN(end - i, OX_CONVERT_BLOCK);
    cv->load_i64[x->dtype](x->data, (size_t)i, n, block);
    cv->store_i64[y->dtype](block, y->data, (size_t)i, n, NULL);
  }
}

static void through_f32(const ox_convert *cv, ox_load_f32_fn *load, const ox_tensor *x, const ox_tensor *y,
                        int64_t begin, int64_t end, const ox_narrow_how *how) {
  float block[OX_CONVERT_BLOCK];
  for (int64_t i = begin; i < end; i += OX_CONVERT_BLOCK) {
    size_t n = (size_t)OX_MIN(end - i, OX_CONVERT_BLOCK);
    load(x->data, (size_t)i, n, block);
    cv->store_f32[y->dtype](block, y->data, (size_t)i, n, how);
  }
}

/* log2 of the bytes of a whole integer or of a truth value. */
static int int_width(uint32_t dtype) {
  bool whole = !ox_dtype_is_float(dtype) && ox_dtype_bits(dtype) >= 8;
  for (int w = 0; w < 4 && whole; w++)
    if (ox_dtype_bits(dtype) == 8u << w) return w;
  return -1;
}

/* Integers into integers or truth values without a working type; false: it takes one. */
static bool integers(const ox_convert *cv, const ox_tensor *x, const ox_tensor *y, size_t at, size_t n) {
  int from = int_width(x->dtype), to = int_width(y->dtype);
  if (from < 0 || to < 0) return false;
  if (y->dtype == OX_BOOL)
    cv->truth[from](x->data, y->data, at, n);
  else if (from == to)
    memcpy((char *)y->data + (at << to), (const char *)x->data + (at << to), n << to);
  else
    cv->resize_int[x->dtype][to](x->data, y->data, at, n);
  return true;
}

/* Through a working type that either represents the source exactly or gives the same rounded result. */
static void numbers(const ox_convert *cv, const ox_tensor *x, const ox_tensor *y, int64_t begin, int64_t end,
                    const ox_narrow_how *how) {
  uint32_t from = x->dtype, to = y->dtype;
  size_t at = (size_t)begin, n = (size_t)(end - begin);
  bool narrow_float = ox_dtype_is_float(to) && to != OX_F32 && to != OX_F64;
  if (integers(cv, x, y, at, n)) return;
  if (to == OX_F32)
    cv->load_f32[from](x->data, at, n, (float *)y->data + at);
  else if (to == OX_F64)
    cv->load_f64[from](x->data, at, n, (double *)y->data + at);
  else if (to == OX_I64 && cv->load_i64[from])
    cv->load_i64[from](x->data, at, n, (int64_t *)y->data + at);
  else if (from == OX_F32)
    cv->store_f32[to]((const float *)x->data + at, y->data, at, n, how);
  else if (from == OX_F64)
    cv->store_f64[to]((const double *)x->data + at, y->data, at, n, how);
  else if (from == OX_I64 && !ox_dtype_is_float(to))
    cv->store_i64[to]((const int64_t *)x->data + at, y->data, at, n, how);
  else if (narrow_float && cv->load_odd[from])
    through_f32(cv, cv->load_odd[from], x, y, begin, end, how);
  else if (narrow_float && (OX_BIT(from) & T_WIDE_INT))
    through_f64(cv, x, y, begin, end, how);
  else if (!ox_dtype_is_float(to) && cv->load_i64[from])
    through_i64(cv, x, y, begin, end);
  else
    through_f32(cv, cv->load_f32[from], x, y, begin, end, how);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const ox_convert *cv = ox_convert_select(c->isa);
  const ox_tensor *x = c->in[0], *y = c->out[0];
  if (x->dtype != y->dtype) {
    if (x->dtype == OX_STRING) return from_strings(c, cv);
    if (y->dtype == OX_STRING) return to_strings(c, cv);
  } else if (x->dtype == OX_STRING) {
    if (y->bytes) memmove(y->data, x->data, y->bytes);
    return NULL;
  }
  int64_t begin, end, count = ox_shape_count(&x->shape);
  ox_tile_span(tiles, OX_TILE_CHEAP, count, &begin, &end);
  if (begin >= end) return NULL;
  if (x->dtype == y->dtype) {
    size_t bits = ox_dtype_bits(x->dtype), from = (size_t)begin * bits / 8, to = ((size_t)end * bits + 7) / 8;
    if (x->data != y->data) memcpy((char *)y->data + from, (const char *)x->data + from, to - from);
    return NULL;
  }
  numbers(cv, x, y, begin, end, c->prep);
  return NULL;
}

static const ox_known *known(const ox_known_ctx *c) {
  const ox_known *k = c->in[0];
  int64_t to = ((const cast_attrs *)c->attrs)->to;
  if (!k || (to != OX_I64 && to != OX_I32)) return NULL;
  for (uint32_t i = 0; i < k->n; i++)
    if (to == OX_I32 && k->kind[i] == OX_KNOWN_NUMBER && k->v[i] != (int32_t)k->v[i]) return NULL;
  return ox_known_as(c, k, (uint32_t)to, k->scalar);
}

enum { T_CASTABLE = (OX_T_ALL & ~OX_T_COMPLEX) | OX_T_FLOAT6 };

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Cast", .since = 1, .types = {T_CASTABLE}, .min_in = 1, .max_in = 1,
               .attrs_bytes = sizeof(cast_attrs), OX_ATTRS(cast1_table), .infer = infer_cast),
     OX_KERNEL(.prepare = prepare, .run = run)},
    {OX_SCHEMA(.name = "Cast", .since = 6, .types = {T_CASTABLE}, .min_in = 1, .max_in = 1,
               .attrs_bytes = sizeof(cast_attrs), OX_ATTRS(cast_table), .infer = infer_cast, .known = known),
     OX_KERNEL(.prepare = prepare, .run = run)},
    {OX_SCHEMA(.name = "CastLike", .since = 15, .types = {T_CASTABLE, T_CASTABLE}, .min_in = 2, .max_in = 2,
               .attrs_bytes = sizeof(cast_attrs), OX_ATTRS(like_table), .infer = infer_like),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_cast = {ops, OX_COUNT(ops)};
