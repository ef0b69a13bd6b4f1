/* SPDX-License-Identifier: Apache-2.0
 * device/ops/multi_head_attention.c - com.microsoft's MultiHeadAttention: Q, K and V separate, packed, or split in
 * heads. */
#include <string.h>

#include "base/macros.h"
#include "plugins/device/multi_head.h"

enum { Q, K, V, BIAS, MASK, ADD, PAST_K, PAST_V, PAST_LEN, INDIRECTION };
enum { OUT, PRESENT_K, PRESENT_V, QK };

static bool has_in(const dev_node *n, size_t i) { return dev_in_count(n) > i && dev_in(n, i) != UINT32_MAX; }
static uint32_t in_of(const dev_node *n, size_t i) { return has_in(n, i) ? dev_in(n, i) : UINT32_MAX; }
static uint32_t out_of(const dev_node *n, size_t i) {
  return n->host->node_out_count(n->graph, n->index) > i ? dev_out(n, i) : UINT32_MAX;
}

static const char *takes(const dev_node *n) {
  uint32_t dtype = dev_in_dtype(n, Q);
  if (dtype != OX_F32 && dtype != OX_F16) return REASON("float32 or float16", "{0}");
  const size_t reals[] = {K, V, BIAS, PAST_K, PAST_V};
  for (size_t i = 0; i < OX_COUNT(reals); i++)
    if (has_in(n, reals[i]) && (dev_in_dtype(n, reals[i]) != dtype || dev_in_rank(n, reals[i]) < 0))
      return REASON("one type and known ranks", "{inputs}");
  if (has_in(n, PAST_LEN) || has_in(n, INDIRECTION))
    return REASON("no beams, and a past of the cache's length", "{inputs}");
  if (has_in(n, PAST_K) != has_in(n, PAST_V)) return REASON("a past of keys and values", "{6}, {7}");
  if (out_of(n, QK) != UINT32_MAX) return REASON("no scores as output", "{>3}");
  int q = dev_in_rank(n, Q), k = has_in(n, K) ? dev_in_rank(n, K) : 0, v = has_in(n, V) ? dev_in_rank(n, V) : 0;
  bool fits = (q == 5 && !k && !v) || (q == 3 && ((k == 5 && !v) || (k == v && (k == 3 || k == 4))));
  return fits ? dev_multi_head_masks(n, MASK, ADD)
              : REASON("queries, keys and values of 3 axes, or packed in 5", "{0}, {1}, {2}");
}

static size_t item(const dev_multi_head *m) { return m->dtype == OX_F16 ? 2 : 4; }

/* Heads that are |stride| apart within rows of |row| elements. */
static dev_heads within(int64_t len, int64_t row, int64_t stride) {
  return (dev_heads){(int)(len * row), (int)stride, (int)row};
}

static ox_status *lay_out(dev_plan *p, const dev_node *n, dev_multi_head *m) {
  const ox_shape *q = dev_shape(p, dev_in(n, Q)), *k = has_in(n, K) ? dev_shape(p, dev_in(n, K)) : NULL;
  const ox_shape *v = has_in(n, V) ? dev_shape(p, dev_in(n, V)) : NULL;
  int64_t heads = m->heads;
  m->batch = q->dim[0], m->q_len = m->kv_len = q->dim[1];
  m->q = m->k = m->v = dev_value(p, dev_in(n, Q));
  if (q->rank == 5) {
    m->d = m->dv = q->dim[4];
    m->q_at = m->k_at = m->v_at = within(m->q_len, heads * 3 * m->d, 3 * m->d);
    m->k.offset += (size_t)m->d * item(m), m->v.offset += 2 * (size_t)m->d * item(m);
    return q->dim[2] == heads ? NULL : dev_refuse(p, "heads that do not fit");
  }
  if (q->dim[2] % heads) return dev_refuse(p, "heads that do not divide");
  m->d = m->dv = q->dim[2] / heads, m->q_at = dev_heads_flat(heads, m->q_len, m->d);
  m->k = m->v = dev_value(p, dev_in(n, K)), m->kv_len = k->dim[k->rank == 4 ? 2 : 1];
  if (k->rank == 5) {
    m->k_at = m->v_at = within(m->kv_len, heads * 2 * m->d, 2 * m->d), m->v.offset += (size_t)m->d * item(m);
    return k->dim[2] == heads && k->dim[4] == m->d ? NULL : dev_refuse(p, "heads that do not fit");
  }
  dev_heads (*lay)(int64_t heads, int64_t rows, int64_t width) = k->rank == 4 ? dev_heads_split : dev_heads_flat;
  m->v = dev_value(p, dev_in(n, V)), m->dv = k->rank == 4 ? v->dim[3] : v->dim[2] / heads;
  m->k_at = lay(heads, m->kv_len, m->d), m->v_at = lay(heads, m->kv_len, m->dv);
  return dev_count(p, dev_in(n, K)) == m->batch * heads * m->kv_len * m->d &&
                 dev_count(p, dev_in(n, V)) == m->batch * heads * m->kv_len * m->dv
             ? NULL
             : dev_refuse(p, "keys or values that do not fit");
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  dev_multi_head m;
  memset(&m, 0, sizeof m);
  m.heads = dev_attr_int(n, "num_heads", 0), m.dtype = dev_dtype(p, dev_in(n, Q));
  if (m.heads < 1) return dev_refuse(p, "num_heads is missing");
  DEV_TRY(lay_out(p, n, &m));
  m.past = has_in(n, PAST_K) ? dev_shape(p, dev_in(n, PAST_K))->dim[2] : 0;
  m.scale = dev_attr_float(n, "scale", 0), m.filter = dev_attr_float(n, "mask_filter_value", -10000.0f);
  m.causal = dev_attr_int(n, "unidirectional", 0) && m.q_len > 1;
  m.bias = dev_value(p, in_of(n, BIAS)), m.kv_bias = !has_in(n, K) || dev_in_rank(n, K) != 4;
  m.mask = in_of(n, MASK), m.add = in_of(n, ADD);
  m.past_k = dev_value(p, m.past ? dev_in(n, PAST_K) : UINT32_MAX);
  m.past_v = dev_value(p, m.past ? dev_in(n, PAST_V) : UINT32_MAX);
  m.present_k = dev_value(p, out_of(n, PRESENT_K)), m.present_v = dev_value(p, out_of(n, PRESENT_V));
  m.out = dev_value(p, dev_out(n, OUT));
  if (has_in(n, BIAS) && dev_count(p, dev_in(n, BIAS)) != m.heads * (2 * m.d + m.dv))
    return dev_refuse(p, "a bias that does not fit");
  return dev_emit_multi_head(p, &m);
}

static const char *const names[] = {"MultiHeadAttention", NULL};
DEV_OP(multi_head_attention) = {"com.microsoft", names, takes, emit};
