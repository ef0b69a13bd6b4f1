/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/blocks/blocks_space.c - operators over the spatial axes: reductions, global pools, resizing. */
#include "base/status.h"
#include "ep/cpu/blocks/blocks_pass.h"

enum { MOST = OX_MAX_RANK };

/* ---- reductions ---- */

enum { AXES_AS_INPUT = 18 };

/* Axes from the front, spatial ones only. */
static bool reduced_axes(const ox_rewrite *g, ox_id node, int64_t *axes, int *n) {
  int rank = ox_shape_at(g, ox_in(g, node, 0))->rank;
  if (!ox_list_of(g, node, "axes", 1, axes, MOST, n) || *n < 1) return false;
  for (int i = 0; i < *n; i++) {
    if (axes[i] < 0) axes[i] += rank;
    if (axes[i] < 2 || axes[i] >= rank) return false;
  }
  return true;
}

static bool reduce_can(const ox_rewrite *g, ox_id node, ox_blocks_use *u) {
  ox_id x = ox_in(g, node, 0), y = ox_out(g, node, 0);
  int64_t axes[MOST];
  int n;
  if (!ox_blocks_channels(g, x) || !reduced_axes(g, node, axes, &n)) return false;
  if (ox_shape_at(g, y)->rank < 2 || ox_shape_at(g, y)->dim[1] != ox_shape_at(g, x)->dim[1]) return false;
  u->in = u->out = 1, u->gain = (float)-ox_blocks_waste(g, x);
  return true;
}

static ox_status *set_axes(const ox_rewrite *g, ox_id node, const int64_t *axes, int n) {
  ox_id v;
  if (ox_in(g, node, 1) == OX_NONE && ox_opset_of(g, "") < AXES_AS_INPUT)
    return ox_set_ints(g, node, "axes", axes, (size_t)n);
  OX_TRY(ox_i64_const(g, axes, n, &v));
  return ox_set_in(g, node, 1, v);
}

static ox_status *reduce_edit(const ox_rewrite *g, ox_id node, const ox_blocks_use *u) {
  int64_t axes[MOST];
  int n;
  (void)u;
  return reduced_axes(g, node, axes, &n) ? set_axes(g, node, axes, n) : NULL;
}

static bool global_can(const ox_rewrite *g, ox_id node, ox_blocks_use *u) {
  ox_id x = ox_in(g, node, 0);
  u->in = u->out = 1, u->gain = (float)-ox_blocks_waste(g, x);
  return ox_blocks_channels(g, x) && ox_blocks_channels(g, ox_out(g, node, 0));
}

static ox_status *global_edit(const ox_rewrite *g, ox_id node, const ox_blocks_use *u) {
  int64_t axes[MOST];
  int n = 0;
  (void)u;
  for (int i = 2; i < ox_shape_at(g, ox_in(g, node, 0))->rank; i++) axes[n++] = i;
  OX_TRY(ox_become(g, node, NULL, ox_is(g, node, "GlobalMaxPool") ? "ReduceMax" : "ReduceMean"));
  return set_axes(g, node, axes, n);
}

/* ---- Resize ---- */

/* Where scales and sizes are: an attribute of Upsample, then inputs. */
typedef struct resize_lists {
  const ox_tensor *scales;
  uint32_t scales_at, sizes_at;
  int64_t sizes[MOST];
  int n_sizes; /* 0: there are none */
} resize_lists;

static bool is_empty(const ox_rewrite *g, ox_id v) { return v == OX_NONE || ox_elements(ox_shape_at(g, v)) == 0; }

static bool resize_lists_of(const ox_rewrite *g, ox_id node, resize_lists *r) {
  const ox_shape *x = ox_shape_at(g, ox_in(g, node, 0));
  bool modern = ox_is(g, node, "Resize") && g->api->node_version(g, node) >= 11;
  *r = (resize_lists){.scales_at = modern ? 2 : 1, .sizes_at = 3};
  if (modern && (!is_empty(g, ox_in(g, node, 1)) || ox_attr_of(g, node, "axes"))) return false;
  if (modern && !is_empty(g, ox_in(g, node, r->sizes_at))) {
    if (!ox_const_ints(g, ox_in(g, node, r->sizes_at), r->sizes, MOST, &r->n_sizes)) return false;
    return r->n_sizes == x->rank && r->sizes[1] == x->dim[1];
  }
  const ox_tensor *t = r->scales = ox_const(g, ox_in(g, node, r->scales_at));
  return t && t->dtype == OX_F32 && ox_elements(&t->shape) == x->rank && ox_at(g, t, 1) == 1;
}

static bool resize_can(const ox_rewrite *g, ox_id node, ox_blocks_use *u) {
  resize_lists r;
  ox_id x = ox_in(g, node, 0), y = ox_out(g, node, 0);
  if (!ox_blocks_channels(g, x) || !ox_blocks_channels(g, y) || !resize_lists_of(g, node, &r)) return false;
  if (ox_attr_is(g, node, "coordinate_transformation_mode", "tf_crop_and_resize", 0)) return false;
  if (!ox_attr_is(g, node, "keep_aspect_ratio_policy", "stretch", 1)) return false;
  /* Interpolating along rows of single floats takes long. */
  const double ns = ox_attr_is(g, node, "mode", "nearest", 1) ? 0 : 0.5;
  u->in = u->out = 1, u->gain = (float)(ns * ox_blocks_elements(g, y, false) - ox_blocks_waste(g, y));
  return true;
}

static ox_status *resize_edit(const ox_rewrite *g, ox_id node, const ox_blocks_use *u) {
  resize_lists r;
  ox_id v;
  (void)u;
  if (!resize_lists_of(g, node, &r)) return NULL;
  if (r.n_sizes) {
    r.sizes[1] = OX_CEIL_DIV(r.sizes[1], OX_BLOCKS_LANES), r.sizes[r.n_sizes++] = OX_BLOCKS_LANES;
    OX_TRY(ox_i64_const(g, r.sizes, r.n_sizes, &v));
    return ox_set_in(g, node, r.sizes_at, v);
  }
  float *scales;
  int64_t n = ox_elements(&r.scales->shape), more = n + 1;
  OX_TRY(ox_f32_room(g, NULL, 1, &more, &scales, &v));
  for (int64_t i = 0; i < n; i++) scales[i] = (float)ox_at(g, r.scales, i);
  scales[n] = 1;
  return ox_set_in(g, node, r.scales_at, v);
}

const ox_blocks_op ox_blocks_space_ops[] = {
    {.ops = "ReduceMean|ReduceMax|ReduceMin|ReduceSum|ReduceSumSquare|ReduceL1|ReduceL2",
     .can = reduce_can,
     .edit = reduce_edit},
    {.ops = "GlobalAveragePool|GlobalMaxPool", .can = global_can, .edit = global_edit},
    {.ops = "Resize|Upsample", .can = resize_can, .edit = resize_edit},
    {.ops = NULL},
};
