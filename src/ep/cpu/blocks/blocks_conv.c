/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/blocks/blocks_conv.c - convolutions and pools in blocks: operators of their own, with the attributes of the
 * standard's. */
#include <math.h>

#include "ep/cpu/blocks/blocks_pass.h"
#include "kern/conv/deconv_cols.h"
#include "kern/blocks/bconv.h"
#include "kern/blocks/bconv_direct.h"
#include "ops/shared/conv_node.h"

static const char own[] = "ai.onyx";
enum { X, W, B, Z, IMAGE_CHANNELS = 4 };

static bool has(const ox_rewrite *g, ox_id node, uint32_t slot) { return ox_in(g, node, slot) != OX_NONE; }

/* A constant W of float32, and groups; what is common to Conv and ConvTranspose. */
static const ox_shape *weights(const ox_rewrite *g, ox_id node, int64_t *groups) {
  ox_id x = ox_in(g, node, X), w = ox_in(g, node, W);
  const ox_shape *s = ox_shape_at(g, w);
  *groups = ox_attr_i(g, node, "group", 1);
  if (!ox_const_type(g, w) || ox_dtype_of(g, w) != OX_F32 || ox_dtype_of(g, x) != OX_F32) return NULL;
  return ox_elements(s) > 0 && s->rank == ox_shape_at(g, x)->rank && *groups > 0 ? s : NULL;
}

/* An image is read as the model has it. */
static bool is_image(const ox_rewrite *g, ox_id node, int64_t groups) {
  const ox_shape *x = ox_shape_at(g, ox_in(g, node, X));
  return groups == 1 && x->dim[1] > 0 && x->dim[1] <= IMAGE_CHANNELS;
}

static ox_ints ints_of(const ox_rewrite *g, ox_id node, const char *name) {
  const ox_attr_view *a = ox_attr_ints(g, node, name);
  return a ? (ox_ints){a->n, a->ints} : (ox_ints){0, NULL};
}

static ox_conv_attrs attrs_of(const ox_rewrite *g, ox_id node) {
  static const char *const pads[] = {"SAME_UPPER", "SAME_LOWER", "VALID"};
  ox_conv_attrs a = {.group = ox_attr_i(g, node, "group", 1),
                     .dilations = ints_of(g, node, "dilations"),
                     .kernel_shape = ints_of(g, node, "kernel_shape"),
                     .pads = ints_of(g, node, "pads"),
                     .strides = ints_of(g, node, "strides")};
  for (size_t i = 0; i < OX_COUNT(pads); i++)
    if (ox_attr_is(g, node, "auto_pad", pads[i], 0)) a.auto_pad = pads[i];
  return a;
}

static void *scratch(void *g, size_t bytes) { return ((const ox_rewrite *)g)->api->scratch(g, bytes); }

/* What the convolution computes; dimensions that are not known are taken to be usual ones. */
static bool task_of(const ox_rewrite *g, ox_id node, const ox_shape *w, ox_bconv_task *t) {
  enum { USUAL = 28 };
  ox_conv_attrs a = attrs_of(g, node);
  ox_shape x = *ox_shape_at(g, ox_in(g, node, X)), y;
  if (x.dim[0] < 0) x.dim[0] = 1;
  for (int i = 2; i < x.rank; i++)
    if (x.dim[i] < 0) x.dim[i] = USUAL * w->dim[i];
  *t = (ox_bconv_task){.isa = ox_isa_allowed(), .x_plain = is_image(g, node, a.group)};
  ox_status *st = ox_conv_infer_shape(&a, &x, w, &y);
  if (!st) st = ox_conv_geom_fill(&a, &x, w, &y, scratch, (void *)g, &t->g);
  ox_status_free(st); /* running it will tell */
  return !st;
}

/* Depthwise: a channel at a time is copied into planes, with strides the larger part, and its rows out of them, which
 * costs small images most; one row is not copied out. */
static double depthwise_planes_ns(const ox_conv_geom *c, double blocks_ns) {
  const double channel_ns = 50, row_ns = 3, pixel_ns = 0.25, slower = 1.5, one_row_ns = 15;
  double channels = (double)c->batch * (double)c->groups;
  double rows = (double)OX_MAX(c->in[0], c->out[0]) * (double)OX_MAX(c->in[1], c->out[1]);
  double row = row_ns + pixel_ns * (double)OX_MAX(c->in[2], c->out[2]);
  double each = c->out[0] * c->out[1] == 1 ? one_row_ns : channel_ns + rows * row;
  return slower * blocks_ns + channels * each;
}

/* ns that planes need for the same, as measured: inputs are gathered first, row by row, unless there is one tap; and
 * the tiles are slower. */
