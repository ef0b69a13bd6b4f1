/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/rules/dequantize_later.c - large constant weights that no fusion took as integers are dequantized as kernels
 * pack them: folded, they stayed in memory as floats beside what was packed. The bits are DequantizeLinear's. */
#include "base/macros.h"
#include "base/status.h"
#include "kern/quant/convert.h"
#include "onyx/rewrite.h"
#include "ops/shared/scales.h"

enum { LEAST = 64 << 10 /* bytes of floats; less is folded */ };
enum { X, SCALE, ZERO };

/* Scales, and zero points (or NULL) beside them. */
typedef struct reals {
  ox_scales at;
  const ox_tensor *scale, *zero;
} reals;

/* In pieces of known length, which compilers turn into vectors. */
static void shift_and_scale(float *y, const float *zero, const float *scale, size_t n) {
  enum { PIECE = 16 };
  for (; n >= PIECE; n -= PIECE, y += PIECE, zero += PIECE, scale += PIECE)
    for (int i = 0; i < PIECE; i++) y[i] = (y[i] - zero[i]) * scale[i];
  for (size_t i = 0; i < n; i++) y[i] = (y[i] - zero[i]) * scale[i];
}

static void shift_and_scale_all(float *y, float zero, float scale, size_t n) {
  enum { PIECE = 16 };
  for (; n >= PIECE; n -= PIECE, y += PIECE)
    for (int i = 0; i < PIECE; i++) y[i] = (y[i] - zero) * scale;
  for (size_t i = 0; i < n; i++) y[i] = (y[i] - zero) * scale;
}

static void make_real(const ox_tensor *x, const void *arg, int64_t first, int64_t n, void *to) {
  const ox_convert *cv = ox_convert_select(ox_isa_allowed());
  const reals *k = arg;
  float *y = to, scale[OX_CONVERT_BLOCK], zero[OX_CONVERT_BLOCK] = {0};
  for (int64_t i = 0; i < n;) {
    ox_segment s = ox_scales_at(&k->at, first + i);
    size_t m = (size_t)OX_MIN(OX_MIN(s.n, n - i), (int64_t)OX_CONVERT_BLOCK), beside = s.step ? m : 1;
    cv->load_f32[x->dtype](x->data, (size_t)(first + i), m, y + i);
    cv->load_f32[k->scale->dtype](k->scale->data, (size_t)s.off, beside, scale);
    if (k->zero) cv->load_f32[k->zero->dtype](k->zero->data, (size_t)s.off, beside, zero);
    if (s.step)
      shift_and_scale(y + i, zero, scale, m);
    else
      shift_and_scale_all(y + i, *zero, *scale, m);
    i += (int64_t)m;
  }
}

static int narrow(uint32_t dtype) {
  enum { NARROW = OX_BIT(OX_U8) | OX_BIT(OX_I8) | OX_BIT(OX_U16) | OX_BIT(OX_I16) | OX_BIT(OX_U4) | OX_BIT(OX_I4) };
  return (OX_BIT(dtype) & NARROW) != 0;
}

/* Which constants |node| dequantizes, and how; 0: folding is as good. */
static int reals_of(const ox_rewrite *g, ox_id node, const ox_tensor **out_x, reals *out) {
  const ox_tensor *x = ox_const_type(g, ox_in(g, node, X)), *s = ox_const_type(g, ox_in(g, node, SCALE));
  ox_id zero = ox_in(g, node, ZERO), y = ox_out(g, node, 0);
  if (!x || !s || !narrow(x->dtype) || s->dtype != OX_F32 || ox_dtype_of(g, y) != OX_F32 || ox_is_output(g, y))
    return 0;
  if (ox_elements(&x->shape) < LEAST / (int64_t)sizeof(float)) return 0;
  if (zero != OX_NONE && !ox_const_type(g, zero)) return 0;
  int64_t axis = ox_attr_i(g, node, "axis", 1), block = ox_attr_i(g, node, "block_size", 0);
  ox_scales zeros;
  *out_x = ox_const(g, ox_in(g, node, X));
  *out = (reals){.scale = ox_const(g, ox_in(g, node, SCALE)), .zero = zero == OX_NONE ? NULL : ox_const(g, zero)};
  ox_scales_init(&out->at, &x->shape, &s->shape, axis, block);
  if (!out->zero) return 1;
  ox_scales_init(&zeros, &x->shape, &out->zero->shape, axis, block);
  return zeros.axis == out->at.axis && zeros.blocks == out->at.blocks;
}

static ox_status *run(const ox_rewrite *g, uint32_t *out_changes) {
  const ox_id *order;
  uint32_t n;
  *out_changes = 0;
  if (g->api->struct_size < offsetof(ox_graph_api, const_later) + sizeof g->api->const_later) return NULL;
  OX_TRY(g->api->order(g, &order, &n));
  for (uint32_t i = 0; i < n; i++) {
    const ox_tensor *x;
    reals k;
    ox_id y = ox_out(g, order[i], 0), made;
    if (!ox_is(g, order[i], "DequantizeLinear") || !reals_of(g, order[i], &x, &k)) continue;
    OX_TRY(g->api->const_later(g, g->api->value_name(g, y), OX_F32, &x->shape, x, make_real, &k, sizeof k, &made));
    OX_TRY(ox_give_way(g, order[i], made));
    ++*out_changes;
  }
  return NULL;
}

static const ox_pass passes[] = {
    {.struct_size = sizeof(ox_pass), .level = OX_OPTIMIZE_EXTENDED, .name = "dequantize-later", .run = run, .late = 1}};
const ox_rule_set ox_cpu_rules_dequantize_later = {.struct_size = sizeof(ox_rule_set),
                                                   .place = OX_RULES_OWNED,
                                                   .owner = "cpu",
                                                   .passes = passes,
                                                   .n_passes = OX_COUNT(passes)};
