/* SPDX-License-Identifier: Apache-2.0
 * ops/conv.c - Conv and com.microsoft.FusedConv. The 16-bit types are widened to float32 around the same
 * kernels, constant weights once, the rest in each run; float64 sums directly. */
#include "base/cksize.h"
#include "kern/conv/conv_f64.h"
#include "kern/quant/convert.h"
#include "ops/shared/check.h"
#include "ops/shared/conv_node.h"
#include "ops/shared/conv_pack.h"

enum { X, W, B, Z, BLOCK = 16384 /* elements widened per tile */ };

static const ox_attr_def conv_attr_rows[] = {OX_CONV_ATTR_ROWS(ox_conv_attrs)};
static const ox_attr_def fused_attr_rows[] = {OX_CONV_ATTR_ROWS(ox_conv_attrs),
                                              OX_ATTR_STR(ox_conv_attrs, activation, NULL),
                                              OX_ATTR_FLOATS(ox_conv_attrs, activation_params)};

typedef struct conv_state {
  bool widens; /* W is constant, and becomes floats in prepare */
} conv_state;

typedef enum stage_kind { S_WIDEN, S_FIRST, S_LAST, S_NARROW, S_F64 } stage_kind;

typedef struct conv_prep {
  ox_conv_plan plan;
  stage_kind kind[OX_MAX_STAGES];
  uint32_t plan_stage[OX_MAX_STAGES];
  bool wide;      /* inputs are widened into shared memory */
  const float *w; /* constant, widened */
  int64_t planes_per_tile;
  ox_act act;
  size_t in_at[4], y_at, plan_at; /* offsets into shared memory */
} conv_prep;

static ox_status *infer(ox_infer_ctx *c) {
  const ox_shape unknown = ox_shape_unknown();
  ox_shape y;
  uint32_t dtype = ox_infer_dtype_of(c, X, Z);
  OX_TRY(ox_conv_infer_shape(c->attrs, ox_infer_has(c, X) ? &c->in[X]->shape : &unknown,
                             ox_infer_has(c, W) ? &c->in[W]->shape : &unknown, &y));
  if (ox_infer_has(c, B) && c->in[B]->shape.rank >= 0) {
    const ox_shape *b = &c->in[B]->shape;
    if (b->rank != 1 || (y.rank > 1 && y.dim[1] >= 0 && b->dim[0] >= 0 && b->dim[0] != y.dim[1]))
      return ox_fail(OX_SHAPE_MISMATCH, "B must have one element per output channel");
  }
  ox_infer_out(c, 0, dtype, &y);
  return NULL;
}

static void refine(const ox_known_ctx *c, ox_shape *out) {
  if (c->n_in > W && c->types[W]) ox_conv_refine_shape(c->attrs, c, &c->types[X]->shape, &c->types[W]->shape, out);
}

static ox_status *load(ox_load_ctx *c) {
  const ox_conv_attrs *a = c->attrs;
  ox_act act;
  if (!ox_act_parse(a->activation, a->activation_params.v, a->activation_params.n, &act))
    return ox_fail(OX_INVALID_MODEL, "unknown activation \"%.40s\"", a->activation);
  const ox_tensor *w = c->n_in > W ? c->in_const[W] : NULL;
  conv_state *s = c->state = OX_LOAD_NEW(c, conv_state);
  if (!s) return ox_oom();
  s->widens = w && (w->dtype == OX_F16 || w->dtype == OX_BF16);
  if (s->widens) c->consumed |= 1u << W;
  return NULL;
}

static void add_stage(ox_kernel_ctx *c, conv_prep *p, stage_kind kind, uint32_t plan_stage, int64_t tiles) {
  p->kind[c->n_stages] = kind, p->plan_stage[c->n_stages] = plan_stage;
  c->n_tiles[c->n_stages++] = tiles;
}

/* Books |floats| of shared memory; false on overflow. */
static bool book(ox_kernel_ctx *c, size_t floats, size_t *at) {
  size_t bytes;
  *at = c->shared_bytes;
  if (!ox_mul_ok(floats, sizeof(float), &bytes) || !ox_add_ok(bytes, 2 * OX_PAD_BYTES, &bytes)) return false;
  return ox_add_ok(c->shared_bytes, bytes / OX_ALIGN_BYTES * OX_ALIGN_BYTES, &c->shared_bytes);
}

