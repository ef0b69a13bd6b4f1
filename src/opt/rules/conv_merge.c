/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/conv_merge.c - branches of the same input that are added up become one convolution: convolutions whose
 * windows lie in that of one of them, and the input itself, perhaps normalized. Networks that are trained so (RepVGG,
 * https://arxiv.org/abs/2101.03697; MobileOne, FastViT, YOLO's RepConv) are often exported before they have been
 * merged. In double, rounded once. The new weights are computed as kernels pack them. Takes all nodes but one away. */
#include "base/status.h"
#include "onyx/rewrite.h"
#include "opt/batch_norm.h"

enum { X, W, B };
enum { MOST = 12 /* branches */ };

/* A convolution with constant float weights. */
typedef struct window {
  const ox_tensor *w, *bias; /* bias NULL: none */
  int axes;
  int64_t group, size[OX_MAX_RANK], begin[OX_MAX_RANK], end[OX_MAX_RANK], stride[OX_MAX_RANK], dilation[OX_MAX_RANK];
} window;

/* |n| integers of attribute |name|, or as many times |absent|. */
static int ints_of(const ox_rewrite *g, ox_id node, const char *name, int n, int64_t absent, int64_t *out) {
  const ox_attr_view *a = ox_attr_ints(g, node, name);
  if (a && a->n != (size_t)n) return 0;
  for (int i = 0; i < n; i++) {
    out[i] = a ? a->ints[i] : absent;
    if (out[i] < 0 || out[i] > INT32_MAX) return 0;
  }
  return 1;
}

static int window_of(const ox_rewrite *g, ox_id conv, window *k) {
  ox_id bias = ox_in(g, conv, B);
  int64_t pads[2 * OX_MAX_RANK];
  *k = (window){.w = ox_const_type(g, ox_in(g, conv, W)), .bias = ox_const(g, bias)};
  if (!k->w || k->w->dtype != OX_F32 || k->w->shape.rank < 3 || ox_elements(&k->w->shape) < 1) return 0;
  if (bias != OX_NONE && (!k->bias || k->bias->dtype != OX_F32)) return 0;
  if (k->bias && ox_elements(&k->bias->shape) != k->w->shape.dim[0]) return 0;
  k->axes = k->w->shape.rank - 2, k->group = ox_attr_i(g, conv, "group", 1);
  if (!ox_attr_is(g, conv, "auto_pad", "NOTSET", 1) || !ints_of(g, conv, "pads", 2 * k->axes, 0, pads) ||
      !ints_of(g, conv, "strides", k->axes, 1, k->stride) || !ints_of(g, conv, "dilations", k->axes, 1, k->dilation))
    return 0;
  for (int i = 0; i < k->axes; i++) {
    k->size[i] = k->w->shape.dim[2 + i], k->begin[i] = pads[i], k->end[i] = pads[k->axes + i];
    if (!k->stride[i] || !k->dilation[i] || k->size[i] > INT32_MAX) return 0;
  }
  return k->group > 0 && k->w->shape.dim[0] % k->group == 0;
}

/* Whether the taps of |in| are some of |k|'s, from tap |at| on, for inputs of all sizes. */
static int lies_in(const window *k, const window *in, int64_t *at) {
  if (in->axes != k->axes || in->group != k->group || in->w->shape.dim[0] != k->w->shape.dim[0] ||
      in->w->shape.dim[1] != k->w->shape.dim[1])
    return 0;
  for (int i = 0; i < k->axes; i++) {
    int64_t before = k->begin[i] - in->begin[i], after = k->end[i] - in->end[i], step = k->dilation[i];
    if (in->stride[i] != k->stride[i] || (in->dilation[i] != step && in->size[i] != 1)) return 0;
    if (before < 0 || before % step || before + after != step * (k->size[i] - in->size[i])) return 0;
    at[i] = before / step;
    if (at[i] + in->size[i] > k->size[i]) return 0;
  }
  return 1;
}

/* The input itself as a branch: a window of one pixel. */
static window pixel_of(const window *k) {
  window one = {.w = k->w, .axes = k->axes, .group = k->group};
  for (int i = 0; i < k->axes; i++) one.size[i] = one.stride[i] = one.dilation[i] = 1;
  return one;
}

static int takes_input(const window *k, int64_t *at) {
  const window one = pixel_of(k);
  return k->w->shape.dim[1] * k->group == k->w->shape.dim[0] && lies_in(k, &one, at);
}

/* ---- the branches of a sum ---- */
typedef struct branches {
  ox_id x, node[MOST]; /* node OX_NONE: the input as it is */
  uint32_t n, widest;  /* whose window holds all others */
} branches;

/* Adds the terms of |v|; returns 0 if one is no branch of input |b->x|, which the first term tells if it is OX_NONE, or
 * if there are too many. |depth|: additions below. */
static int collect(const ox_rewrite *g, ox_id v, int depth, branches *b) {
  ox_id node = ox_up1(g, v, "Add|Conv|BatchNormalization");
  if (node != OX_NONE && ox_is(g, node, "Add"))
    return depth < MOST && collect(g, ox_in(g, node, 0), depth + 1, b) && collect(g, ox_in(g, node, 1), depth + 1, b);
  if (b->n == MOST) return 0;
  ox_id x = node == OX_NONE ? v : ox_in(g, node, X);
  if (b->x == OX_NONE) b->x = x;
  b->node[b->n++] = node;
  return x == b->x;
}

/* Whether terms that are no convolutions are at most one plain input and normalizations of |channels|. */
static int takes_inputs(const ox_rewrite *g, const branches *b, const window *k, int *out_any) {
  int plain = 0;
  int64_t at[OX_MAX_RANK];
  for (uint32_t i = 0; i < b->n; i++) {
    ox_id arg[OX_NORM_PARAMS];
    if (b->node[i] != OX_NONE && ox_is(g, b->node[i], "Conv")) continue;
    for (uint32_t p = 0; p < OX_NORM_PARAMS; p++) arg[p] = ox_in(g, b->node[i], 1 + p);
    if (b->node[i] == OX_NONE ? plain++ : !ox_norm_is_affine(g, b->node[i], arg, k->w->shape.dim[0])) return 0;
    *out_any = 1;
  }
  return !*out_any || takes_input(k, at);
}

static int holds_all(const ox_rewrite *g, const branches *b, const window *k) {
  int64_t at[OX_MAX_RANK];
  int any = 0;
  for (uint32_t i = 0; i < b->n; i++) {
    window in;
    if (b->node[i] == OX_NONE || !ox_is(g, b->node[i], "Conv")) continue;
    if (!window_of(g, b->node[i], &in) || !lies_in(k, &in, at)) return 0;
  }
  return takes_inputs(g, b, k, &any);
}

/* The branches of |sum|, an Add; returns 0 if there is a term that is none. */
static int find(const ox_rewrite *g, ox_id sum, branches *b) {
  *b = (branches){.x = OX_NONE};
  if (!collect(g, ox_in(g, sum, 0), 1, b) || !collect(g, ox_in(g, sum, 1), 1, b)) return 0;
  for (b->widest = 0; b->widest < b->n; b->widest++) {
    ox_id node = b->node[b->widest];
    window k;
    if (node != OX_NONE && ox_is(g, node, "Conv") && window_of(g, node, &k) && holds_all(g, b, &k)) return 1;
  }
  return 0;
}

/* The last addition of a sum takes all of it. */
static int guard(const ox_rewrite *g, ox_match *m) {
  branches *b = OX_CAPTURE(m, branches), whole;
  ox_id next = ox_only_user(g, ox_out(g, m->node[0], 0));
  if (ox_dtype_of(g, ox_out(g, m->node[0], 0)) != OX_F32 || !find(g, m->node[0], b)) return 0;
  return next == OX_NONE || !ox_is(g, next, "Add") || !find(g, next, &whole);
}

/* ---- their sum ---- */

/* What making the weights knows. Branch i adds its tap map[i * taps + t] to tap t, unless that is -1; the input adds
 * scale[c] to tap |pixel| where channel c reads its own. */
typedef struct merging {
  const ox_tensor *w[MOST];
  int64_t own[MOST]; /* their taps */
  int64_t n, taps, each, pixel;
  const double *scale;
  const int32_t *map;
} merging;

static void make_merged(const ox_tensor *from, const void *arg, int64_t first, int64_t n, void *to) {
  const merging *k = arg;
  const ox_f32u *w = from->data;
  float *out = to;
  for (int64_t i = first; i < first + n; i++) {
    int64_t filter = i / k->taps, tap = i % k->taps, c = filter / k->each;
    double sum = (double)w[i];
    for (int64_t b = 0; b < k->n; b++) {
      int64_t t = k->map[b * k->taps + tap];
      if (t >= 0) sum += (double)((const ox_f32u *)k->w[b]->data)[filter * k->own[b] + t];
    }
    if (tap == k->pixel && filter % k->each == c % k->each) sum += k->scale[c];
    out[i - first] = (float)sum;
  }
}

/* The place of tap |tap| of |in| in |k|'s window, both counted in their own order. */
static int64_t place_of(const window *k, const window *in, const int64_t *at, int64_t tap) {
  int64_t to = 0, step = 1;
  for (int i = k->axes - 1; i >= 0; step *= k->size[i--]) {
    to += (at[i] + tap % in->size[i]) * step;
    tap /= in->size[i];
  }
  return to;
}

static ox_status *add_conv(const ox_rewrite *g, ox_id conv, const window *k, merging *s, int32_t *map, double *bias) {
  window in;
  int64_t at[OX_MAX_RANK];
  window_of(g, conv, &in), lies_in(k, &in, at);
  s->own[s->n] = ox_elements_of(&in.w->shape, 2, in.w->shape.rank);
  s->w[s->n] = ox_const(g, ox_in(g, conv, W));
  if (!s->w[s->n]) return ox_no_memory(g);
  map += s->n++ * s->taps;
  for (int64_t t = 0; t < s->taps; t++) map[t] = -1;
  for (int64_t t = 0; t < s->own[s->n - 1]; t++) map[place_of(k, &in, at, t)] = (int32_t)t;
  for (int64_t c = 0; in.bias && c < k->w->shape.dim[0]; c++) bias[c] += ox_at(g, in.bias, c);
  return NULL;
}

static void add_input(const ox_rewrite *g, ox_id norm, const window *k, merging *s, double *scale, double *bias) {
  const window one = pixel_of(k);
  int64_t at[OX_MAX_RANK];
  ox_id arg[OX_NORM_PARAMS];
  takes_input(k, at);
  s->pixel = place_of(k, &one, at, 0);
  for (uint32_t p = 0; p < OX_NORM_PARAMS; p++) arg[p] = ox_in(g, norm, 1 + p);
  for (int64_t c = 0; c < k->w->shape.dim[0]; c++) {
    double by = 1, shift = 0;
    if (norm != OX_NONE) ox_norm_affine(g, norm, arg, c, &by, &shift);
    scale[c] += by, bias[c] += shift;
  }
}

static ox_status *set_weights(const ox_rewrite *g, ox_id conv, const window *k, const merging *s, const double *bias) {
  const ox_tensor *from = ox_const(g, ox_in(g, conv, W));
  int64_t channels = k->w->shape.dim[0];
  float *to;
  ox_id w, b;
  if (!from) return ox_no_memory(g);
  OX_TRY(g->api->const_later(g, g->api->value_name(g, ox_in(g, conv, W)), OX_F32, &k->w->shape, from, make_merged, s,
                             sizeof *s, &w));
  OX_TRY(ox_f32_room(g, NULL, 1, &channels, &to, &b));
  for (int64_t c = 0; c < channels; c++) to[c] = (float)(bias[c] + (k->bias ? ox_at(g, k->bias, c) : 0));
  OX_TRY(ox_set_in(g, conv, W, w));
  return ox_set_in(g, conv, B, b);
}

static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  const branches *b = OX_CAPTURED(m, branches);
  ox_id conv = b->node[b->widest];
  window k;
  window_of(g, conv, &k);
  int64_t channels = k.w->shape.dim[0], taps = ox_elements_of(&k.w->shape, 2, k.w->shape.rank);
  merging s = {.taps = taps, .each = k.w->shape.dim[1], .pixel = -1};
  double *scale = g->api->model_alloc(g, (size_t)channels * sizeof *scale);
  int32_t *map = g->api->model_alloc(g, (size_t)(taps * b->n) * sizeof *map);
  double *bias = g->api->scratch(g, (size_t)channels * sizeof *bias);
  if (!scale || !map || !bias) return ox_no_memory(g);
  s.scale = scale, s.map = map;
  for (uint32_t i = 0; i < b->n; i++) {
    if (b->node[i] == OX_NONE || !ox_is(g, b->node[i], "Conv"))
      add_input(g, b->node[i], &k, &s, scale, bias);
    else if (i != b->widest)
      OX_TRY(add_conv(g, b->node[i], &k, &s, map, bias));
  }
  OX_TRY(set_weights(g, conv, &k, &s, bias));
  return ox_give_way(g, m->node[0], ox_out(g, conv, 0));
}

static const ox_pat sum[] = {{.op = "Add"}};
static const ox_rule rules[] = {{OX_RULE("conv-merge", OX_OPTIMIZE_EXTENDED, sum, guard, apply)}};
const ox_rule_set ox_rules_conv_merge = OX_RULE_SET(rules);
