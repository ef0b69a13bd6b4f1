/* SPDX-License-Identifier: Apache-2.0
 * ops/move/scatter_reduce.c - target = add, mul, min or max of target and update, one loop per type. Integers wrap;
 * NaN is kept, as in numpy. The sum of bools is "or", their product "and"; complex numbers have no order; the sum of
 * strings is their concatenation, their order is that of their bytes, and they have no product. */
#include "ops/move/scatter_reduce.h"

#include <string.h>

#include "base/cksize.h"

#define LESS(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))
#define MORE(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))

#define INTO(name, type, get, put, expr)                                    \
  static void name(void *out, const void *src, int64_t n, void *ctx) {      \
    (void)ctx;                                                              \
    type *o = out;                                                          \
    const type *s = src;                                                    \
    for (int64_t i = 0; i < n; i++) o[i] = put(expr(get(o[i]), get(s[i]))); \
  }
#define SAME(x) (x)
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
/* unsigned arithmetic wide enough that small types do not multiply as int */
#define MUL_WIDE(a, b) ((uint64_t)(a) * (uint64_t)(b))

#define FLOATS(t, type, get, put)     \
  INTO(add_##t, type, get, put, ADD)  \
  INTO(mul_##t, type, get, put, MUL)  \
  INTO(min_##t, type, get, put, LESS) \
  INTO(max_##t, type, get, put, MORE)
#define CAST_F64(x) ((double)(x))
#define CAST_F32(x) ((float)(x))
FLOATS(f32, float, SAME, CAST_F32)
FLOATS(f64, double, SAME, CAST_F64)
FLOATS(f16, uint16_t, ox_f16_to_f32, ox_f16_from_f32)
FLOATS(bf16, uint16_t, ox_bf16_to_f32, ox_bf16_from_f32)

#define INTS(t, type, utype)                                               \
  static void add_##t(void *out, const void *src, int64_t n, void *ctx) {  \
    (void)ctx;                                                             \
    utype *o = out;                                                        \
    const utype *s = src;                                                  \
    for (int64_t i = 0; i < n; i++) o[i] = (utype)((uint64_t)o[i] + s[i]); \
  }                                                                        \
  static void mul_##t(void *out, const void *src, int64_t n, void *ctx) {  \
    (void)ctx;                                                             \
    utype *o = out;                                                        \
    const utype *s = src;                                                  \
    for (int64_t i = 0; i < n; i++) o[i] = (utype)MUL_WIDE(o[i], s[i]);    \
  }                                                                        \
  static void min_##t(void *out, const void *src, int64_t n, void *ctx) {  \
    (void)ctx;                                                             \
    type *o = out;                                                         \
    const type *s = src;                                                   \
    for (int64_t i = 0; i < n; i++) o[i] = s[i] < o[i] ? s[i] : o[i];      \
  }                                                                        \
  static void max_##t(void *out, const void *src, int64_t n, void *ctx) {  \
    (void)ctx;                                                             \
    type *o = out;                                                         \
    const type *s = src;                                                   \
    for (int64_t i = 0; i < n; i++) o[i] = s[i] > o[i] ? s[i] : o[i];      \
  }
INTS(i8, int8_t, uint8_t)
INTS(i16, int16_t, uint16_t)
INTS(i32, int32_t, uint32_t)
INTS(i64, int64_t, uint64_t)
INTS(u8, uint8_t, uint8_t)
INTS(u16, uint16_t, uint16_t)
INTS(u32, uint32_t, uint32_t)
INTS(u64, uint64_t, uint64_t)

static void and_bool(void *out, const void *src, int64_t n, void *ctx) {
  (void)ctx;
  uint8_t *o = out;
  const uint8_t *s = src;
  for (int64_t i = 0; i < n; i++) o[i] = o[i] && s[i];
}

static void or_bool(void *out, const void *src, int64_t n, void *ctx) {
  (void)ctx;
  uint8_t *o = out;
  const uint8_t *s = src;
  for (int64_t i = 0; i < n; i++) o[i] = o[i] || s[i];
}

