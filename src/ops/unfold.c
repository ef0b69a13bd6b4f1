/* SPDX-License-Identifier: Apache-2.0
 * ops/unfold.c - com.microsoft's UnfoldTensor, CDist, MurmurHash3. */
#include <math.h>
#include <string.h>

#include "kern/dist/dist.h"
#include "ops/move/deferred.h"

/* ---- UnfoldTensor: overlapping windows along one dimension ---- */

typedef struct {
  int64_t dim, size, step;
} unfold_attrs;
static const ox_attr_def unfold_attr_defs[] = {OX_ATTR_INT_IN(unfold_attrs, dim, -1, OX_AXIS_RANGE),
                                               OX_ATTR_INT_REQUIRED_IN(unfold_attrs, size, 1, OX_COUNT_MAX),
                                               OX_ATTR_INT_IN(unfold_attrs, step, 1, 1, OX_COUNT_MAX)};

static ox_status *unfold_infer(ox_infer_ctx *c) {
  const unfold_attrs *a = c->attrs;
  if (!ox_infer_has(c, 0)) return NULL;
  ox_shape s = c->in[0]->shape;
  int axis;
  if (s.rank >= 0) {
    if (!ox_axis_ok(a->dim, s.rank, &axis) || s.rank == OX_MAX_RANK)
      return ox_fail(OX_INVALID_MODEL, "UnfoldTensor: dim %lld, rank %d", (long long)a->dim, s.rank);
    int64_t d = s.dim[axis];
    if (d >= 0 && d < a->size)
      return ox_fail(OX_SHAPE_MISMATCH, "UnfoldTensor: size %lld, dimension %lld", (long long)a->size, (long long)d);
    s.dim[axis] = d < 0 ? -1 : (d - a->size) / a->step + 1;
    s.dim[s.rank++] = a->size;
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &s);
  return NULL;
}

static ox_status *unfold_build(const ox_kernel_ctx *c, const ox_type *out, void *plan) {
  const unfold_attrs *a = c->attrs;
  const ox_shape *in = &c->in[0]->shape;
  ox_region r = {.rank = in->rank + 1};
  int axis;
  (void)ox_axis_ok(a->dim, in->rank, &axis);
  ox_shape_strides(in, r.is);
  ox_shape_strides(&out[0].shape, r.os);
  for (int i = 0; i < r.rank; i++) r.dim[i] = out[0].shape.dim[i];
  r.is[in->rank] = r.is[axis];
  if (r.dim[axis] > 1) r.is[axis] *= a->step;
  ox_move_plan_init(plan, c->in[0]->dtype, &r);
  return NULL;
}

static const ox_deferred_op unfold_op = {0, sizeof(ox_move_plan), unfold_infer, unfold_build, ox_move_plan_work};
static ox_status *unfold_prepare(ox_kernel_ctx *c) { return ox_deferred_prepare(c, &unfold_op); }
static ox_status *unfold_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  return ox_deferred_run(c, &unfold_op, stage, tiles);
}

/* ---- CDist: distances of all pairs of rows ---- */

typedef struct {
  const char *metric;
} cdist_attrs;
static const ox_attr_def cdist_attr_defs[] = {OX_ATTR_STR(cdist_attrs, metric, "sqeuclidean")};

