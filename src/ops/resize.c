/* SPDX-License-Identifier: Apache-2.0
 * ops/resize.c - Resize and Upsample of every version. Nearest copies elements of any type; linear and cubic, of
 * numbers only, run one pass per resized axis in float32 (double for 32- and 64-bit integers and float64). */
#include <math.h>
#include <string.h>

#include "base/cksize.h"
#include "kern/quant/convert.h"
#include "kern/resize/resize.h"
#include "ops/shared/resize_shape.h"
#include "ops/shared/tiles.h"

enum { MOST_NEAR_BYTES = 64 };

typedef struct resize_prep {
  ox_resize_spec spec;
  ox_shape x, y;
  bool real64;
  uint32_t dtype;
  int n_axes, axis[OX_MAX_RANK]; /* resized axes, in the order of the passes */
  int32_t *index[OX_MAX_RANK];   /* by axis of X; NULL: kept */
  void *weight[OX_MAX_RANK];     /* floats or doubles; NULL: nearest */
  ox_resize_pass pass[OX_MAX_RANK];
  ox_resize_lines lines; /* of the last axis */
  bool has_lines;
  int64_t rows[OX_MAX_RANK], per_tile[OX_MAX_RANK]; /* of each pass */
  size_t buffer_at[2];
  /* nearest: the number of axes before the last ones that stay; those and what is inside them count as one element if
   * that is small */
  int near_rank;
  size_t near_bytes;
  bool twice;      /* each element of the last axis, of a size that has a loop for it */
  bool rows_twice; /* and each row, and no other axis changes */
  _Alignas(16) unsigned char fill[MOST_NEAR_BYTES]; /* written as one element of any type */
} resize_prep;

typedef void *alloc_fn(const ox_kernel_ctx *c, size_t bytes);
static void *alloc_prep(const ox_kernel_ctx *c, size_t bytes) { return ox_ctx_alloc((ox_kernel_ctx *)c, bytes); }
static void *alloc_run(const ox_kernel_ctx *c, size_t bytes) { return ox_ctx_run_alloc(c, bytes); }

static bool add_axis(const ox_kernel_ctx *c, resize_prep *p, int a, alloc_fn *alloc) {
  ox_resize_axis *x = &p->spec.axis[a];
  int64_t taps = ox_resize_taps(x);
  size_t n;
  if (!ox_mul_ok((size_t)x->out, (size_t)taps, &n) || n > SIZE_MAX / 16) return false;
  p->index[a] = alloc(c, n * sizeof(int32_t) + 1);
  p->weight[a] = x->mode == OX_RESIZE_NEAREST ? NULL : alloc(c, n * (p->real64 ? sizeof(double) : sizeof(float)) + 1);
  if (!p->index[a] || (x->mode != OX_RESIZE_NEAREST && !p->weight[a])) return false;
  ox_resize_table(x, p->index[a], p->real64 ? NULL : p->weight[a], p->real64 ? p->weight[a] : NULL);
  p->axis[p->n_axes++] = a;
  return true;
}

static bool is_near(const resize_prep *p) { return p->spec.mode == OX_RESIZE_NEAREST || p->n_axes == 0; }

/* Complex numbers interpolate as pairs of real ones: a last dimension that stays. */
static ox_status *as_pairs(const ox_kernel_ctx *c, resize_prep *p) {
  const ox_resize_attrs *at = c->attrs;
  if (is_near(p) || !(OX_BIT(p->dtype) & OX_T_COMPLEX)) return NULL;
  if (p->x.rank == OX_MAX_RANK) return ox_fail(OX_LIMIT, "Resize: rank %d of complex numbers", p->x.rank);
  for (int a = 0; a < p->x.rank && at && at->extrapolation_value != 0; a++)
    if (p->spec.axis[a].coord == OX_COORD_TF_CROP_AND_RESIZE)
      return ox_fail(OX_NOT_IMPLEMENTED, "Resize: extrapolation_value %g for complex numbers",
                     (double)at->extrapolation_value);
  p->dtype = p->dtype == OX_C64 ? OX_F32 : OX_F64;
  p->x.dim[p->x.rank++] = 2, p->y.dim[p->y.rank++] = 2;
  return NULL;
}

