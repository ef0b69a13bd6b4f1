/* SPDX-License-Identifier: Apache-2.0
 * ops/move/scatter_reduce.c - target = add, mul, min or max of target and update: kern/binary's loops for long runs,
 * a loop per type for elements here and there. Integers wrap; NaN is kept, as in numpy. The sum of bools is "or", their
 * product "and"; complex numbers have no order; the sum of strings is their concatenation, their order is that of their
 * bytes, and they have no product. */
#include "ops/move/scatter_reduce.h"

#include <string.h>

#include "base/cksize.h"

#define LESS(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))
#define MORE(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))

/* Defines a function that does |put| for each element, at |i| of |src| and |k| of |out|. */
#define INTO(name, type, put)                                                             \
  static void name(void *out, const int64_t *at, const void *src, int64_t n, void *ctx) { \
    (void)ctx;                                                                            \
    type *o = out;                                                                        \
    const type *s = src;                                                                  \
    if (at)                                                                               \
      for (int64_t i = 0; i < n; i++) {                                                   \
        int64_t k = at[i];                                                                \
        put;                                                                              \
      }                                                                                   \
    else                                                                                  \
      for (int64_t i = 0, k = 0; i < n; i++, k++) put;                                    \
  }

#define FLOATS(t, type)                        \
  INTO(add_##t, type, o[k] += s[i])            \
  INTO(mul_##t, type, o[k] *= s[i])            \
  INTO(min_##t, type, o[k] = LESS(o[k], s[i])) \
  INTO(max_##t, type, o[k] = MORE(o[k], s[i]))
FLOATS(f32, float)
FLOATS(f64, double)

#define NARROW(op, t, expr)                               \
  static uint16_t op##_of_##t(uint16_t u, uint16_t v) {   \
    float a = ox_##t##_to_f32(u), b = ox_##t##_to_f32(v); \
    return ox_##t##_from_f32(expr);                       \
  }                                                       \
  INTO(op##_##t, uint16_t, o[k] = op##_of_##t(o[k], s[i]))
#define NARROWS(t)           \
  NARROW(add, t, a + b)      \
  NARROW(mul, t, a *b)       \
  NARROW(min, t, LESS(a, b)) \
  NARROW(max, t, MORE(a, b))
NARROWS(f16)
NARROWS(bf16)

/* Sums and products in unsigned arithmetic wide enough that small types do not multiply as int. */
#define INTS(t, type, utype)                                            \
  INTO(add_##t, utype, o[k] = (utype)((uint64_t)o[k] + s[i]))           \
  INTO(mul_##t, utype, o[k] = (utype)((uint64_t)o[k] * (uint64_t)s[i])) \
  INTO(min_##t, type, o[k] = s[i] < o[k] ? s[i] : o[k])                 \
  INTO(max_##t, type, o[k] = s[i] > o[k] ? s[i] : o[k])
INTS(i8, int8_t, uint8_t)
INTS(i16, int16_t, uint16_t)
INTS(i32, int32_t, uint32_t)
INTS(i64, int64_t, uint64_t)
INTS(u8, uint8_t, uint8_t)
INTS(u16, uint16_t, uint16_t)
INTS(u32, uint32_t, uint32_t)
INTS(u64, uint64_t, uint64_t)
INTO(and_bool, uint8_t, o[k] = o[k] && s[i])
INTO(or_bool, uint8_t, o[k] = o[k] || s[i])

typedef struct c64 {
  float re, im;
} c64;
typedef struct c128 {
  double re, im;
} c128;
#define COMPLEX(t)                                                     \
  INTO(add_##t, t, (o[k] = (t){o[k].re + s[i].re, o[k].im + s[i].im})) \
  INTO(mul_##t, t, (o[k] = (t){o[k].re * s[i].re - o[k].im * s[i].im, o[k].re * s[i].im + o[k].im * s[i].re}))
COMPLEX(c64)
COMPLEX(c128)

static void join_one(ox_scatter_strings *to, ox_str *o, const ox_str *s) {
  size_t bytes;
  if (to->failed) return;
  char *p = ox_add_ok(o->n, s->n, &bytes) && bytes < SIZE_MAX ? ox_ctx_run_alloc(to->c, bytes + 1) : NULL;
  if ((to->failed = p == NULL)) return;
  if (o->n) memcpy(p, o->p, o->n);
  if (s->n) memcpy(p + o->n, s->p, s->n);
  *o = (ox_str){p, bytes};
}

static bool is_before(const ox_str *a, const ox_str *b) {
  size_t n = OX_MIN(a->n, b->n);
  int c = n ? memcmp(a->p, b->p, n) : 0;
  return c < 0 || (c == 0 && a->n < b->n);
}

INTO(join, ox_str, join_one(ctx, &o[k], &s[i]))
INTO(min_str, ox_str, if (is_before(&s[i], &o[k])) o[k] = s[i])
INTO(max_str, ox_str, if (is_before(&o[k], &s[i])) o[k] = s[i])

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

static const struct {
  const char *name;
  ox_binary fn, of_bools;
} reductions[] = {{"add", OX_BIN_ADD, OX_BIN_OR},
                  {"mul", OX_BIN_MUL, OX_BIN_AND},
                  {"min", OX_BIN_MIN, OX_BIN_AND},
                  {"max", OX_BIN_MAX, OX_BIN_OR}};

ox_status *ox_scatter_reduce_find(const ox_kernel_ctx *c, const char *op, const char *name, ox_combine *out) {
  uint32_t dtype = c->in[0]->dtype;
  *out = (ox_combine){NULL, NULL};
  if (!name || strcmp(name, "none") == 0) return NULL;
  for (size_t i = 0; i < OX_COUNT(reductions); i++)
    if (strcmp(name, reductions[i].name) == 0) {
      ox_binary fn = dtype == OX_BOOL ? reductions[i].of_bools : reductions[i].fn;
      *out = (ox_combine){table[dtype][i], ox_binary_select(c->isa)->fn[fn][dtype]};
      return out->each ? NULL : ox_fail(OX_NOT_IMPLEMENTED, "%s: reduction '%s' of %s", op, name, ox_dtype_name(dtype));
    }
  return ox_fail(OX_INVALID_MODEL, "%s: unknown reduction '%s'", op, name);
}
