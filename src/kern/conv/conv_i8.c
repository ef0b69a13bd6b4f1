/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_i8.c - plans and tiles of a convolution of bytes on channels-last data. */
#include "kern/conv/conv_i8.h"

#include <string.h>

#include "base/cksize.h"
#include "kern/variants.h"

enum {
  MIN_TILE_PX = 16, /* pixels of a tile of products, at least and at most */
  MAX_TILE_PX = 192,
  TILE_MACS = 1 << 22, /* multiply-adds of a tile, about */
  MAC_COST = 16,       /* of one of a depthwise convolution, which does not use the 8-bit product */
  MAX_TAPS = OX_CONV_I8_TAPS
};

OX_VARIANTS_SELECT(ox_conv_i8_variant, ox_conv_i8__, ox_conv_i8_select)

size_t ox_conv_i8_group_bytes(const ox_gemm_i8_variant *v, int64_t oc, int64_t k) {
  return OX_ROUND_UP(ox_gemm_i8_b_bytes(v, (size_t)k, (size_t)oc), OX_ALIGN_BYTES);
}

void ox_conv_i8_pack_panel(const ox_gemm_i8_variant *v, const void *w, bool w_signed, int64_t oc, int64_t ic,
                           int64_t taps, int64_t panel, void *temp, void *packed) {
  size_t k = (size_t)(ic * taps), kp = ox_gemm_i8_k(v, k);
  int64_t first = panel * v->nr, n = OX_MIN((int64_t)v->nr, oc - first);
  const uint8_t *from = (const uint8_t *)w + (size_t)first * k;
  uint8_t *to = temp, *panels = packed;
  int32_t *sums = ox_gemm_i8_sums(v, packed, kp, (size_t)oc) + first;
  for (int64_t o = 0; o < n; o++) /* as in channels-last data, the channels of a tap lie together */
    for (int64_t t = 0; t < taps; t++)
      for (int64_t c = 0; c < ic; c++) *to++ = from[(o * ic + c) * taps + t];
  to = panels + (size_t)panel * ox_gemm_i8_span(v, kp);
  v->panel(temp, w_signed ? 0 : 128, 1, (ptrdiff_t)k, k, kp, (size_t)n, to, sums);
  ox_gemm_i8_split(v, kp, to);
}

/* Pixels of a tile, from the work of a pixel. */
static int64_t tile_pixels(const ox_conv_i8_plan *p) {
  const ox_conv_geom *g = &p->g;
  int64_t most = OX_MAX(p->pixels, 1);
  if (p->depthwise) return OX_MIN(OX_MAX(TILE_MACS / MAC_COST / (p->taps * g->groups), 1), most);
  int64_t px = TILE_MACS / OX_MAX(p->k * g->oc, 1);
  return OX_MIN(OX_MIN(OX_MAX(px, MIN_TILE_PX), MAX_TILE_PX), most);
}

bool ox_conv_i8_plan_init(ox_conv_i8_plan *p, const ox_conv_geom *g, ox_isa have) {
  memset(p, 0, sizeof *p);
  p->g = *g, p->gemm = ox_gemm_i8_select(have), p->v = ox_conv_i8_select(have);
  p->taps = g->n_taps[0] * g->n_taps[1] * g->n_taps[2], p->k = g->ic * p->taps;
  p->pixels = g->out[0] * g->out[1] * g->out[2], p->in_pixels = g->in[0] * g->in[1] * g->in[2];
  p->depthwise = ox_conv_i8_is_depthwise(g->ic, g->oc, p->taps);
  p->pointwise = g->groups == 1;
  for (int a = 0; a < OX_CONV_AXES; a++)
    p->pointwise &= g->n_taps[a] == 1 && g->tap[a][0] == 0 && g->stride[a] == 1 && g->in[a] == g->out[a];
  p->adjacent = g->groups == 1;
  for (int64_t i = 1; i < g->n_taps[2]; i++) p->adjacent &= g->tap[2][i] == g->tap[2][i - 1] + 1;
  p->tile_px = tile_pixels(p), p->tiles_px = OX_CEIL_DIV(p->pixels, p->tile_px);
  p->n_tiles = g->batch * (p->depthwise ? 1 : g->groups) * p->tiles_px;
  if (p->depthwise) return true;
  size_t rows = (size_t)p->tile_px, rest = (size_t)(p->pixels - (p->tiles_px - 1) * p->tile_px);
  if (p->pixels == 0) rest = 0;
  ox_gemm_i8_plan_init(&p->whole, p->gemm, rows, (size_t)g->oc, (size_t)p->k);
  ox_gemm_i8_plan_init(&p->rest, p->gemm, rest, (size_t)g->oc, (size_t)p->k);
  if (!p->pointwise && !ox_mul_ok(rows, (size_t)p->k, &p->gather_bytes)) return false;
  p->gather_bytes = OX_ROUND_UP(p->gather_bytes, OX_ALIGN_BYTES);
  return ox_add_ok(p->gather_bytes, OX_MAX(p->whole.scratch, p->rest.scratch), &p->scratch_bytes);
}

