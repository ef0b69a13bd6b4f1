/* SPDX-License-Identifier: Apache-2.0
 * ops/complex_mul.c - com.microsoft's ComplexMul and ComplexMulConj: products of complex numbers whose real and
 * imaginary parts are the last dimension. */
#include "kern/binary/broadcast.h"
#include "kern/quant/convert.h"
#include "ops/shared/check.h"
#include "ops/shared/tiles.h"

typedef struct complex_prep {
  ox_bcast spread; /* of numbers, not pairs: data is aligned for those alone */
  bool conjugate;
} complex_prep;

static ox_status *pairs_of(const ox_shape *s, ox_shape *out) {
  *out = *s;
  if (s->rank < 0) return NULL;
  if (s->rank == 0 || (s->dim[s->rank - 1] >= 0 && s->dim[s->rank - 1] != 2)) {
    char text[OX_SHAPE_TEXT];
    return ox_fail(OX_SHAPE_MISMATCH, "an input of shape %s is not made of pairs", ox_shape_text(s, text));
  }
  out->rank--;
  return NULL;
}

static ox_status *complex_infer(ox_infer_ctx *c) {
  ox_shape a, b, y;
  uint32_t dtype = ox_infer_dtype_of(c, 0, 1);
  OX_TRY(pairs_of(&c->in[0]->shape, &a));
  OX_TRY(pairs_of(&c->in[1]->shape, &b));
  OX_TRY(ox_shape_broadcast(&a, &b, &y));
  if (y.rank >= 0) y.dim[y.rank++] = 2;
  ox_infer_out(c, 0, dtype, &y);
  return NULL;
}

static ox_status *complex_load(ox_load_ctx *c) {
  bool *conjugate = OX_LOAD_NEW(c, bool);
  if (!conjugate) return ox_oom();
  *conjugate = c->op[sizeof "ComplexMul" - 1] != '\0';
  c->state = conjugate;
  return NULL;
}

static ox_status *complex_prepare(ox_kernel_ctx *c) {
  complex_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  ox_bcast_init(&p->spread, &c->out[0]->shape, 2, (const ox_shape *[]){&c->in[0]->shape, &c->in[1]->shape});
  p->conjugate = *(const bool *)c->state;
  return ox_ctx_plan(c, ox_tile_count(p->spread.count / 2, OX_TILE_MATH), 0);
}

static ox_status *complex_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  enum { PAIRS = OX_CONVERT_BLOCK / 2 };
  (void)stage, (void)scratch;
  const complex_prep *p = c->prep;
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t t = c->in[0]->dtype;
  size_t size = ox_dtype_bits(t) / 8;
  double raw[2 * PAIRS], a[2 * PAIRS], b[2 * PAIRS], sign = p->conjugate ? -1 : 1;
  int64_t begin, end;
  ox_tile_span(tiles, OX_TILE_MATH, p->spread.count / 2, &begin, &end); /* pairs */
  for (int64_t at = begin; at < end; at += PAIRS) {
    int64_t n = OX_MIN(end - at, PAIRS);
    ox_bcast_gather(&p->spread, 0, c->in[0]->data, size, 2 * at, 2 * n, raw);
    cv->load_f64[t](raw, 0, (size_t)n * 2, a);
    ox_bcast_gather(&p->spread, 1, c->in[1]->data, size, 2 * at, 2 * n, raw);
    cv->load_f64[t](raw, 0, (size_t)n * 2, b);
    for (int64_t i = 0; i < 2 * n; i += 2) {
      double re = a[i] * b[i] - a[i + 1] * sign * b[i + 1], im = a[i] * sign * b[i + 1] + a[i + 1] * b[i];
      a[i] = re, a[i + 1] = im;
    }
    cv->store_f64[t](a, c->out[0]->data, (size_t)at * 2, (size_t)n * 2, NULL);
  }
  return NULL;
}

#define FLOATS (OX_BIT(OX_F16) | OX_BIT(OX_F32) | OX_BIT(OX_F64))
#define MS .domain = "com.microsoft", .since = 1
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "ComplexMul", MS, .types = {FLOATS}, .vars = "TT", .min_in = 2, .max_in = 2,
               .infer = complex_infer),
     OX_KERNEL(.load = complex_load, .prepare = complex_prepare, .run = complex_run)},
    {OX_SCHEMA(.name = "ComplexMulConj", MS, .types = {FLOATS}, .vars = "TT", .min_in = 2, .max_in = 2,
               .infer = complex_infer),
     OX_KERNEL(.load = complex_load, .prepare = complex_prepare, .run = complex_run)},
};
const ox_op_set ox_ops_complex_mul = {ops, OX_COUNT(ops)};