static ox_status *cdist_infer(ox_infer_ctx *c) {
  const cdist_attrs *a = c->attrs;
  ox_shape s = {.rank = 2, .dim = {-1, -1}};
  if (strcmp(a->metric, "sqeuclidean") != 0 && strcmp(a->metric, "euclidean") != 0)
    return ox_fail(OX_NOT_IMPLEMENTED, "CDist: metric '%s'", a->metric);
  if (!ox_infer_has(c, 0) || !ox_infer_has(c, 1)) return NULL;
  const ox_shape *x = &c->in[0]->shape, *y = &c->in[1]->shape;
  if ((x->rank >= 0 && x->rank != 2) || (y->rank >= 0 && y->rank != 2) ||
      (x->rank == 2 && y->rank == 2 && x->dim[1] >= 0 && y->dim[1] >= 0 && x->dim[1] != y->dim[1])) {
    char t[OX_SHAPE_TEXT], w[OX_SHAPE_TEXT];
    return ox_fail(OX_SHAPE_MISMATCH, "CDist: shapes %s and %s, wanted [M,N] and [K,N]", ox_shape_text(x, t),
                   ox_shape_text(y, w));
  }
  if (x->rank == 2) s.dim[0] = x->dim[0];
  if (y->rank == 2) s.dim[1] = y->dim[0];
  ox_infer_out(c, 0, c->in[0]->dtype, &s);
  return NULL;
}

static int64_t cdist_tiles(const ox_kernel_ctx *c) {
  int64_t m = c->out[0]->shape.dim[0], k = c->out[0]->shape.dim[1], n = c->in[0]->shape.dim[1];
  return ox_move_tiles(ox_dim_mul(m, ox_dim_mul(k, OX_MAX(n, 1))), m);
}

/* Stage 0 transposes the second matrix (float only), stage 1 computes. */
static ox_status *cdist_prepare(ox_kernel_ctx *c) {
  c->n_stages = 2, c->n_tiles[0] = 1, c->n_tiles[1] = cdist_tiles(c);
  if (c->in[0]->dtype == OX_F32) (void)ox_dtype_bytes(OX_F32, ox_shape_count(&c->in[1]->shape), &c->shared_bytes);
  return NULL;
}

static void cdist_f32(const ox_kernel_ctx *c, ox_range rows, int64_t k, int64_t n, bool root) {
  ox_dist_fn fn = ox_dist_select(c->isa);
  for (int64_t i = rows.begin; i < rows.end; i += OX_DIST_ROWS) {
    int64_t have = OX_MIN(rows.end - i, OX_DIST_ROWS);
    float *out = (float *)c->out[0]->data + i * k;
    fn((const float *)c->in[0]->data + i * n, (int)have, c->shared, out, k, n, root);
  }
}

static void cdist_f64(const ox_kernel_ctx *c, ox_range rows, int64_t k, int64_t n, bool root) {
  const double *x = c->in[0]->data, *y = c->in[1]->data;
  for (int64_t i = rows.begin; i < rows.end; i++)
    for (int64_t j = 0; j < k; j++) {
      double sum = 0;
      for (int64_t t = 0; t < n; t++) sum += (x[i * n + t] - y[j * n + t]) * (x[i * n + t] - y[j * n + t]);
      ((double *)c->out[0]->data)[i * k + j] = root ? sqrt(sum) : sum;
    }
}

static ox_status *cdist_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  const cdist_attrs *a = c->attrs;
  const ox_shape *s = &c->out[0]->shape;
  if (stage == 0) {
    int64_t k = s->dim[1], n = c->in[0]->shape.dim[1];
    if (c->shared_bytes && c->in[0]->dtype == OX_F32)
      ox_transpose_select(4, c->isa)(c->in[1]->data, n * 4, c->shared, k * 4, k, n);
    return NULL;
  }
  ox_range rows = ox_units_of(tiles, cdist_tiles(c), s->dim[0]);
  bool root = a->metric[0] == 'e';
  if (c->in[0]->dtype == OX_F32)
    cdist_f32(c, rows, s->dim[1], c->in[0]->shape.dim[1], root);
  else
    cdist_f64(c, rows, s->dim[1], c->in[0]->shape.dim[1], root);
  return NULL;
}

/* ---- MurmurHash3 (the 32-bit variant for x86) of each element's bytes ---- */

typedef struct {
  int64_t positive, seed;
} murmur_attrs;
static const ox_attr_def murmur_attr_defs[] = {OX_ATTR_INT(murmur_attrs, positive, 1),
                                               OX_ATTR_INT(murmur_attrs, seed, 0)};