/* Interpolation needs real numbers, and so does extrapolation, which has no value for a string. */
static ox_status *check_type(const ox_kernel_ctx *c, const resize_prep *p) {
  const ox_resize_attrs *at = c->attrs;
  if (!is_near(p) && !ox_convert_select(c->isa)->load_f64[p->dtype])
    return ox_fail(OX_NOT_IMPLEMENTED, "Resize: mode %s of %s", at->mode, ox_dtype_name(p->dtype));
  for (int a = 0; a < p->x.rank && p->dtype == OX_STRING; a++)
    for (int64_t o = 0; p->index[a] && o < p->y.dim[a]; o++)
      if (p->index[a][o] < 0) return ox_fail(OX_NOT_IMPLEMENTED, "Resize: a region that leaves a tensor of strings");
  return NULL;
}

/* extrapolation_value as an element of X; of a complex number, its real part. */
static void set_fill(const ox_kernel_ctx *c, resize_prep *p) {
  const ox_resize_attrs *at = c->attrs;
  double fill = at ? (double)at->extrapolation_value : 0;
  uint32_t part = p->dtype == OX_C64 ? OX_F32 : p->dtype == OX_C128 ? OX_F64 : p->dtype;
  ox_store_f64_fn *store = ox_convert_select(c->isa)->store_f64[part];
  if (store) store(&fill, p->fill, 0, 1, NULL);
}

/* Channels last, or in blocks: pixels are copied whole. */
static void join_kept(resize_prep *p) {
  size_t one = ox_dtype_bits(p->dtype) / 8, all = one;
  p->near_rank = p->x.rank;
  while (p->near_rank > 1 && !p->index[p->near_rank - 1] && p->x.dim[p->near_rank - 1] > 0 &&
         (size_t)p->x.dim[p->near_rank - 1] <= MOST_NEAR_BYTES / all)
    all *= (size_t)p->x.dim[--p->near_rank];
  p->near_bytes = all;
  for (size_t i = one; i < all; i += one) memcpy(p->fill + i, p->fill, one);
}

static bool is_twice(const resize_prep *p, int a) {
  bool twice = a >= 0 && p->index[a] && p->y.dim[a] == 2 * p->x.dim[a];
  for (int64_t i = 0; twice && i < p->y.dim[a]; i++) twice = p->index[a][i] == i / 2;
  return twice;
}

static void find_twice(resize_prep *p) {
  int a = p->near_rank - 1;
  bool size = p->near_bytes == 1 || p->near_bytes == 2 || p->near_bytes == 4 || p->near_bytes == 8;
  p->twice = is_near(p) && size && is_twice(p, a);
  p->rows_twice = p->twice && p->n_axes == 2 && is_twice(p, a - 1);
}

static int64_t near_row_count(const resize_prep *p) { return ox_shape_span(&p->y, 0, OX_MAX(p->near_rank - 1, 0)); }

/* Plans lines for the last axis, a vector at a time: for floats, or copies of four bytes. */
static bool add_lines(const ox_kernel_ctx *c, resize_prep *p, alloc_fn *alloc) {
  int a = p->x.rank - 1;
  bool near = is_near(p);
  if (a < 0 || !p->index[a] || (near ? p->near_bytes != sizeof(float) : p->real64)) return true;
  const ox_resize_axis *x = &p->spec.axis[a];
  int64_t taps = ox_resize_taps(x), groups = OX_CEIL_DIV(x->out, OX_RESIZE_GROUP);
  size_t n;
  if (!ox_mul_ok((size_t)groups * OX_RESIZE_GROUP, (size_t)taps, &n) || n > SIZE_MAX / 16) return false;
  p->lines.window = alloc(c, (size_t)groups * sizeof *p->lines.window + 1);
  p->lines.index = alloc(c, n * sizeof(int32_t) + 1);
  p->lines.weight = near ? NULL : alloc(c, n * sizeof(float) + 1);
  if (!p->lines.window || !p->lines.index || (!near && !p->lines.weight)) return false;
  p->has_lines = ox_resize_lines_fill(&p->lines, p->index[a], p->weight[a], x->in, x->out, taps);
  int last = p->n_axes - 1;
  if (p->has_lines) p->pass[last].lines = &p->lines;
  if (p->has_lines && !near) p->per_tile[last] = OX_ROUND_UP(p->per_tile[last], OX_MAX(x->out, 1));
  return true;
}

