/* SPDX-License-Identifier: Apache-2.0
 * ops/block_bottleneck.c - ai.onyx.BlockBottleneck(X, W0, B0, W1, B1, W2, B2, Z): three BlockConv in a row, 1x1
 * (W0), depthwise (W1) and 1x1 (W2, with the residual Z), computed a few rows of the image at a time
 * (kern/blocks/bottleneck.h). W0 or W2 may be missing. Weights are constants. Where W2 is missing, there may be a
 * second output, the means of Y's channels. */
#include "kern/blocks/bottleneck.h"
#include "ops/shared/bconv_pack.h"
#include "ops/shared/plane_means.h"
#include "ops/shared/block_shape.h"
#include "ops/shared/check.h"
#include "ops/shared/conv_node.h"

enum { X, W, B, Z = 7, PARTS = OX_BOTTLENECK_PARTS };
#define W_OF(part) ((uint32_t)(W + 2 * (part)))
#define B_OF(part) ((uint32_t)(B + 2 * (part)))

typedef struct bottleneck_attrs {
  ox_conv_attrs conv; /* of the depthwise convolution; first: its rows serve here, too */
  const char *expand_activation, *project_activation;
  ox_floats expand_params, project_params;
} bottleneck_attrs;

static const ox_attr_def attr_rows[] = {OX_CONV_ATTR_ROWS(ox_conv_attrs),
                                        OX_ATTR_STR(ox_conv_attrs, activation, NULL),
                                        OX_ATTR_FLOATS(ox_conv_attrs, activation_params),
                                        OX_ATTR_STR(bottleneck_attrs, expand_activation, NULL),
                                        OX_ATTR_FLOATS(bottleneck_attrs, expand_params),
                                        OX_ATTR_STR(bottleneck_attrs, project_activation, NULL),
                                        OX_ATTR_FLOATS(bottleneck_attrs, project_params)};

typedef struct bottleneck_prep {
  ox_bottleneck_plan plan;
  const void *const *w[PARTS]; /* where they are, packed; NULL: there is no such part */
  ox_plane_means means;
} bottleneck_prep;

/* The attributes that part |part| would have as a BlockConv. */
static ox_conv_attrs part_attrs(const bottleneck_attrs *a, int part, const ox_shape *w) {
  if (part == OX_DEPTHWISE) {
    ox_conv_attrs d = a->conv;
    d.group = w->rank > 0 && w->dim[0] > 0 ? w->dim[0] : 1;
    return d;
  }
  bool first = part == OX_EXPAND;
  return (ox_conv_attrs){.group = 1,
                         .activation = first ? a->expand_activation : a->project_activation,
                         .activation_params = first ? a->expand_params : a->project_params};
}

/* |x| in: X in blocks; out: Y in blocks. */
static ox_status *part_shape(const ox_conv_attrs *a, const ox_shape *w, ox_shape *x, ox_shape *plain_x,
                             ox_shape *plain_y) {
  int64_t channels = w->rank >= 2 && w->dim[1] >= 0 ? w->dim[1] * a->group : -1;
  if (!ox_shape_is_blocks(x, channels))
    return ox_fail(OX_SHAPE_MISMATCH, "the input of a part is not in blocks of %lld channels", (long long)channels);
  *plain_x = ox_shape_from_blocks(x, channels);
  OX_TRY(ox_conv_infer_shape(a, plain_x, w, plain_y));
  *x = ox_shape_to_blocks(plain_y);
  return NULL;
}

static ox_status *infer(ox_infer_ctx *c) {
  ox_shape x = c->in[X]->shape, in, out;
  for (int i = 0; i < PARTS; i++) {
    if (!ox_infer_has(c, W_OF(i))) continue;
    const ox_shape *w = &c->in[W_OF(i)]->shape;
    ox_conv_attrs a = part_attrs(c->attrs, i, w);
    OX_TRY(part_shape(&a, w, &x, &in, &out));
    if (w->rank > 0) OX_TRY(ox_infer_shape_is(c, B_OF(i), 1, &w->dim[0]));
  }
  ox_shape means = ox_plane_means_shape(&x);
  ox_infer_out(c, 0, OX_F32, &x);
  ox_infer_out(c, 1, OX_F32, &means);
  return NULL;
}

/* ---- weights ---- */

/* They are packed in prepare. */
static ox_status *load(ox_load_ctx *c) {
  for (int i = 0; i < PARTS; i++) {
    if (W_OF(i) >= c->n_in || !c->in_type[W_OF(i)]) continue;
    const ox_tensor *w = c->in_const[W_OF(i)];
    if (!w || w->shape.rank < 3 || w->shape.rank > OX_CONV_AXES + 2 || (i == OX_DEPTHWISE && w->shape.dim[1] != 1))
      return ox_fail(OX_NOT_IMPLEMENTED, "BlockBottleneck: W%d is no constant of a fitting shape", i);
    c->consumed |= 1u << W_OF(i);
  }
  return NULL;
}

