/* SPDX-License-Identifier: Apache-2.0
 * ops/block_conv.c - ai.onyx.BlockConv(X, W, B, Z, G, S): FusedConv with X, Z and Y in blocks of channels
 * (docs/blocks.md), of X times the gate G [N, C / 16, 1..., 16], through a PRelu with the slopes S [1, M / 16, 1...,
 * 16]. A second output, if wanted, are the means of Y's channels. Constant weights are packed when shapes are known,
 * once for each form that is the cheapest for some. */
#include "base/cksize.h"
#include "kern/blocks/bconv_direct.h"
#include "ops/shared/bconv_pack.h"
#include "ops/shared/plane_means.h"
#include "ops/shared/block_shape.h"
#include "ops/shared/check.h"
#include "ops/shared/conv_node.h"

enum { X, W, B, Z, G, S };

typedef struct block_conv_attrs {
  ox_conv_attrs conv; /* first: its rows serve here, too */
  int64_t plain_input;
} block_conv_attrs;

static const ox_attr_def attr_rows[] = {OX_CONV_ATTR_ROWS(ox_conv_attrs), OX_ATTR_STR(ox_conv_attrs, activation, NULL),
                                        OX_ATTR_FLOATS(ox_conv_attrs, activation_params),
                                        OX_ATTR_INT_IN(block_conv_attrs, plain_input, 0, 0, 1)};

typedef struct block_conv_state {
  bool packs, exact; /* packs: W is constant */
} block_conv_state;

typedef struct block_conv_prep {
  ox_bconv_plan *plan;
  const void *const *w;                           /* where constant W is, packed; NULL: it is not */
  enum { NOTHING, PACK, SCALE_W, SCALE_X } first; /* what stage 0 does, into shared memory */
  size_t made_at;                                 /* ... there, behind what the plan wants */
  const float *slope;                             /* of a LeakyRelu: that of all channels */
  ox_plane_means means;
  uint32_t means_stage; /* OX_MAX_STAGES: none */
} block_conv_prep;

/* X as FusedConv would have it, for |w|. */
static ox_status *plain_x(const block_conv_attrs *a, const ox_shape *x, const ox_shape *w, ox_shape *out) {
  int64_t channels = w->rank >= 2 && w->dim[1] >= 0 ? w->dim[1] * a->conv.group : -1;
  *out = *x;
  if (a->plain_input) return NULL;
  if (!ox_shape_is_blocks(x, channels))
    return ox_fail(OX_SHAPE_MISMATCH, "X is not in blocks of %lld channels", (long long)channels);
  *out = ox_shape_from_blocks(x, channels);
  return NULL;
}

/* One element for each channel of |x|. */
static ox_shape per_channel(const ox_shape *x, int64_t images) {
  ox_shape s = *x;
  s.dim[0] = images;
  for (int i = 2; i < s.rank - 1; i++) s.dim[i] = 1;
  return s;
}

static ox_status *infer(ox_infer_ctx *c) {
  const block_conv_attrs *a = c->attrs;
  const ox_shape *w = &c->in[W]->shape;
  ox_shape x, y;
  OX_TRY(plain_x(a, &c->in[X]->shape, w, &x));
  OX_TRY(ox_conv_infer_shape(&a->conv, &x, w, &y));
  if (y.rank >= OX_MAX_RANK) return ox_fail(OX_LIMIT, "X has rank %d, at most %d", x.rank, OX_MAX_RANK - 1);
  if (w->rank > 0) OX_TRY(ox_infer_shape_is(c, B, 1, &w->dim[0]));
  if (c->in[X]->shape.rank > 0) {
    ox_shape gate = per_channel(&c->in[X]->shape, c->in[X]->shape.dim[0]);
    OX_TRY(ox_infer_shape_is(c, G, gate.rank, gate.dim));
  }
  y = ox_shape_to_blocks(&y);
  if (y.rank > 0) {
    ox_shape slopes = per_channel(&y, 1);
    OX_TRY(ox_infer_shape_is(c, S, slopes.rank, slopes.dim));
  }
  ox_shape means = ox_plane_means_shape(&y);
  ox_infer_out(c, 0, OX_F32, &y);
  ox_infer_out(c, 1, OX_F32, &means);
  return NULL;
}

static ox_status *read_task(const block_conv_attrs *a, ox_isa isa, ox_bconv_task *t) {
  if (!ox_act_parse(a->conv.activation, a->conv.activation_params.v, a->conv.activation_params.n, &t->act))
    return ox_fail(OX_INVALID_MODEL, "unknown activation \"%.40s\"", a->conv.activation);
  t->isa = isa, t->x_plain = a->plain_input != 0;
  return NULL;
}

/* ---- weights ---- */