/* Tables and, for interpolation, the passes: from the first axis to the last. */
static ox_status *build(const ox_kernel_ctx *c, resize_prep *p, alloc_fn *alloc) {
  const ox_resize_attrs *at = c->attrs;
  p->x = c->in[0]->shape, p->dtype = c->in[0]->dtype;
  p->real64 = ox_resize_is_wide(p->dtype);
  for (int a = 0; a < p->x.rank; a++) {
    const ox_resize_axis *x = &p->spec.axis[a];
    if (p->x.dim[a] > INT32_MAX) return ox_fail(OX_LIMIT, "Resize: axis %d is too long", a);
    bool kept = x->in == x->out && x->coord != OX_COORD_TF_CROP_AND_RESIZE && (x->scale == 1 || x->scale == 0);
    if (!kept && !add_axis(c, p, a, alloc)) return ox_oom();
  }
  OX_TRY(as_pairs(c, p));
  ox_shape s = p->x;
  for (int i = 0; i < p->n_axes; i++) {
    int a = p->axis[i];
    int64_t taps = ox_resize_taps(&p->spec.axis[a]), inner = ox_shape_span(&s, a + 1, s.rank);
    p->pass[i] = (ox_resize_pass){
        s.dim[a], p->y.dim[a], inner, taps, p->index[a], p->weight[a], at ? (double)at->extrapolation_value : 0, NULL};
    s.dim[a] = p->y.dim[a];
    p->rows[i] = ox_shape_span(&s, 0, a + 1);
    p->per_tile[i] = OX_MAX(8192 / OX_MAX(inner * taps, 1), 1);
  }
  set_fill(c, p);
  join_kept(p);
  find_twice(p);
  OX_TRY(check_type(c, p));
  return add_lines(c, p, alloc) ? NULL : ox_oom();
}

/* Floats (or doubles) of the two buffers that the passes alternate between. */
static bool buffer_sizes(const resize_prep *p, size_t *bytes) {
  size_t most = (size_t)ox_shape_count(&p->x), unit = p->real64 ? 8 : 4, b;
  for (int i = 0; i < p->n_axes; i++) {
    size_t n;
    if (!ox_mul_ok((size_t)p->rows[i], (size_t)p->pass[i].inner, &n)) return false;
    most = OX_MAX(most, n);
  }
  if (!ox_mul_ok(most, unit, &b) || b > SIZE_MAX / 4) return false;
  *bytes = OX_ROUND_UP(b + OX_PAD_BYTES, OX_ALIGN_BYTES);
  return true;
}

/* Passes never run in place, and f32 reads X and writes Y directly at the ends. */
static bool is_f32(const resize_prep *p) { return p->dtype == OX_F32; }

static ox_status *prepare(ox_kernel_ctx *c) {
  resize_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  bool known = false;
  if (!p) return ox_oom();
  p->y = c->out[0]->shape;
  if (ox_shape_known(&p->y)) OX_TRY(ox_resize_spec_ctx(c, &p->spec, &p->y, &known));
  if (!known) return ox_ctx_plan(c, 1, 0); /* all of it in run */
  OX_TRY(build(c, p, alloc_prep));
  int64_t y_n = ox_shape_count(&p->y);
  if (y_n == 0) return ox_ctx_plan(c, 0, 0);
  if (is_near(p)) {
    p->per_tile[0] = OX_MAX(16384 / (y_n / near_row_count(p)), 1);
    return ox_ctx_plan(c, OX_CEIL_DIV(near_row_count(p), p->per_tile[0]), 0);
  }
  size_t bytes;
  int ends = is_f32(p) ? 0 : 2;
  if (!buffer_sizes(p, &bytes)) return ox_fail(OX_LIMIT, "Resize: the result is too large");
  if (p->n_axes + ends > OX_MAX_STAGES) { /* rare: many axes, in one tile */
    c->shared_bytes = 2 * bytes, p->buffer_at[1] = bytes, p->spec.one_tile = true;
    return ox_ctx_plan(c, 1, 0);
  }
  c->shared_bytes = 2 * bytes, p->buffer_at[1] = bytes, c->n_stages = 0;
  if (ends) c->n_tiles[c->n_stages++] = OX_CEIL_DIV(ox_shape_count(&p->x), OX_TILE_CHEAP);
  for (int i = 0; i < p->n_axes; i++) c->n_tiles[c->n_stages++] = OX_CEIL_DIV(p->rows[i], p->per_tile[i]);
  if (ends) c->n_tiles[c->n_stages++] = OX_CEIL_DIV(y_n, OX_TILE_CHEAP);
  return NULL;
}

/* ---- run ---- */
static void near_rows(const ox_kernel_ctx *c, const resize_prep *p, int64_t begin, int64_t end) {
  ox_resize_near n = {p->near_rank,
                      p->near_bytes,
                      p->x.dim,
                      p->y.dim,
                      (const int32_t *const *)p->index,
                      p->fill,
                      p->twice,
                      p->rows_twice,
                      p->has_lines ? &p->pass[p->n_axes - 1] : NULL,
                      ox_resize_select(c->isa)};
  ox_resize_nearest(&n, c->in[0]->data, c->out[0]->data, begin, end);
}

