/* SPDX-License-Identifier: Apache-2.0
 * kern/qconv/qconv.c - planning direct convolutions of bytes, and running their tiles. */
#include "kern/qconv/qconv.h"

#include <string.h>

#include "base/cksize.h"
#include "kern/gemm/gemm_i8.h"
#include "kern/move/move.h"
#include "kern/variants.h"

/* TILE_MACS: multiply-adds of a tile, some 5 us. STORE_K: the cost of rounding and storing a sum, in multiply-adds.
 * COPY_BYTES: per tile of the copying stage. LANE_OUTPUTS: outputs of a tile of 3 x 3 depthwise windows. TWICE (TWICE_1
 * for one tap): from so many weights per tap on, two products are slower than im2col and one product. */
enum {
  TILE_MACS = 1 << 21,
  STORE_K = 64,
  COPY_BYTES = 1 << 15,
  LANE_OUTPUTS = 1 << 16,
  MAX_FOLD = 4,
  SLACK = 64,
  TWICE_1 = 1 << 14,
  TWICE = 1 << 11
};

/* In ps, fitted to the layers of two networks on one core of a Xeon with AMX: a multiply-add here and on the matrix
 * unit behind im2col; what a sum costs more there; a byte of a row of im2col, and of a row that is only copied. */
enum { MAC = 3, UNIT_MAC = 1, UNIT_SUM = 150, UNIT_GATHER = 70, UNIT_COPY = 50 };

OX_VARIANTS_SELECT_OF(OX_EACH_ISA_I8, ox_qconv_variant, ox_qconv__, ox_qconv_select)
OX_VARIANTS_LIST_OF(OX_EACH_ISA_I8, ox_qconv_variant, ox_qconv__, ox_qconv_variants)

/* ---- plan ---- */

/* Finds the range of coordinates that are read; true if all of them lie in X. */
static bool plan_extents(ox_qconv_plan *p) {
  const ox_conv_geom *g = &p->g;
  bool inside = true;
  for (int a = 0; a < OX_CONV_AXES; a++) {
    int64_t low = g->tap[a][0], high = low;
    for (int64_t t = 1; t < g->n_taps[a]; t++) low = OX_MIN(low, g->tap[a][t]), high = OX_MAX(high, g->tap[a][t]);
    high += (g->out[a] - 1) * g->stride[a];
    p->lo[a] = low, p->extent[a] = high - low + 1;
    inside &= low >= 0 && high < g->in[a];
  }
  return inside;
}

/* Are the taps of a row adjacent pixels, so that they form one segment? */
static bool taps_adjoin(const ox_conv_geom *g) {
  for (int64_t t = 1; t < g->n_taps[2]; t++)
    if (g->tap[2][t] != g->tap[2][0] + t) return false;
  return g->groups == 1;
}
static int64_t taps_per_segment(const ox_conv_geom *g) { return taps_adjoin(g) ? g->n_taps[2] : 1; }

/* Plans the copied image. False: it would be too large, or far larger than the data (few outputs, far apart, in
 * padding). */
static bool plan_image(ox_qconv_plan *p) {
  const ox_conv_geom *g = &p->g;
  int64_t x_bytes = g->batch * p->channels * g->in[0] * g->in[1] * g->in[2];
  int64_t y_bytes = g->batch * p->out_channels * g->out[0] * g->out[1] * g->out[2];
  size_t rows, limit = (size_t)(x_bytes + y_bytes);
  bool ok = ox_mul_ok((size_t)p->extent[2], (size_t)p->channels, &p->row_bytes) &&
            ox_mul_ok((size_t)g->batch * (size_t)p->extent[0], (size_t)p->extent[1], &rows) &&
            ox_mul_ok(rows, p->row_bytes, &p->image_bytes) && ox_add_ok(p->image_bytes, SLACK, &p->image_bytes);
  if (!ok || p->image_bytes / 4 > limit + COPY_BYTES) return false;
  p->image_rows = (int64_t)rows;
  p->rows_per_tile = OX_MAX(COPY_BYTES / (int64_t)OX_MAX(p->row_bytes, 1), 1);
  return true;
}

