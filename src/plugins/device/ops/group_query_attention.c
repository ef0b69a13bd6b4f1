/* SPDX-License-Identifier: Apache-2.0
 * device/ops/group_query_attention.c - com.microsoft's GroupQueryAttention: new rows are appended to a cache, whose
 * length is an input, with rotary embedding by their positions. */
#include <limits.h>
#include <string.h>

#include "base/macros.h"
#include "plugins/device/sdpa.h"

enum { Q, K, V, PAST_K, PAST_V, LENS, TOTAL, COS, SIN, POS, ADD, SINK, K_SCALE };
enum { OUT, PRESENT_K, PRESENT_V, QK };

static bool has_in(const dev_node *n, size_t i) { return dev_in_count(n) > i && dev_in(n, i) != UINT32_MAX; }
static uint32_t in_of(const dev_node *n, size_t i) { return has_in(n, i) ? dev_in(n, i) : UINT32_MAX; }
static uint32_t out_of(const dev_node *n, size_t i) {
  return n->host->node_out_count(n->graph, n->index) > i ? dev_out(n, i) : UINT32_MAX;
}

/* Is node |index| also taken by the device? */
static bool is_taken(const dev_node *n, size_t index) {
  dev_node other = *n;
  other.index = index;
  const dev_op *op = dev_op_find(n->host->node_domain(n->graph, index), dev_node_op(&other));
  return op && op->takes != NULL && index != n->index && strcmp(dev_node_op(&other), dev_node_op(n)) != 0 &&
         !op->takes(&other);
}

/* Can total_sequence_length stay with the host? Only if no other node on the device makes or reads it. */
static bool total_is_host(const dev_node *n) {
  uint32_t total = dev_in(n, TOTAL);
  size_t producer = n->host->value_producer(n->graph, total);
  if (dev_in_constant(n, TOTAL)) return true;
  if (producer != SIZE_MAX && is_taken(n, producer)) return false;
  for (size_t i = 0; i < n->host->node_count(n->graph); i++) {
    const dev_node other = {.host = n->host, .graph = n->graph, .index = i};
    for (size_t k = 0; k < dev_in_count(&other); k++)
      if (dev_in(&other, k) == total && is_taken(n, i)) return false;
  }
  return true;
}

static const char *takes(const dev_node *n) {
  uint32_t dtype = dev_in_dtype(n, Q);
  if (dtype != OX_F32 && dtype != OX_F16) return REASON("float32 or float16", "{0}");
  if (dev_in_rank(n, Q) != 3 || has_in(n, K) != has_in(n, V))
    return REASON("queries of 3 axes, and keys with values", "{0}, {1}, {2}");
  const size_t reals[] = {K, V, PAST_K, PAST_V, COS, SIN, SINK};
  for (size_t i = 0; i < OX_COUNT(reals); i++)
    if (has_in(n, reals[i]) && dev_in_dtype(n, reals[i]) != dtype)
      return REASON("one type (its caches are not quantized)", "{inputs}");
  if (has_in(n, PAST_K) != has_in(n, PAST_V) || !has_in(n, LENS) || !has_in(n, TOTAL))
    return REASON("a past of keys and values with its lengths", "{inputs}");
  if (dev_in_count(n) > K_SCALE) return REASON("neither scales of caches nor norms", "{inputs}");
  if (has_in(n, ADD) && !dev_attention_takes_bias(n, ADD))
    return REASON("a bias of float32, float16 or bool, and 1 to 4 axes", "{inputs}");
  if (dev_attr_int(n, "sliding_window_cache", 0) || dev_attr_int(n, "kv_cache_bit_width", 0))
    return REASON("a cache of floats that holds all keys", "{sliding_window_cache=0}, {kv_cache_bit_width=0}");
  if (dev_attr_int(n, "smooth_softmax", 0) && !has_in(n, SINK))
    return REASON("sinks beside a smooth softmax", "{smooth_softmax}, {inputs}");
  if (has_in(n, POS) && (dev_in_dim(n, Q, 0) != 1 || dev_in_dim(n, Q, 1) != 1))
    return REASON("positions of one token", "{inputs}");
  if (out_of(n, QK) != UINT32_MAX) return REASON("no scores as output", "{>3}");
  return total_is_host(n) ? NULL : REASON("a total_sequence_length that the host knows", "{6}");
}

