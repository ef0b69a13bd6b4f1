/* SPDX-License-Identifier: Apache-2.0
 * ops/col2im.c - Col2Im: sums the columns of sliding blocks back into an image of any number of axes. */
#include <string.h>

#include "base/cksize.h"
#include "kern/quant/convert.h"
#include "kern/reduce/reduce.h"
#include "ops/move/deferred.h"
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

/* Sums are kept in double, and the pixels of a line that lie |stride| apart side by side, since blocks add to these. */
typedef struct sums {
  double *y;
  int64_t step, wide, line; /* the stride, pixels that lie so far apart, and doubles of a whole line */
} sums;

static sums sums_of(const geometry *g, double *y) {
  int last = g->w.axes - 1;
  int64_t step = OX_MIN(g->w.stride[last], g->image[last]), wide = OX_CEIL_DIV(g->image[last], step);
  return (sums){y, step, wide, step * wide};
}

/* The sums and, if they are out of order, what becomes of them; 0: too many. */
static size_t sums_bytes(const geometry *g) {
  sums s = sums_of(g, NULL);
  int64_t n;
  size_t bytes;
  if (!ox_mul_i64_ok(g->pixels / g->image[g->w.axes - 1], s.line, &n)) return 0;
  return ox_mul_ok((size_t)n, s.step > 1 ? 2 * sizeof(double) : sizeof(double), &bytes) ? bytes : 0;
}

/* |lines| lines of n elements, from element |at| on and |pitch| apart, onto lines |step| apart. */
static void add_lines(const ox_kernel_ctx *c, double *y, int64_t step, int64_t at, int64_t pitch, int64_t lines,
                      int64_t n) {
  enum { SOME = 256 };
  const ox_tensor *x = c->in[X];
  double block[SOME];
  if (x->dtype == OX_F32) {
    ox_reduce_select(c->isa)->add_lines(y, (size_t)step, (const float *)x->data + at, (size_t)pitch, (size_t)lines,
                                        (size_t)n);
    return;
  }
  for (; lines > 0; lines--, y += step, at += pitch)
    for (int64_t done = 0; done < n; done += SOME) {
      int64_t m = OX_MIN(n - done, SOME);
      ox_convert_select(c->isa)->load_f64[x->dtype](x->data, (size_t)(at + done), (size_t)m, block);
      for (int64_t i = 0; i < m; i++) y[done + i] += block[i];
    }
}

/* Blocks [begin, end) of an axis whose first one adds at |first| are inside. */
static ox_range inside_of(const geometry *g, int a, int64_t first) {
  int64_t step = g->w.stride[a], wide = g->image[a];
  return (ox_range){first < 0 ? OX_CEIL_DIV(-first, step) : 0,
                    first < wide ? OX_MIN(OX_CEIL_DIV(wide - first, step), g->count[a]) : 0};
}

/* A walk over the planes of blocks, of the last two axes, in order. */
typedef struct walk {
  int64_t block[OX_SPATIAL_AXES], first[OX_SPATIAL_AXES]; /* first: where block 0 adds, in the padding or not */
} walk;

/* The plane of the image, in lines from its beginning; -1: in the padding. Goes on to the next one. */
static int64_t walk_on(const geometry *g, walk *w) {
  int64_t to = 0, pitch = g->w.axes > 1 ? g->image[g->w.axes - 2] : 1;
  bool inside = true;
  for (int a = g->w.axes - 2; a-- > 0; pitch *= g->image[a]) {
    int64_t i = w->first[a] + w->block[a] * g->w.stride[a];
    inside &= i >= 0 && i < g->image[a];
    to += i * pitch;
  }
  for (int a = g->w.axes - 2; a-- > 0 && ++w->block[a] == g->count[a];) w->block[a] = 0;
  return inside ? to : -1;
}

