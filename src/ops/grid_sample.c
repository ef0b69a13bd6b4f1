/* SPDX-License-Identifier: Apache-2.0
 * ops/grid_sample.c - GridSample (also com.microsoft) and AffineGrid. Taps of a position are found once and serve all
 * channels. The nearest pixel is a copy, of any type. */
#include <string.h>

#include "base/cksize.h"
#include "kern/resize/corners.h"
#include "kern/resize/sample.h"
#include "ops/shared/as_real.h"

typedef struct grid_attrs {
  const char *mode, *padding_mode;
  int64_t align_corners;
} grid_attrs;

static const ox_attr_def sample16_rows[] = {OX_ATTR_STR(grid_attrs, mode, "bilinear"),
                                            OX_ATTR_STR(grid_attrs, padding_mode, "zeros"),
                                            OX_ATTR_INT(grid_attrs, align_corners, 0)};
static const ox_attr_def sample20_rows[] = {OX_ATTR_STR(grid_attrs, mode, "linear"),
                                            OX_ATTR_STR(grid_attrs, padding_mode, "zeros"),
                                            OX_ATTR_INT(grid_attrs, align_corners, 0)};
static const ox_attr_def affine_rows[] = {OX_ATTR_INT(grid_attrs, align_corners, 0)};

typedef struct grid_prep {
  ox_sampler s;
  bool wide;  /* X becomes doubles first */
  bool exact; /* positions are computed in double; else in float, as the standard does */
  size_t x_at, elem;
  int64_t channels, in_n, points, per_tile; /* points of one image */
} grid_prep;

static ox_status *infer_sample(ox_infer_ctx *c) {
  const ox_shape *x = &c->in[0]->shape, *g = &c->in[1]->shape;
  ox_shape y = ox_shape_unknown();
  int rank = x->rank >= 0 ? x->rank : g->rank;
  if (x->rank >= 0 && g->rank >= 0 && x->rank != g->rank)
    return ox_fail(OX_SHAPE_MISMATCH, "X has rank %d, grid rank %d", x->rank, g->rank);
  if (rank >= 0 && rank < 3) return ox_fail(OX_INVALID_MODEL, "X has rank %d, wanted at least 3", rank);
  if (g->rank >= 0 && g->dim[rank - 1] >= 0 && g->dim[rank - 1] != rank - 2)
    return ox_fail(OX_SHAPE_MISMATCH, "grid gives %lld coordinates, wanted %d", (long long)g->dim[rank - 1], rank - 2);
  if (x->rank >= 0 && g->rank >= 0 && x->dim[0] >= 0 && g->dim[0] >= 0 && x->dim[0] != g->dim[0])
    return ox_fail(OX_SHAPE_MISMATCH, "X has %lld images, grid %lld", (long long)x->dim[0], (long long)g->dim[0]);
  if (rank >= 0) {
    y.rank = rank;
    y.dim[0] = x->rank >= 0 ? x->dim[0] : g->dim[0], y.dim[1] = x->rank >= 0 ? x->dim[1] : -1;
    for (int i = 2; i < rank; i++) y.dim[i] = g->rank >= 0 ? g->dim[i - 1] : -1;
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &y);
  return NULL;
}

static ox_status *read_modes(const grid_attrs *a, ox_sampler *s) {
  static const struct {
    const char *name;
    ox_sample_mode mode;
  } modes[] = {{"nearest", OX_SAMPLE_NEAREST},
               {"linear", OX_SAMPLE_LINEAR},
               {"bilinear", OX_SAMPLE_LINEAR},
               {"cubic", OX_SAMPLE_CUBIC},
               {"bicubic", OX_SAMPLE_CUBIC}};
  static const char *const pads[] = {"zeros", "border", "reflection"};
  size_t m = 0, p = 0;
  while (m < OX_COUNT(modes) && strcmp(a->mode, modes[m].name) != 0) m++;
  while (p < OX_COUNT(pads) && strcmp(a->padding_mode, pads[p]) != 0) p++;
  if (m == OX_COUNT(modes)) return ox_fail(OX_INVALID_MODEL, "GridSample: unknown mode \"%.40s\"", a->mode);
  if (p == OX_COUNT(pads))
    return ox_fail(OX_INVALID_MODEL, "GridSample: unknown padding_mode \"%.40s\"", a->padding_mode);
  s->mode = modes[m].mode, s->pad = (ox_sample_pad)p, s->align_corners = a->align_corners != 0;
  return NULL;
}