#define COMPLEX(t, type)                                                  \
  static void add_##t(void *out, const void *src, int64_t n, void *ctx) { \
    (void)ctx;                                                            \
    type *o = out;                                                        \
    const type *s = src;                                                  \
    for (int64_t i = 0; i < 2 * n; i++) o[i] += s[i];                     \
  }                                                                       \
  static void mul_##t(void *out, const void *src, int64_t n, void *ctx) { \
    (void)ctx;                                                            \
    type *o = out;                                                        \
    const type *s = src;                                                  \
    for (int64_t i = 0; i < 2 * n; i += 2) {                              \
      type re = o[i] * s[i] - o[i + 1] * s[i + 1];                        \
      o[i + 1] = o[i] * s[i + 1] + o[i + 1] * s[i], o[i] = re;            \
    }                                                                     \
  }
COMPLEX(c64, float)
COMPLEX(c128, double)

static void join(void *out, const void *src, int64_t n, void *ctx) {
  ox_scatter_strings *k = ctx;
  ox_str *o = out;
  const ox_str *s = src;
  for (int64_t i = 0; i < n && !k->failed; i++) {
    size_t bytes;
    char *p = ox_add_ok(o[i].n, s[i].n, &bytes) && bytes < SIZE_MAX ? ox_ctx_run_alloc(k->c, bytes + 1) : NULL;
    if ((k->failed = p == NULL)) return;
    if (o[i].n) memcpy(p, o[i].p, o[i].n);
    if (s[i].n) memcpy(p + o[i].n, s[i].p, s[i].n);
    o[i] = (ox_str){p, bytes};
  }
}

static bool is_before(const ox_str *a, const ox_str *b) {
  size_t n = OX_MIN(a->n, b->n);
  int c = n ? memcmp(a->p, b->p, n) : 0;
  return c < 0 || (c == 0 && a->n < b->n);
}

static void min_str(void *out, const void *src, int64_t n, void *ctx) {
  (void)ctx;
  ox_str *o = out;
  const ox_str *s = src;
  for (int64_t i = 0; i < n; i++) o[i] = is_before(&s[i], &o[i]) ? s[i] : o[i];
}

static void max_str(void *out, const void *src, int64_t n, void *ctx) {
  (void)ctx;
  ox_str *o = out;
  const ox_str *s = src;
  for (int64_t i = 0; i < n; i++) o[i] = is_before(&o[i], &s[i]) ? s[i] : o[i];
}

#define ROW(t) \
  { add_##t, mul_##t, min_##t, max_##t }
static const ox_combine_fn table[OX_DTYPE_COUNT][4] = {
    [OX_F32] = ROW(f32),
    [OX_F64] = ROW(f64),
    [OX_F16] = ROW(f16),
    [OX_BF16] = ROW(bf16),
    [OX_I8] = ROW(i8),
    [OX_I16] = ROW(i16),
    [OX_I32] = ROW(i32),
    [OX_I64] = ROW(i64),
    [OX_U8] = ROW(u8),
    [OX_U16] = ROW(u16),
    [OX_U32] = ROW(u32),
    [OX_U64] = ROW(u64),
    [OX_BOOL] = {or_bool, and_bool, and_bool, or_bool},
    [OX_C64] = {add_c64, mul_c64},
    [OX_C128] = {add_c128, mul_c128},
    [OX_STRING] = {join, NULL, min_str, max_str},
};

ox_status *ox_scatter_reduce_find(const char *op, const char *name, uint32_t dtype, ox_combine_fn *out_fn) {
  static const char *const names[] = {"add", "mul", "min", "max"};
  *out_fn = NULL;
  if (!name || strcmp(name, "none") == 0) return NULL;
  for (size_t i = 0; i < OX_COUNT(names); i++)
    if (strcmp(name, names[i]) == 0) {
      *out_fn = dtype < OX_DTYPE_COUNT ? table[dtype][i] : NULL;
      return *out_fn ? NULL : ox_fail(OX_NOT_IMPLEMENTED, "%s: reduction '%s' of %s", op, name, ox_dtype_name(dtype));
    }
  return ox_fail(OX_INVALID_MODEL, "%s: unknown reduction '%s'", op, name);
}