/* ---- run ---- */

static ox_status *prepare(ox_kernel_ctx *c) {
  bottleneck_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  ox_bottleneck_task t = {0};
  ox_shape x = c->in[X]->shape, in, out;
  if (!p) return ox_oom();
  if (ox_ctx_has(c, Z) && !ox_shape_equal(&c->in[Z]->shape, &c->out[0]->shape))
    return ox_fail(OX_SHAPE_MISMATCH, "Z must have the shape of the output");
  for (int i = 0; i < PARTS; i++) {
    if (!ox_ctx_has(c, W_OF(i))) continue;
    const ox_shape *w = &c->in[W_OF(i)]->shape;
    ox_conv_attrs a = part_attrs(c->attrs, i, w);
    t.has[i] = true, t.part[i].isa = c->isa;
    if (!ox_act_parse(a.activation, a.activation_params.v, a.activation_params.n, &t.part[i].act))
      return ox_fail(OX_INVALID_MODEL, "unknown activation \"%.40s\"", a.activation);
    OX_TRY(part_shape(&a, w, &x, &in, &out));
    OX_TRY(ox_conv_geom_make(c, &a, &in, w, &out, &t.part[i].g));
  }
  if (!ox_bottleneck_serves(&t) || (ox_ctx_has(c, Z) && !t.has[OX_PROJECT]) ||
      (ox_ctx_wants(c, 1) && t.has[OX_PROJECT]))
    return ox_fail(OX_NOT_IMPLEMENTED, "BlockBottleneck: the parts do not fit together");
  if (!ox_bottleneck_plan_init(&p->plan, &t))
    return ox_fail(OX_LIMIT, "BlockBottleneck: the working memory is too large");
  for (int i = 0; i < PARTS; i++)
    if (t.has[i])
      OX_TRY(ox_bconv_pack(c, ox_bottleneck_form(i), &p->plan.task.part[i], W_OF(i), (uint64_t)i, &p->w[i]));
  c->form = "rows in cache";
  OX_TRY(ox_ctx_plan(c, p->plan.n_tiles, p->plan.scratch_bytes));
  c->shared_bytes = sizeof(ox_carried);
  c->n_stages = 2, c->n_tiles[1] = c->n_tiles[0], c->n_tiles[0] = 1;
  return ox_plane_means_book(c, p->plan.row_tiles, &p->means);
}

static const float *floats_of(const ox_kernel_ctx *c, uint32_t i) { return ox_ctx_has(c, i) ? c->in[i]->data : NULL; }

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const bottleneck_prep *p = c->prep;
  ox_bottleneck_args a = {.x = c->in[X]->data, .z = floats_of(c, Z), .y = c->out[0]->data};
  if (stage == 0) {
    ox_carried_begin(c->shared);
    return NULL;
  }
  if (stage == 2) {
    ox_plane_means_run(c, &p->means, tiles);
    return NULL;
  }
  a.sums = ox_plane_means_sums(c, &p->means);
  for (int i = 0; i < PARTS; i++) a.w[i] = p->w[i] ? *p->w[i] : NULL, a.bias[i] = floats_of(c, B_OF(i));
  ox_bottleneck_run(&p->plan, &a, tiles.begin, tiles.end, c->shared, scratch);
  return NULL;
}

static double flops(const ox_kernel_ctx *c) {
  const ox_bottleneck_plan *p = &((const bottleneck_prep *)c->prep)->plan;
  double sum = 0;
  for (int i = 0; i < PARTS; i++) {
    const ox_conv_geom *g = &p->task.part[i].g;
    if (!p->task.has[i]) continue;
    double taps = (double)(g->n_taps[0] * g->n_taps[1] * g->n_taps[2]);
    sum += 2.0 * (double)(g->batch * g->out[0] * g->out[1] * g->out[2]) * (double)(g->groups * g->oc * g->ic) * taps;
  }
  return sum;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "BlockBottleneck", .domain = "ai.onyx", .since = 1, .types = {OX_BIT(OX_F32)}, .min_in = 1,
               .max_in = 8, .min_out = 1, .max_out = 2, OX_ATTRS(attr_rows), .attrs_bytes = sizeof(bottleneck_attrs),
               .infer = infer),
     OX_KERNEL(.load = load, .prepare = prepare, .run = run, .flops = flops,
               .packs_in = 1u << W_OF(OX_EXPAND) | 1u << W_OF(OX_DEPTHWISE) | 1u << W_OF(OX_PROJECT))},
};
const ox_op_set ox_ops_block_bottleneck = {ops, OX_COUNT(ops)};
