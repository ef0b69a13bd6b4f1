/* SPDX-License-Identifier: Apache-2.0
 * ops/deform_conv.c - DeformConv: sampled columns [input channel x tap][pixel], then a 1x1 convolution over them.
 * Computed in float32, float64 in double. Where several channels share their offsets, images are first transposed to
 * channels last, so that a point's channels are a few vectors. */
#include <string.h>

#include "base/cksize.h"
#include "kern/conv/conv_f64.h"
#include "kern/move/move.h"
#include "kern/resize/resize.h"
#include "kern/resize/sample.h"
#include "ops/shared/as_real.h"
#include "ops/shared/check.h"
#include "ops/shared/conv_node.h"

enum { X, W, OFFSET, B, MASK, INPUTS };

typedef struct deform_attrs {
  const char *auto_pad; /* never set */
  ox_ints dilations, kernel_shape, pads, strides;
  int64_t group, offset_group;
} deform_attrs;

static const ox_attr_def attr_rows[] = {OX_ATTR_INTS_IN(deform_attrs, dilations, 1, OX_COUNT_MAX),
                                        OX_ATTR_INT_IN(deform_attrs, group, 1, 1, OX_COUNT_MAX),
                                        OX_ATTR_INTS_IN(deform_attrs, kernel_shape, 1, OX_COUNT_MAX),
                                        OX_ATTR_INTS(deform_attrs, pads),
                                        OX_ATTR_INTS_IN(deform_attrs, strides, 1, OX_COUNT_MAX),
                                        OX_ATTR_INT_IN(deform_attrs, offset_group, 1, 1, OX_COUNT_MAX)};

typedef struct deform_prep {
  ox_conv_geom window; /* the taps' positions without offsets */
  ox_conv_plan plan;   /* the product over the columns */
  int axes;
  int64_t channels, offset_groups, taps, pixels, in_n;
  bool wide; /* 16-bit types: inputs become floats first */
  bool f64;
  ox_conv_geom flat;    /* the product, for float64 */
  int64_t pixel_floats; /* floats of a pixel with channels last, made by stage 1; 0: channels are read in planes */
  size_t in_at[INPUTS], last_at, columns_at, plan_at, y_at;
} deform_prep;

static ox_conv_attrs conv_attrs(const deform_attrs *a) {
  return (ox_conv_attrs){.dilations = a->dilations,
                         .kernel_shape = a->kernel_shape,
                         .pads = a->pads,
                         .strides = a->strides,
                         .group = a->group};
}

static ox_status *infer(ox_infer_ctx *c) {
  ox_conv_attrs a = conv_attrs(c->attrs);
  ox_shape y;
  OX_TRY(ox_conv_infer_shape(&a, &c->in[X]->shape, &c->in[W]->shape, &y));
  ox_infer_out(c, 0, c->in[X]->dtype, &y);
  return NULL;
}

static ox_status *check_shapes(const ox_kernel_ctx *c, const deform_prep *p) {
  const ox_shape *y = &c->out[0]->shape, *o = &c->in[OFFSET]->shape;
  if (p->channels % p->offset_groups)
    return ox_fail(OX_INVALID_MODEL, "DeformConv: offset_group is %lld for %lld channels", (long long)p->offset_groups,
                   (long long)p->channels);
  int64_t rows = p->offset_groups * p->taps;
  for (int k = 0; k < 2; k++) {
    if (k == 1 && !ox_ctx_has(c, MASK)) break;
    if (k == 1) o = &c->in[MASK]->shape;
    bool ok = o->rank == y->rank && o->dim[0] == y->dim[0] && o->dim[1] == rows * (k ? 1 : p->axes);
    for (int i = 2; i < y->rank && ok; i++) ok = o->dim[i] == y->dim[i];
    if (!ok) return ox_fail(OX_SHAPE_MISMATCH, "DeformConv: %s does not fit the output", k ? "mask" : "offset");
  }
  if (ox_ctx_has(c, B) && ox_shape_count(&c->in[B]->shape) != y->dim[1])
    return ox_fail(OX_SHAPE_MISMATCH, "DeformConv: B must have one element per output channel");
  return NULL;
}

enum { CONVERT, TRANSPOSE, COLUMNS, GATHER, PRODUCT, NARROW, STAGES };
enum { SOME_POINTS = 256 /* columns, and pixels, of a tile */ };

/* Plans memory for images with channels last, by offset group. After the pixels there is one of zeros, for those
 * outside. */