static ox_status *prepare_sample(ox_kernel_ctx *c) {
  const ox_shape *x = &c->in[0]->shape, *y = &c->out[0]->shape;
  grid_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  OX_TRY(read_modes(c->attrs, &p->s));
  p->s.axes = x->rank - 2;
  if (p->s.axes > OX_SAMPLE_AXES) return ox_fail(OX_NOT_IMPLEMENTED, "GridSample over %d axes", p->s.axes);
  for (int i = 0; i < p->s.axes; i++) p->s.dim[i] = x->dim[i + 2];
  uint32_t dtype = c->in[0]->dtype;
  bool nearest = p->s.mode == OX_SAMPLE_NEAREST, complex = (OX_BIT(dtype) & OX_T_COMPLEX) != 0;
  if (!nearest && !complex && !ox_convert_select(c->isa)->load_f64[dtype])
    return ox_fail(OX_NOT_IMPLEMENTED, "GridSample: mode %s of %s", ((const grid_attrs *)c->attrs)->mode,
                   ox_dtype_name(dtype));
  p->channels = x->dim[1], p->in_n = ox_shape_span(x, 2, x->rank), p->points = ox_shape_span(y, 2, y->rank);
  p->per_tile = OX_MAX(8192 / OX_MAX(p->channels * 4, 1), OX_CORNERS);
  p->wide = dtype != OX_F32 && !nearest && !complex, p->elem = ox_dtype_bits(dtype) / 8;
  p->exact = c->in[1]->dtype == OX_F64 || (!nearest && (dtype == OX_F64 || dtype == OX_C128));
  int64_t tiles = p->in_n && p->channels ? y->dim[0] * OX_CEIL_DIV(p->points, p->per_tile) : 0, load = 0;
  if (!p->in_n && ox_shape_count(y)) return ox_fail(OX_SHAPE_MISMATCH, "GridSample: X is empty");
  if (!p->wide) return ox_ctx_plan(c, tiles, 0);
  OX_TRY(ox_as_real_book(c, OX_AS_DOUBLE, 0, &p->x_at, &load));
  c->n_stages = 2, c->n_tiles[0] = load, c->n_tiles[1] = tiles;
  return NULL;
}

/* The pixels that make up one point, in order. */
typedef struct taps {
  int n;
  int64_t offset[OX_SAMPLE_TAPS];
  double weight[OX_SAMPLE_TAPS];
} taps;

static double blend(const taps *t, const double *v) {
  double sum = 0;
  for (int i = 0; i < t->n; i++) sum += t->weight[i] * v[t->offset[i]];
  return sum;
}

static double blend_f32(const taps *t, const float *v, int64_t step) {
  double sum = 0;
  for (int i = 0; i < t->n; i++) sum += t->weight[i] * (double)v[t->offset[i] * step];
  return sum;
}

