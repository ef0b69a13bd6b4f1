/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/winograd_run.c - the order of the steps: a strip's input is transformed; then, for each pair of blocks of
 * output channels, the products of all points are formed and transformed back. */
#include "kern/blocks/winograd.h"

/* Image |r| of those woven into one along |axis|, which starts at *x and *y: rows or columns |x_step| and |y_step|
 * floats apart. Its outputs are r, r + d, ... */
static void unweave(const ox_conv_geom *g, int axis, int64_t r, int64_t x_step, int64_t y_step, int64_t *x, int64_t *y,
                    int64_t *in, int64_t *out, int64_t *pad) {
  int64_t d = ox_wino_dilation(g, axis), first = r + g->tap[axis][0]; /* what the first output's first tap meets */
  int64_t at = (first % d + d) % d;
  *x += at * x_step, *y += r * y_step;
  *in = g->in[axis] > at ? OX_CEIL_DIV(g->in[axis] - at, d) : 0, *out = OX_CEIL_DIV(g->out[axis] - r, d);
  *pad = -((first - at) / d);
}

static ox_wino_image image_at(const ox_wino_plan *p, const ox_conv_args *a, int64_t group, int64_t n, int64_t d,
                              int64_t r, int64_t c) {
  const ox_conv_geom *g = &p->head.task.g;
  int64_t x_row = g->in[2] * OX_BLOCK, y_row = g->out[2] * OX_BLOCK, depth = g->in[0];
  int64_t x = ((n * g->groups + group) * p->blocks * depth + d) * g->in[1] * x_row;
  int64_t y = ((n * g->groups + group) * OX_CEIL_DIV(g->oc, OX_BLOCK) * depth + d) * g->out[1] * y_row;
  ox_wino_image i = {.x_block = depth * g->in[1] * x_row,
                     .y_block = depth * g->out[1] * y_row,
                     .x_row = x_row * ox_wino_dilation(g, 1),
                     .y_row = y_row * ox_wino_dilation(g, 1),
                     .x_column = OX_BLOCK * ox_wino_dilation(g, 2),
                     .y_column = OX_BLOCK * ox_wino_dilation(g, 2)};
  unweave(g, 1, r, x_row, y_row, &x, &y, &i.in_h, &i.out_h, &i.pad_h);
  unweave(g, 2, c, OX_BLOCK, OX_BLOCK, &x, &y, &i.in_w, &i.out_w, &i.pad_w);
  i.x = a->x + x, i.y = a->y + y, i.z = a->z ? a->z + y : NULL;
  return i;
}

/* Tile |at| of a group and those up to |end| that lie beside it. */
static ox_wino_span span_at(const ox_wino_plan *p, const ox_conv_args *a, int64_t group, int64_t at, int64_t end,
                            ox_wino_image *image) {
  int64_t tx = at % p->across, ty = at / p->across % p->down, plane = at / p->across / p->down;
  int64_t c = plane % p->woven[1], r = plane / p->woven[1] % p->woven[0];
  plane /= p->woven[0] * p->woven[1];
  *image = image_at(p, a, group, plane / p->head.task.g.in[0], plane % p->head.task.g.in[0], r, c);
  int64_t count = OX_MIN(OX_MIN(p->across - tx, end - at), OX_WINO_SPAN);
  return (ox_wino_span){ty * ox_wino_m(p->kind), tx * ox_wino_m(p->kind), count, 0};
}

void ox_wino_strip_in(const ox_wino_plan *p, const ox_conv_args *a, int64_t group, int64_t s, int64_t block0,
                      int64_t block1, float *v, float *rows) {
  int64_t begin;
  ox_wino_strip strip = ox_wino_strip_of(p, s, &begin);
  ox_wino_image image;
  for (size_t at = 0; at < strip.tiles;) {
    ox_wino_span span = span_at(p, a, group, begin + (int64_t)at, begin + (int64_t)strip.tiles, &image);
    span.at = at;
    p->v->steps[p->kind].in(&(ox_wino_in){&image, &strip, span, block0, block1, v, rows});
    at += (size_t)span.count;
  }
}