/* Constant W is packed in prepare, for the form that the shapes want. */
static ox_status *load(ox_load_ctx *c) {
  const ox_tensor *w = c->in_const[W];
  block_conv_state *s = c->state = OX_LOAD_NEW(c, block_conv_state);
  if (!s) return ox_oom();
  s->exact = c->exact != 0;
  s->packs = w && w->shape.rank >= 3;
  if (s->packs) c->consumed |= 1u << W;
  if (G < c->n_in && c->in_type[G] && (!s->packs || ((const block_conv_attrs *)c->attrs)->plain_input))
    return ox_fail(OX_NOT_IMPLEMENTED, "BlockConv: a gate where W is no constant, or X an image");
  return NULL;
}

/* ---- run ---- */

/* What stage 0 makes: packed weights; or, of X and a gate or the weights and the gate, the product that is smaller. */
static ox_status *book_first(ox_kernel_ctx *c, block_conv_prep *p, size_t *bytes) {
  const ox_bconv_plan *plan = p->plan;
  const ox_bconv_form *form = plan->form;
  const ox_shape *x = &c->in[X]->shape;
  size_t weights = form->weight_floats(&plan->task), floats = (size_t)ox_shape_count(x);
  *bytes = 0;
  if (ox_ctx_has(c, G) && x->dim[0] == 1 && form->scales && form->scales(&plan->task) && weights < floats)
    p->first = SCALE_W, c->n_tiles[c->n_stages++] = form->weight_units(&plan->task), floats = weights;
  else if (ox_ctx_has(c, G))
    p->first = SCALE_X, c->n_tiles[c->n_stages++] = x->dim[0] * x->dim[1];
  else if (!p->w && weights)
    p->first = PACK, c->n_tiles[c->n_stages++] = form->weight_units(&plan->task), floats = weights;
  else
    return NULL;
  return ox_mul_ok(floats, sizeof(float), bytes) ? NULL : ox_fail(OX_LIMIT, "BlockConv: the weights are too large");
}

static ox_status *book(ox_kernel_ctx *c, block_conv_prep *p) {
  const ox_bconv_plan *plan = p->plan;
  size_t bytes;
  p->made_at = OX_ROUND_UP(plan->shared_bytes, OX_ALIGN_BYTES);
  c->n_stages = 0;
  OX_TRY(book_first(c, p, &bytes));
  if (!ox_add_ok(p->made_at, bytes, &c->shared_bytes) || plan->n_stages + c->n_stages > OX_MAX_STAGES)
    return ox_fail(OX_LIMIT, "BlockConv: the working memory is too large");
  for (uint32_t i = 0; i < plan->n_stages; i++) c->n_tiles[c->n_stages++] = plan->n_tiles[i];
  c->scratch_per_worker = plan->scratch_bytes, c->form = plan->form->name;
  p->means_stage = ox_ctx_wants(c, 1) ? c->n_stages : OX_MAX_STAGES;
  return ox_plane_means_book(c, plan->form->n_sums ? plan->form->n_sums(plan) : 0, &p->means);
}

/* A LeakyRelu has the slopes of a PRelu: forms apply those to sums in registers. */
static ox_status *make_slopes(ox_kernel_ctx *c, ox_act *act, const float **out) {
  if (act->kind != OX_ACT_LEAKY_RELU) return NULL;
  int64_t n = c->out[0]->shape.dim[1] * OX_BLOCK;
  float *slope = ox_ctx_alloc(c, (size_t)n * sizeof *slope);
  if (!slope) return ox_oom();
  for (int64_t i = 0; i < n; i++) slope[i] = act->a;
  act->kind = OX_ACT_NONE, *out = slope;
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const block_conv_attrs *a = c->attrs;
  const block_conv_state *s = c->state;
  const ox_shape *w = &c->in[W]->shape;
  block_conv_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  /* transforming weights in every run does not pay */
  ox_bconv_task t = {
      .exact = s->exact || !s->packs, .alone = true, .reads_w = s->packs && ox_ctx_lends(c), .tune = c->tune};
  ox_shape x, y;
  if (!p) return ox_oom();
  if (ox_ctx_has(c, Z) && !ox_shape_equal(&c->in[Z]->shape, &c->out[0]->shape))
    return ox_fail(OX_SHAPE_MISMATCH, "Z must have the shape of the output");
  ox_shape gate = per_channel(&c->in[X]->shape, c->in[X]->shape.dim[0]), slopes = per_channel(&c->out[0]->shape, 1);
  if (ox_ctx_has(c, S) && !ox_shape_equal(&c->in[S]->shape, &slopes))
    return ox_fail(OX_SHAPE_MISMATCH, "S must have one element for each channel of Y");
  if (ox_ctx_has(c, G) && !ox_shape_equal(&c->in[G]->shape, &gate))
    return ox_fail(OX_SHAPE_MISMATCH, "G must have one element for each channel of X");
  OX_TRY(read_task(a, c->isa, &t));
  if (ox_ctx_has(c, S) && t.act.kind != OX_ACT_NONE)
    return ox_fail(OX_INVALID_MODEL, "BlockConv: slopes and the activation %s", a->conv.activation);
  OX_TRY(make_slopes(c, &t.act, &p->slope));
  OX_TRY(plain_x(a, &c->in[X]->shape, w, &x));
  y = ox_shape_from_blocks(&c->out[0]->shape, w->dim[0]);
  OX_TRY(ox_conv_geom_make(c, &a->conv, &x, w, &y, &t.g));
  ox_conv_geom_move_unit_axes(&t.g);
  const ox_bconv_form *form = ox_bconv_choose(&t);
  if (!form)
    return ox_fail(OX_NOT_IMPLEMENTED, "BlockConv: %lld groups of %lld inputs and %lld outputs", (long long)t.g.groups,
                   (long long)t.g.ic, (long long)t.g.oc);
  p->plan = ox_ctx_alloc(c, form->plan_bytes);
  if (!p->plan) return ox_oom();
  p->plan->form = form, p->plan->task = t;
  if (!form->plan(p->plan)) return ox_fail(OX_LIMIT, "BlockConv: the working memory is too large");
  if (s->packs) OX_TRY(ox_bconv_pack(c, form, &p->plan->task, W, (uintptr_t)form, &p->w));
  return book(c, p);
}