/* Element |at| of Y from the pixels of |plane|. */
static void sample_channel(const ox_kernel_ctx *c, const grid_prep *p, const taps *t, int64_t plane, size_t at) {
  uint32_t dtype = c->in[0]->dtype;
  char *y = (char *)c->out[0]->data + at * p->elem;
  const char *x = (const char *)c->in[0]->data + (size_t)(plane * p->in_n) * p->elem;
  if (p->s.mode == OX_SAMPLE_NEAREST) {
    if (t->n)
      memcpy(y, x + (size_t)t->offset[0] * p->elem, p->elem);
    else if (dtype == OX_STRING)
      memcpy(y, &(ox_str){"", 0}, p->elem);
    else
      memset(y, 0, p->elem);
  } else if (dtype == OX_F32) {
    *(float *)(void *)y = (float)blend_f32(t, (const float *)(const void *)x, 1);
  } else if (dtype == OX_C64) {
    for (int k = 0; k < 2; k++) ((float *)(void *)y)[k] = (float)blend_f32(t, (const float *)(const void *)x + k, 2);
  } else if (dtype == OX_C128) {
    double v[2] = {0, 0};
    for (int i = 0; i < t->n; i++)
      for (int k = 0; k < 2; k++) v[k] += t->weight[i] * ((const double *)(const void *)x)[2 * t->offset[i] + k];
    memcpy(y, v, sizeof v);
  } else {
    double sum = blend(t, (const double *)ox_as_real_at(c, p->x_at) + plane * p->in_n);
    ox_convert_select(c->isa)->store_f64[dtype](&sum, c->out[0]->data, at, 1, NULL);
  }
}

static void find_taps(const ox_kernel_ctx *c, const grid_prep *p, int64_t image, int64_t point, taps *t) {
  double g[OX_SAMPLE_AXES], x[OX_SAMPLE_AXES];
  int axes = p->s.axes;
  ox_convert_select(c->isa)->load_f64[c->in[1]->dtype](c->in[1]->data, (size_t)((image * p->points + point) * axes),
                                                       (size_t)axes, g);
  for (int a = 0; a < axes; a++) { /* the grid names the last axis first */
    x[a] = ox_sample_denormalize(g[axes - 1 - a], p->s.dim[a], p->s.align_corners);
    if (!p->exact) x[a] = (double)(float)x[a];
  }
  t->n = ox_sample_taps(&p->s, x, t->offset, t->weight);
}

static void sample_point(const ox_kernel_ctx *c, const grid_prep *p, const taps *t, int64_t image, int64_t point) {
  for (int64_t ch = 0; ch < p->channels; ch++) {
    int64_t plane = image * p->channels + ch;
    sample_channel(c, p, t, plane, (size_t)(plane * p->points + point));
  }
}

/* Consecutive points between four pixels of a plane, from |first| on. */
typedef struct corners {
  int64_t first;
  ox_corners at;
} corners;

/* The same sums as by taps, channel by channel, so that a plane stays in L1. */
static void sample_corners(const ox_kernel_ctx *c, const grid_prep *p, corners *k, int64_t image) {
  const ox_corners_kernel *kernel = ox_corners_select(c->isa);
  for (int64_t ch = 0; k->at.n && ch < p->channels; ch++) {
    int64_t plane = image * p->channels + ch;
    kernel->blend(&k->at, (const float *)c->in[0]->data + plane * p->in_n, p->s.dim[1],
                  (float *)c->out[0]->data + plane * p->points + k->first);
  }
  k->at.n = 0;
}

/* Adds a point inside a plane of floats, of a grid of floats; false: it is not between four pixels. */
static bool add_corners(const ox_kernel_ctx *c, const grid_prep *p, int64_t image, int64_t point, corners *k) {
  const float *g = (const float *)c->in[1]->data + (image * p->points + point) * 2;
  double y = (double)(float)ox_sample_denormalize((double)g[1], p->s.dim[0], p->s.align_corners);
  double x = (double)(float)ox_sample_denormalize((double)g[0], p->s.dim[1], p->s.align_corners);
  int64_t width = p->s.dim[1];
  if (!(y >= 0 && y < (double)(p->s.dim[0] - 1) && x >= 0 && x < (double)(width - 1))) return false;
  if (k->at.n == OX_CORNERS || k->first + (int64_t)k->at.n != point) sample_corners(c, p, k, image);
  if (k->at.n == 0) k->first = point;
  int64_t row = ox_i64_of(y), column = ox_i64_of(x);
  k->at.at[k->at.n] = row * width + column;
  k->at.right[k->at.n] = x - (double)column, k->at.down[k->at.n++] = y - (double)row;
  return true;
}

