/* SPDX-License-Identifier: Apache-2.0
 * ops/col2im.c - Col2Im: sums the columns of sliding blocks back into an image of any number of axes. */
#include <string.h>

#include "base/cksize.h"
#include "kern/quant/convert.h"
#include "ops/move/scatter_reduce.h"
#include "ops/shared/conv_node.h"

enum { X, IMAGE, BLOCK };
typedef struct col_attrs {
  ox_ints dilations, pads, strides;
} col_attrs;
static const ox_attr_def attr_rows[] = {OX_ATTR_INTS_IN(col_attrs, dilations, 1, OX_COUNT_MAX),
                                        OX_ATTR_INTS(col_attrs, pads),
                                        OX_ATTR_INTS_IN(col_attrs, strides, 1, OX_COUNT_MAX)};

typedef struct geometry {
  ox_spatial_attrs w;
  int64_t image[OX_SPATIAL_AXES], count[OX_SPATIAL_AXES]; /* count: blocks along each axis */
  int64_t batch, channels, taps, blocks, pixels;
} geometry;

static ox_status *geometry_make(const col_attrs *a, const ox_shape *x, const int64_t *image, const int64_t *block,
                                int axes, geometry *g) {
  OX_TRY(ox_spatial_attrs_read(&g->w, axes, (ox_ints){(size_t)axes, block}, a->strides, a->dilations, a->pads, NULL));
  g->taps = g->blocks = g->pixels = 1;
  for (int i = 0; i < axes; i++) {
    int64_t lo, hi;
    g->image[i] = image[i];
    if (image[i] < 1) return ox_fail(OX_INVALID_MODEL, "image_shape[%d] is %lld", i, (long long)image[i]);
    OX_TRY(ox_spatial_output(&g->w, i, image[i], &g->count[i], &lo, &hi));
    if (!ox_mul_i64_ok(g->taps, g->w.kernel[i], &g->taps) || !ox_mul_i64_ok(g->blocks, g->count[i], &g->blocks) ||
        !ox_mul_i64_ok(g->pixels, image[i], &g->pixels))
      return ox_fail(OX_LIMIT, "Col2Im: too large");
  }
  if (x->rank != 3) return ox_fail(OX_INVALID_MODEL, "input has rank %d, wanted 3", x->rank);
  if ((x->dim[1] >= 0 && x->dim[1] % g->taps) || (x->dim[2] >= 0 && x->dim[2] != g->blocks))
    return ox_fail(OX_SHAPE_MISMATCH, "input must be [N, C x %lld, %lld]", (long long)g->taps, (long long)g->blocks);
  g->batch = x->dim[0], g->channels = x->dim[1] < 0 ? -1 : x->dim[1] / g->taps;
  return NULL;
}

static ox_status *infer(ox_infer_ctx *c) {
  int64_t image[OX_SPATIAL_AXES], block[OX_SPATIAL_AXES];
  int n = 0, m = 0, got = ox_infer_ints(c, IMAGE, image, OX_SPATIAL_AXES, &n),
      had = ox_infer_ints(c, BLOCK, block, OX_SPATIAL_AXES, &m);
  ox_shape y = ox_shape_unknown();
  geometry g;
  if (got < 0 || had < 0 || (got && had && (n != m || n == 0)))
    return ox_fail(OX_INVALID_MODEL, "image_shape and block_shape must be integers of one length");
  if (got && had && c->in[X]->shape.rank >= 0) {
    OX_TRY(geometry_make(c->attrs, &c->in[X]->shape, image, block, n, &g));
    y.rank = n + 2, y.dim[0] = g.batch, y.dim[1] = g.channels;
    memcpy(y.dim + 2, image, (size_t)n * sizeof *image);
  }
  ox_infer_out(c, 0, c->in[X]->dtype, &y);
  return NULL;
}

/* The pixel that tap |tap| of block |blk| adds to; -1: in the padding. */
static int64_t pixel_of(const geometry *g, int64_t tap, int64_t blk) {
  int64_t to = 0, pitch = 1;
  bool inside = true;
  for (int a = g->w.axes; a-- > 0; tap /= g->w.kernel[a], blk /= g->count[a]) {
    int64_t i = blk % g->count[a] * g->w.stride[a] + tap % g->w.kernel[a] * g->w.dilation[a] - g->w.pad_lo[a];
    inside &= i >= 0 && i < g->image[a];
    to += i * pitch, pitch *= g->image[a];
  }
  return inside ? to : -1;
}

/* The same for a line of blocks, number |line|, along the last axis: that of its first block, which may lie outside of
 * that axis, at |*out_first| of it. -1: the line lies in the padding of another. */
static int64_t line_of(const geometry *g, int64_t tap, int64_t line, int64_t *out_first) {
  int last = g->w.axes - 1;
  int64_t to = 0, pitch = g->image[last];
  *out_first = tap % g->w.kernel[last] * g->w.dilation[last] - g->w.pad_lo[last];
  tap /= g->w.kernel[last];
  for (int a = last; a-- > 0; tap /= g->w.kernel[a], line /= g->count[a]) {
    int64_t i = line % g->count[a] * g->w.stride[a] + tap % g->w.kernel[a] * g->w.dilation[a] - g->w.pad_lo[a];
    if (i < 0 || i >= g->image[a]) return -1;
    to += i * pitch, pitch *= g->image[a];
  }
  return to;
}

