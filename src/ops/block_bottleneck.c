/* SPDX-License-Identifier: Apache-2.0
 * ops/block_bottleneck.c - ai.onyx.BlockBottleneck(X, W0, B0, W1, B1, W2, B2, Z): the BlockConv of 1x1 (W0), the
 * depthwise one (W1) and the one of 1x1 (W2, with the residual Z) in a row, a few rows of the image at a time
 * (kern/blocks/bottleneck.h). W0 or W2 may be missing. Weights are constants. */
#include "base/cksize.h"
#include "kern/blocks/bottleneck.h"
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

typedef struct bottleneck_state {
  float *w[PARTS]; /* packed; NULL: there is no such part */
  size_t bytes[PARTS];
} bottleneck_state;

/* What BlockConv would have as attributes. */
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
  ox_infer_out(c, 0, OX_F32, &x);
  return NULL;
}

/* ---- load ---- */

/* As far as packing asks: counts of channels and taps. */
static ox_bconv_task pack_task(int part, const ox_shape *w, ox_isa isa) {
  bool depthwise = part == OX_DEPTHWISE;
  ox_bconv_task t = {.isa = isa,
                     .g = {.batch = 1,
                           .groups = depthwise ? w->dim[0] : 1,
                           .ic = w->dim[1],
                           .oc = depthwise ? 1 : w->dim[0],
                           .n_taps = {1, 1, 1}}};
  for (int i = 2; i < w->rank; i++) t.g.n_taps[OX_CONV_AXES - w->rank + i] = w->dim[i];
  return t;
}

static ox_status *load_part(ox_load_ctx *c, int part) {
  bottleneck_state *s = c->state;
  const ox_tensor *w = c->in_const[W_OF(part)];
  if (!w || w->shape.rank < 3 || w->shape.rank > OX_CONV_AXES + 2 || (part == OX_DEPTHWISE && w->shape.dim[1] != 1))
    return ox_fail(OX_NOT_IMPLEMENTED, "BlockBottleneck: W%d is no constant of a fitting shape", part);
  ox_bconv_task t = pack_task(part, &w->shape, c->isa);
  const ox_bconv_form *form = ox_bottleneck_form(part);
  size_t floats = form->weight_floats(&t);
  if (!floats || !ox_mul_ok(floats, sizeof(float), &s->bytes[part]))
    return ox_fail(OX_LIMIT, "BlockBottleneck: W%d is empty or too large", part);
  s->w[part] = ox_new_aligned(c->alloc, s->bytes[part], OX_ALIGN_BYTES);
  if (!s->w[part]) return ox_oom();
  ox_stop stop = ox_load_stop(c);
  form->pack(&t, s->w[part], w->data, 0, form->weight_units(&t), &stop);
  c->consumed |= 1u << W_OF(part);
  return NULL;
}

static ox_status *load(ox_load_ctx *c) {
  c->state = OX_LOAD_NEW(c, bottleneck_state);
  if (!c->state) return ox_oom();
  for (int i = 0; i < PARTS; i++)
    if (W_OF(i) < c->n_in && c->in_type[W_OF(i)]) OX_TRY(load_part(c, i));
  return NULL;
}

static void unload(void *state, ox_alloc alloc) {
  bottleneck_state *s = state;
  for (int i = 0; s && i < PARTS; i++) ox_delete(alloc, s->w[i], s->bytes[i]);
}

/* ---- run ---- */

static ox_status *prepare(ox_kernel_ctx *c) {
  const bottleneck_state *s = c->state;
  ox_bottleneck_plan *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  ox_bottleneck_task t = {0};
  ox_shape x = c->in[X]->shape, in, out;
  if (!p) return ox_oom();
  if (ox_ctx_has(c, Z) && !ox_shape_equal(&c->in[Z]->shape, &c->out[0]->shape))
    return ox_fail(OX_SHAPE_MISMATCH, "Z must have the shape of the output");
  for (int i = 0; i < PARTS; i++) {
    if (!s->w[i]) continue;
    const ox_shape *w = &c->in[W_OF(i)]->shape;
    ox_conv_attrs a = part_attrs(c->attrs, i, w);
    t.has[i] = true, t.part[i].isa = c->isa;
    if (!ox_act_parse(a.activation, a.activation_params.v, a.activation_params.n, &t.part[i].act))
      return ox_fail(OX_INVALID_MODEL, "unknown activation \"%.40s\"", a.activation);
    OX_TRY(part_shape(&a, w, &x, &in, &out));
    OX_TRY(ox_conv_geom_make(c, &a, &in, w, &out, &t.part[i].g));
  }
  if (!ox_bottleneck_serves(&t) || (ox_ctx_has(c, Z) && !t.has[OX_PROJECT]))
    return ox_fail(OX_NOT_IMPLEMENTED, "BlockBottleneck: the parts do not fit together");
  if (!ox_bottleneck_plan_init(p, &t)) return ox_fail(OX_LIMIT, "BlockBottleneck: the working memory is too large");
  c->form = "rows in cache";
  return ox_ctx_plan(c, p->n_tiles, p->scratch_bytes);
}

static const float *floats_of(const ox_kernel_ctx *c, uint32_t i) { return ox_ctx_has(c, i) ? c->in[i]->data : NULL; }

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const bottleneck_state *s = c->state;
  ox_bottleneck_args a = {.x = c->in[X]->data, .z = floats_of(c, Z), .y = c->out[0]->data};
  (void)stage;
  for (int i = 0; i < PARTS; i++) a.w[i] = s->w[i], a.bias[i] = floats_of(c, B_OF(i));
  ox_bottleneck_run(c->prep, &a, tiles.begin, tiles.end, scratch);
  return NULL;
}

static double flops(const ox_kernel_ctx *c) {
  const ox_bottleneck_plan *p = c->prep;
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
               .max_in = 8, OX_ATTRS(attr_rows), .attrs_bytes = sizeof(bottleneck_attrs), .infer = infer),
     OX_KERNEL(.load = load, .unload = unload, .prepare = prepare, .run = run, .flops = flops)},
};
const ox_op_set ox_ops_block_bottleneck = {ops, OX_COUNT(ops)};