/* What tap |t| adds; its elements begin at |at|. */
static void add_tap(const ox_kernel_ctx *c, const geometry *g, const sums *s, int64_t t, int64_t at) {
  int last = g->w.axes - 1, high = last - 1;
  walk w = {{0}, {0}};
  for (int64_t a = last, tap = t; a >= 0; tap /= g->w.kernel[a--])
    w.first[a] = tap % g->w.kernel[a] * g->w.dilation[a] - g->w.pad_lo[a];
  ox_range x = inside_of(g, last, w.first[last]), y = {0, 1};
  if (last > 0) y = inside_of(g, high, w.first[high]);
  if (x.begin >= x.end || y.begin >= y.end) return;
  int64_t n = g->count[last], lines = last > 0 ? g->count[high] : 1, down = last > 0 ? g->w.stride[high] : 1;
  int64_t column = w.first[last] + x.begin * g->w.stride[last]; /* inside; the next ones lie a stride apart */
  for (int64_t p = 0; p < g->blocks; p += n * lines) {
    int64_t to = walk_on(g, &w);
    if (to < 0) continue;
    if (last > 0) to += w.first[high] + y.begin * down;
    add_lines(c, s->y + to * s->line + column % s->step * s->wide + column / s->step, down * s->line,
              at + p + y.begin * n + x.begin, n, y.end - y.begin, x.end - x.begin);
  }
}

/* Floats, summed in double. */
static void sum_plane(const ox_kernel_ctx *c, const geometry *g, int64_t plane, double *y) {
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t dtype = c->out[0]->dtype;
  int64_t wide = g->image[g->w.axes - 1], lines = g->pixels / wide, at = plane * g->pixels;
  sums s = sums_of(g, y);
  memset(y, 0, (size_t)(lines * s.line) * sizeof *y);
  for (int64_t t = 0; t < g->taps && g->blocks > 0; t++) add_tap(c, g, &s, t, (plane * g->taps + t) * g->blocks);
  if (s.step == 1) {
    cv->store_f64[dtype](y, c->out[0]->data, (size_t)at, (size_t)g->pixels, NULL);
    return;
  }
  int64_t e = (int64_t)ox_dtype_bits(dtype) / 8, whole = wide / s.step;
  char *from = (char *)(y + lines * s.line), *to = (char *)c->out[0]->data + at * e;
  cv->store_f64[dtype](y, from, 0, (size_t)(lines * s.line), NULL);
  for (int64_t i = 0; i < lines; i++, from += s.line * e, to += wide * e) {
    ox_transpose_select(e, c->isa)(from, s.wide * e, to, s.step * e, s.step, whole);
    ox_copy_lines(from + whole * e, s.wide * e, to + whole * s.step * e, e, wide - whole * s.step, e);
  }
}

/* Other types, summed as ScatterElements would. */
static ox_status *add_plane_exactly(const ox_kernel_ctx *c, const geometry *g, int64_t plane, const ox_combine *add) {
  uint32_t dtype = c->in[X]->dtype;
  size_t elem = ox_dtype_bits(dtype) / 8;
  char *y = (char *)c->out[0]->data + (size_t)(plane * g->pixels) * elem;
  const char *x = (const char *)c->in[X]->data + (size_t)(plane * g->taps * g->blocks) * elem;
  ox_scatter_strings strings = {c, false};
  memset(y, 0, (size_t)g->pixels * elem);
  for (int64_t i = 0; dtype == OX_STRING && i < g->pixels; i++) ((ox_str *)(void *)y)[i] = (ox_str){"", 0};
  for (int64_t i = 0; i < g->taps * g->blocks; i++, x += elem) {
    int64_t to = pixel_of(g, i / g->blocks, i % g->blocks);
    if (to >= 0) ox_combine_run(add, y + (size_t)to * elem, x, 1, &strings);
  }
  return strings.failed ? ox_oom() : NULL;
}

static ox_status *geometry_of(const ox_kernel_ctx *c, geometry *g) {
  int64_t n = ox_shape_count(&c->in[IMAGE]->shape);
  if (n < 1 || n > OX_SPATIAL_AXES || n != ox_shape_count(&c->in[BLOCK]->shape))
    return ox_fail(OX_INVALID_MODEL, "Col2Im: image_shape and block_shape must have one length");
  return geometry_make(c->attrs, &c->in[X]->shape, c->in[IMAGE]->data, c->in[BLOCK]->data, (int)n, g);
}

/* Do blocks tile the image without overlap, so that they are only moved? */
static bool is_move(const geometry *g) {
  for (int a = 0; a < g->w.axes; a++)
    if (g->w.kernel[a] != g->w.stride[a] || g->w.dilation[a] != 1 || g->w.pad_lo[a] != 0 ||
        g->count[a] * g->w.stride[a] != g->image[a])
      return false;
  return 2 * g->w.axes < OX_MOVE_DIMS;
}