/* For elements of one size, channel by channel. */
#define COPY_NEAREST(T)                                          \
  for (int64_t ch = 0; ch < p->channels; ch++) {                 \
    int64_t plane = image * p->channels + ch;                    \
    const T *x = (const T *)c->in[0]->data + plane * p->in_n;    \
    T *y = (T *)c->out[0]->data + plane * p->points;             \
    for (int i = 0; i < n; i++) y[at[i].point] = x[at[i].pixel]; \
  }

enum { CHUNK = 64 };
typedef struct nearest {
  int64_t point, pixel;
} nearest;

static void copy_nearest(const ox_kernel_ctx *c, const grid_prep *p, const nearest *at, int n, int64_t image) {
  if (p->elem == 1)
    COPY_NEAREST(uint8_t)
  else if (p->elem == 2)
    COPY_NEAREST(uint16_t)
  else if (p->elem == 4)
    COPY_NEAREST(uint32_t)
  else
    COPY_NEAREST(uint64_t)
}

/* Rounds to the nearest integer, ties to even, for |v| below 2^51. */
static double nearest_of(double v) {
  const double shift = 0x1.8p52;
  return v + shift - shift;
}

/* The result of find_taps for the nearest pixel, with a grid of floats. */
static bool find_nearest(const ox_kernel_ctx *c, const grid_prep *p, int64_t image, int64_t point, nearest *out) {
  const float *g = (const float *)c->in[1]->data + (image * p->points + point) * 2;
  double y = (double)(float)ox_sample_denormalize((double)g[1], p->s.dim[0], p->s.align_corners);
  double x = (double)(float)ox_sample_denormalize((double)g[0], p->s.dim[1], p->s.align_corners);
  int64_t height = p->s.dim[0], width = p->s.dim[1];
  if (!(y > -1 && y < (double)height && x > -1 && x < (double)width)) return false;
  y = nearest_of(y), x = nearest_of(x);
  if (!(y >= 0 && y < (double)height && x >= 0 && x < (double)width)) return false;
  *out = (nearest){point, ox_i64_of(y) * width + ox_i64_of(x)};
  return true;
}

static void sample_points(const ox_kernel_ctx *c, const grid_prep *p, int64_t image, int64_t first, int64_t end) {
  bool floats = c->in[1]->dtype == OX_F32 && p->s.axes == 2;
  bool blends = floats && c->in[0]->dtype == OX_F32 && p->s.mode == OX_SAMPLE_LINEAR;
  bool copies = floats && p->elem <= 8 && c->in[0]->dtype != OX_STRING && p->s.mode == OX_SAMPLE_NEAREST;
  corners k;
  nearest near[CHUNK];
  taps t;
  int m = 0;
  k.at.n = 0;
  for (int64_t i = first; i < end; i++) {
    if (blends && add_corners(c, p, image, i, &k)) continue;
    if (copies && find_nearest(c, p, image, i, &near[m])) {
      if (++m == CHUNK) copy_nearest(c, p, near, m, image), m = 0;
    } else {
      find_taps(c, p, image, i, &t);
      sample_point(c, p, &t, image, i);
    }
  }
  sample_corners(c, p, &k, image);
  if (m) copy_nearest(c, p, near, m, image);
}

static ox_status *run_sample(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  const grid_prep *p = c->prep;
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    if (p->wide && stage == 0) {
      int64_t k = t;
      ox_as_real_tile(c, OX_AS_DOUBLE, 0, p->x_at, &k);
      continue;
    }
    int64_t blocks = OX_CEIL_DIV(p->points, p->per_tile), first = t % blocks * p->per_tile;
    sample_points(c, p, t / blocks, first, OX_MIN(first + p->per_tile, p->points));
  }
  return NULL;
}