static ox_status *prepare_f32(ox_kernel_ctx *c, conv_prep *p, const ox_conv_geom *g) {
  const conv_state *s = c->state;
  bool ok = ox_conv_plan_init(&p->plan, g, &p->act, ox_conv_select(c->isa));
  void *tables = ox_ctx_alloc(c, p->plan.table_bytes + 1);
  if (!tables) return ox_oom();
  ox_conv_plan_tables(&p->plan, tables);
  p->wide = c->in[X]->dtype != OX_F32;
  if (s->widens) OX_TRY(ox_conv_widen(c, W, &p->w));
  c->n_stages = 0;
  if (p->wide) {
    int64_t tiles = 0;
    for (uint32_t i = 0; i < c->n_in && ok; i++) {
      if (!c->in[i] || (i == W && p->w)) continue;
      int64_t n = ox_shape_count(&c->in[i]->shape);
      ok = n >= 0 && book(c, (size_t)n, &p->in_at[i]);
      tiles += OX_CEIL_DIV(n, BLOCK);
    }
    ok = ok && book(c, (size_t)ox_shape_count(&c->out[0]->shape), &p->y_at);
    add_stage(c, p, S_WIDEN, 0, tiles);
  }
  ok = ok && book(c, p->plan.shared_bytes / sizeof(float), &p->plan_at);
  if (!ok) return ox_fail(OX_LIMIT, "Conv: the working memory is too large");
  for (uint32_t i = 0; i < p->plan.n_stages; i++)
    add_stage(c, p, i + 1 == p->plan.n_stages ? S_LAST : S_FIRST, i, p->plan.n_tiles[i]);
  if (p->wide) add_stage(c, p, S_NARROW, 0, OX_CEIL_DIV(ox_shape_count(&c->out[0]->shape), BLOCK));
  c->scratch_per_worker = p->plan.scratch_bytes, c->form = ox_conv_form(&p->plan);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const ox_conv_attrs *a = c->attrs;
  conv_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  ox_conv_geom g;
  if (!p) return ox_oom();
  if (ox_ctx_has(c, Z) && !ox_shape_equal(&c->in[Z]->shape, &c->out[0]->shape))
    return ox_fail(OX_SHAPE_MISMATCH, "Z must have the shape of the output");
  if (!ox_act_parse(a->activation, a->activation_params.v, a->activation_params.n, &p->act))
    return ox_fail(OX_INVALID_MODEL, "unknown activation");
  OX_TRY(ox_conv_geom_make(c, a, &c->in[X]->shape, &c->in[W]->shape, &c->out[0]->shape, &g));
  if (c->in[X]->dtype != OX_F64) return prepare_f32(c, p, &g);
  p->plan.g = g, p->kind[0] = S_F64, c->form = "sums in double";
  int64_t planes = g.batch * g.groups * g.oc, pixels = g.out[0] * g.out[1] * g.out[2];
  int64_t macs = g.ic * g.n_taps[0] * g.n_taps[1] * g.n_taps[2] * OX_MAX(pixels, 1);
  p->planes_per_tile = OX_MAX(100000 / OX_MAX(macs, 1), 1);
  return ox_ctx_plan(c, pixels ? OX_CEIL_DIV(planes, p->planes_per_tile) : 0, 0);
}

static void *shared_at(const ox_kernel_ctx *c, size_t at) { return (char *)c->shared + at; }

/* Tiles of all widened inputs, one input after the other. */
static void widen(const ox_kernel_ctx *c, const conv_prep *p, ox_range tiles) {
  const ox_convert *cv = ox_convert_select(c->isa);
  int64_t base = 0;
  for (uint32_t i = 0; i < c->n_in; i++) {
    if (!c->in[i] || (i == W && p->w)) continue;
    int64_t n = ox_shape_count(&c->in[i]->shape), count = OX_CEIL_DIV(n, BLOCK);
    for (int64_t t = OX_MAX(tiles.begin, base); t < OX_MIN(tiles.end, base + count); t++) {
      int64_t at = (t - base) * BLOCK;
      cv->load_f32[c->in[i]->dtype](c->in[i]->data, (size_t)at, (size_t)OX_MIN(BLOCK, n - at),
                                    (float *)shared_at(c, p->in_at[i]) + at);
    }
    base += count;
  }
}

