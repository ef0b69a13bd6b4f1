/* SPDX-License-Identifier: Apache-2.0
 * device/ops/attention.c - ONNX's Attention, from the model or produced by a rule. */
#include <limits.h>
#include <string.h>

#include "base/macros.h"
#include "plugins/device/sdpa.h"

enum { Q, K, V, MASK, PAST_K, PAST_V, NONPAD };
enum { Y, PRESENT_K, PRESENT_V, QK };

static bool has_in(const dev_node *n, size_t i) { return dev_in_count(n) > i && dev_in(n, i) != UINT32_MAX; }
static uint32_t out_of(const dev_node *n, size_t i) {
  return n->host->node_out_count(n->graph, n->index) > i ? dev_out(n, i) : UINT32_MAX;
}

static const char *takes(const dev_node *n) {
  uint32_t dtype = dev_in_dtype(n, Q);
  int rank = dev_in_rank(n, Q);
  if (dtype != OX_F32 && dtype != OX_F16) return REASON("float32 or float16", "{0}");
  if ((rank != 3 && rank != 4) || dev_in_rank(n, K) != rank || dev_in_rank(n, V) != rank)
    return REASON("queries, keys and values of 3 axes, or of 4", "{0}, {1}, {2}");
  for (size_t i = K; i <= PAST_V; i++)
    if (i != MASK && has_in(n, i) && dev_in_dtype(n, i) != dtype) return REASON("one type", "{inputs}");
  if (has_in(n, MASK) && !dev_attention_takes_bias(n, MASK))
    return REASON("a mask of float32, float16 or bool, and 1 to 4 axes", "{3}");
  if (has_in(n, PAST_K) != has_in(n, PAST_V)) return REASON("a past of keys and values", "{4}, {5}");
  return out_of(n, QK) != UINT32_MAX ? REASON("no scores as output", "{>3}") : NULL;
}

/* Reads sizes, and the layout of Q, K and V. */
static ox_status *read_sizes(dev_plan *p, const dev_node *n, dev_attention *a) {
  const ox_shape *q = dev_shape(p, dev_in(n, Q)), *k = dev_shape(p, dev_in(n, K)), *v = dev_shape(p, dev_in(n, V));
  bool flat = q->rank == 3;
  int64_t heads = flat ? dev_attr_int(n, "q_num_heads", 0) : q->dim[1];
  int64_t kv_heads = flat ? dev_attr_int(n, "kv_num_heads", 0) : k->dim[1];
  int rows = flat ? 1 : 2;
  if (heads < 1 || kv_heads < 1 || (flat && (q->dim[2] % heads || k->dim[2] % kv_heads || v->dim[2] % kv_heads)))
    return dev_refuse(p, "heads that do not divide the last axis");
  a->p = (attention_params){.batch = (int)q->dim[0],
                            .heads = (int)heads,
                            .kv_heads = (int)kv_heads,
                            .q_len = (int)q->dim[rows],
                            .kv_len = (int)k->dim[rows],
                            .d = (int)(flat ? q->dim[2] / heads : q->dim[3]),
                            .dv = (int)(flat ? v->dim[2] / kv_heads : v->dim[3])};
  dev_heads (*lay)(int64_t heads, int64_t rows, int64_t width) = flat ? dev_heads_flat : dev_heads_split;
  a->q_at = lay(heads, a->p.q_len, a->p.d), a->out_at = lay(heads, a->p.q_len, a->p.dv);
  a->k_at = lay(kv_heads, a->p.kv_len, a->p.d), a->v_at = lay(kv_heads, a->p.kv_len, a->p.dv);
  return NULL;
}

/* Appends K or V to its past, in the present output if that is used; |*ref| and |*at| then describe the whole. */
static ox_status *join_past(dev_plan *p, const dev_node *n, const dev_attention *a, int which, int64_t past, int width,
                            dev_ref *ref, dev_heads *at) {
  uint32_t out = out_of(n, PRESENT_K + (size_t)which);
  int64_t total = past + a->p.kv_len, count = a->p.batch * a->p.kv_heads * total * width;
  if (!has_in(n, PAST_K) && out == UINT32_MAX) return NULL;
  dev_append x = {.p = {.heads = a->p.kv_heads,
                        .rows = (int)total,
                        .width = width,
                        .past_rows = (int)past,
                        .first = (int)past,
                        .fresh = a->p.kv_len},
                  .batch = a->p.batch,
                  .dtype = a->dtype,
                  .in = *at,
                  .fresh = *ref,
                  .past = dev_value(p, past ? dev_in(n, PAST_K + (size_t)which) : UINT32_MAX)};
  x.to = out != UINT32_MAX ? dev_value(p, out) : dev_temp(p, (size_t)count * (a->dtype == OX_F16 ? 2 : 4));
  DEV_TRY(dev_emit_append(p, &x));
  *ref = x.to, *at = dev_heads_split(a->p.kv_heads, total, width);
  return NULL;
}

static ox_status *read_mask(dev_plan *p, const dev_node *n, dev_attention *a) {
  if (!has_in(n, MASK)) return NULL;
  DEV_TRY(dev_attention_bias(p, a, 0, dev_in(n, MASK)));
  /* Before version 24 a mask of one key is broadcast to all; from then on keys beyond the mask are masked out. */
  bool old = *n->host->node_domain(n->graph, n->index) || dev_node_version(n) < 24;
  if (old && a->p.bias[0].n == 1) a->p.bias[0].key = 0, a->p.bias[0].n = a->p.kv_len;
  return NULL;
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  dev_attention a;
  memset(&a, 0, sizeof a);
  DEV_TRY(read_sizes(p, n, &a));
  int64_t past = has_in(n, PAST_K) ? dev_shape(p, dev_in(n, PAST_K))->dim[2] : 0, right, left;
  a.dtype = dev_dtype(p, dev_in(n, Q));
  a.q = dev_value(p, dev_in(n, Q)), a.k = dev_value(p, dev_in(n, K)), a.v = dev_value(p, dev_in(n, V));
  DEV_TRY(join_past(p, n, &a, 0, past, a.p.d, &a.k, &a.k_at));
  DEV_TRY(join_past(p, n, &a, 1, past, a.p.dv, &a.v, &a.v_at));
  a.p.kv_len += (int)past, a.p.offset = (int)past;
  DEV_TRY(read_mask(p, n, &a));
  left = dev_attr_int(n, "left_window_size", -1);
  right = dev_attr_int(n, "is_causal", 0) ? 0 : dev_attr_int(n, "right_window_size", -1);
  a.p.left = (int)OX_MIN(left, INT_MAX), a.p.right = (int)OX_MIN(right, INT_MAX);
  ox_attr_view given;
  bool scaled = n->host->node_attr(n->graph, n->index, "scale", &given) != 0;
  a.p.scale = scaled ? given.f : dev_attention_scale(0, a.p.d);
  a.p.softcap = dev_attr_float(n, "softcap", 0);
  a.p.nan_to_zero = dev_attr_int(n, "nan_to_zero", 0) != 0;
  if (has_in(n, NONPAD)) {
    if (dev_count(p, dev_in(n, NONPAD)) != a.p.batch) return dev_refuse(p, "lengths that do not fit the batch");
    a.lens = dev_value(p, dev_in(n, NONPAD)), a.p.lens = ATT_LENS_I64,
    a.p.lens_offset = past == 0 && !has_in(n, PAST_K);
  }
  a.out = dev_value(p, dev_out(n, Y));
  return dev_emit_attention(p, &a);
}

static const char *const names[] = {"Attention", "ai.onyx:Attention", NULL};
DEV_OP(attention) = {"", names, takes, emit};
