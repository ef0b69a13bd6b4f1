/* SPDX-License-Identifier: Apache-2.0
 * ops/all_finite.c - com.microsoft.IsAllFinite: whether no element of any input is NaN or infinite. */
#include "base/macros.h"
#include "graph/op_def.h"
#include "kern/quant/convert.h"

typedef struct {
  int64_t isinf_only, isnan_only;
} finite_attrs;
static const ox_attr_def rows[] = {OX_ATTR_INT(finite_attrs, isinf_only, 0), OX_ATTR_INT(finite_attrs, isnan_only, 0)};

static ox_status *infer(ox_infer_ctx *c) {
  const finite_attrs *a = c->attrs;
  ox_shape scalar = ox_shape_scalar();
  if (a->isinf_only && a->isnan_only)
    return ox_fail(OX_INVALID_MODEL, "IsAllFinite: isinf_only and isnan_only exclude each other");
  ox_infer_out(c, 0, OX_BOOL, &scalar);
  return NULL;
}

static bool all_fine(const ox_kernel_ctx *c, const ox_tensor *t) {
  const finite_attrs *a = c->attrs;
  double x[OX_CONVERT_BLOCK];
  int64_t n = ox_shape_count(&t->shape);
  for (int64_t at = 0; at < n; at += OX_CONVERT_BLOCK) {
    int64_t m = OX_MIN(n - at, OX_CONVERT_BLOCK);
    ox_convert_select(c->isa)->load_f64[t->dtype](t->data, (size_t)at, (size_t)m, x);
    for (int64_t i = 0; i < m; i++) {
      bool nan = x[i] != x[i], inf = !nan && x[i] - x[i] != 0;
      if ((nan && !a->isinf_only) || (inf && !a->isnan_only)) return false;
    }
    if (ox_ctx_stopped_each(c, at / OX_CONVERT_BLOCK, 64)) return true;
  }
  return true;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  bool fine = true;
  for (uint32_t i = 0; i < c->n_in && fine; i++) fine = !c->in[i] || all_fine(c, c->in[i]);
  *(uint8_t *)c->out[0]->data = fine;
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "IsAllFinite", .domain = "com.microsoft", .since = 1, .types = {OX_T_FLOAT}, .vars = "T",
               .min_in = 1, .max_in = OX_VARIADIC, OX_ATTRS(rows), .attrs_bytes = sizeof(finite_attrs), .infer = infer),
     OX_KERNEL(.run = run)},
};
const ox_op_set ox_ops_all_finite = {ops, OX_COUNT(ops)};