static int32_t byte_at(const void *p, bool is_signed) {
  if (!p) return 0;
  return is_signed ? *(const int8_t *)p : *(const uint8_t *)p;
}

void ox_conv_i8_pack_depthwise(const void *w, bool w_signed, int64_t groups, int64_t taps, const void *zero,
                               size_t zero_step, int32_t *packed) {
  for (int64_t t = 0; t < taps; t++)
    for (int64_t g = 0; g < groups; g++)
      *packed++ = byte_at((const uint8_t *)w + g * taps + t, w_signed) -
                  byte_at(zero ? (const uint8_t *)zero + (size_t)g * zero_step : NULL, w_signed);
}

/* The input pixel that each tap of output pixel px reads, in the order of the taps; -1: outside. */
static void tap_pixels(const ox_conv_geom *g, int64_t px, int64_t *at) {
  int64_t od = px / g->out[2] / g->out[1] * g->stride[0], oh = px / g->out[2] % g->out[1] * g->stride[1];
  int64_t ow = px % g->out[2] * g->stride[2];
  for (int64_t i = 0; i < g->n_taps[0]; i++)
    for (int64_t j = 0; j < g->n_taps[1]; j++) {
      int64_t d = od + g->tap[0][i], h = oh + g->tap[1][j], row = (d * g->in[1] + h) * g->in[2];
      bool inside = d >= 0 && d < g->in[0] && h >= 0 && h < g->in[1];
      for (int64_t k = 0; k < g->n_taps[2]; k++) {
        int64_t w = ow + g->tap[2][k];
        *at++ = inside && w >= 0 && w < g->in[2] ? row + w : -1;
      }
    }
}

/* memcpy for |n| bytes, often only a few: the last piece overlaps the one before it instead of being shorter. */
static void copy(uint8_t *to, const uint8_t *from, size_t n) {
  size_t i = 0;
  if (n >= 16) {
    for (; i + 16 <= n; i += 16) memcpy(to + i, from + i, 16);
    if (i < n) memcpy(to + n - 16, from + n - 16, 16);
  } else if (n >= 8) {
    memcpy(to, from, 8), memcpy(to + n - 8, from + n - 8, 8);
  } else if (n >= 4) {
    memcpy(to, from, 4), memcpy(to + n - 4, from + n - 4, 4);
  } else {
    for (; i < n; i++) to[i] = from[i];
  }
}

/* Copies the bytes under the taps of one row of the image; the first tap is at pixel |w|. |line| NULL: the row is
 * outside the image. */
static void gather_line(const ox_conv_i8_plan *p, const uint8_t *line, int64_t pitch, uint8_t pad, int64_t w,
                        uint8_t *to) {
  const ox_conv_geom *g = &p->g;
  int64_t n = g->ic, taps = g->n_taps[2], first = g->tap[2][0];
  if (!line) {
    memset(to, pad, (size_t)(taps * n));
  } else if (p->adjacent) {
    if (w >= 0 && w + taps <= g->in[2]) {
      copy(to, line + w * n, (size_t)(taps * n));
      return;
    }
    int64_t before = OX_MIN(OX_MAX(-w, 0), taps), end = OX_MAX(OX_MIN(g->in[2] - w, taps), before);
    memset(to, pad, (size_t)(before * n));
    if (end > before) copy(to + before * n, line + (w + before) * n, (size_t)((end - before) * n));
    memset(to + end * n, pad, (size_t)((taps - end) * n));
  } else {
    for (int64_t k = 0; k < taps; k++, to += n) {
      int64_t at = w - first + g->tap[2][k];
      if (at >= 0 && at < g->in[2])
        copy(to, line + at * pitch, (size_t)n);
      else
        memset(to, pad, (size_t)n);
    }
  }
}

/* im2col: for each of the pixels [p0, p1) a row with the bytes under each tap, one after the other. */
static void gather(const ox_conv_i8_plan *p, const uint8_t *x, int64_t pitch, uint8_t pad, int64_t p0, int64_t p1,
                   uint8_t *to) {
  const ox_conv_geom *g = &p->g;
  int64_t ow = p0 % g->out[2], oh = p0 / g->out[2] % g->out[1], od = p0 / g->out[2] / g->out[1];
  for (int64_t px = p0; px < p1; px++) {
    for (int64_t i = 0; i < g->n_taps[0]; i++)
      for (int64_t j = 0; j < g->n_taps[1]; j++, to += g->n_taps[2] * g->ic) {
        int64_t d = od * g->stride[0] + g->tap[0][i], h = oh * g->stride[1] + g->tap[1][j];
        bool inside = d >= 0 && d < g->in[0] && h >= 0 && h < g->in[1];
        gather_line(p, inside ? x + (d * g->in[1] + h) * g->in[2] * pitch : NULL, pitch, pad,
                    ow * g->stride[2] + g->tap[2][0], to);
      }
    if (++ow == g->out[2]) {
      ow = 0;
      if (++oh == g->out[1]) oh = 0, od++;
    }
  }
}