static ox_status *book_channels_last(ox_kernel_ctx *c, deform_prep *p) {
  enum { LEAST = 4 };
  int64_t images = p->window.batch * p->offset_groups, per = p->channels / p->offset_groups, pixels = p->in_n + 1, size;
  if (p->axes != 2 || per < LEAST || p->in_n >= INT32_MAX) return NULL;
  p->pixel_floats = OX_ROUND_UP(per, OX_RESIZE_GROUP);
  if (!ox_mul_i64_ok(images, pixels, &size) || !ox_mul_i64_ok(size, p->pixel_floats, &size))
    return ox_fail(OX_LIMIT, "DeformConv: too large");
  c->n_tiles[TRANSPOSE] = images * OX_CEIL_DIV(pixels, SOME_POINTS);
  return ox_as_real_room(c, OX_AS_FLOAT, size, &p->last_at);
}

static int64_t column_tiles(const deform_prep *p) {
  return p->window.batch * p->offset_groups * p->taps * OX_CEIL_DIV(p->pixels, SOME_POINTS);
}

static ox_status *book_f32(ox_kernel_ctx *c, deform_prep *p) {
  const ox_conv_geom *g = &p->window;
  if (!ox_conv_plan_init(&p->plan, &p->flat, &(ox_act){OX_ACT_NONE, 0, 0}, ox_conv_select(c->isa)))
    return ox_fail(OX_LIMIT, "DeformConv: too large");
  void *tables = ox_ctx_alloc(c, p->plan.table_bytes + 1);
  if (!tables) return ox_oom();
  ox_conv_plan_tables(&p->plan, tables);
  int64_t load = 0;
  for (uint32_t i = 0; i < c->n_in && p->wide; i++)
    if (c->in[i]) OX_TRY(ox_as_real_book(c, OX_AS_FLOAT, i, &p->in_at[i], &load));
  OX_TRY(ox_as_real_room(c, OX_AS_FLOAT, g->batch * p->channels * p->taps * p->pixels, &p->columns_at));
  OX_TRY(ox_as_real_room(c, OX_AS_FLOAT, (int64_t)(p->plan.shared_bytes / 4), &p->plan_at));
  if (p->wide) OX_TRY(ox_as_real_room(c, OX_AS_FLOAT, ox_shape_count(&c->out[0]->shape), &p->y_at));
  OX_TRY(book_channels_last(c, p));
  c->n_stages = STAGES;
  c->n_tiles[CONVERT] = load, c->n_tiles[COLUMNS] = column_tiles(p);
  c->n_tiles[GATHER] = p->plan.n_stages > 1 ? p->plan.n_tiles[0] : 0;
  c->n_tiles[PRODUCT] = p->plan.n_tiles[p->plan.n_stages - 1], c->n_tiles[NARROW] = p->wide ? 1 : 0;
  c->scratch_per_worker = p->plan.scratch_bytes;
  return NULL;
}

/* The same stages for float64, of which only columns and product are used. */
static ox_status *book_f64(ox_kernel_ctx *c, deform_prep *p) {
  const ox_conv_geom *g = &p->window;
  OX_TRY(ox_as_real_room(c, OX_AS_DOUBLE, g->batch * p->channels * p->taps * p->pixels, &p->columns_at));
  c->n_stages = STAGES;
  c->n_tiles[COLUMNS] = column_tiles(p), c->n_tiles[PRODUCT] = g->batch * g->groups * g->oc;
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  static const int64_t zero[1] = {0};
  const deform_attrs *a = c->attrs;
  ox_conv_attrs ca = conv_attrs(a);
  deform_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  ox_conv_geom *g = &p->window;
  OX_TRY(ox_conv_geom_make(c, &ca, &c->in[X]->shape, &c->in[W]->shape, &c->out[0]->shape, g));
  p->axes = c->in[X]->shape.rank - 2, p->channels = c->in[X]->shape.dim[1], p->offset_groups = a->offset_group;
  p->taps = g->n_taps[0] * g->n_taps[1] * g->n_taps[2], p->pixels = g->out[0] * g->out[1] * g->out[2];
  p->in_n = g->in[0] * g->in[1] * g->in[2], p->f64 = c->in[X]->dtype == OX_F64;
  p->wide = c->in[X]->dtype != OX_F32 && !p->f64;
  OX_TRY(check_shapes(c, p));
  p->flat = (ox_conv_geom){.batch = g->batch,
                           .groups = g->groups,
                           .ic = g->ic * p->taps,
                           .oc = g->oc,
                           .in = {1, 1, p->pixels},
                           .out = {1, 1, p->pixels},
                           .stride = {1, 1, 1},
                           .n_taps = {1, 1, 1},
                           .tap = {zero, zero, zero}};
  return p->f64 ? book_f64(c, p) : book_f32(c, p);
}
/* NULL: omitted. */
static const void *input(const ox_kernel_ctx *c, const deform_prep *p, uint32_t i) {
  if (!ox_ctx_has(c, i)) return NULL;
  return p->wide ? ox_as_real_at(c, p->in_at[i]) : c->in[i]->data;
}

