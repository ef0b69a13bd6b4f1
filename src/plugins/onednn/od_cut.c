/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_cut.c - a product of matrices cut along one axis of its result (od_shares.h). */
#include <string.h>

#include "od_shares.h"

/* The least rows and columns of a piece, as each packs the other operand again, and the least products of numbers. With
 * few rows nothing is packed, and narrow pieces read memory in short runs. */
enum { LEAST_ROWS = 64, LEAST_COLUMNS = 96, FEW_ROWS = 16, LEAST_RUN = 384, LEAST_PRODUCTS = 1 << 17, GRAIN = 16 };

/* ---- where ---- */

static int64_t least(const dnnl_memory_desc_t *y, int axis) {
  if (axis == y->ndims - 1) return y->dims[axis - 1] < FEW_ROWS ? LEAST_RUN : LEAST_COLUMNS;
  return axis == y->ndims - 2 ? LEAST_ROWS : 1;
}

/* The number of pieces along |axis| of the result |y| of sums of |k| products. */
static int64_t count(const dnnl_memory_desc_t *y, int64_t k, int axis) {
  int64_t products = k;
  for (int i = 0; i < y->ndims; i++) products *= y->dims[i];
  return OD_MIN(OD_MIN(y->dims[axis] / least(y, axis), products / LEAST_PRODUCTS), OD_MOST_PIECES);
}

/* The axis with the most pieces of those that are not |tried|; OD_NONE: there is only one piece. */
static int find_axis(const dnnl_memory_desc_t *y, int64_t k, unsigned tried) {
  int best = OD_NONE;
  int64_t most = 1;
  for (int i = 0; i < y->ndims; i++)
    if (!(tried >> i & 1) && count(y, k, i) > most) most = count(y, k, i), best = i;
  return best;
}

static od_pieces pieces_of(const dnnl_memory_desc_t *y, int64_t k, int axis) {
  int64_t n = count(y, k, axis), grain = axis < y->ndims - 2 ? 1 : GRAIN, all = y->dims[axis];
  od_pieces p = {.axis = axis, .size = ((all + n - 1) / n + grain - 1) / grain * grain};
  p.n = (uint32_t)((all + p.size - 1) / p.size);
  return p;
}

/* An argument's axis that is cut; OD_NONE: all pieces use all of it. */
static int axis_of(int id, const dnnl_memory_desc_t *md, const od_pieces *p) {
  bool whole = (id == DNNL_ARG_SRC && p->axis == md->ndims - 1) || (id == DNNL_ARG_WEIGHTS && p->axis == md->ndims - 2);
  return whole || md->dims[p->axis] == 1 ? OD_NONE : p->axis;
}

/* A part of |md| of plain layout, and how many bytes after its beginning it starts; |out_md| may be |md|. */
static bool cut(int id, const dnnl_memory_desc_t *md, const od_pieces *p, uint32_t i, dnnl_memory_desc_t *out_md,
                size_t *out_bytes) {
  int axis = axis_of(id, md, p);
  dnnl_dims_t dims, from = {0};
  int64_t start = md->offset0;
  *out_md = *md, *out_bytes = 0;
  if (md->format_kind != dnnl_blocked || md->format_desc.blocking.inner_nblks || md->data_type != dnnl_f32)
    return false;
  if (axis == OD_NONE) return true;
  memcpy(dims, md->dims, sizeof dims);
  from[axis] = i * p->size, dims[axis] = OD_MIN(p->size, md->dims[axis] - from[axis]);
  dnnl_memory_desc_t whole = *md;
  if (dnnl_memory_desc_init_submemory(out_md, &whole, dims, from) != dnnl_success) return false;
  *out_bytes = (size_t)(out_md->offset0 - start) * sizeof(float);
  out_md->offset0 = start;
  return true;
}

/* ---- what ---- */

static dnnl_status_t posts_of(const_dnnl_primitive_desc_t pd, const_dnnl_post_ops_t *out) {
  const_dnnl_primitive_attr_t attr;
  dnnl_status_t s = dnnl_primitive_desc_get_attr(pd, &attr);
  return s == dnnl_success ? dnnl_primitive_attr_get_post_ops(attr, out) : s;
}

/* The operand of post |at|, in the layout that |pd| chose. */
static dnnl_memory_desc_t operand_of(const_dnnl_primitive_desc_t pd, int at) {
  return od_md_wanted(pd, dnnl_query_exec_arg_md, DNNL_ARG_ATTR_MULTIPLE_POST_OP(at) | DNNL_ARG_SRC_1);
}