static void widen(const ox_kernel_ctx *c, const resize_prep *p, char *buffer, int64_t begin, int64_t end) {
  const ox_convert *cv = ox_convert_select(c->isa);
  size_t n = (size_t)(end - begin), at = (size_t)begin;
  if (p->real64)
    cv->load_f64[p->dtype](c->in[0]->data, at, n, (double *)(void *)buffer + begin);
  else
    cv->load_f32[p->dtype](c->in[0]->data, at, n, (float *)(void *)buffer + begin);
}

/* Converts a result to an integer: antialiased ones are rounded, others truncated, except where they are within |noise|
 * of an integer. */
static double whole(const resize_prep *p, double v, double noise) {
  double r = round(v);
  return p->spec.antialias || fabs(v - r) <= noise ? r : v;
}

/* Integers are clamped to the type. */
static void narrow(const ox_kernel_ctx *c, const resize_prep *p, char *buffer, int64_t begin, int64_t end) {
  const ox_convert *cv = ox_convert_select(c->isa);
  size_t n = (size_t)(end - begin), at = (size_t)begin;
  unsigned bits = ox_dtype_bits(p->dtype);
  bool integer = !ox_dtype_is_float(p->dtype), sign = ox_dtype_is_signed(p->dtype);
  double range = ldexp(1, (int)bits), most = sign ? range / 2 : range, least = sign ? -most : 0;
  double top = bits == 64 ? nextafter(most, 0) : most - 1;
  if (p->real64) {
    double *b = (double *)(void *)buffer + begin;
    for (size_t i = 0; integer && i < n; i++) b[i] = fmin(fmax(whole(p, b[i], 1e-12 * (1 + fabs(b[i]))), least), top);
    cv->store_f64[p->dtype](b, c->out[0]->data, at, n, NULL);
  } else {
    float *b = (float *)(void *)buffer + begin;
    float noise = p->spec.antialias ? 0.5f : (float)(1e-6 * range);
    if (integer) ox_resize_select(c->isa)->to_whole(b, (int64_t)n, noise, (float)least, (float)top);
    cv->store_f32[p->dtype](b, c->out[0]->data, at, n, NULL);
  }
}

static void pass(const ox_kernel_ctx *c, const resize_prep *p, int i, const void *from, void *to, ox_range tiles) {
  int64_t begin = tiles.begin * p->per_tile[i], end = OX_MIN(tiles.end * p->per_tile[i], p->rows[i]);
  if (p->real64)
    ox_resize_f64(&p->pass[i], from, to, begin, end);
  else
    ox_resize_select(c->isa)->f32(&p->pass[i], from, to, begin, end);
}

/* Where pass i reads (i - 1's output). */
static void *buffer_of(const ox_kernel_ctx *c, const resize_prep *p, char *shared, int i) {
  if (is_f32(p) && i < 0) return c->in[0]->data;
  if (is_f32(p) && i == p->n_axes - 1) return c->out[0]->data;
  return shared + p->buffer_at[(i + 1) & 1];
}

static ox_status *run_all(const ox_kernel_ctx *c, const resize_prep *p, char *shared) {
  if (is_near(p)) {
    near_rows(c, p, 0, ox_shape_count(&p->y) ? near_row_count(p) : 0);
    return NULL;
  }
  if (!is_f32(p)) widen(c, p, buffer_of(c, p, shared, -1), 0, ox_shape_count(&p->x));
  for (int i = 0; i < p->n_axes; i++)
    pass(c, p, i, buffer_of(c, p, shared, i - 1), buffer_of(c, p, shared, i), (ox_range){0, p->rows[i]});
  if (!is_f32(p)) narrow(c, p, buffer_of(c, p, shared, p->n_axes - 1), 0, ox_shape_count(&p->y));
  return NULL;
}