/* In the order of the image: planes, and of each axis blocks and taps, its outer and inner pixels. */
static void plan_move(const geometry *g, int64_t elem, ox_move *m) {
  ox_region r = {
      .rank = 2 * g->w.axes + 1, .dim = {g->batch * g->channels}, .is = {g->taps * g->blocks}, .os = {g->pixels}};
  int64_t pitch = 1, block = 1, tap = g->blocks;
  for (int a = g->w.axes; a-- > 0; pitch *= g->image[a], block *= g->count[a], tap *= g->w.kernel[a]) {
    int outer = 2 * a + 1, inner = outer + 1;
    r.dim[outer] = g->count[a], r.is[outer] = block, r.os[outer] = pitch * g->w.stride[a];
    r.dim[inner] = g->w.kernel[a], r.is[inner] = tap, r.os[inner] = pitch;
  }
  ox_move_init(m, elem, &r);
}

/* Only where the shape is known before the run: a tile is a plane of floats, or some units of a move. */
typedef struct col_prep {
  geometry g;
  bool moves;
  ox_move move;
  int64_t tiles;
} col_prep;

static ox_status *prepare(ox_kernel_ctx *c) {
  col_prep *p;
  if (!ox_shape_known(&c->out[0]->shape) || !c->in[IMAGE]->data || !c->in[BLOCK]->data ||
      !(OX_BIT(c->in[X]->dtype) & OX_T_FLOAT))
    return ox_ctx_plan(c, 1, 0);
  if (!(c->prep = p = ox_ctx_alloc(c, sizeof *p))) return ox_oom();
  OX_TRY(geometry_of(c, &p->g));
  p->tiles = p->g.batch * p->g.channels;
  if (p->tiles == 0) return ox_ctx_plan(c, 0, 0);
  if ((p->moves = is_move(&p->g))) {
    plan_move(&p->g, ox_dtype_bits(c->in[X]->dtype) / 8, &p->move);
    p->tiles = ox_move_tiles(p->move.total_bytes, p->move.units);
    return ox_ctx_plan(c, p->tiles, 0);
  }
  size_t bytes = sums_bytes(&p->g);
  return bytes ? ox_ctx_plan(c, p->tiles, bytes) : ox_fail(OX_LIMIT, "Col2Im: too large");
}

static ox_status *run_planned(const ox_kernel_ctx *c, const col_prep *p, ox_range tiles, double *plane) {
  if (p->moves) {
    ox_range u = ox_units_of(tiles, p->tiles, p->move.units);
    ox_move_run(&p->move, c->isa, c->in[X]->data, c->out[0]->data, u.begin, u.end);
    return NULL;
  }
  for (int64_t t = tiles.begin; t < tiles.end; t++) sum_plane(c, &p->g, t, plane);
  return NULL;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  geometry g;
  if (c->prep) return run_planned(c, c->prep, tiles, scratch);
  OX_TRY(geometry_of(c, &g));
  if (!ox_shape_known(&c->out[0]->shape)) {
    ox_shape y = {.rank = g.w.axes + 2, .dim = {g.batch, g.channels}};
    memcpy(y.dim + 2, g.image, (size_t)g.w.axes * sizeof *g.image);
    if (!ox_ctx_output(c, 0, &y)) return ox_oom();
  }
  if (!(OX_BIT(c->in[X]->dtype) & OX_T_FLOAT)) {
    ox_combine add;
    OX_TRY(ox_scatter_reduce_find(c, "Col2Im", "add", &add));
    for (int64_t i = 0; i < g.batch * g.channels; i++) OX_TRY(add_plane_exactly(c, &g, i, &add));
    return NULL;
  }
  size_t bytes = sums_bytes(&g);
  double *plane = bytes ? ox_ctx_run_alloc(c, bytes) : NULL;
  if (!plane) return ox_oom();
  for (int64_t i = 0; i < g.batch * g.channels && !ox_ctx_stopped(c); i++) sum_plane(c, &g, i, plane);
  return NULL;
}

/* Strings are summed, too: they are concatenated. */
enum { ANY = OX_T_NUMBER | OX_T_COMPLEX | OX_BIT(OX_BOOL) | OX_BIT(OX_STRING) };

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Col2Im", .since = 18, .types = {ANY, OX_BIT(OX_I64), OX_BIT(OX_I64)}, .min_in = 3, .max_in = 3,
               .value_in = 6, OX_ATTRS(attr_rows), .attrs_bytes = sizeof(col_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_col2im = {ops, OX_COUNT(ops)};