/* Is the first post the addition of a row? */
static bool adds_row(const_dnnl_primitive_desc_t pd, const_dnnl_post_ops_t posts, const dnnl_memory_desc_t *y,
                     dnnl_memory_desc_t *out_row) {
  dnnl_alg_kind_t alg;
  const dnnl_memory_desc_t *wish;
  if (!dnnl_post_ops_len(posts) || dnnl_post_ops_get_kind(posts, 0) != dnnl_binary) return false;
  if (dnnl_post_ops_get_params_binary(posts, 0, &alg, &wish) != dnnl_success || alg != dnnl_binary_add) return false;
  for (int i = 0; i < y->ndims; i++)
    if (wish->dims[i] != (i == y->ndims - 1 ? y->dims[i] : 1)) return false;
  *out_row = operand_of(pd, 0);
  return true;
}

/* Posts find their operands by where in the result they are, as if it were dense: what is left out between the rows of
 * a piece would count, unless an operand has the same gaps or one element. */
static bool posts_fit(const_dnnl_primitive_desc_t pd, const_dnnl_post_ops_t posts, const dnnl_memory_desc_t *y,
                      const od_pieces *p) {
  bool dense = true;
  for (int i = 0; i < p->axis; i++) dense &= y->dims[i] == 1;
  for (int k = p->bias; !dense && k < dnnl_post_ops_len(posts); k++) {
    if (dnnl_post_ops_get_kind(posts, k) != dnnl_binary) continue;
    dnnl_memory_desc_t md = operand_of(pd, k);
    bool full = true, one = true;
    for (int i = 0; i < y->ndims; i++) full &= md.dims[i] == y->dims[i], one &= md.dims[i] == 1;
    if (!full && !one) return false;
  }
  return true;
}

static dnnl_status_t cut_post(const_dnnl_primitive_desc_t pd, const_dnnl_post_ops_t from, int at, const od_pieces *p,
                              uint32_t i, dnnl_post_ops_t to) {
  dnnl_alg_kind_t alg;
  float scale, alpha, beta;
  const dnnl_memory_desc_t *wish;
  dnnl_memory_desc_t md;
  size_t bytes;
  dnnl_status_t s;
  switch (dnnl_post_ops_get_kind(from, at)) {
    case dnnl_eltwise:
      s = dnnl_post_ops_get_params_eltwise(from, at, &scale, &alg, &alpha, &beta);
      return s == dnnl_success ? dnnl_post_ops_append_eltwise(to, scale, alg, alpha, beta) : s;
    case dnnl_sum:
      s = dnnl_post_ops_get_params_sum(from, at, &scale);
      return s == dnnl_success ? dnnl_post_ops_append_sum(to, scale) : s;
    case dnnl_binary:
      s = dnnl_post_ops_get_params_binary(from, at, &alg, &wish);
      md = operand_of(pd, at);
      if (s == dnnl_success && !cut(DNNL_ARG_SRC_1, &md, p, i, &md, &bytes)) s = dnnl_unimplemented;
      return s == dnnl_success ? dnnl_post_ops_append_binary(to, alg, &md) : s;
    default:
      return dnnl_unimplemented;
  }
}

static dnnl_status_t cut_posts(const_dnnl_primitive_desc_t pd, const_dnnl_post_ops_t from, const od_pieces *p,
                               uint32_t i, dnnl_primitive_attr_t to) {
  dnnl_post_ops_t posts;
  dnnl_status_t s = dnnl_post_ops_create(&posts);
  if (s != dnnl_success) return s;
  for (int k = p->bias; s == dnnl_success && k < dnnl_post_ops_len(from); k++) s = cut_post(pd, from, k, p, i, posts);
  if (s == dnnl_success) s = dnnl_primitive_attr_set_post_ops(to, posts);
  dnnl_post_ops_destroy(posts);
  return s;
}