/* A tile of pixels of one image and group, by the 8-bit product. */
static void product_tile(const ox_conv_i8_plan *p, const ox_conv_i8_args *a, int64_t tile, uint8_t *scratch) {
  static const float one = 1;
  const ox_conv_geom *g = &p->g;
  int64_t p0 = tile % p->tiles_px * p->tile_px, image = tile / p->tiles_px / g->groups,
          group = tile / p->tiles_px % g->groups;
  int64_t p1 = OX_MIN(p0 + p->tile_px, p->pixels), all = g->groups * g->ic, out_all = g->groups * g->oc;
  const uint8_t *x = a->x + image * p->in_pixels * all + group * g->ic;
  size_t elem = a->type == OX_I32 ? 4 : 1;
  ox_gemm_i8_out out = {.type = a->type,
                        .row_scale = &one,
                        .col_scale = a->scale ? a->scale + group * g->oc : &one,
                        .col_step = a->scale != NULL,
                        .bias_i32 = a->bias ? a->bias + group * g->oc : NULL,
                        .zero = a->y_zero};
  ox_gemm_i8_io io = {.a = scratch,
                      .a_signed = a->x_signed,
                      .b_signed = a->w_signed,
                      .a_rs = p->k,
                      .a_ks = 1,
                      .a_zero = a->x_zero,
                      .b_zero_step = a->w_zero_step,
                      .out = &out,
                      .c_rs = (size_t)out_all,
                      .b_zero = a->w_zero ? (const uint8_t *)a->w_zero + (a->w_zero_step ? group * g->oc : 0) : NULL,
                      .packed = (const char *)a->packed + (size_t)group * ox_conv_i8_group_bytes(p->gemm, g->oc, p->k),
                      .c = (char *)a->y + (size_t)((image * p->pixels + p0) * out_all + group * g->oc) * elem};
  if (p->pointwise) {
    io.a = x + p0 * all, io.a_rs = all;
  } else {
    gather(p, x, all, (uint8_t)byte_at(a->x_zero, a->x_signed), p0, p1, scratch);
  }
  const ox_gemm_i8_plan *plan = p1 - p0 == p->tile_px ? &p->whole : &p->rest;
  for (size_t i = 0; i < ox_gemm_i8_tiles(plan); i++) ox_gemm_i8_run(plan, &io, i, scratch + p->gather_bytes);
}

/* Lists the taps of pixel |px| that are inside the image, then computes all its channels. */
static void depthwise_pixel(const ox_conv_i8_plan *p, const ox_conv_i8_args *a, const uint8_t *x, int64_t px, void *y) {
  const ox_conv_geom *g = &p->g;
  const uint8_t *rows[MAX_TAPS];
  const int32_t *weights[MAX_TAPS];
  ox_conv_i8_pixel out = {.x = rows,
                          .w = weights,
                          .channels = (size_t)g->groups,
                          .x_signed = a->x_signed,
                          .x_zero = byte_at(a->x_zero, a->x_signed),
                          .bias = a->bias,
                          .scale = a->scale,
                          .type = a->type,
                          .y_zero = a->y_zero,
                          .y = y};
  int64_t at[MAX_TAPS];
  tap_pixels(g, px, at);
  for (int64_t t = 0; t < p->taps; t++) {
    if (at[t] < 0) continue;
    rows[out.n_taps] = x + at[t] * g->groups, weights[out.n_taps++] = (const int32_t *)a->packed + t * g->groups;
  }
  p->v->pixel(&out);
}

static void depthwise_tile(const ox_conv_i8_plan *p, const ox_conv_i8_args *a, int64_t tile) {
  int64_t p0 = tile % p->tiles_px * p->tile_px, image = tile / p->tiles_px;
  const uint8_t *x = a->x + image * p->in_pixels * p->g.groups;
  size_t elem = a->type == OX_I32 ? 4 : 1;
  for (int64_t px = p0; px < OX_MIN(p0 + p->tile_px, p->pixels); px++)
    depthwise_pixel(p, a, x, px, (char *)a->y + (size_t)((image * p->pixels + px) * p->g.groups) * elem);
}

void ox_conv_i8_run(const ox_conv_i8_plan *p, const ox_conv_i8_args *a, int64_t begin, int64_t end, void *scratch) {
  for (int64_t t = begin; t < end; t++) {
    if (p->depthwise)
      depthwise_tile(p, a, t);
    else
      product_tile(p, a, t, scratch);
  }
}