typedef struct sizes {
  int64_t batch, heads, kv_heads, len, d, past, rows; /* rows: length of the present */
  int64_t row;                                        /* elements per row of Q, with K and V if packed */
  bool packed;
} sizes;

static ox_status *read_sizes(dev_plan *p, const dev_node *n, sizes *s) {
  const ox_shape *q = dev_shape(p, dev_in(n, Q));
  *s = (sizes){.batch = q->dim[0], .len = q->dim[1], .packed = !has_in(n, K)};
  s->heads = dev_attr_int(n, "num_heads", 0), s->kv_heads = dev_attr_int(n, "kv_num_heads", 0);
  int64_t parts = s->heads + (s->packed ? 2 * s->kv_heads : 0);
  if (s->heads < 1 || s->kv_heads < 1 || q->dim[2] % parts) return dev_refuse(p, "heads that do not divide");
  s->d = q->dim[2] / parts;
  s->row = s->packed ? q->dim[2] : s->heads * s->d;
  s->past = has_in(n, PAST_K) ? dev_shape(p, dev_in(n, PAST_K))->dim[2] : 0;
  uint32_t present = out_of(n, PRESENT_K) != UINT32_MAX ? out_of(n, PRESENT_K) : out_of(n, PRESENT_V);
  s->rows = present != UINT32_MAX ? dev_shape(p, present)->dim[2] : s->past + s->len;
  int64_t past = s->batch * s->kv_heads * s->past * s->d, fresh = s->batch * s->len * s->kv_heads * s->d;
  for (size_t i = K; i <= PAST_V; i++)
    if (has_in(n, i) && dev_count(p, dev_in(n, i)) != (i <= V ? fresh : past))
      return dev_refuse(p, "keys, values or a cache that do not fit the query");
  return dev_count(p, dev_in(n, LENS)) == s->batch ? NULL : dev_refuse(p, "seqlens_k does not fit the batch");
}

/* Sets the rotary embedding of new rows. Their positions start after the past rows counted by seqlens_k. */
static ox_status *turn(dev_plan *p, const dev_node *n, const sizes *s, append_params *to, dev_append *x) {
  to->lens_add = (int)(1 - s->len), x->lens = dev_value(p, dev_in(n, LENS));
  if (!dev_attr_int(n, "do_rotary", 0)) return NULL;
  if (!has_in(n, COS) || !has_in(n, SIN)) return dev_refuse(p, "do_rotary needs cos_cache and sin_cache");
  const ox_shape *table = dev_shape(p, dev_in(n, COS));
  if (table->rank != 2 || 2 * table->dim[1] > s->d || dev_count(p, dev_in(n, SIN)) != dev_count(p, dev_in(n, COS)) ||
      table->dim[0] < 1)
    return dev_refuse(p, "rotary caches that do not fit");
  to->pairs = (int)table->dim[1], to->angles = (int)table->dim[0], to->lens_angle = 1;
  to->interleaved = dev_attr_int(n, "rotary_interleaved", 0) != 0, to->positions = has_in(n, POS);
  x->cosines = dev_value(p, dev_in(n, COS)), x->sines = dev_value(p, dev_in(n, SIN));
  x->positions = dev_value(p, in_of(n, POS));
  return NULL;
}

static size_t bytes_of(const dev_attention *a, int64_t count) { return (size_t)count * (a->dtype == OX_F16 ? 2 : 4); }

