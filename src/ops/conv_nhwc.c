/* SPDX-License-Identifier: Apache-2.0
 * ops/conv_nhwc.c - com.microsoft's NhwcConv and NhwcFusedConv: channels-last data is transposed to planes of
 * float32, convolved as FusedConv is, and transposed back; float64 in double. */
#include "kern/conv/conv_f64.h"
#include "kern/quant/convert.h"
#include "ops/shared/as_real.h"
#include "ops/shared/conv_node.h"

enum { X, W, B, Z };
static const ox_attr_def attr_rows[] = {OX_CONV_ATTR_ROWS(ox_conv_attrs), OX_ATTR_STR(ox_conv_attrs, activation, NULL),
                                        OX_ATTR_FLOATS(ox_conv_attrs, activation_params)};

typedef struct nhwc_prep {
  ox_conv_plan plan;
  int64_t in_channels, out_channels, in_n, out_n; /* n: pixels */
  size_t in_at[4], y_at, plan_at;
} nhwc_prep;

/* [N, d..., C] to [N, C, d...] and back. */
static ox_shape permuted(const ox_shape *s, bool to_first) {
  ox_shape r = *s;
  if (s->rank < 3) return r;
  for (int i = 2; i < s->rank; i++) r.dim[to_first ? i : i - 1] = s->dim[to_first ? i - 1 : i];
  r.dim[to_first ? 1 : s->rank - 1] = s->dim[to_first ? s->rank - 1 : 1];
  return r;
}

static ox_status *infer(ox_infer_ctx *c) {
  ox_shape x = permuted(&c->in[X]->shape, true), y;
  OX_TRY(ox_conv_infer_shape(c->attrs, &x, &c->in[W]->shape, &y));
  y = permuted(&y, false);
  ox_infer_out(c, 0, c->in[X]->dtype, &y);
  return NULL;
}

/* ---- float64: no activation and no Z, one stage of planes ---- */

static ox_status *prepare_f64(ox_kernel_ctx *c, nhwc_prep *p, const ox_conv_geom *g) {
  p->plan.g = *g;
  OX_TRY(ox_as_real_room(c, OX_AS_DOUBLE, ox_shape_count(&c->in[X]->shape), &p->in_at[X]));
  OX_TRY(ox_as_real_room(c, OX_AS_DOUBLE, ox_shape_count(&c->out[0]->shape), &p->y_at));
  c->n_stages = 3, c->n_tiles[0] = c->n_tiles[2] = g->batch, c->n_tiles[1] = p->out_n ? g->batch * p->out_channels : 0;
  return NULL;
}

static void run_f64(const ox_kernel_ctx *c, const nhwc_prep *p, uint32_t stage, ox_range tiles) {
  int64_t channels = stage == 0 ? p->in_channels : p->out_channels, n = stage == 0 ? p->in_n : p->out_n;
  double *x = ox_as_real_at(c, p->in_at[X]), *y = ox_as_real_at(c, p->y_at);
  if (stage == 1) {
    ox_conv_f64(&p->plan.g, x, c->in[W]->data, ox_ctx_has(c, B) ? c->in[B]->data : NULL, y, tiles.begin, tiles.end);
    return;
  }
  for (int64_t i = tiles.begin * channels * n; i < tiles.end * channels * n; i++) {
    int64_t at = i / channels / OX_MAX(n, 1) * channels * n, px = i / channels % n, ch = i % channels;
    if (stage == 0)
      x[at + ch * n + px] = ((const double *)c->in[X]->data)[i];
    else
      ((double *)c->out[0]->data)[i] = y[at + ch * n + px];
  }
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const ox_conv_attrs *a = c->attrs;
  nhwc_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  ox_conv_geom g;
  ox_act act;
  if (!p) return ox_oom();
  if (!ox_act_parse(a->activation, a->activation_params.v, a->activation_params.n, &act))
    return ox_fail(OX_INVALID_MODEL, "unknown activation \"%.40s\"", a->activation);
  ox_shape x = permuted(&c->in[X]->shape, true), y = permuted(&c->out[0]->shape, true);
  if (ox_ctx_has(c, Z) && !ox_shape_equal(&c->in[Z]->shape, &c->out[0]->shape))
    return ox_fail(OX_SHAPE_MISMATCH, "Z must have the shape of the output");
  if (ox_ctx_has(c, B) && ox_shape_count(&c->in[B]->shape) != y.dim[1])
    return ox_fail(OX_SHAPE_MISMATCH, "B must have one element per output channel");
  OX_TRY(ox_conv_geom_make(c, a, &x, &c->in[W]->shape, &y, &g));
  p->in_channels = x.dim[1], p->out_channels = y.dim[1];
  p->in_n = g.in[0] * g.in[1] * g.in[2], p->out_n = g.out[0] * g.out[1] * g.out[2];
  if (c->in[X]->dtype == OX_F64) return prepare_f64(c, p, &g);
  if (!ox_conv_plan_init(&p->plan, &g, &act, ox_conv_select(c->isa)))
    return ox_fail(OX_LIMIT, "convolution: too large");
  void *tables = ox_ctx_alloc(c, p->plan.table_bytes + 1);
  if (!tables) return ox_oom();
  ox_conv_plan_tables(&p->plan, tables);
  for (uint32_t i = 0; i < c->n_in; i++)
    if (c->in[i]) OX_TRY(ox_as_real_room(c, OX_AS_FLOAT, ox_shape_count(&c->in[i]->shape), &p->in_at[i]));
  OX_TRY(ox_as_real_room(c, OX_AS_FLOAT, ox_shape_count(&y), &p->y_at));
  OX_TRY(ox_as_real_room(c, OX_AS_FLOAT, (int64_t)(p->plan.shared_bytes / sizeof(float)), &p->plan_at));
  c->n_stages = 4, c->scratch_per_worker = p->plan.scratch_bytes, c->form = ox_conv_form(&p->plan);
  c->n_tiles[0] = g.batch + 1; /* images, then weights and bias */
  c->n_tiles[1] = p->plan.n_stages > 1 ? p->plan.n_tiles[0] : 0, c->n_tiles[2] = p->plan.n_tiles[p->plan.n_stages - 1];
  c->n_tiles[3] = g.batch;
  return NULL;
}