/* Floats, summed in double. */
static void add_plane(const ox_kernel_ctx *c, const geometry *g, int64_t plane, double *y, double *row) {
  const ox_convert *cv = ox_convert_select(c->isa);
  int last = g->w.axes - 1;
  int64_t n = g->count[last], step = g->w.stride[last], wide = g->image[last];
  memset(y, 0, (size_t)g->pixels * sizeof *y);
  if (g->blocks == 0) n = 1;
  for (int64_t t = 0; t < g->taps; t++) {
    cv->load_f64[c->in[X]->dtype](c->in[X]->data, (size_t)((plane * g->taps + t) * g->blocks), (size_t)g->blocks, row);
    for (int64_t line = 0; line < g->blocks / n; line++) {
      int64_t first, to = line_of(g, t, line, &first);
      if (to < 0) continue;
      int64_t from = first < 0 ? OX_CEIL_DIV(-first, step) : 0;
      int64_t end = first < wide ? OX_MIN(OX_CEIL_DIV(wide - first, step), n) : 0;
      for (int64_t b = from; b < end; b++) y[to + first + b * step] += row[line * n + b];
    }
  }
  cv->store_f64[c->out[0]->dtype](y, c->out[0]->data, (size_t)(plane * g->pixels), (size_t)g->pixels, NULL);
}

/* Other types, summed as ScatterElements would. */
static ox_status *add_plane_exactly(const ox_kernel_ctx *c, const geometry *g, int64_t plane, ox_combine_fn add) {
  uint32_t dtype = c->in[X]->dtype;
  size_t elem = ox_dtype_bits(dtype) / 8;
  char *y = (char *)c->out[0]->data + (size_t)(plane * g->pixels) * elem;
  const char *x = (const char *)c->in[X]->data + (size_t)(plane * g->taps * g->blocks) * elem;
  ox_scatter_strings strings = {c, false};
  memset(y, 0, (size_t)g->pixels * elem);
  for (int64_t i = 0; dtype == OX_STRING && i < g->pixels; i++) ((ox_str *)(void *)y)[i] = (ox_str){"", 0};
  for (int64_t i = 0; i < g->taps * g->blocks; i++, x += elem) {
    int64_t to = pixel_of(g, i / g->blocks, i % g->blocks);
    if (to >= 0) add(y + (size_t)to * elem, x, 1, &strings);
  }
  return strings.failed ? ox_oom() : NULL;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  geometry g;
  int64_t n = ox_shape_count(&c->in[IMAGE]->shape);
  if (n < 1 || n > OX_SPATIAL_AXES || n != ox_shape_count(&c->in[BLOCK]->shape))
    return ox_fail(OX_INVALID_MODEL, "Col2Im: image_shape and block_shape must have one length");
  OX_TRY(geometry_make(c->attrs, &c->in[X]->shape, c->in[IMAGE]->data, c->in[BLOCK]->data, (int)n, &g));
  if (!ox_shape_known(&c->out[0]->shape)) {
    ox_shape y = {.rank = (int)n + 2, .dim = {g.batch, g.channels}};
    memcpy(y.dim + 2, g.image, (size_t)n * sizeof *g.image);
    if (!ox_ctx_output(c, 0, &y)) return ox_oom();
  }
  if (!(OX_BIT(c->in[X]->dtype) & OX_T_FLOAT)) {
    ox_combine_fn add;
    OX_TRY(ox_scatter_reduce_find("Col2Im", "add", c->in[X]->dtype, &add));
    for (int64_t p = 0; p < g.batch * g.channels; p++) OX_TRY(add_plane_exactly(c, &g, p, add));
    return NULL;
  }
  if (g.pixels > INT32_MAX * (int64_t)16 || g.blocks > INT32_MAX * (int64_t)16) return ox_oom();
  double *y = ox_ctx_run_alloc(c, (size_t)g.pixels * sizeof *y),
         *row = ox_ctx_run_alloc(c, (size_t)g.blocks * sizeof *row + 1);
  if (!y || !row) return ox_oom();
  for (int64_t p = 0; p < g.batch * g.channels; p++) add_plane(c, &g, p, y, row);
  return NULL;
}

/* Strings are summed like anything else: one behind the other. */
enum { ANY = OX_T_NUMBER | OX_T_COMPLEX | OX_BIT(OX_BOOL) | OX_BIT(OX_STRING) };

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Col2Im", .since = 18, .types = {ANY, OX_BIT(OX_I64), OX_BIT(OX_I64)}, .min_in = 3, .max_in = 3,
               .value_in = 6, OX_ATTRS(attr_rows), .attrs_bytes = sizeof(col_attrs), .infer = infer),
     OX_KERNEL(.run = run)},
};
const ox_op_set ox_ops_col2im = {ops, OX_COUNT(ops)};
