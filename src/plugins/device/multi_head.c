/* SPDX-License-Identifier: Apache-2.0
 * device/multi_head.c - see multi_head.h. */
#include "plugins/device/multi_head.h"

#include <limits.h>
#include <string.h>

static bool has_in(const dev_node *n, size_t i) { return dev_in_count(n) > i && dev_in(n, i) != UINT32_MAX; }

const char *dev_multi_head_masks(const dev_node *n, size_t mask, size_t add) {
  int rank = has_in(n, mask) ? dev_in_rank(n, mask) : 1;
  if (rank < 1 || rank > 4 || (has_in(n, mask) && dev_in_dtype(n, mask) != OX_I32))
    return REASON("a mask of int32 and 1 to 4 axes", "{inputs}");
  return has_in(n, add) && !dev_attention_takes_bias(n, add)
             ? REASON("a bias of float32, float16 or bool, and 1 to 4 axes", "{inputs}")
             : NULL;
}

/* Sets |to| to the kind of mask that its shape denotes. */
static ox_status *read_mask(dev_plan *p, const dev_multi_head *m, attention_bias *to) {
  const ox_shape *s = dev_shape(p, m->mask);
  int64_t total = m->past + m->kv_len, last = s->dim[s->rank - 1];
  *to = (attention_bias){
      .kind = ATT_BIAS_I32, .key = 1, .n = (int)total, .last_row = INT_MAX, .filter = m->filter, .batch = (int)last};
  if (s->rank == 1 && (last == m->batch || last == 2 * m->batch)) {
    to->kind = ATT_BIAS_LENGTHS, to->batch = (int)m->batch, to->key = last != m->batch;
  } else if (s->rank == 2 && s->dim[0] == m->batch && (last == total || last == m->kv_len)) {
    to->skip = (int)(total - last);
  } else if (s->rank == 3 && s->dim[0] == m->batch && s->dim[1] == m->q_len && last == total) {
    to->batch = (int)(m->q_len * total), to->row = (int)total;
  } else if (s->rank == 4 && s->dim[0] == m->batch && s->dim[1] == 1 && s->dim[2] == last && last >= total) {
    to->batch = (int)(last * last), to->row = (int)last, to->first_row = (int)m->past, to->last_row = (int)last - 1;
  } else {
    return dev_refuse(p, "a mask that fits no form");
  }
  return NULL;
}

static size_t bytes_of(const dev_multi_head *m, int64_t count) { return (size_t)count * (m->dtype == OX_F16 ? 2 : 4); }

/* Appends new rows to those of the cache, adding the bias from element |first| on; |*ref| and |*at| then describe the
 * whole. Does nothing if there is neither cache, bias nor present output. */
static ox_status *bring_together(dev_plan *p, const dev_multi_head *m, bool biased, int64_t first, int64_t past,
                                 int64_t fresh, int64_t width, dev_ref had, dev_ref present, dev_ref *ref,
                                 dev_heads *at) {
  int64_t rows = past + fresh;
  if (!biased && !past && present.kind == DEV_REF_NONE) return NULL;
  dev_append x = {.p = {.heads = (int)m->heads,
                        .rows = (int)rows,
                        .width = (int)width,
                        .past_rows = (int)past,
                        .first = (int)past,
                        .fresh = (int)fresh,
                        .has_bias = biased,
                        .bias_first = (int)first},
                  .batch = m->batch,
                  .dtype = m->dtype,
                  .in = *at,
                  .fresh = *ref,
                  .past = had,
                  .to = present};
  if (biased) x.bias = m->bias;
  if (present.kind == DEV_REF_NONE) x.to = dev_temp(p, bytes_of(m, m->batch * m->heads * rows * width));
  *ref = x.to, *at = dev_heads_split(m->heads, rows, width);
  return dev_emit_append(p, &x);
}

ox_status *dev_emit_multi_head(dev_plan *p, const dev_multi_head *m) {
  const dev_ref none = {DEV_REF_NONE, 0, 0};
  int64_t total = m->past + m->kv_len, hidden = m->heads * m->d;
  bool q_bias = m->bias.kind != DEV_REF_NONE, kv_bias = q_bias && m->kv_bias;
  dev_attention a;
  memset(&a, 0, sizeof a);
  a.p = (attention_params){.batch = (int)m->batch,
                           .heads = (int)m->heads,
                           .kv_heads = (int)m->heads,
                           .q_len = (int)m->q_len,
                           .kv_len = (int)total,
                           .d = (int)m->d,
                           .dv = (int)m->dv,
                           .scale = dev_attention_scale(m->scale, m->d),
                           .left = -1,
                           .right = m->causal ? 0 : -1,
                           .offset = (int)m->past};
  a.dtype = m->dtype, a.q = m->q, a.k = m->k, a.v = m->v, a.q_at = m->q_at, a.k_at = m->k_at, a.v_at = m->v_at;
  a.out = m->out, a.out_at = dev_heads_flat(m->heads, m->q_len, m->dv);
  DEV_TRY(bring_together(p, m, q_bias, 0, 0, m->q_len, m->d, none, none, &a.q, &a.q_at));
  DEV_TRY(bring_together(p, m, kv_bias, hidden, m->past, m->kv_len, m->d, m->past_k, m->present_k, &a.k, &a.k_at));
  DEV_TRY(bring_together(p, m, kv_bias, 2 * hidden, m->past, m->kv_len, m->dv, m->past_v, m->present_v, &a.v, &a.v_at));
  if (m->mask != UINT32_MAX) {
    DEV_TRY(read_mask(p, m, &a.p.bias[0]));
    a.bias[0] = dev_value(p, m->mask);
  }
  if (m->add != UINT32_MAX) DEV_TRY(dev_attention_bias(p, &a, 1, m->add));
  if (m->add != UINT32_MAX && a.p.bias[1].n != total) return dev_refuse(p, "a bias with fewer keys than there are");
  return dev_emit_attention(p, &a);
}