static const float *input_f32(const ox_kernel_ctx *c, const conv_prep *p, uint32_t i) {
  if (!ox_ctx_has(c, i)) return NULL;
  return p->wide ? shared_at(c, p->in_at[i]) : c->in[i]->data;
}

static void run_f64(const ox_kernel_ctx *c, const conv_prep *p, ox_range tiles) {
  const ox_conv_geom *g = &p->plan.g;
  int64_t planes = g->batch * g->groups * g->oc, pixels = g->out[0] * g->out[1] * g->out[2];
  int64_t u0 = tiles.begin * p->planes_per_tile, u1 = OX_MIN(tiles.end * p->planes_per_tile, planes);
  double *y = c->out[0]->data;
  const double *z = ox_ctx_has(c, Z) ? c->in[Z]->data : NULL;
  ox_conv_f64(g, c->in[X]->data, c->in[W]->data, ox_ctx_has(c, B) ? c->in[B]->data : NULL, y, u0, u1);
  if (p->act.kind == OX_ACT_NONE && !z) return;
  for (int64_t i = u0 * pixels; i < u1 * pixels; i++) y[i] = ox_act_f64(p->act, y[i] + (z ? z[i] : 0));
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const conv_prep *p = c->prep;
  switch (p->kind[stage]) {
    case S_WIDEN:
      widen(c, p, tiles);
      break;
    case S_FIRST:
    case S_LAST: {
      ox_conv_args a = {.x = input_f32(c, p, X),
                        .w = p->w ? p->w : input_f32(c, p, W),
                        .bias = input_f32(c, p, B),
                        .z = input_f32(c, p, Z),
                        .y = p->wide ? shared_at(c, p->y_at) : c->out[0]->data,
                        .shared = shared_at(c, p->plan_at)};
      ox_conv_run(&p->plan, &a, p->plan_stage[stage], tiles.begin, tiles.end, scratch);
      break;
    }
    case S_NARROW: {
      int64_t at = tiles.begin * BLOCK, n = OX_MIN(tiles.end * BLOCK, ox_shape_count(&c->out[0]->shape)) - at;
      if (n > 0)
        ox_convert_select(c->isa)->store_f32[c->out[0]->dtype]((float *)shared_at(c, p->y_at) + at, c->out[0]->data,
                                                               (size_t)at, (size_t)n, NULL);
      break;
    }
    case S_F64:
      run_f64(c, p, tiles);
      break;
  }
  return NULL;
}

static double flops(const ox_kernel_ctx *c) {
  const ox_shape *w = &c->in[W]->shape;
  return 2.0 * (double)ox_shape_count(&c->out[0]->shape) * (double)ox_shape_span(w, 1, w->rank);
}

#define CONV_ROW                                                                                                   \
  .types = {OX_T_FLOAT, OX_T_FLOAT, OX_T_FLOAT, OX_T_FLOAT}, .attrs_bytes = sizeof(ox_conv_attrs), .infer = infer, \
  .refine = refine
#define CONV_ROW_KERNEL .load = load, .prepare = prepare, .run = run, .flops = flops, .packs_in = 1u << W
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Conv", .since = 1, .vars = "TTT", .min_in = 2, .max_in = 3, OX_ATTRS(conv_attr_rows), CONV_ROW),
     OX_KERNEL(CONV_ROW_KERNEL)},
    {OX_SCHEMA(.name = "FusedConv", .domain = "com.microsoft", .since = 1, .vars = "TTTT", .min_in = 2, .max_in = 4,
               OX_ATTRS(fused_attr_rows), CONV_ROW),
     OX_KERNEL(CONV_ROW_KERNEL)},
};
const ox_op_set ox_ops_conv = {ops, OX_COUNT(ops)};
