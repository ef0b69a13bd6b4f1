/* SPDX-License-Identifier: Apache-2.0
 * device/ops/attention_packed.c - com.microsoft's Attention and QAttention: one product, of floats or bytes, computes
 * Q, K and V, which are read from its rows in place. */
#include <string.h>

#include "plugins/device/multi_head.h"
#include "plugins/device/qproduct.h"

enum { X, W, BIAS };
enum { OUT, PRESENT };

#define NO DEV_Q_ABSENT
/* Positions of inputs that differ between the two operators. */
typedef struct slots {
  size_t mask, past, add, past_len;
} slots;
static const slots plain = {3, 4, 5, 6}, of_bytes = {5, 8, NO, NO};
static const dev_q_inputs bytes = {"QAttention", X, W, 6, 7, 3, 4, NO, NO, NO, BIAS, false, 0};

static bool is_of_bytes(const dev_node *n) { return strcmp(dev_node_op(n), bytes.name) == 0; }
static const slots *slots_of(const dev_node *n) { return is_of_bytes(n) ? &of_bytes : &plain; }

static bool has_in(const dev_node *n, size_t i) { return dev_in_count(n) > i && dev_in(n, i) != UINT32_MAX; }
static uint32_t in_of(const dev_node *n, size_t i) { return has_in(n, i) ? dev_in(n, i) : UINT32_MAX; }

/* Checks the inputs of the product. */
static const char *takes_product(const dev_node *n) {
  uint32_t dtype = dev_in_dtype(n, X);
  if (is_of_bytes(n))
    return dev_in_dtype(n, BIAS) == OX_F32 ? dev_q_takes(n, &bytes) : REASON("a result of float32", "{inputs}");
  if (dtype != OX_F32 && dtype != OX_F16) return REASON("float32 or float16", "{0}");
  return dev_in_dtype(n, W) != dtype || (has_in(n, BIAS) && dev_in_dtype(n, BIAS) != dtype)
             ? REASON("one type", "{0}, {1}, {2}")
             : NULL;
}

static const char *takes(const dev_node *n) {
  const slots *in = slots_of(n);
  const char *why = takes_product(n);
  if (why) return why;
  if (dev_in_rank(n, X) != 3 || dev_in_rank(n, W) != 2)
    return REASON("an input of 3 axes, and weights of 2", "{0}, {1}");
  if (has_in(n, in->past) && dev_in_dtype(n, in->past) != (is_of_bytes(n) ? OX_F32 : dev_in_dtype(n, X)))
    return REASON("a past of the input's type", "{inputs}");
  if (has_in(n, in->past_len) || dev_attr_int(n, "do_rotary", 0) || dev_attr_int(n, "past_present_share_buffer", 0))
    return REASON("no rotary embedding, and a past of its own",
                  "{do_rotary=0}, {past_present_share_buffer=0}, {inputs}");
  return dev_multi_head_masks(n, in->mask, in->add);
}

static ox_status *multiply(dev_plan *p, const dev_node *n, int64_t rows, int64_t columns, uint32_t dtype, dev_ref to) {
  dev_product x;
  dev_tail first = dev_tail_none(UINT32_MAX);
  if (is_of_bytes(n)) return dev_q_matmul(p, n, &bytes, NULL, &to);
  memset(&x, 0, sizeof x);
  for (int i = 0; i < GEMM_BATCHES; i++) x.g.batch[i] = 1;
  x.g.m = (int)rows, x.g.n = (int)columns, x.g.k = (int)dev_shape(p, dev_in(n, W))->dim[0];
  x.g.a_row = x.g.k, x.g.a_col = 1, x.g.b_row = x.g.n, x.g.b_col = 1;
  x.dtype = dtype, x.a = dev_value(p, dev_in(n, X)), x.b = dev_value(p, dev_in(n, W)), x.c = to, x.first = &first;
  if (has_in(n, BIAS)) dev_tail_operand(&first, TAIL_ADD, dev_value(p, dev_in(n, BIAS)), 1, columns);
  return dev_emit_product(p, &x);
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *x = dev_shape(p, dev_in(n, X)), *w = dev_shape(p, dev_in(n, W));
  int64_t hidden[3] = {w->dim[1] / 3, w->dim[1] / 3, w->dim[1] / 3}, row = w->dim[1];
  const slots *in = slots_of(n);
  dev_multi_head m;
  memset(&m, 0, sizeof m);
  dev_attr_ints(n, "qkv_hidden_sizes", hidden, 3);
  m.heads = dev_attr_int(n, "num_heads", 0), m.dtype = dev_dtype(p, dev_out(n, OUT));
  if (m.heads < 1 || hidden[0] != hidden[1] || 2 * hidden[0] + hidden[2] != row || hidden[0] % m.heads ||
      hidden[2] % m.heads || x->dim[2] != w->dim[0])
    return dev_refuse(p, "weights that do not fit the heads");
  m.batch = x->dim[0], m.q_len = m.kv_len = x->dim[1], m.d = hidden[0] / m.heads, m.dv = hidden[2] / m.heads;
  size_t item = m.dtype == OX_F16 ? 2 : 4;
  bool present = n->host->node_out_count(n->graph, n->index) > PRESENT && dev_out(n, PRESENT) != UINT32_MAX;
  if ((present || has_in(n, in->past)) && m.d != m.dv) return dev_refuse(p, "a cache of heads of two sizes");
  m.past = has_in(n, in->past) ? dev_shape(p, dev_in(n, in->past))->dim[3] : 0;
  m.q = dev_temp(p, (size_t)(m.batch * m.q_len * row) * item);
  DEV_TRY(multiply(p, n, m.batch * m.q_len, row, m.dtype, m.q));
  m.k = m.v = m.q, m.k.offset = (size_t)hidden[0] * item, m.v.offset = 2 * m.k.offset;
  m.q_at = m.k_at = (dev_heads){(int)(m.q_len * row), (int)m.d, (int)row};
  m.v_at = (dev_heads){(int)(m.q_len * row), (int)m.dv, (int)row};
  int64_t cache = m.batch * m.heads * m.d;
  if (m.past)
    m.past_k = m.past_v = dev_value(p, dev_in(n, in->past)), m.past_v.offset = (size_t)(cache * m.past) * item;
  if (present) {
    m.present_k = m.present_v = dev_value(p, dev_out(n, PRESENT));
    m.present_v.offset = (size_t)(cache * (m.past + m.kv_len)) * item;
  }
  m.mask = in_of(n, in->mask), m.add = in_of(n, in->add);
  m.scale = dev_attr_float(n, "scale", 0), m.filter = dev_attr_float(n, "mask_filter_value", -10000.0f);
  m.causal = dev_attr_int(n, "unidirectional", 0) && m.q_len > 1;
  m.out = dev_value(p, dev_out(n, OUT));
  return dev_emit_multi_head(p, &m);
}

static const char *const names[] = {"Attention", "QAttention", NULL};
DEV_OP(attention_packed) = {"com.microsoft", names, takes, emit};
