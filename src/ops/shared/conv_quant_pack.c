/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/conv_quant_pack.c - see conv_quant_pack.h. */
#include "ops/shared/conv_quant_pack.h"

#include "base/cksize.h"

enum { FORM_DIRECT = 1, FORM_PRODUCT, FORM_DEPTHWISE };

/* ---- load ---- */

static const ox_tensor *constant(const ox_load_ctx *c, uint32_t i) { return i < c->n_in ? c->in_const[i] : NULL; }
static bool omitted(const ox_load_ctx *c, uint32_t i) { return i >= c->n_in || !c->in_type[i]; }

/* Whether the zero points are those of signed bytes: 0, or 128 for unsigned ones. */
static bool symmetric(const ox_tensor *w, const ox_tensor *zero) {
  uint8_t none = w->dtype == OX_I8 ? 0 : 128;
  int64_t n = zero ? ox_shape_count(&zero->shape) : 0;
  if (!zero) return none == 0;
  for (int64_t i = 0; i < n; i++)
    if (((const uint8_t *)zero->data)[i] != none) return false;
  return n > 0;
}

/* *twice: W minus |zero| has values beyond a byte. False: some are not even the sum of two bytes. */
static bool beyond_bytes(const ox_tensor *w, const ox_tensor *zero, bool *twice) {
  int64_t oc = w->shape.dim[0], n = ox_shape_count(&w->shape) / oc, step = ox_shape_count(&zero->shape) > 1;
  uint8_t sign = w->dtype == OX_I8 ? 128 : 0;
  int low = 0, high = 0;
  if (step && ox_shape_count(&zero->shape) != oc) return false;
  for (int64_t o = 0; o < oc; o++) {
    const uint8_t *s = (const uint8_t *)w->data + o * n;
    uint8_t least = 255, most = 0, z = ((const uint8_t *)zero->data)[o * step] ^ sign;
    for (int64_t i = 0; i < n; i++)
      least = OX_MIN(least, (uint8_t)(s[i] ^ sign)), most = OX_MAX(most, (uint8_t)(s[i] ^ sign));
    low = OX_MIN(low, least - z), high = OX_MAX(high, most - z);
  }
  *twice = low < -128 || high > 127;
  return high < 255;
}

ox_status *ox_conv_quant_load(ox_load_ctx *c, const ox_conv_quant_in *in, int64_t group) {
  const ox_tensor *w = constant(c, in->w);
  ox_conv_quant_state *s = c->state = OX_LOAD_NEW(c, ox_conv_quant_state);
  if (!s) return ox_oom();
  if (!w || w->shape.rank < 3 || group < 1 || w->shape.dim[0] % group || !ox_shape_count(&w->shape)) return NULL;
  int64_t oc = w->shape.dim[0] / group, ic = w->shape.dim[1], taps = ox_shape_span(&w->shape, 2, w->shape.rank);
  const uint32_t all[] = {in->x_zero, in->w_zero, in->x_scale, in->w_scale, in->y_scale, in->y_zero};
  const ox_tensor *zero = constant(c, in->w_zero);
  s->fixed = omitted(c, in->bias) || constant(c, in->bias);
  for (size_t i = 0; i < OX_COUNT(all); i++) s->fixed &= constant(c, all[i]) != NULL;
  s->less = s->fixed && !symmetric(w, zero);
  if (s->less) s->fixed = ox_shape_count(&zero->shape) > 0 && beyond_bytes(w, zero, &s->twice);
  /* unless it is a direct one, a depthwise convolution reads W unpacked: zero points may be known only in a run */
  s->packs = s->fixed || !ox_conv_i8_is_depthwise(ic, oc, taps);
  if (s->packs) c->consumed |= 1u << in->w;
  return NULL;
}

/* ---- prepare ---- */

int32_t ox_conv_quant_zero(const ox_kernel_ctx *c, uint32_t i, int64_t at) {
  if (!ox_ctx_has(c, i) || !c->in[i]->data) return 0;
  at = ox_shape_count(&c->in[i]->shape) > 1 ? at : 0;
  return c->in[i]->dtype == OX_I8 ? ((const int8_t *)c->in[i]->data)[at] : ((const uint8_t *)c->in[i]->data)[at];
}

typedef struct packing {
  const ox_qconv_plan *direct;
  ox_qconv_weights weights;
  const ox_conv_i8_plan *plan;
  const ox_tensor *w_zero; /* of a depthwise one; NULL: none */
  uint32_t w;
} packing;

static void pack_direct(const ox_pack *p, const ox_tensor *const *in, void *to, int64_t begin, int64_t end,
                        void *scratch) {
  const packing *k = p->arg;
  ox_qconv_weights w = k->weights;
  w.w = in[k->w]->data;
  ox_qconv_pack(k->direct, &w, begin, end, to, scratch);
}