/* Would im2col and a product on the matrix unit take longer? With few channels or outputs, storing and copying does. */
static bool beats_unit(const ox_qconv_plan *p, int64_t taps) {
  const ox_conv_geom *g = &p->g;
  int64_t k = g->ic * taps;
  double here = (double)OX_ROUND_UP(g->oc, 16) * (double)OX_ROUND_UP(k, 4) * MAC;
  double unit = (double)OX_ROUND_UP(g->oc, 32) * (double)OX_ROUND_UP(k, 64) * UNIT_MAC + (double)g->oc * UNIT_SUM;
  bool copies = taps == 1 && g->stride[0] == 1 && g->stride[1] == 1 && g->stride[2] == 1;
  unit += (double)k * (copies ? UNIT_COPY : UNIT_GATHER);
  return here * (p->twice ? 2 : 1) < unit;
}

static bool flat(const ox_qconv_plan *p) {
  bool is = p->in_place;
  for (int a = 0; a < OX_CONV_AXES; a++) is &= p->g.n_taps[a] == 1 && p->g.stride[a] == 1 && p->g.in[a] == p->g.out[a];
  return is;
}

/* A tile of S strips by P panels reads S strips of pixels and P panels of weights; they are balanced to about the same
 * number of bytes. */
static void plan_products(ox_qconv_plan *p) {
  int64_t k = p->n_segments * p->quads * 4, nr = p->v->nr;
  p->panels = p->g.groups * OX_CEIL_DIV(p->g.oc, nr);
  p->strips = OX_CEIL_DIV(p->width, p->v->mr);
  p->height = OX_CEIL_DIV(p->width, p->strips), p->tall = p->width - p->strips * (p->height - 1);
  int64_t all = p->rows * p->strips, units = OX_MAX(TILE_MACS / (p->height * nr * (k + STORE_K)), 1), strips = 1;
  while (strips * strips * p->height < units * nr) strips++;
  p->tile_panels = OX_MIN(OX_MAX(units / strips, 1), p->panels);
  p->tile_strips = OX_MIN(OX_MAX(units / p->tile_panels, 1), all);
  p->tile_panels = OX_MIN(OX_MAX(units / p->tile_strips, 1), p->panels);
  p->tiles_strips = OX_CEIL_DIV(all, p->tile_strips);
  p->n_tiles[p->n_stages++] = p->tiles_strips * OX_CEIL_DIV(p->panels, p->tile_panels);
}

/* For stride 1, a row of outputs is one array in which the weights repeat: |fold| pixels together make whole vectors.
 */
static void plan_lanes(ox_qconv_plan *p) {
  int64_t lanes = p->v->lanes;
  p->fold = 1;
  while (p->g.stride[2] == 1 && p->fold < MAX_FOLD && p->channels * p->fold % lanes) p->fold++;
  if (p->channels * p->fold % lanes || p->fold > p->width) p->fold = 1;
  p->blocks = OX_CEIL_DIV(p->channels * p->fold, lanes);
  /* A tile is several rows, or a part of one. */
  int64_t pixels = OX_MAX(LANE_OUTPUTS / p->channels * 12 / (p->n_segments + 3), p->fold);
  p->height = OX_MIN(pixels / p->fold * p->fold, p->width), p->strips = OX_CEIL_DIV(p->width, p->height);
  p->tile_strips = p->strips > 1 ? 1 : OX_MIN(OX_MAX(pixels / p->width, 1), p->rows);
  p->n_tiles[p->n_stages++] = p->strips > 1 ? p->rows * p->strips : OX_CEIL_DIV(p->rows, p->tile_strips);
}

bool ox_qconv_plan_init(ox_qconv_plan *p, const ox_conv_geom *g, ox_isa have, bool x_signed, bool x_last, bool twice) {
  memset(p, 0, sizeof *p);
  p->g = *g, p->v = ox_qconv_select(have), p->have = have;
  p->x_signed = x_signed, p->x_last = x_last, p->twice = twice;
  p->depthwise = ox_qconv_is_depthwise(g->ic, g->oc);
  p->channels = g->groups * g->ic, p->out_channels = g->groups * g->oc;
  int64_t taps = ox_conv_taps(g), pixels = g->batch * g->out[0] * g->out[1] * g->out[2];
  if (!pixels || !p->channels || !p->out_channels || !taps) return false;
  if (!p->depthwise && ox_gemm_i8_select(have)->begin && !beats_unit(p, taps)) return false;
  if (!p->depthwise && twice && g->ic * g->oc >= (taps == 1 ? TWICE_1 : TWICE)) return false;
  bool inside = plan_extents(p);
  int64_t bytes = taps_per_segment(g) * g->ic;
  p->n_segments = p->depthwise ? OX_ROUND_UP(taps << twice, p->v->taps) : taps / taps_per_segment(g) << twice;
  p->quads = OX_CEIL_DIV(bytes, 4);
  p->table_bytes = (size_t)p->n_segments * sizeof *p->segment;
  p->in_place = inside && x_last && !x_signed && !p->depthwise && bytes % 4 == 0;
  if (p->in_place)
    for (int a = 0; a < OX_CONV_AXES; a++) p->lo[a] = 0, p->extent[a] = g->in[a];
  if (!plan_image(p)) return false;
  p->rows = flat(p) ? 1 : pixels / g->out[2], p->width = flat(p) ? pixels : g->out[2];
  if (!p->in_place) p->n_tiles[p->n_stages++] = OX_CEIL_DIV(p->image_rows, p->rows_per_tile);
  if (p->depthwise)
    plan_lanes(p);
  else
    plan_products(p);
  return true;
}

