/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/winograd_run.c - the order of the steps: a strip's input is transformed; then, for each pair of blocks of
 * output channels, the products of all points are formed and transformed back. */
#include <string.h>

#include "kern/blocks/winograd.h"
#include "kern/carried.h"

/* Image |r| of those interleaved along an axis, which starts at *x and *y. Its outputs are r, r + dilation, ... */
static void find_image(const ox_wino_axis *a, int64_t r, int64_t *x, int64_t *y, int64_t *in, int64_t *out,
                       int64_t *pad) {
  int64_t d = a->dilation, first = r + a->first; /* what the first output's first tap meets */
  int64_t at = (first % d + d) % d;
  *x += at * a->x_step, *y += r * a->y_step;
  *in = a->in > at ? OX_CEIL_DIV(a->in - at, d) : 0, *out = OX_CEIL_DIV(a->out - r, d);
  *pad = -((first - at) / d);
}

/* The image that window 0 reads for image |d| of Y. */
static int64_t slice_of(const ox_wino_view *v, int64_t d) { return d * v->depth_stride + v->depth.first; }

static ox_wino_image image_at(const ox_wino_plan *p, const ox_conv_args *a, int64_t group, int64_t n, int64_t d,
                              int64_t r, int64_t c) {
  const ox_conv_geom *g = &p->head.task.g;
  const ox_wino_axis *down = &p->view.axis[0], *across = &p->view.axis[1], *depth = &p->view.depth;
  int64_t x_plane = down->in * across->in * OX_BLOCK, y_plane = down->out * across->out * OX_BLOCK;
  int64_t x = (n * g->groups + group) * p->blocks * depth->in * x_plane;
  int64_t y = ((n * g->groups + group) * OX_CEIL_DIV(g->oc, OX_BLOCK) * depth->out + d) * y_plane;
  ox_wino_image i = {.slice = slice_of(&p->view, d),
                     .depth = depth->in,
                     .x_slice = x_plane,
                     .dilation = depth->dilation,
                     .x_block = depth->in * x_plane,
                     .y_block = depth->out * y_plane,
                     .x_row = down->x_step * down->dilation,
                     .y_row = down->y_step * down->dilation,
                     .x_column = across->x_step * across->dilation,
                     .y_column = across->y_step * across->dilation};
  find_image(down, r, &x, &y, &i.in_h, &i.out_h, &i.pad_h);
  find_image(across, c, &x, &y, &i.in_w, &i.out_w, &i.pad_w);
  i.x = a->x + x, i.y = a->y + y, i.z = a->z ? a->z + y : NULL;
  return i;
}

/* Tile |at| of |count| that begin at tile |begin| of a group, and those that lie beside it. A long line's tiles past
 * its end belong to it. */
static ox_wino_span span_at(const ox_wino_plan *p, const ox_conv_args *a, int64_t group, int64_t begin, size_t at,
                            size_t count, ox_wino_image *image) {
  const bool one_line = p->view.windows > 1 && !p->view.deep;
  int64_t tile = begin + (int64_t)at, line = (one_line ? begin : tile) / p->across, tx = tile - line * p->across;
  int64_t ty = line % p->down, plane = line / p->down, left = (int64_t)(count - at);
  int64_t c = plane % p->interleaved[1], r = plane / p->interleaved[1] % p->interleaved[0];
  plane /= p->interleaved[0] * p->interleaved[1];
  *image = image_at(p, a, group, plane / p->view.depth.out, plane % p->view.depth.out, r, c);
  int64_t beside = OX_MIN(one_line ? left : OX_MIN(p->across - tx, left), OX_WINO_SPAN);
  return (ox_wino_span){ty * ox_wino_rows_m(p->kind), tx * ox_wino_m(p->kind), beside, at};
}