/* ---- AffineGrid ---- */
static ox_status *infer_affine(ox_infer_ctx *c) {
  const ox_shape *theta = &c->in[0]->shape, *size = &c->in[1]->shape;
  ox_shape y = ox_shape_unknown();
  int64_t dims[5];
  int n = 0, got = ox_infer_ints(c, 1, dims, 5, &n);
  if (size->rank == 1 && size->dim[0] >= 0 && size->dim[0] != 4 && size->dim[0] != 5)
    return ox_fail(OX_INVALID_MODEL, "size has %lld elements, wanted 4 or 5", (long long)size->dim[0]);
  if (got < 0 || (got && n != 4 && n != 5)) return ox_fail(OX_INVALID_MODEL, "size must be 4 or 5 integers");
  if (theta->rank >= 0 && theta->rank != 3)
    return ox_fail(OX_INVALID_MODEL, "theta has rank %d, wanted 3", theta->rank);
  if (got) {
    int64_t want[2] = {n - 2, n - 1};
    for (int i = 0; i < 2 && theta->rank == 3; i++)
      if (theta->dim[i + 1] >= 0 && theta->dim[i + 1] != want[i])
        return ox_fail(OX_SHAPE_MISMATCH, "theta must be [N,%lld,%lld]", (long long)want[0], (long long)want[1]);
    y.rank = n, y.dim[0] = dims[0], y.dim[n - 1] = n - 2;
    for (int i = 0; i < n; i++)
      if (dims[i] < 0) return ox_fail(OX_INVALID_MODEL, "size[%d] is %lld", i, (long long)dims[i]);
    for (int i = 2; i < n; i++) y.dim[i - 1] = dims[i];
    if (theta->rank == 3 && theta->dim[0] >= 0 && theta->dim[0] != dims[0])
      return ox_fail(OX_SHAPE_MISMATCH, "theta has %lld matrices, size needs %lld", (long long)theta->dim[0],
                     (long long)dims[0]);
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &y);
  return NULL;
}

static double evenly(int64_t i, int64_t n, bool align_corners) {
  if (align_corners) return n > 1 ? -1 + 2 * (double)i / (double)(n - 1) : -1;
  return -1 + (2 * (double)i + 1) / (double)n;
}

/* y = x + each of |some| coordinates in turn, a dozen at a time, which compilers turn into vectors. */
#define ADD_IN_TURN(name, T)                                                         \
  static void name(const double *x, const double *some, int axes, int64_t n, T *y) { \
    enum { DOZEN = 12 }; /* of pairs and of triples */                               \
    double each[DOZEN];                                                              \
    int64_t i = 0;                                                                   \
    for (int k = 0; k < DOZEN; k++) each[k] = some[k % axes];                        \
    for (; i + DOZEN <= n; i += DOZEN)                                               \
      for (int k = 0; k < DOZEN; k++) y[i + k] = (T)(x[i + k] + each[k]);            \
    for (int k = 0; i < n; i++, k++) y[i] = (T)(x[i] + each[k]);                     \
  }
ADD_IN_TURN(add_f32, float)
ADD_IN_TURN(add_f64, double)

/* One line of points along the last axis: its share is in |x|, the others' coordinates in v[1] ... v[axes]. */
static void affine_line(const ox_kernel_ctx *c, const double *m, int axes, const double *v, const double *x, int64_t n,
                        int64_t to) {
  enum { BLOCK = 384 };
  uint32_t dtype = c->out[0]->dtype;
  double rest[3] = {0}, block[BLOCK];
  for (int r = 0; r < axes; r++)
    for (int k = 1; k <= axes; k++) rest[r] += m[r * (axes + 1) + k] * v[k];
  if (dtype == OX_F32) {
    add_f32(x, rest, axes, n * axes, (float *)c->out[0]->data + to);
    return;
  }
  for (int64_t i = 0; i < n * axes; i += BLOCK) {
    int64_t some = OX_MIN(n * axes - i, BLOCK);
    add_f64(x + i, rest, axes, some, block);
    ox_convert_select(c->isa)->store_f64[dtype](block, c->out[0]->data, (size_t)(to + i), (size_t)some, NULL);
  }
}

/* What coordinates along the last axis add to a line's points. */
static void affine_shares(const double *m, int axes, int64_t width, bool align, double *x) {
  for (int64_t j = 0; j < width; j++) {
    double at = evenly(j, width, align);
    for (int r = 0; r < axes; r++) x[j * axes + r] = m[r * (axes + 1)] * at;
  }
}