void ox_wino_strip_out(const ox_wino_plan *p, const ox_conv_args *a, int64_t group, int64_t s, int64_t pair,
                       const float *m, const float *filters) {
  const ox_conv_geom *g = &p->head.task.g;
  const ox_act *act = &p->head.task.act;
  int64_t begin, channels = OX_ROUND_UP(g->oc, OX_BLOCK), oc0 = pair * OX_WINO_PAIR;
  size_t width = (size_t)OX_MIN(channels - oc0, OX_WINO_PAIR);
  ox_wino_strip strip = ox_wino_strip_of(p, s, &begin);
  ox_wino_image image;
  ox_wino_out out = {
      .image = &image, .strip = &strip, .m = m, .width = width, .ic = (size_t)g->ic, .lender = a, .act = act};
  out.post = ox_bconv_clamp(act, &out.lo, &out.hi);
  for (size_t at = 0; at < strip.tiles; at += (size_t)out.span.count) {
    out.span = span_at(p, a, group, begin + (int64_t)at, begin + (int64_t)strip.tiles, &image);
    out.span.at = at;
    for (out.at = 0; out.at < width; out.at += OX_BLOCK) {
      int64_t oc = oc0 + (int64_t)out.at;
      out.block = oc / OX_BLOCK, out.filters = filters ? filters + out.at : NULL, out.first_filter = group * g->oc + oc;
      out.slope = a->slope ? a->slope + group * channels + oc : NULL;
      out.bias = a->bias ? a->bias + group * g->oc + oc : NULL, out.lanes = (size_t)OX_MIN(g->oc - oc, OX_BLOCK);
      p->v->steps[p->kind].out(&out);
    }
  }
}

static void pair_out(const ox_wino_plan *p, const ox_conv_args *a, int64_t group, int64_t s, int64_t pair,
                     const float *v, float *m) {
  const ox_conv_geom *g = &p->head.task.g;
  int64_t begin, channels = OX_ROUND_UP(g->oc, OX_BLOCK), oc0 = pair * OX_WINO_PAIR;
  size_t n = (size_t)ox_wino_n(p->kind), n_u = (size_t)ox_wino_weights(p->kind),
         width = (size_t)OX_MIN(channels - oc0, OX_WINO_PAIR);
  ox_wino_strip strip = ox_wino_strip_of(p, s, &begin);
  const float *u = a->w + (group * channels + oc0) * g->ic * (int64_t)(n_u * n_u);
  const float *filters = a->w + ox_wino_u_floats(&p->head.task, p->kind) + (group * channels + oc0) * g->ic * 9;
  ox_wino_mul mul = {.strip = &strip, .v = v, .m = m, .ic = (size_t)g->ic, .width = width, .u_step = width};
  for (size_t i = 0; i < n * n; i++) { /* the last points along an axis may share their weights */
    mul.u = u + (OX_MIN(i / n, n_u - 1) * n_u + OX_MIN(i % n, n_u - 1)) * (size_t)g->ic * width;
    mul.ahead = mul.u + mul.ic * width;
    p->v->mul(&mul);
    mul.v += strip.v_point, mul.m += strip.m_point;
  }
  ox_wino_strip_out(p, a, group, s, pair, m, p->head.task.lends ? NULL : filters);
}

void ox_wino_run(const ox_bconv_plan *head, const ox_conv_args *a, uint32_t stage, int64_t begin, int64_t end,
                 void *scratch) {
  const ox_wino_plan *p = (const ox_wino_plan *)head;
  bool in = !p->shared || stage == 0, out = !p->shared || stage == 1;
  int64_t parts = in ? p->in_parts : p->out_parts, all = in && p->shared ? p->blocks : p->pairs;
  for (int64_t i = begin; i < end; i++) {
    int64_t part = i % parts, s = i / parts % p->strips, group = i / parts / p->strips;
    int64_t first = all * part / parts, last = all * (part + 1) / parts;
    float *own = scratch, *v = own;
    if (p->shared)
      v = (float *)a->shared + (size_t)(group * p->strips + s) * p->v_floats;
    else
      own += p->v_floats;
    if (in) ox_wino_strip_in(p, a, group, s, p->shared ? first : 0, p->shared ? last : p->blocks, v, own);
    for (int64_t pair = first; out && pair < last; pair++) pair_out(p, a, group, s, pair, v, own);
  }
}