/* Appends keys or values to the cache. */
static ox_status *extend(dev_plan *p, const dev_node *n, const sizes *s, const dev_attention *a, size_t which,
                         dev_ref *out) {
  uint32_t present = out_of(n, PRESENT_K + which);
  dev_append x = {.p = {.heads = (int)s->kv_heads,
                        .rows = (int)s->rows,
                        .width = (int)s->d,
                        .past_rows = (int)s->past,
                        .fresh = (int)s->len,
                        .lens_place = 1,
                        .lens_add = (int)(1 - s->len)},
                  .batch = s->batch,
                  .dtype = a->dtype,
                  .fresh = dev_value(p, s->packed ? dev_in(n, Q) : dev_in(n, K + which)),
                  .past = dev_value(p, s->past ? dev_in(n, PAST_K + which) : UINT32_MAX),
                  .lens = dev_value(p, dev_in(n, LENS))};
  x.in = dev_heads_flat(s->kv_heads, s->len, s->d);
  if (s->packed) {
    x.in = (dev_heads){(int)(s->len * s->row), (int)s->d, (int)s->row};
    x.fresh.offset += bytes_of(a, (s->heads + (int64_t)which * s->kv_heads) * s->d);
  }
  if (which == 0) DEV_TRY(turn(p, n, s, &x.p, &x));
  x.to =
      present != UINT32_MAX ? dev_value(p, present) : dev_temp(p, bytes_of(a, s->batch * s->kv_heads * s->rows * s->d));
  *out = x.to;
  return dev_emit_append(p, &x);
}

/* Queries: in place, or a temporary with rotary embedding. */
static ox_status *place_queries(dev_plan *p, const dev_node *n, const sizes *s, dev_attention *a) {
  a->q = dev_value(p, dev_in(n, Q)), a->q_at = (dev_heads){(int)(s->len * s->row), (int)s->d, (int)s->row};
  if (!dev_attr_int(n, "do_rotary", 0)) return NULL;
  dev_append x = {.p = {.heads = (int)s->heads, .rows = (int)s->len, .width = (int)s->d, .fresh = (int)s->len},
                  .batch = s->batch,
                  .dtype = a->dtype,
                  .in = a->q_at,
                  .fresh = a->q};
  DEV_TRY(turn(p, n, s, &x.p, &x));
  x.to = a->q = dev_temp(p, bytes_of(a, s->batch * s->heads * s->len * s->d));
  a->q_at = dev_heads_split(s->heads, s->len, s->d);
  return dev_emit_append(p, &x);
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  dev_attention a;
  sizes s;
  memset(&a, 0, sizeof a);
  DEV_TRY(read_sizes(p, n, &s));
  int64_t window = dev_attr_int(n, "local_window_size", -1);
  a.dtype = dev_dtype(p, dev_in(n, Q));
  a.p = (attention_params){.batch = (int)s.batch,
                           .heads = (int)s.heads,
                           .kv_heads = (int)s.kv_heads,
                           .q_len = (int)s.len,
                           .kv_len = (int)s.rows,
                           .d = (int)s.d,
                           .dv = (int)s.d,
                           .scale = dev_attention_scale(dev_attr_float(n, "scale", 0), s.d),
                           .softcap = dev_attr_float(n, "softcap", 0),
                           .left = window > 0 ? (int)OX_MIN(window - 1, INT_MAX) : -1,
                           .right = dev_attr_int(n, "causal", 1) ? 0 : -1,
                           .lens = ATT_LENS_I32,
                           .lens_add = 1,
                           .lens_offset = 2,
                           .has_sink = has_in(n, SINK)};
  DEV_TRY(extend(p, n, &s, &a, 0, &a.k));
  DEV_TRY(extend(p, n, &s, &a, 1, &a.v));
  DEV_TRY(place_queries(p, n, &s, &a));
  if (has_in(n, ADD)) DEV_TRY(dev_attention_bias(p, &a, 0, dev_in(n, ADD)));
  a.k_at = a.v_at = dev_heads_split(s.kv_heads, s.rows, s.d);
  a.out_at = dev_heads_flat(s.heads, s.len, s.d);
  a.lens = dev_value(p, dev_in(n, LENS)), a.sink = dev_value(p, in_of(n, SINK)), a.out = dev_value(p, dev_out(n, OUT));
  return dev_emit_attention(p, &a);
}

static const char *const names[] = {"GroupQueryAttention", NULL};
DEV_OP(group_query_attention) = {"com.microsoft", names, takes, emit};