static ox_status *run_affine(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  const ox_convert *cv = ox_convert_select(c->isa);
  bool align = ((const grid_attrs *)c->attrs)->align_corners != 0;
  ox_shape y = c->out[0]->shape;
  if (!c->out[0]->data && !ox_shape_known(&y)) { /* size came with the run */
    const int64_t *s = c->in[1]->data;
    y.rank = (int)ox_shape_count(&c->in[1]->shape);
    if (y.rank != 4 && y.rank != 5) return ox_fail(OX_INVALID_MODEL, "AffineGrid: size must be 4 or 5 integers");
    for (int i = 0; i < y.rank; i++)
      if (s[i] < 0) return ox_fail(OX_INVALID_MODEL, "AffineGrid: size[%d] is %lld", i, (long long)s[i]);
    y.dim[0] = s[0], y.dim[y.rank - 1] = y.rank - 2;
    for (int i = 2; i < y.rank; i++) y.dim[i - 1] = s[i];
    if (!ox_ctx_output(c, 0, &y)) return ox_oom();
  }
  int axes = y.rank - 2;
  const ox_shape *th = &c->in[0]->shape;
  if (th->dim[0] != y.dim[0] || th->dim[1] != axes || th->dim[2] != axes + 1)
    return ox_fail(OX_SHAPE_MISMATCH, "AffineGrid: theta must be [%lld,%d,%d]", (long long)y.dim[0], axes, axes + 1);
  int64_t width = y.dim[axes], lines = ox_shape_span(&y, 1, axes);
  if (ox_shape_count(&y) == 0) return NULL;
  double m[12], v[4], *x = ox_ctx_run_alloc(c, (size_t)(width * axes) * sizeof *x);
  if (!x) return ox_oom();
  for (int64_t i = 0; i < y.dim[0] * lines; i++) {
    int64_t at = i % lines;
    if (at == 0) { /* another image */
      cv->load_f64[c->in[0]->dtype](c->in[0]->data, (size_t)(i / lines * axes * (axes + 1)),
                                    (size_t)(axes * (axes + 1)), m);
      affine_shares(m, axes, width, align, x);
    }
    for (int a = axes - 1; a-- > 0; at /= y.dim[a + 1])
      v[axes - 1 - a] = evenly(at % y.dim[a + 1], y.dim[a + 1], align);
    v[axes] = 1;
    affine_line(c, m, axes, v, x, width, i * width * axes);
  }
  return NULL;
}

#define SAMPLE_ROW(rows)                                                                                             \
  .types = {OX_T_NUMBER | OX_T_COMPLEX | OX_BIT(OX_BOOL) | OX_BIT(OX_STRING), OX_T_FLOAT}, .min_in = 2, .max_in = 2, \
  OX_ATTRS(rows), .attrs_bytes = sizeof(grid_attrs), .infer = infer_sample
#define SAMPLE_ROW_KERNEL .prepare = prepare_sample, .run = run_sample
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "GridSample", .since = 16, SAMPLE_ROW(sample16_rows)), OX_KERNEL(SAMPLE_ROW_KERNEL)},
    {OX_SCHEMA(.name = "GridSample", .since = 20, SAMPLE_ROW(sample20_rows)), OX_KERNEL(SAMPLE_ROW_KERNEL)},
    {OX_SCHEMA(.name = "GridSample", .domain = "com.microsoft", .since = 1, .vars = "TT", SAMPLE_ROW(sample16_rows)),
     OX_KERNEL(SAMPLE_ROW_KERNEL)},
    {OX_SCHEMA(.name = "AffineGrid", .since = 20, .types = {OX_T_FLOAT, OX_BIT(OX_I64)}, .min_in = 2, .max_in = 2,
               .value_in = 2, OX_ATTRS(affine_rows), .attrs_bytes = sizeof(grid_attrs), .infer = infer_affine),
     OX_KERNEL(.run = run_affine)},
};
const ox_op_set ox_ops_grid_sample = {ops, OX_COUNT(ops)};