static const float *floats_of(const ox_kernel_ctx *c, uint32_t i) { return ox_ctx_has(c, i) ? c->in[i]->data : NULL; }

static void read_filters(const void *ctx, int64_t first, int64_t n, float *to) {
  const ox_kernel_ctx *c = ctx;
  c->host->constant(c, W, first, n, to);
}

static void run_first(const ox_kernel_ctx *c, ox_range tiles, float *made) {
  const block_conv_prep *p = c->prep;
  const ox_bconv_task *t = &p->plan->task;
  const ox_bconv_form *form = p->plan->form;
  if (p->first == SCALE_W) {
    form->scale(t, made, *p->w, c->in[G]->data, tiles.begin, tiles.end);
  } else if (p->first == SCALE_X) {
    int64_t pixels = ox_shape_span(&c->in[X]->shape, 2, c->in[X]->shape.rank - 1), block = pixels * OX_BLOCK;
    const float *x = c->in[X]->data, *by = c->in[G]->data;
    for (int64_t i = tiles.begin; i < tiles.end; i++)
      ox_bconv_select(t->isa)->scale_lanes(made + i * block, x + i * block, by + i * OX_BLOCK, (size_t)pixels);
  } else {
    ox_stop stop = ox_ctx_stop(c);
    const ox_f32u *w = c->in[W]->data;
    w += form->unit_filter(t, tiles.begin) * t->g.ic * ox_conv_taps(&t->g);
    form->pack(t, made, (const float *)w, tiles.begin, tiles.end, &stop);
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const block_conv_prep *p = c->prep;
  float *made = (float *)((char *)c->shared + p->made_at);
  if (p->first != NOTHING && stage == 0) {
    run_first(c, tiles, made);
    return NULL;
  }
  if (stage == p->means_stage) {
    ox_plane_means_run(c, &p->means, tiles);
    return NULL;
  }
  bool packed = p->first == PACK || p->first == SCALE_W;
  const ox_conv_args a = {.x = p->first == SCALE_X ? made : c->in[X]->data,
                          .w = packed ? made
                               : p->w ? *p->w
                                      : c->in[W]->data,
                          .bias = floats_of(c, B),
                          .z = floats_of(c, Z),
                          .y = c->out[0]->data,
                          .shared = c->shared,
                          .sums = ox_plane_means_sums(c, &p->means),
                          .slope = p->slope ? p->slope : floats_of(c, S),
                          .filters = read_filters,
                          .filters_ctx = c};
  p->plan->form->run(p->plan, &a, stage - (p->first != NOTHING), tiles.begin, tiles.end, scratch);
  return NULL;
}

static double flops(const ox_kernel_ctx *c) {
  const ox_shape *w = &c->in[W]->shape, *y = &c->out[0]->shape;
  double pixels = (double)y->dim[0] * (double)ox_shape_span(y, 2, y->rank - 1);
  return 2.0 * pixels * (double)ox_shape_count(w);
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "BlockConv", .domain = "ai.onyx", .since = 1, .types = {OX_BIT(OX_F32)}, .min_in = 2,
               .max_in = 6, .min_out = 1, .max_out = 2, OX_ATTRS(attr_rows), .attrs_bytes = sizeof(block_conv_attrs),
               .infer = infer),
     OX_KERNEL(.load = load, .prepare = prepare, .run = run, .flops = flops, .packs_in = 1u << W, .inplace = 1u << Z)},
};
const ox_op_set ox_ops_block_conv = {ops, OX_COUNT(ops)};