static double real_at(const deform_prep *p, const void *v, int64_t i) {
  return p->f64 ? ((const double *)v)[i] : (double)((const float *)v)[i];
}

/* Transposes pixels [first, end) of one image, in stage TRANSPOSE. */
static void transpose_pixels(const ox_kernel_ctx *c, const deform_prep *p, int64_t image, int64_t first, int64_t end) {
  int64_t per = p->channels / p->offset_groups, size = sizeof(float);
  const float *x = (const float *)input(c, p, X) + image * per * p->in_n + first;
  float *to = (float *)ox_as_real_at(c, p->last_at) + (image * (p->in_n + 1) + first) * p->pixel_floats;
  int64_t inside = OX_MIN(end, p->in_n) - first;
  memset(to, 0, (size_t)((end - first) * p->pixel_floats * size)); /* the padding after the channels is read, too */
  ox_transpose_select(size, c->isa)((const char *)x, p->in_n * size, (char *)to, p->pixel_floats * size, per, inside);
}

/* Through tap |t| of image |n|, pixels [first, end). */
typedef struct part {
  int64_t n, og, t, first, end;
} part;

/* Where in the input pixel |px| reads. */
static void position(const ox_kernel_ctx *c, const deform_prep *p, const part *q, int64_t px, double *pos) {
  const ox_conv_geom *g = &p->window;
  const void *offset = input(c, p, OFFSET);
  int64_t tap[3] = {q->t / g->n_taps[2] / g->n_taps[1], q->t / g->n_taps[2] % g->n_taps[1], q->t % g->n_taps[2]};
  int64_t o[3] = {px / g->out[2] / g->out[1], px / g->out[2] % g->out[1], px % g->out[2]};
  int64_t row = (q->n * p->offset_groups + q->og) * p->taps + q->t;
  for (int i = 0; i < p->axes; i++) {
    int a = i + OX_CONV_AXES - p->axes;
    pos[i] =
        (double)(o[a] * g->stride[a] + g->tap[a][tap[a]]) + real_at(p, offset, (row * p->axes + i) * p->pixels + px);
  }
}

static double mask_of(const ox_kernel_ctx *c, const deform_prep *p, const part *q, int64_t px) {
  const void *mask = input(c, p, MASK);
  return mask ? real_at(p, mask, ((q->n * p->offset_groups + q->og) * p->taps + q->t) * p->pixels + px) : 1;
}

/* Where the columns of the part's first channel begin. */
static int64_t columns_of(const deform_prep *p, const part *q) {
  return ((q->n * p->channels + q->og * (p->channels / p->offset_groups)) * p->taps + q->t) * p->pixels;
}

/* All channels of one offset group. */
static void columns(const ox_kernel_ctx *c, const deform_prep *p, const part *q) {
  const ox_conv_geom *g = &p->window;
  ox_sampler s = {.mode = OX_SAMPLE_LINEAR, .pad = OX_SAMPLE_ZEROS, .align_corners = true, .axes = p->axes};
  for (int i = 0; i < p->axes; i++) s.dim[i] = g->in[i + OX_CONV_AXES - p->axes];
  int64_t per = p->channels / p->offset_groups, x_at = (q->n * p->channels + q->og * per) * p->in_n;
  const void *x = input(c, p, X);
  for (int64_t px = q->first; px < q->end; px++) {
    int64_t at[OX_SAMPLE_TAPS];
    double pos[3], w[OX_SAMPLE_TAPS], m = mask_of(c, p, q, px);
    position(c, p, q, px, pos);
    int count = ox_sample_taps(&s, pos, at, w);
    for (int64_t ch = 0; ch < per; ch++) {
      double sum = 0;
      for (int i = 0; i < count; i++) sum += w[i] * real_at(p, x, x_at + ch * p->in_n + at[i]);
      int64_t k = columns_of(p, q) + ch * p->taps * p->pixels + px;
      if (p->f64)
        ((double *)ox_as_real_at(c, p->columns_at))[k] = sum * m;
      else
        ((float *)ox_as_real_at(c, p->columns_at))[k] = (float)(sum * m);
    }
  }
}

/* The four pixels around a position; those outside are the pixel of zeros, |none|. */
OX_INLINE ox_corners corners_of(double y, double x, int64_t rows, int64_t width, int32_t none, float scale) {
  ox_corners out = {{none, none, none, none}, {0, 0, 0, 0}, scale};
  if (!(y > -1 && y < (double)rows && x > -1 && x < (double)width)) return out;
  int32_t row = (int32_t)(y + 1) - 1, column = (int32_t)(x + 1) - 1; /* rounded down */
  float down = (float)(y - (double)row), right = (float)(x - (double)column);
  int32_t at = row * (int32_t)width + column;
  bool above = row >= 0, below = row + 1 < rows, before = column >= 0, behind = column + 1 < width;
  if (above && before) out.pixel[0] = at, out.weight[0] = (1 - down) * (1 - right);
  if (above && behind) out.pixel[1] = at + 1, out.weight[1] = (1 - down) * right;
  if (below && before) out.pixel[2] = at + (int32_t)width, out.weight[2] = down * (1 - right);
  if (below && behind) out.pixel[3] = at + (int32_t)width + 1, out.weight[3] = down * right;
  return out;
}