static double planes_ns(const ox_bconv_task *t, double blocks_ns) {
  const ox_conv_geom *c = &t->g;
  const double slower = 1.2, grouped = 1.5, gather_ns = 0.1, read_ns = 0.6, start_ns = 1000;
  if (c->groups > 1 && c->ic == 1 && c->oc == 1) return depthwise_planes_ns(c, blocks_ns);
  if (c->groups > 1 && c->ic < OX_BLOCK) return grouped * OX_MAX(blocks_ns - start_ns, 0) + start_ns;
  const double row = 16; /* a row costs as much as that many pixels more */
  double taps = (double)c->n_taps[0] * (double)c->n_taps[1] * (double)c->n_taps[2];
  double pixels = (double)c->batch * (double)c->out[0] * (double)c->out[1] * (double)c->out[2];
  double macs = (double)OX_ROUND_UP(c->oc, 4) * (double)c->groups;
  double ns = slower * macs / ox_bconv_select(t->isa)->macs_per_ns;
  if (taps > 1) ns += gather_ns * (double)c->groups * (1 + row / (double)OX_MAX(c->out[2], 1));
  double read = read_ns * macs; /* few pixels wait for the weights */
  return OX_MAX(ns * pixels, read) * taps * (double)c->ic + start_ns;
}

extern const ox_bconv_form ox_bconv_form_few;

/* A tensor of one channel is in blocks for a form only that computes no other lanes. */
static bool is_one_channel(const ox_rewrite *g, ox_id v) {
  const ox_shape *s = ox_shape_at(g, v);
  return s->rank >= 3 && s->rank <= 5 && s->dim[1] == 1;
}

static bool conv_can(const ox_rewrite *g, ox_id node, ox_blocks_use *u) {
  int64_t groups;
  const ox_shape *w = weights(g, node, &groups);
  ox_id x = ox_in(g, node, X), y = ox_out(g, node, 0);
  ox_bconv_task t;
  bool one = is_one_channel(g, y);
  if (!w || w->dim[0] % groups || !(one || ox_blocks_channels(g, y))) return false;
  if (!ox_op_serves(g, own, "BlockConv", OX_F32)) return false;
  if (ox_shape_at(g, x)->dim[1] != w->dim[1] * groups || !task_of(g, node, w, &t)) return false;
  if (!t.x_plain && !ox_blocks_channels(g, x)) return false;
  const ox_bconv_form *form = ox_bconv_choose(&t);
  if (!form || (one && form != &ox_bconv_form_few)) return false;
  u->in = (t.x_plain ? 0 : 1u << X) | (has(g, node, Z) ? 1u << Z : 0), u->out = 1, u->wants = true;
  double ns = form->cost_ns(&t);
  u->gain = (float)(planes_ns(&t, ns) - ns);
  return true;
}

static ox_status *conv_edit(const ox_rewrite *g, ox_id node, const ox_blocks_use *u) {
  OX_TRY(ox_become(g, node, own, "BlockConv"));
  return u->in & 1u << X ? NULL : ox_set_int(g, node, "plain_input", 1);
}

static bool deconv_can(const ox_rewrite *g, ox_id node, ox_blocks_use *u) {
  const double ns_per_mac = 0.012, share = 0.3; /* that blocks save */
  int64_t groups;
  const ox_shape *w = weights(g, node, &groups);
  ox_id x = ox_in(g, node, X), y = ox_out(g, node, 0);
  if (!w || groups != 1 || !ox_blocks_channels(g, y) || !ox_blocks_channels(g, x)) return false;
  if (w->dim[1] <= OX_DECONV_FEW) return false; /* most lanes would be empty */
  if (ox_shape_at(g, x)->dim[1] != w->dim[0] || !ox_op_serves(g, own, "BlockConvTranspose", OX_F32)) return false;
  u->in = 1u << X, u->out = 1, u->wants = true;
  /* Every input meets every tap. */
  double ns = ns_per_mac * ox_blocks_elements(g, x, false) * (double)ox_elements_of(w, 1, w->rank);
  u->gain = (float)(share * ns - ox_blocks_waste(g, x) - ox_blocks_waste(g, y));
  return true;
}

static ox_status *deconv_edit(const ox_rewrite *g, ox_id node, const ox_blocks_use *u) {
  (void)u;
  return ox_become(g, node, own, "BlockConvTranspose");
}

/* ---- pools ---- */

static bool pool_can(const ox_rewrite *g, ox_id node, ox_blocks_use *u) {
  const char *op = ox_is(g, node, "MaxPool") ? "BlockMaxPool" : "BlockAveragePool";
  ox_id x = ox_in(g, node, 0), y = ox_out(g, node, 0);
  if (!ox_blocks_channels(g, x) || !ox_blocks_channels(g, y) || !ox_one_output(g, node)) return false;
  if (!ox_op_serves(g, own, op, OX_F32)) return false;
  u->in = 1, u->out = 1, u->gain = (float)-(ox_blocks_waste(g, x) + ox_blocks_waste(g, y));
  return true;
}

static ox_status *pool_edit(const ox_rewrite *g, ox_id node, const ox_blocks_use *u) {
  (void)u;
  OX_TRY(g->api->set_counts(g, node, 1, 1));
  return ox_become(g, node, own, ox_is(g, node, "MaxPool") ? "BlockMaxPool" : "BlockAveragePool");
}

const ox_blocks_op ox_blocks_conv_ops[] = {
    {.ops = "Conv", .can = conv_can, .edit = conv_edit},
    {.ops = "FusedConv", .domain = "com.microsoft", .can = conv_can, .edit = conv_edit},
    {.ops = "ConvTranspose", .can = deconv_can, .edit = deconv_edit},
    {.ops = "MaxPool|AveragePool", .can = pool_can, .edit = pool_edit},
    {.ops = NULL},
};