/* The shape is known only now. */
static ox_status *run_unplanned(const ox_kernel_ctx *c) {
  resize_prep *p = ox_ctx_run_alloc(c, sizeof *p);
  bool known;
  size_t bytes;
  if (!p) return ox_oom();
  memset(p, 0, sizeof *p);
  OX_TRY(ox_resize_spec_ctx(c, &p->spec, &p->y, &known));
  if (!known) return ox_fail(OX_INVALID_MODEL, "Resize: neither scales nor sizes");
  if (!ox_ctx_output(c, 0, &p->y)) return ox_oom();
  OX_TRY(build(c, p, alloc_run));
  if (ox_shape_count(&p->y) == 0) return NULL;
  if (!buffer_sizes(p, &bytes)) return ox_fail(OX_LIMIT, "Resize: the result is too large");
  p->buffer_at[1] = bytes;
  char *shared = is_near(p) ? NULL : ox_ctx_run_alloc(c, 2 * bytes);
  if (!is_near(p) && !shared) return ox_oom();
  return run_all(c, p, shared);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  const resize_prep *p = c->prep;
  if (!p->x.rank && !p->spec.done) return run_unplanned(c);
  if (p->spec.one_tile) return run_all(c, p, c->shared);
  if (is_near(p)) {
    near_rows(c, p, tiles.begin * p->per_tile[0], OX_MIN(tiles.end * p->per_tile[0], near_row_count(p)));
    return NULL;
  }
  int i = (int)stage - (is_f32(p) ? 0 : 1);
  int64_t n = i < 0 ? ox_shape_count(&p->x) : ox_shape_count(&p->y), begin, end;
  ox_tile_span(tiles, OX_TILE_CHEAP, n, &begin, &end);
  if (i < 0)
    widen(c, p, buffer_of(c, p, c->shared, -1), begin, end);
  else if (i == p->n_axes)
    narrow(c, p, buffer_of(c, p, c->shared, i - 1), begin, end);
  else
    pass(c, p, i, buffer_of(c, p, c->shared, i - 1), buffer_of(c, p, c->shared, i), tiles);
  return NULL;
}

/* no version of the standard has elements smaller than a byte */
enum { ANY = OX_T_ALL & ~OX_T_SUBBYTE };
#define ROW(rows) .types = {ANY}, OX_ATTRS(rows), .attrs_bytes = sizeof(ox_resize_attrs), .infer = ox_resize_infer
#define ROW_KERNEL .prepare = prepare, .run = run
static const ox_attr_def upsample1[] = {OX_ATTR_STR(ox_resize_attrs, mode, "nearest"),
                                        OX_ATTR_FLOAT(ox_resize_attrs, height_scale, 0),
                                        OX_ATTR_FLOAT(ox_resize_attrs, width_scale, 0)};
static const ox_attr_def upsample7[] = {OX_ATTR_STR(ox_resize_attrs, mode, "nearest"),
                                        OX_ATTR_FLOATS(ox_resize_attrs, scales)};
static const ox_attr_def resize10[] = {OX_ATTR_STR(ox_resize_attrs, mode, "nearest")};
static const ox_attr_def resize11[] = {OX_ATTR_STR(ox_resize_attrs, mode, "nearest"),
                                       OX_ATTR_STR(ox_resize_attrs, coordinate_transformation_mode, "half_pixel"),
                                       OX_ATTR_STR(ox_resize_attrs, nearest_mode, "round_prefer_floor"),
                                       OX_ATTR_STR(ox_resize_attrs, keep_aspect_ratio_policy, "stretch"),
                                       OX_ATTR_FLOAT(ox_resize_attrs, cubic_coeff_a, -0.75f),
                                       OX_ATTR_FLOAT(ox_resize_attrs, extrapolation_value, 0),
                                       OX_ATTR_INT(ox_resize_attrs, exclude_outside, 0),
                                       OX_ATTR_INT(ox_resize_attrs, antialias, 0),
                                       OX_ATTR_INTS_IN(ox_resize_attrs, axes, OX_AXIS_RANGE)};

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Upsample", .since = 1, .min_in = 1, .max_in = 1, ROW(upsample1)), OX_KERNEL(ROW_KERNEL)},
    {OX_SCHEMA(.name = "Upsample", .since = 7, .min_in = 1, .max_in = 1, ROW(upsample7)), OX_KERNEL(ROW_KERNEL)},
    {OX_SCHEMA(.name = "Upsample", .since = 9, .min_in = 2, .max_in = 2, .value_in = 2, ROW(resize10)),
     OX_KERNEL(ROW_KERNEL)},
    {OX_SCHEMA(.name = "Resize", .since = 10, .min_in = 2, .max_in = 2, .value_in = 2, ROW(resize10)),
     OX_KERNEL(ROW_KERNEL)},
    {OX_SCHEMA(.name = "Resize", .since = 11, .min_in = 1, .max_in = 4, .value_in = 14, ROW(resize11)),
     OX_KERNEL(ROW_KERNEL)},
};
const ox_op_set ox_ops_resize = {ops, OX_COUNT(ops)};