ox_status *ox_conv_quant_pack_direct(ox_kernel_ctx *c, const ox_conv_quant_in *in, const ox_qconv_plan *plan,
                                     const void **out) {
  const ox_conv_quant_state *s = c->state;
  packing k = {.direct = plan, .w = in->w};
  int32_t flip = c->in[in->x]->dtype == OX_I8 ? 128 : 0;
  k.weights = (ox_qconv_weights){.flip = c->in[in->w]->dtype == OX_I8 ? 0 : 128,
                                 .zero = s->less ? c->in[in->w_zero]->data : NULL,
                                 .zero_step = s->less && ox_shape_count(&c->in[in->w_zero]->shape) > 1,
                                 .x_zero = ox_conv_quant_zero(c, in->x_zero, 0) + flip,
                                 .bias = ox_ctx_has(c, in->bias) ? c->in[in->bias]->data : NULL,
                                 .w_scale = c->in[in->w_scale]->data,
                                 .w_scale_step = ox_shape_count(&c->in[in->w_scale]->shape) > 1,
                                 .x_scale = *(const ox_f32u *)c->in[in->x_scale]->data,
                                 .y_scale = *(const ox_f32u *)c->in[in->y_scale]->data};
  ox_pack p = {.struct_size = sizeof p,
               .form = FORM_DIRECT,
               .inputs = (uint64_t)1 << in->w,
               .bytes = ox_qconv_weight_bytes(plan),
               .n_units = ox_qconv_weight_units(plan),
               .scratch_bytes = ox_qconv_weight_scratch(plan),
               .fn = pack_direct,
               .arg = &k};
  if (!p.bytes) return ox_fail(OX_LIMIT, "the weights are too large");
  return ox_ctx_pack(c, &p, out);
}

static void pack_product(const ox_pack *p, const ox_tensor *const *in, void *to, int64_t begin, int64_t end,
                         void *scratch) {
  const packing *k = p->arg;
  const ox_conv_i8_plan *plan = k->plan;
  const ox_tensor *w = in[k->w];
  size_t plain = (size_t)(plan->g.oc * plan->k), each = ox_conv_i8_group_bytes(plan->gemm, plan->g.oc, plan->k);
  int64_t panels = (int64_t)ox_gemm_i8_panels(plan->gemm, (size_t)plan->g.oc);
  for (int64_t u = begin; u < end; u++)
    ox_conv_i8_pack_panel(plan->gemm, (const uint8_t *)w->data + (size_t)(u / panels) * plain, w->dtype == OX_I8,
                          plan->g.oc, plan->g.ic, plan->taps, u % panels, scratch,
                          (char *)to + (size_t)(u / panels) * each);
}

static void pack_depthwise(const ox_pack *p, const ox_tensor *const *in, void *to, int64_t begin, int64_t end,
                           void *scratch) {
  const packing *k = p->arg;
  const ox_tensor *w = in[k->w], *zero = k->w_zero;
  (void)begin, (void)end, (void)scratch;
  ox_conv_i8_pack_depthwise(w->data, w->dtype == OX_I8, k->plan->g.groups, k->plan->taps, zero ? zero->data : NULL,
                            zero && ox_shape_count(&zero->shape) > 1, to);
}

ox_status *ox_conv_quant_pack(ox_kernel_ctx *c, const ox_conv_quant_in *in, const ox_conv_i8_plan *plan,
                              const void **out) {
  const packing k = {.plan = plan, .w_zero = ox_ctx_has(c, in->w_zero) ? c->in[in->w_zero] : NULL, .w = in->w};
  const ox_conv_geom *g = &plan->g;
  ox_pack p = {.struct_size = sizeof p, .inputs = (uint64_t)1 << in->w, .arg = &k};
  bool ok;
  if (plan->depthwise) {
    ok = ox_mul_ok((size_t)(g->groups * plan->taps), sizeof(int32_t), &p.bytes);
    p.form = FORM_DEPTHWISE, p.n_units = 1, p.fn = pack_depthwise;
  } else {
    ok = ox_mul_ok(ox_conv_i8_group_bytes(plan->gemm, g->oc, plan->k), (size_t)g->groups, &p.bytes);
    p.form = FORM_PRODUCT, p.n_units = g->groups * (int64_t)ox_gemm_i8_panels(plan->gemm, (size_t)g->oc);
    p.scratch_bytes = (size_t)plan->k * plan->gemm->nr, p.fn = pack_product;
  }
  if (!ok) return ox_fail(OX_LIMIT, "the weights are too large");
  return ox_ctx_pack(c, &p, out);
}