void ox_wino_strip_in(const ox_wino_plan *p, const ox_conv_args *a, int64_t group, int64_t s, int64_t block0,
                      int64_t block1, float *v, float *rows) {
  const ox_wino_strip strip = ox_wino_strip_of(p, s);
  const size_t count = p->view.deep ? strip.count : strip.inputs; /* of an image */
  ox_wino_image image;
  for (size_t first = 0; first < strip.inputs; first += count)
    for (size_t at = 0; at < count;) {
      ox_wino_span span = span_at(p, a, group, strip.begin, at, count, &image);
      image.slice += (int64_t)(first / count) * image.dilation;
      if (image.slice < 0 || image.slice >= image.depth) break; /* its V is not read */
      at += (size_t)span.count, span.at += first;
      p->v->steps[p->kind].in(&(ox_wino_in){&image, &strip, span, block0, block1, v, rows});
    }
}

void ox_wino_strip_out(const ox_wino_plan *p, const ox_conv_args *a, int64_t group, int64_t s, int64_t pair,
                       const float *m, const float *filters) {
  const ox_conv_geom *g = &p->head.task.g;
  const ox_act *act = &p->head.task.act;
  int64_t channels = OX_ROUND_UP(g->oc, OX_BLOCK), oc0 = pair * OX_WINO_PAIR;
  size_t width = (size_t)OX_MIN(channels - oc0, OX_WINO_PAIR);
  const ox_wino_strip strip = ox_wino_strip_of(p, s);
  ox_wino_image image;
  ox_wino_out out = {
      .image = &image, .strip = &strip, .m = m, .width = width, .ic = (size_t)g->ic, .taps = (size_t)p->view.taps};
  out.window = out.taps / (size_t)(p->view.deep ? p->view.windows : 1);
  out.lender = a, out.act = act;
  out.post = ox_bconv_clamp(act, &out.lo, &out.hi);
  for (size_t done = 0; done < strip.tiles; done += (size_t)out.span.count) {
    const size_t at = done % strip.count, first = done - at;
    out.span = span_at(p, a, group, strip.begin + (int64_t)(first / strip.count) * p->line, at, strip.count, &image);
    out.span.at += first;
    for (out.at = 0; out.at < width; out.at += OX_BLOCK) {
      int64_t oc = oc0 + (int64_t)out.at;
      out.block = oc / OX_BLOCK, out.filters = filters ? filters + out.at : NULL, out.first_filter = group * g->oc + oc;
      out.slope = a->slope ? a->slope + group * channels + oc : NULL;
      out.bias = a->bias ? a->bias + group * g->oc + oc : NULL, out.lanes = (size_t)OX_MIN(g->oc - oc, OX_BLOCK);
      p->v->steps[p->kind].out(&out);
    }
  }
}

void ox_wino_mul_window(const ox_wino_plan *p, const ox_wino_strip *strip, int64_t w, ox_wino_mul t) {
  const ox_wino_view *view = &p->view;
  int64_t begin = 0, end = strip->slices;
  if (view->deep) {
    const int64_t first = strip->begin / p->line % p->slices; /* image of Y */
    const int64_t slice = slice_of(view, first) + w * view->depth.dilation;
    while (begin < end && slice + begin * view->depth_stride < 0) begin++;
    while (end > begin && slice + (end - 1) * view->depth_stride >= view->depth.in) end--;
  }
  if (w != p->whole && !t.add) memset(t.m, 0, strip->tiles * t.width * sizeof *t.m), t.add = true;
  const size_t at = (size_t)begin * strip->count;
  t.tiles = (size_t)(end - begin) * strip->count, t.inputs = strip->inputs;
  t.v += ((size_t)w * strip->window + at) * OX_BLOCK, t.m += at * t.width;
  if (t.tiles) p->v->mul(&t);
}

/* Which of U's matrices belongs to a point: the last points along an axis may share theirs. */
static size_t weights_of(ox_wino_kind k, size_t point) {
  const size_t n = (size_t)ox_wino_n(k), last = (size_t)ox_wino_weights(k) - 1;
  return OX_MIN(point / n, last) * (last + 1) + OX_MIN(point % n, last);
}