static ox_status *murmur_infer(ox_infer_ctx *c) {
  const murmur_attrs *a = c->attrs;
  if (ox_infer_has(c, 0)) ox_infer_out(c, 0, a->positive ? OX_U32 : OX_I32, &c->in[0]->shape);
  return NULL;
}

static uint32_t rotate(uint32_t v, int by) { return v << by | v >> (32 - by); }

static uint32_t murmur(const unsigned char *p, size_t n, uint32_t h) {
  const uint32_t c1 = 0xcc9e2d51, c2 = 0x1b873593;
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    uint32_t k = (uint32_t)p[i] | (uint32_t)p[i + 1] << 8 | (uint32_t)p[i + 2] << 16 | (uint32_t)p[i + 3] << 24;
    h = rotate(h ^ (rotate(k * c1, 15) * c2), 13) * 5 + 0xe6546b64;
  }
  uint32_t tail = 0;
  for (size_t k = n; k > i; k--) tail = tail << 8 | p[k - 1];
  if (i < n) h ^= rotate(tail * c1, 15) * c2;
  h ^= (uint32_t)n;
  h = (h ^ h >> 16) * 0x85ebca6b;
  h = (h ^ h >> 13) * 0xc2b2ae35;
  return h ^ h >> 16;
}

static int64_t murmur_tiles(const ox_kernel_ctx *c) {
  int64_t n = ox_shape_count(&c->in[0]->shape);
  return ox_move_tiles(16 * n, n);
}
static ox_status *murmur_prepare(ox_kernel_ctx *c) { return ox_ctx_plan(c, murmur_tiles(c), 0); }

static ox_status *murmur_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const murmur_attrs *a = c->attrs;
  const ox_tensor *in = c->in[0];
  size_t elem = ox_dtype_bits(in->dtype) / 8;
  ox_range u = ox_units_of(tiles, murmur_tiles(c), ox_shape_count(&in->shape));
  for (int64_t i = u.begin; i < u.end; i++) {
    const char *p = (const char *)in->data + (size_t)i * elem;
    size_t n = elem;
    if (in->dtype == OX_STRING) n = ((const ox_str *)in->data)[i].n, p = ((const ox_str *)in->data)[i].p;
    ((uint32_t *)c->out[0]->data)[i] = murmur((const unsigned char *)p, n, (uint32_t)a->seed);
  }
  return NULL;
}

enum {
  MURMUR = OX_BIT(OX_I32) | OX_BIT(OX_U32) | OX_BIT(OX_I64) | OX_BIT(OX_U64) | OX_BIT(OX_F32) | OX_BIT(OX_F64) |
           OX_BIT(OX_STRING)
};
#define MS .domain = "com.microsoft", .since = 1

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "UnfoldTensor", MS, .types = {OX_T_ALL & ~OX_T_SUBBYTE}, .min_in = 1, .max_in = 1,
               OX_ATTRS(unfold_attr_defs), .attrs_bytes = sizeof(unfold_attrs), .infer = unfold_infer),
     OX_KERNEL(.prepare = unfold_prepare, .run = unfold_run)},
    {OX_SCHEMA(.name = "CDist", MS, .types = {OX_BIT(OX_F32) | OX_BIT(OX_F64)}, .vars = "TT", .min_in = 2, .max_in = 2,
               OX_ATTRS(cdist_attr_defs), .attrs_bytes = sizeof(cdist_attrs), .infer = cdist_infer),
     OX_KERNEL(.prepare = cdist_prepare, .run = cdist_run)},
    {OX_SCHEMA(.name = "MurmurHash3", MS, .types = {MURMUR}, .min_in = 1, .max_in = 1, OX_ATTRS(murmur_attr_defs),
               .attrs_bytes = sizeof(murmur_attrs), .infer = murmur_infer),
     OX_KERNEL(.prepare = murmur_prepare, .run = murmur_run)},
};
const ox_op_set ox_ops_unfold = {ops, OX_COUNT(ops)};
