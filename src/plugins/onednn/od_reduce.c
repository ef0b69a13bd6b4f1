/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_reduce.c - reductions over any axes. */
#include <math.h>
#include <string.h>

#include "od_eltwise.h"

typedef struct {
  const char *op;
  dnnl_alg_kind_t alg;
  float p, of_nothing;
} reduction;

static const reduction table[] = {
    {"ReduceSum", dnnl_reduction_sum, 0, 0},        {"ReduceMean", dnnl_reduction_mean, 0, 0},
    {"ReduceProd", dnnl_reduction_mul, 0, 1},       {"ReduceL1", dnnl_reduction_norm_lp_power_p_sum, 1, 0},
    {"ReduceL2", dnnl_reduction_norm_lp_sum, 2, 0}, {"ReduceSumSquare", dnnl_reduction_norm_lp_power_p_sum, 2, 0}};

static size_t row_of(const od_node *n) {
  for (size_t i = 0; i < OD_COUNT(table); i++)
    if (strcmp(table[i].op, od_op_name(n)) == 0) return i;
  return 0;
}

static const char *refuse(const od_node *n) {
  int64_t axes[OD_MOST_DIMS];
  const char *why = od_refuse_type(n, 0);
  int rank = od_in_rank(n, 0), n_axes = od_axes(n, "axes", 1, axes, OD_MOST_DIMS);
  if (why) return why;
  if (od_in_type(n, 0, NULL) != OX_F32) return REASON("float32", "{0}");
  if (n_axes < 0) return REASON("constant axes", "{1}");
  if (n_axes == 0 && od_int(n, "noop_with_empty_axes", 0)) return REASON("axes", "{axes}, {noop_with_empty_axes}");
  for (int i = 0; i < n_axes; i++)
    if (axes[i] < -rank || axes[i] >= rank) return REASON("axes of the input", "{axes}, {inputs}");
  return NULL;
}

/* |kept|: the output's shape with the reduced axes as 1. */
static void find_shape(const od_node *n, const ox_shape *x, ox_shape *kept, ox_shape *y) {
  int64_t axes[OD_MOST_DIMS];
  int n_axes = od_axes(n, "axes", 1, axes, OD_MOST_DIMS);
  bool reduced[OX_MAX_RANK] = {false}, keep = od_int(n, "keepdims", 1) != 0;
  for (int i = 0; i < x->rank; i++) reduced[i] = n_axes == 0;
  for (int i = 0; i < n_axes; i++) reduced[axes[i] < 0 ? axes[i] + x->rank : axes[i]] = true;
  *kept = *x, *y = (ox_shape){0};
  for (int i = 0; i < x->rank; i++) {
    if (reduced[i]) kept->dim[i] = 1;
    if (keep || !reduced[i]) y->dim[y->rank++] = kept->dim[i];
  }
}

/* Reductions over axes of size 1, which the library rejects. */
static ox_status *reduce_one(od_builder *b, const reduction *r, uint32_t x, uint32_t y, const dnnl_memory_desc_t *md) {
  od_function f = {r->alg == dnnl_reduction_norm_lp_power_p_sum && r->p == 2 ? dnnl_eltwise_square : dnnl_eltwise_abs,
                   0, 0};
  uint32_t same;
  OD_TRY(od_view(b, x, md, &same));
  return r->p == 0 ? od_copy(b, same, y) : od_emit_function(b, &f, same, y);
}

static ox_status *build(od_builder *b, const od_node *n) {
  dnnl_reduction_desc_t desc;
  dnnl_primitive_desc_t pd;
  dnnl_primitive_attr_t attr;
  od_args args = {0};
  ox_shape kept, y_shape, x_shape;
  uint32_t x, y;
  size_t row = row_of(n);
  OD_TRY(od_read_plain(b, od_in(n, 0), &x));
  x_shape = *od_in_shape(b, n, 0);
  find_shape(n, &x_shape, &kept, &y_shape);
  dnnl_memory_desc_t md = od_md_plain(kept.rank, kept.dim, dnnl_f32);
  OD_TRY(od_write(b, od_out(n, 0), &y_shape, OX_F32, &md, &y));
  if (od_count(&kept) == 0) return NULL;
  if (od_count(&x_shape) == 0) return od_emit_fill(b, y, table[row].of_nothing);
  if (od_count(&x_shape) == od_count(&kept)) return reduce_one(b, &table[row], x, y, &md);
  od_arg_add(&args, DNNL_ARG_FROM, x);
  od_arg_add(&args, DNNL_ARG_TO, y);
  OD_TRY(od_attr_create(b, &attr));
  dnnl_status_t s = dnnl_reduction_desc_init(&desc, table[row].alg, od_md(b, x), &md, table[row].p, 0);
  if (s == dnnl_success) s = dnnl_primitive_desc_create(&pd, &desc, attr, b->ep->engine, NULL);
  dnnl_primitive_attr_destroy(attr);
  OD_TRY(od_check(b, s, "describing a reduction"));
  return od_emit(b, pd, &args);
}

const od_op od_reduce_ops[] = {{"ReduceSum", refuse, build},
                               {"ReduceMean", refuse, build},
                               {"ReduceProd", refuse, build},
                               {"ReduceL1", refuse, build},
                               {"ReduceL2", refuse, build},
                               {"ReduceSumSquare", refuse, build},
                               {NULL, NULL, NULL}};