void ox_qconv_plan_tables(ox_qconv_plan *p) {
  const ox_conv_geom *g = &p->g;
  int64_t n = 0, step = p->depthwise ? 1 : taps_per_segment(g);
  for (int64_t i = 0; i < g->n_taps[0]; i++)
    for (int64_t j = 0; j < g->n_taps[1]; j++)
      for (int64_t k = 0; k < g->n_taps[2]; k += step)
        p->segment[n++] =
            ((g->tap[0][i] - p->lo[0]) * p->extent[1] + g->tap[1][j] - p->lo[1]) * (ptrdiff_t)p->row_bytes +
            (g->tap[2][k] - p->lo[2]) * p->channels;
  for (int64_t once = n; p->twice && n < 2 * once; n++) p->segment[n] = p->segment[n - once];
  for (; n < p->n_segments; n++) p->segment[n] = p->segment[0]; /* padding, with weight 0 */
}

/* ---- stage 0: the image ---- */

static void copy_row(const ox_qconv_plan *p, const ox_qconv_args *a, int64_t row) {
  const ox_conv_geom *g = &p->g;
  int64_t e = p->extent[0] * p->extent[1], image = row / e;
  int64_t d = row % e / p->extent[1] + p->lo[0], h = row % p->extent[1] + p->lo[1], c = p->channels;
  uint8_t flip = p->x_signed ? 128 : 0;
  uint8_t *to = a->image + (size_t)row * p->row_bytes, pad = a->pad ^ flip;
  int64_t begin = OX_MIN(OX_MAX(-p->lo[2], 0), p->extent[2]), end = OX_MIN(p->extent[2], g->in[2] - p->lo[2]);
  if (d < 0 || d >= g->in[0] || h < 0 || h >= g->in[1] || begin >= end) begin = end = p->extent[2];
  memset(to, pad, (size_t)(begin * c));
  memset(to + end * c, pad, p->row_bytes - (size_t)(end * c));
  if (begin == end) return;
  int64_t at = (d * g->in[1] + h) * g->in[2] + begin + p->lo[2], all = g->in[0] * g->in[1] * g->in[2];
  uint8_t *inside = to + begin * c;
  size_t n = (size_t)((end - begin) * c);
  if (p->x_last) {
    p->v->copy(inside, a->x + (image * all + at) * c, n, flip);
    return;
  }
  ox_transpose_select(1, p->have)((const char *)a->x + image * all * c + at, all, (char *)inside, c, c, end - begin);
  if (flip) p->v->copy(inside, inside, n, flip);
}

/* ---- stage 1 ---- */

/* The first byte that the first output of a row reads. */
static const uint8_t *row_x(const ox_qconv_plan *p, const uint8_t *image, int64_t row) {
  const ox_conv_geom *g = &p->g;
  int64_t h = row % g->out[1], d = row / g->out[1] % g->out[0], n = row / g->out[1] / g->out[0];
  int64_t at = (n * p->extent[0] + d * g->stride[0]) * p->extent[1] + h * g->stride[1];
  return image + (size_t)at * p->row_bytes;
}

/* The form of the panel at r->w. */
static void name_extras(const ox_qconv_plan *p, ox_qconv_rows *r) {
  if (!ox_qconv_splits(p)) return;
  const ox_qconv_kept *kept = (const void *)(r->scale + p->v->nr);
  r->pairs = kept->pairs, r->n_extra = (size_t)kept->n_extra;
  r->extra = (const void *)(r->w + (r->n_segments * r->quads + r->n_extra) * 4 * p->v->nr);
}

