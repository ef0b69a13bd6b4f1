/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/body_types.c - see body_types.h. */
#include "ops/shared/body_types.h"

#include "ops/move/sequence_values.h"

ox_type ox_type_any_shape(const ox_type *t) {
  ox_type u = *t;
  if (u.kind == OX_TENSOR) u.shape = ox_shape_unknown();
  return u;
}

void ox_infer_carried(ox_infer_ctx *c, uint32_t i, uint32_t in, const ox_type *t) {
  c->out[i] = ox_infer_has(c, in) ? ox_type_common(c, c->in[in], t) : *t;
}

ox_status *ox_infer_stacked(ox_infer_ctx *c, uint32_t i, const ox_type *t, int64_t axis, int64_t length) {
  ox_shape s = ox_shape_unknown();
  int at;
  if (t->shape.rank >= OX_MAX_RANK) return ox_fail(OX_LIMIT, "%s: rank of output %u above %d", c->op, i, OX_MAX_RANK);
  if (t->shape.rank >= 0) {
    s.rank = t->shape.rank + 1;
    if (!ox_axis_ok(axis, s.rank, &at))
      return ox_fail(OX_INVALID_MODEL, "%s: axis %lld of output %u is outside rank %d", c->op, (long long)axis, i,
                     s.rank);
    for (int d = 0; d < s.rank; d++) s.dim[d] = d == at ? length : t->shape.dim[d - (d > at)];
  }
  ox_infer_out(c, i, t->dtype, &s);
  return NULL;
}
