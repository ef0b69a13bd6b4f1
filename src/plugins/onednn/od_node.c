/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_node.c - reading nodes, and the table of operators. */
#include <string.h>

#include "onednn.h"

const char *od_op_name(const od_node *n) { return n->ep->host.node_op(n->g, n->index); }
bool od_is_op(const od_node *n, const char *op) {
  return strcmp(od_op_name(n), op) == 0 && !*n->ep->host.node_domain(n->g, n->index);
}

size_t od_n_in(const od_node *n) { return n->ep->host.node_in_count(n->g, n->index); }
size_t od_n_out(const od_node *n) { return n->ep->host.node_out_count(n->g, n->index); }
uint32_t od_version(const od_node *n) { return n->ep->host.node_version(n->g, n->index); }

uint32_t od_in(const od_node *n, size_t i) {
  return i < od_n_in(n) ? n->ep->host.node_in(n->g, n->index, i) : OD_NO_VALUE;
}

uint32_t od_out(const od_node *n, size_t i) {
  return i < od_n_out(n) ? n->ep->host.node_out(n->g, n->index, i) : OD_NO_VALUE;
}

uint32_t od_in_type(const od_node *n, size_t i, ox_shape *shape) {
  uint32_t v = od_in(n, i), kind, dtype;
  ox_shape s;
  if (!shape) shape = &s;
  shape->rank = -1;
  if (v == OD_NO_VALUE) return OX_UNDEFINED;
  n->ep->host.value_type(n->g, v, &kind, &dtype, shape);
  return kind == OX_TENSOR ? dtype : OX_UNDEFINED;
}

int od_in_rank(const od_node *n, size_t i) {
  ox_shape s;
  od_in_type(n, i, &s);
  return s.rank;
}

const ox_tensor *od_in_const(const od_node *n, size_t i) {
  uint32_t v = od_in(n, i);
  const ox_tensor *t = v == OD_NO_VALUE ? NULL : n->ep->host.value_const(n->g, v);
  return t && t->kind == OX_TENSOR ? t : NULL;
}

bool od_is_dequantized(const od_node *n, size_t i) {
  const ox_ep_host *h = &n->ep->host;
  uint32_t v = od_in(n, i);
  size_t from = v == OD_NO_VALUE ? SIZE_MAX : h->value_producer(n->g, v);
  return from != SIZE_MAX && strcmp(h->node_op(n->g, from), "DequantizeLinear") == 0;
}

bool od_float_const(const od_node *n, size_t i, float *out) {
  const ox_tensor *t = od_in_const(n, i);
  if (!t || t->dtype != OX_F32 || t->bytes != sizeof *out) return false;
  memcpy(out, t->data, sizeof *out);
  return true;
}

int64_t od_int(const od_node *n, const char *name, int64_t otherwise) {
  ox_attr_view a;
  return n->ep->host.node_attr(n->g, n->index, name, &a) && a.kind == 2 ? a.i : otherwise;
}

float od_float(const od_node *n, const char *name, float otherwise) {
  ox_attr_view a;
  return n->ep->host.node_attr(n->g, n->index, name, &a) && a.kind == 1 ? a.f : otherwise;
}

bool od_is(const od_node *n, const char *name, const char *value, const char *otherwise) {
  ox_attr_view a;
  if (!n->ep->host.node_attr(n->g, n->index, name, &a) || a.kind != 3) return strcmp(value, otherwise) == 0;
  return a.s.n == strlen(value) && memcmp(a.s.p, value, a.s.n) == 0;
}

bool od_ints(const od_node *n, const char *name, int64_t *to, size_t n_want, int64_t otherwise) {
  ox_attr_view a;
  bool given = n->ep->host.node_attr(n->g, n->index, name, &a) && a.kind == 7 && a.n > 0;
  for (size_t i = 0; i < n_want; i++) to[i] = given && i < a.n ? a.ints[i] : otherwise;
  return !given || a.n == n_want;
}

int od_axes(const od_node *n, const char *name, size_t input, int64_t *to, int most) {
  ox_attr_view a;
  if (n->ep->host.node_attr(n->g, n->index, name, &a) && a.kind == 7) {
    if (a.n > (size_t)most) return -1;
    memcpy(to, a.ints, a.n * sizeof *to);
    return (int)a.n;
  }
  if (od_in(n, input) == OD_NO_VALUE) return 0;
  const ox_tensor *t = od_in_const(n, input);
  if (!t || t->dtype != OX_I64 || t->bytes > (size_t)most * sizeof *to) return -1;
  if (t->bytes) memcpy(to, t->data, t->bytes);
  return (int)(t->bytes / sizeof *to);
}

const od_op *od_op_find(const od_node *n) {
  static const od_op *const lists[] = {od_conv_ops,  od_matmul_ops,  od_pool_ops, od_eltwise_ops, od_binary_ops,
                                       od_norm_ops,  od_reduce_ops,  od_rnn_ops,  od_move_ops,    od_quant_ops,
                                       od_qconv_ops, od_qmatmul_ops, od_gelu_ops};
  if (*n->ep->host.node_domain(n->g, n->index)) return NULL;
  for (size_t i = 0; i < OD_COUNT(lists); i++)
    for (const od_op *op = lists[i]; op->name; op++)
      if (strcmp(op->name, od_op_name(n)) == 0) return op;
  return NULL;
}