static void product_tile(const ox_qconv_plan *p, const ox_qconv_args *a, const uint8_t *image, int64_t tile) {
  const ox_conv_geom *g = &p->g;
  int64_t s0 = tile % p->tiles_strips * p->tile_strips, s1 = OX_MIN(s0 + p->tile_strips, p->rows * p->strips);
  int64_t j0 = tile / p->tiles_strips * p->tile_panels, j1 = OX_MIN(j0 + p->tile_panels, p->panels);
  int64_t nr = p->v->nr, each = p->panels / g->groups;
  size_t x_step = (size_t)(g->stride[2] * p->channels), y_step = (size_t)p->out_channels;
  ox_qconv_rows r = {.x_step = x_step,
                     .segment = p->segment,
                     .n_segments = (size_t)p->n_segments,
                     .quads = (size_t)p->quads,
                     .y_step = y_step,
                     .out = a->out};
  for (int64_t j = j0; j < j1; j++) {
    int64_t group = j / each, first = j % each * nr;
    r.w = (const int8_t *)a->packed + (size_t)j * ox_qconv_unit_bytes(p);
    r.bias = (const int32_t *)(const void *)(r.w + ox_qconv_depth(p) * nr);
    r.scale = (const float *)(const void *)(r.bias + nr);
    name_extras(p, &r);
    r.n = (size_t)OX_MIN(nr, g->oc - first);
    for (int64_t s = s0; s < s1; s += (int64_t)r.strips) {
      int64_t row = s / p->strips, i = s % p->strips, pixel = i * p->height - OX_MAX(i - p->tall, 0);
      int64_t same = i < p->tall ? p->tall : p->strips; /* up to here strips have the same height */
      r.m = (size_t)(i < p->tall ? p->height : p->height - 1), r.strips = (size_t)OX_MIN(same - i, s1 - s);
      r.x = row_x(p, image, row) + (size_t)pixel * x_step + group * g->ic;
      size_t at = (size_t)(row * p->width + pixel) * y_step + (size_t)(group * g->oc + first);
      r.y = a->y + at, r.z = a->z ? a->z + at : NULL;
      p->v->rows(&r);
    }
  }
}

static void lanes_row(const ox_qconv_plan *p, const ox_qconv_args *a, int64_t row, int64_t begin, int64_t end) {
  int64_t lanes = p->v->lanes, step = p->channels * p->fold, bytes = (end - begin) * p->channels;
  ox_qconv_lanes d = {.x_step = (size_t)(step * p->g.stride[2]),
                      .tap = p->segment,
                      .groups = (size_t)(p->n_segments / p->v->taps),
                      .y_step = (size_t)step,
                      .out = a->out};
  const uint8_t *x = row_x(p, a->image, row) + begin * p->g.stride[2] * p->channels;
  uint8_t *y = a->y + (row * p->width + begin) * p->channels;
  for (int64_t b = 0; b < p->blocks; b++) {
    int64_t at = b * lanes, whole = bytes / step, rest = OX_MIN(bytes % step - at, lanes);
    d.w = (const int8_t *)a->packed + (size_t)b * ox_qconv_unit_bytes(p);
    d.bias = (const int32_t *)(const void *)(d.w + ox_qconv_depth(p) * lanes);
    d.scale = (const float *)(const void *)(d.bias + lanes);
    d.x = x + at, d.y = y + at, d.pixels = (size_t)whole, d.n = (size_t)OX_MIN(lanes, step - at);
    p->v->depthwise(&d);
    if (rest <= 0) continue;
    d.x += (size_t)whole * d.x_step, d.y += whole * step, d.pixels = 1, d.n = (size_t)rest;
    p->v->depthwise(&d);
  }
}

static void lanes_tile(const ox_qconv_plan *p, const ox_qconv_args *a, int64_t tile) {
  if (p->strips > 1) {
    int64_t begin = tile % p->strips * p->height;
    lanes_row(p, a, tile / p->strips, begin, OX_MIN(begin + p->height, p->width));
    return;
  }
  for (int64_t r = tile * p->tile_strips; r < OX_MIN((tile + 1) * p->tile_strips, p->rows); r++)
    lanes_row(p, a, r, 0, p->width);
}

void ox_qconv_run(const ox_qconv_plan *p, const ox_qconv_args *a, uint32_t stage, int64_t begin, int64_t end) {
  const uint8_t *image = p->in_place ? a->x : a->image;
  for (int64_t t = begin; t < end; t++) {
    if (stage + 1 < p->n_stages)
      for (int64_t r = t * p->rows_per_tile; r < OX_MIN((t + 1) * p->rows_per_tile, p->image_rows); r++)
        copy_row(p, a, r);
    else if (p->depthwise)
      lanes_tile(p, a, t);
    else
      product_tile(p, a, image, t);
  }
}