/* The same from images of floats with channels last, of two axes. */
static void columns_channels_last(const ox_kernel_ctx *c, const deform_prep *p, const part *q) {
  const ox_conv_geom *g = &p->window;
  ox_corners at[SOME_POINTS];
  int64_t image = q->n * p->offset_groups + q->og, row = image * p->taps + q->t;
  const float *mask = input(c, p, MASK), *down = (const float *)input(c, p, OFFSET) + 2 * row * p->pixels,
              *right = down + p->pixels;
  int64_t h = q->first / g->out[2], w = q->first % g->out[2];
  int64_t h_tap = g->tap[1][q->t / g->n_taps[2]], w_tap = g->tap[2][q->t % g->n_taps[2]];
  for (int64_t px = q->first; px < q->end; px++) {
    double y = (double)(h * g->stride[1] + h_tap) + (double)down[px],
           x = (double)(w * g->stride[2] + w_tap) + (double)right[px];
    at[px - q->first] = corners_of(y, x, g->in[1], g->in[2], (int32_t)p->in_n, mask ? mask[row * p->pixels + px] : 1);
    if (++w == g->out[2]) w = 0, h++;
  }
  ox_resize_select(c->isa)->corners(
      at, q->end - q->first, (const float *)ox_as_real_at(c, p->last_at) + image * (p->in_n + 1) * p->pixel_floats,
      p->pixel_floats, p->channels / p->offset_groups,
      (float *)ox_as_real_at(c, p->columns_at) + columns_of(p, q) + q->first, p->taps * p->pixels);
}

static void product(const ox_kernel_ctx *c, const deform_prep *p, float *y, uint32_t stage, ox_range tiles,
                    void *scratch) {
  if (p->f64) {
    ox_conv_f64(&p->flat, ox_as_real_at(c, p->columns_at), c->in[W]->data, input(c, p, B), c->out[0]->data, tiles.begin,
                tiles.end);
    return;
  }
  ox_conv_args a = {.x = ox_as_real_at(c, p->columns_at),
                    .w = input(c, p, W),
                    .bias = input(c, p, B),
                    .y = y,
                    .shared = ox_as_real_at(c, p->plan_at)};
  ox_conv_run(&p->plan, &a, stage == GATHER ? 0 : p->plan.n_stages - 1, tiles.begin, tiles.end, scratch);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const deform_prep *p = c->prep;
  float *y = p->wide ? ox_as_real_at(c, p->y_at) : c->out[0]->data;
  if (stage == GATHER || stage == PRODUCT) {
    product(c, p, y, stage, tiles, scratch);
    return NULL;
  }
  if (stage == NARROW) {
    ox_convert_select(c->isa)->store_f32[c->out[0]->dtype](y, c->out[0]->data, 0,
                                                           (size_t)ox_shape_count(&c->out[0]->shape), NULL);
    return NULL;
  }
  int64_t points = stage == TRANSPOSE ? p->in_n + 1 : p->pixels, pieces = OX_CEIL_DIV(points, SOME_POINTS);
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    int64_t k = t, first = t % pieces * SOME_POINTS, end = OX_MIN(first + SOME_POINTS, points), row = t / pieces;
    if (stage == CONVERT) {
      for (uint32_t i = 0; i < c->n_in; i++)
        if (c->in[i] && ox_as_real_tile(c, OX_AS_FLOAT, i, p->in_at[i], &k)) break;
    } else if (stage == TRANSPOSE) {
      transpose_pixels(c, p, row, first, end);
    } else {
      part q = {row / p->taps / p->offset_groups, row / p->taps % p->offset_groups, row % p->taps, first, end};
      p->pixel_floats ? columns_channels_last(c, p, &q) : columns(c, p, &q);
    }
  }
  return NULL;
}

static double flops(const ox_kernel_ctx *c) {
  const ox_shape *w = &c->in[W]->shape;
  return 2.0 * (double)ox_shape_count(&c->out[0]->shape) * (double)ox_shape_span(w, 1, w->rank);
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "DeformConv", .since = 19, .types = {OX_T_FLOAT}, .vars = "TTTTT", .min_in = 3, .max_in = 5,
               OX_ATTRS(attr_rows), .attrs_bytes = sizeof(deform_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run, .flops = flops)},
};
const ox_op_set ox_ops_deform_conv = {ops, OX_COUNT(ops)};