static dnnl_status_t describe(od_builder *b, const_dnnl_primitive_desc_t pd, od_pieces *p, uint32_t i,
                              dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out_pd) {
  dnnl_memory_desc_t src = od_md_wanted(pd, dnnl_query_src_md, 0), w = od_md_wanted(pd, dnnl_query_weights_md, 0),
                     bias = od_md_wanted(pd, dnnl_query_weights_md, 1), dst = od_md_wanted(pd, dnnl_query_dst_md, 0);
  size_t bytes;
  dnnl_matmul_desc_t desc;
  const_dnnl_post_ops_t posts;
  dnnl_status_t s = posts_of(pd, &posts);
  if (s != dnnl_success) return s;
  p->bias = !bias.ndims && adds_row(pd, posts, &dst, &bias);
  bool fine = posts_fit(pd, posts, &dst, p) && cut(DNNL_ARG_SRC, &src, p, i, &src, &bytes) &&
              cut(DNNL_ARG_WEIGHTS, &w, p, i, &w, &bytes) && cut(DNNL_ARG_DST, &dst, p, i, &dst, &bytes) &&
              (!bias.ndims || cut(DNNL_ARG_BIAS, &bias, p, i, &bias, &bytes));
  s = fine ? cut_posts(pd, posts, p, i, attr) : dnnl_unimplemented;
  if (s == dnnl_success) s = dnnl_matmul_desc_init(&desc, &src, &w, bias.ndims ? &bias : NULL, &dst);
  if (s == dnnl_success) s = od_primitive_desc_create(out_pd, &desc, attr, b->ep->engine);
  if (s != dnnl_success || od_is_fixed(*out_pd)) return s;
  dnnl_primitive_desc_destroy(*out_pd); /* not on GEMM: slower code */
  return dnnl_unimplemented;
}

static ox_status *make(od_builder *b, const_dnnl_primitive_desc_t pd, od_pieces *p, uint32_t i,
                       dnnl_primitive_desc_t *out_pd) {
  dnnl_primitive_attr_t attr;
  *out_pd = NULL;
  OD_TRY(od_attr_create(b, &attr));
  dnnl_status_t s = describe(b, pd, p, i, attr, out_pd);
  dnnl_primitive_attr_destroy(attr);
  if (s != dnnl_success) *out_pd = NULL;
  return s == dnnl_unimplemented || s == dnnl_invalid_arguments ? NULL
                                                                : od_check(b, s, "describing a part of a product");
}

/* Do the arguments have the layouts that |pd| was described with, so that they can be cut, too? */
static bool are_plain(const od_builder *b, const od_pieces *p, const od_args *args) {
  dnnl_memory_desc_t md;
  size_t bytes;
  for (uint32_t k = 0; k < args->n; k++)
    if (!cut(args->a[k].id, od_md(b, args->a[k].mem), p, 0, &md, &bytes)) return false;
  return true;
}

ox_status *od_pieces_make(od_builder *b, const_dnnl_primitive_desc_t pd, const od_args *args, od_pieces *out) {
  dnnl_primitive_kind_t kind = dnnl_undefined_primitive;
  dnnl_memory_desc_t src = od_md_wanted(pd, dnnl_query_src_md, 0), y = od_md_wanted(pd, dnnl_query_dst_md, 0);
  unsigned tried = 0;
  *out = (od_pieces){0};
  dnnl_primitive_desc_query(pd, dnnl_query_primitive_kind, 0, &kind);
  if (kind != dnnl_matmul || !od_is_fixed(pd)) return NULL;
  int64_t k = src.dims[src.ndims - 1];
  for (int axis; (axis = find_axis(&y, k, tried)) != OD_NONE; tried |= 1U << axis) {
    *out = pieces_of(&y, k, axis);
    ox_status *st = are_plain(b, out, args) ? make(b, pd, out, 0, &out->most) : NULL;
    if (!st && out->most) st = make(b, pd, out, out->n - 1, &out->last);
    if (!st && out->last) return NULL;
    od_pieces_release(out);
    *out = (od_pieces){0};
    if (st) return st;
  }
  return NULL;
}

void od_pieces_release(od_pieces *p) {
  if (p->most) dnnl_primitive_desc_destroy(p->most);
  if (p->last) dnnl_primitive_desc_destroy(p->last);
}

/* The piece's name of an argument: its first post may be a bias. */
static int id_of(int id, const od_pieces *p) {
  enum { FIRST = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0), STEP = DNNL_ARG_ATTR_MULTIPLE_POST_OP(1) - FIRST };
  if (!p->bias || id < FIRST) return id;
  return id == (FIRST | DNNL_ARG_SRC_1) ? DNNL_ARG_BIAS : id - STEP;
}

ox_status *od_pieces_args(od_builder *b, const od_pieces *p, uint32_t i, const od_args *args, od_args *out) {
  *out = *args;
  for (uint32_t k = 0; k < args->n; k++) {
    dnnl_memory_desc_t md;
    size_t bytes;
    if (!cut(args->a[k].id, od_md(b, args->a[k].mem), p, i, &md, &bytes))
      return od_check(b, dnnl_invalid_arguments, "cutting a product");
    out->a[k].id = id_of(args->a[k].id, p);
    if (dnnl_memory_desc_equal(&md, od_md(b, args->a[k].mem))) continue;
    OD_TRY(od_view_at(b, args->a[k].mem, &md, bytes, &out->a[k].mem));
  }
  return NULL;
}