static void pair_out(const ox_wino_plan *p, const ox_conv_args *a, int64_t group, int64_t s, int64_t pair,
                     const float *v, float *m) {
  const ox_conv_geom *g = &p->head.task.g;
  int64_t channels = OX_ROUND_UP(g->oc, OX_BLOCK), oc0 = pair * OX_WINO_PAIR;
  const size_t points = (size_t)ox_wino_tile_points(p->kind), windows = (size_t)p->view.windows,
               whole = (size_t)p->whole;
  const size_t width = (size_t)OX_MIN(channels - oc0, OX_WINO_PAIR), matrix = (size_t)g->ic * width;
  const ox_wino_strip strip = ox_wino_strip_of(p, s);
  const int64_t filter0 = (group * channels + oc0) * g->ic;
  const float *u = a->w + filter0 * p->view.windows * ox_wino_tile_weights(p->kind);
  const float *filters = a->w + ox_wino_u_floats(&p->head.task, p->kind) + filter0 * p->view.taps;
  ox_wino_mul mul = {.ic = (size_t)g->ic, .width = width, .u_step = width};
  mul.ahead = u + whole % windows * matrix;
  for (size_t i = 0; i < points * windows; i++) { /* the whole window first */
    const size_t point = i / windows, w = (whole + i) % windows, next = i + 1;
    mul.u = mul.ahead, mul.add = i % windows > 0;
    mul.ahead = u + (weights_of(p->kind, next / windows) * windows + (whole + next) % windows) * matrix;
    mul.v = v + point * strip.v_point, mul.m = m + point * strip.m_point;
    ox_wino_mul_window(p, &strip, (int64_t)w, mul);
  }
  ox_wino_strip_out(p, a, group, s, pair, m, p->head.task.reads_w ? NULL : filters);
}

/* V of a strip in the worker's scratch, which is made if |*made| does not say that it is there: the group, and below
 * it a bit for each of its strips. */
static float *own_v(const ox_wino_plan *p, const ox_conv_args *a, int64_t group, int64_t s, float *scratch,
                    int64_t *made) {
  float *v = scratch + (size_t)s * p->v_floats, *rows = scratch + (size_t)p->strips * p->v_floats;
  if (*made < 0 || *made >> OX_WINO_EACH_STRIPS != group) *made = group << OX_WINO_EACH_STRIPS;
  if (!(*made >> s & 1)) ox_wino_strip_in(p, a, group, s, 0, p->blocks, v, rows);
  *made |= (int64_t)1 << s;
  return v;
}

/* Pieces of the output where each worker makes V for itself. Those that read the same weights follow each other. */
static void run_each(const ox_wino_plan *p, const ox_conv_args *a, int64_t begin, int64_t end, float *scratch) {
  int64_t none = -1, *carried = ox_carried_of(a->shared, scratch), *made = carried ? carried : &none;
  float *m = scratch + (size_t)p->strips * p->v_floats;
  for (int64_t i = begin; i < end; i++) {
    int64_t s = i % p->strips, part = i / p->strips % p->out_parts, group = i / p->strips / p->out_parts;
    const float *v = own_v(p, a, group, s, scratch, made);
    for (int64_t pair = p->pairs * part / p->out_parts; pair < p->pairs * (part + 1) / p->out_parts; pair++)
      pair_out(p, a, group, s, pair, v, m);
  }
}

void ox_wino_run(const ox_bconv_plan *head, const ox_conv_args *a, uint32_t stage, int64_t begin, int64_t end,
                 void *scratch) {
  const ox_wino_plan *p = (const ox_wino_plan *)head;
  if (p->each) {
    if (stage == 0)
      ox_carried_begin(a->shared);
    else
      run_each(p, a, begin, end, scratch);
    return;
  }
  bool in = !p->shared || stage == 0, out = !p->shared || stage == 1;
  int64_t parts = in ? p->in_parts : p->out_parts, all = in && p->shared ? p->blocks : p->pairs;
  for (int64_t i = begin; i < end; i++) {
    int64_t part = i / p->strips % parts, s = i % p->strips, group = i / parts / p->strips;
    if (!out) part = i % parts, s = i / parts % p->strips;
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