static float *room(const ox_kernel_ctx *c, const nhwc_prep *p, uint32_t i) {
  return ox_ctx_has(c, i) ? ox_as_real_at(c, p->in_at[i]) : NULL;
}

/* One image of input |i|, pixel by pixel, into planes. */
static void to_planes(const ox_kernel_ctx *c, const nhwc_prep *p, uint32_t i, int64_t image, int64_t channels,
                      int64_t n) {
  float *to = room(c, p, i) + image * channels * n, block[OX_CONVERT_BLOCK];
  for (int64_t px = 0; px < n; px++)
    for (int64_t ch = 0; ch < channels; ch += OX_CONVERT_BLOCK) {
      int64_t count = OX_MIN(channels - ch, OX_CONVERT_BLOCK);
      ox_convert_select(c->isa)->load_f32[c->in[i]->dtype](c->in[i]->data, (size_t)((image * n + px) * channels + ch),
                                                           (size_t)count, block);
      for (int64_t j = 0; j < count; j++) to[(ch + j) * n + px] = block[j];
    }
}

static void from_planes(const ox_kernel_ctx *c, const nhwc_prep *p, int64_t image) {
  int64_t channels = p->out_channels, n = p->out_n;
  const float *from = (const float *)ox_as_real_at(c, p->y_at) + image * channels * n;
  float block[OX_CONVERT_BLOCK];
  for (int64_t px = 0; px < n; px++)
    for (int64_t ch = 0; ch < channels; ch += OX_CONVERT_BLOCK) {
      int64_t count = OX_MIN(channels - ch, OX_CONVERT_BLOCK);
      for (int64_t j = 0; j < count; j++) block[j] = from[(ch + j) * n + px];
      ox_convert_select(c->isa)->store_f32[c->out[0]->dtype](
          block, c->out[0]->data, (size_t)((image * n + px) * channels + ch), (size_t)count, NULL);
    }
}

static void weights(const ox_kernel_ctx *c, const nhwc_prep *p) {
  for (uint32_t i = W; i <= B; i++)
    if (ox_ctx_has(c, i))
      ox_convert_select(c->isa)->load_f32[c->in[i]->dtype](c->in[i]->data, 0, (size_t)ox_shape_count(&c->in[i]->shape),
                                                           room(c, p, i));
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const nhwc_prep *p = c->prep;
  if (c->in[X]->dtype == OX_F64) {
    run_f64(c, p, stage, tiles);
    return NULL;
  }
  if (stage == 1 || stage == 2) {
    ox_conv_args a = {.x = room(c, p, X),
                      .bias = room(c, p, B),
                      .z = room(c, p, Z),
                      .y = ox_as_real_at(c, p->y_at),
                      .w = room(c, p, W),
                      .shared = ox_as_real_at(c, p->plan_at)};
    ox_conv_run(&p->plan, &a, stage == 1 ? 0 : p->plan.n_stages - 1, tiles.begin, tiles.end, scratch);
    return NULL;
  }
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    if (stage == 3) {
      from_planes(c, p, t);
    } else if (t == p->plan.g.batch) {
      weights(c, p);
    } else {
      to_planes(c, p, X, t, p->in_channels, p->in_n);
      if (ox_ctx_has(c, Z)) to_planes(c, p, Z, t, p->out_channels, p->out_n);
    }
  }
  return NULL;
}

static double flops(const ox_kernel_ctx *c) {
  const ox_shape *w = &c->in[W]->shape;
  return 2.0 * (double)ox_shape_count(&c->out[0]->shape) * (double)ox_shape_span(w, 1, w->rank);
}

static const ox_attr_def plain_rows[] = {OX_CONV_ATTR_ROWS(ox_conv_attrs)};
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "NhwcConv", .domain = "com.microsoft", .since = 1,
               .types = {OX_BIT(OX_F32) | OX_BIT(OX_F16) | OX_BIT(OX_F64)}, .vars = "TTT", .min_in = 2, .max_in = 3,
               OX_ATTRS(plain_rows), .attrs_bytes = sizeof(ox_conv_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run, .flops = flops)},
    {OX_SCHEMA(.name = "NhwcFusedConv", .domain = "com.microsoft", .since = 1,
               .types = {OX_BIT(OX_F32) | OX_T_FLOAT16S}, .vars = "TTTT", .min_in = 2, .max_in = 4, OX_ATTRS(attr_rows),
               .attrs_bytes = sizeof(ox_conv_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run, .flops = flops)},
};
const ox_op_set ox_ops_conv_nhwc = {ops, OX_COUNT(ops)};
