/* SPDX-License-Identifier: Apache-2.0
 * device/node.c - see op.h: reading a node. */
#include <string.h>

#include "base/macros.h"
#include "plugins/device/op.h"

const char *dev_node_op(const dev_node *n) { return n->host->node_op(n->graph, n->index); }
uint32_t dev_node_version(const dev_node *n) { return n->host->node_version(n->graph, n->index); }
size_t dev_in_count(const dev_node *n) { return n->host->node_in_count(n->graph, n->index); }
uint32_t dev_in(const dev_node *n, size_t i) { return n->host->node_in(n->graph, n->index, i); }
uint32_t dev_out(const dev_node *n, size_t i) { return n->host->node_out(n->graph, n->index, i); }

static uint32_t type_of(const dev_node *n, size_t i, ox_shape *shape) {
  uint32_t value = dev_in(n, i), kind = OX_NONE_VALUE, dtype = OX_UNDEFINED;
  shape->rank = -1;
  if (value != UINT32_MAX) n->host->value_type(n->graph, value, &kind, &dtype, shape);
  return kind == OX_TENSOR ? dtype : OX_UNDEFINED;
}

uint32_t dev_in_dtype(const dev_node *n, size_t i) {
  ox_shape shape;
  return type_of(n, i, &shape);
}

int dev_in_rank(const dev_node *n, size_t i) {
  ox_shape shape;
  type_of(n, i, &shape);
  return shape.rank;
}

int64_t dev_in_dim(const dev_node *n, size_t i, int d) {
  ox_shape shape;
  type_of(n, i, &shape);
  return d < shape.rank && shape.dim[d] >= 0 ? shape.dim[d] : -1;
}

const ox_tensor *dev_in_constant(const dev_node *n, size_t i) {
  uint32_t value = dev_in(n, i);
  return value == UINT32_MAX ? NULL : n->host->value_const(n->graph, value);
}

int64_t dev_attr_int(const dev_node *n, const char *name, int64_t otherwise) {
  ox_attr_view a;
  return n->host->node_attr(n->graph, n->index, name, &a) ? a.i : otherwise;
}

float dev_attr_float(const dev_node *n, const char *name, float otherwise) {
  ox_attr_view a;
  return n->host->node_attr(n->graph, n->index, name, &a) ? a.f : otherwise;
}

bool dev_attr_is(const dev_node *n, const char *name, const char *text, const char *otherwise) {
  ox_attr_view a;
  ox_str s = {otherwise, strlen(otherwise)};
  if (n->host->node_attr(n->graph, n->index, name, &a)) s = a.s;
  return s.n == strlen(text) && memcmp(s.p, text, s.n) == 0;
}

size_t dev_attr_ints(const dev_node *n, const char *name, int64_t *out, size_t max) {
  ox_attr_view a;
  if (!n->host->node_attr(n->graph, n->index, name, &a)) return 0;
  for (size_t i = 0; i < a.n && i < max; i++) out[i] = a.ints[i];
  return a.n;
}

size_t dev_in_ints(const dev_node *n, size_t i, int64_t *out, size_t max) {
  const ox_tensor *t = dev_in_constant(n, i);
  if (!t && n->contents && dev_in(n, i) != UINT32_MAX) t = n->contents[dev_in(n, i)];
  if (!t || (t->dtype != OX_I64 && t->dtype != OX_I32)) return SIZE_MAX;
  size_t count = t->bytes / (t->dtype == OX_I64 ? 8 : 4);
  if (count > max) return SIZE_MAX;
  for (size_t k = 0; k < count; k++)
    out[k] = t->dtype == OX_I64 ? ((const ox_i64u *)t->data)[k] : ((const ox_i32u *)t->data)[k];
  return count;
}

bool dev_all_real(const dev_node *n) {
  uint32_t first = dev_in_dtype(n, 0);
  if (first != OX_F32 && first != OX_F16) return false;
  for (size_t i = 0; i < dev_in_count(n); i++) {
    uint32_t dtype = dev_in_dtype(n, i);
    if (dev_in(n, i) == UINT32_MAX) continue;
    if (dev_in_rank(n, i) < 0 || dtype == OX_UNDEFINED) return false;
    if ((dtype == OX_F32 || dtype == OX_F16 || dtype == OX_BF16 || dtype == OX_F64) && dtype != first) return false;
  }
  return true;
}
