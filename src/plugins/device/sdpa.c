/* SPDX-License-Identifier: Apache-2.0
 * device/sdpa.c - see sdpa.h. */
#include "plugins/device/sdpa.h"

#include <limits.h>
#include <math.h>

#include "base/macros.h"

dev_heads dev_heads_split(int64_t heads, int64_t rows, int64_t width) {
  return (dev_heads){(int)(heads * rows * width), (int)(rows * width), (int)width};
}

dev_heads dev_heads_flat(int64_t heads, int64_t rows, int64_t width) {
  return (dev_heads){(int)(heads * rows * width), (int)width, (int)(heads * width)};
}

float dev_attention_scale(float given, int64_t d) {
  return given != 0 ? given : (float)(1 / sqrt((double)OX_MAX(d, 1)));
}

/* ---- biases ---- */

static int bias_kind(uint32_t dtype) {
  return dtype == OX_F32    ? ATT_BIAS_F32
         : dtype == OX_F16  ? ATT_BIAS_F16
         : dtype == OX_BOOL ? ATT_BIAS_BOOL
                            : ATT_BIAS_NONE;
}

bool dev_attention_takes_bias(const dev_node *n, size_t in) {
  int rank = dev_in_rank(n, in);
  return bias_kind(dev_in_dtype(n, in)) != ATT_BIAS_NONE && rank >= 1 && rank <= 4;
}

ox_status *dev_attention_bias(dev_plan *p, dev_attention *a, int which, uint32_t v) {
  const ox_shape *s = dev_shape(p, v);
  const int64_t want[] = {a->p.batch, a->p.heads, a->p.q_len};
  int *strides[] = {&a->p.bias[which].batch, &a->p.bias[which].head, &a->p.bias[which].row};
  attention_bias *to = &a->p.bias[which];
  *to = (attention_bias){.kind = bias_kind(dev_dtype(p, v)), .key = 1, .last_row = INT_MAX};
  a->bias[which] = dev_value(p, v);
  if (s->rank < 1 || s->rank > 4) return dev_refuse(p, "a mask of more than four axes");
  int64_t stride = to->n = (int)s->dim[s->rank - 1];
  if (to->n > a->p.kv_len) return dev_refuse(p, "a mask with more keys than there are");
  for (int d = 2; d >= 0; d--) {
    int axis = s->rank - 4 + d;
    int64_t dim = axis < 0 ? 1 : s->dim[axis];
    if (dim != 1 && dim != want[d]) return dev_refuse(p, "a mask that does not fit");
    *strides[d] = dim == 1 ? 0 : (int)stride;
    stride *= dim;
  }
  return NULL;
}

ox_status *dev_emit_append(dev_plan *p, dev_append *a) {
  int64_t n = a->batch * a->p.heads * a->p.rows * a->p.width;
  a->p.n = (int)n, a->p.in_batch = a->in.batch, a->p.in_head = a->in.head, a->p.in_row = a->in.row;
  dev_call c = {.source = "append",
                .kernel = "append",
                .dtype = a->dtype,
                .n_buffers = 8,
                .buffers = {a->fresh, a->past, a->to, a->cosines, a->sines, a->lens, a->positions, a->bias},
                .written = 1u << 2,
                .params = &a->p,
                .params_bytes = sizeof a->p};
  return n > INT_MAX ? dev_refuse(p, "a cache that is too large") : dev_emit_items(p, &c, n);
}

/* ---- launches ---- */

static int is_wide(dev_ref ref, uint32_t dtype, dev_heads at) {
  return ref.offset % (dtype == OX_F16 ? 8 : 16) == 0 && at.batch % 4 == 0 && at.head % 4 == 0 && at.row % 4 == 0;
}

static bool is_few(const attention_params *p) { return (int64_t)p->per * p->q_len <= ATT_FEW && p->d <= ATT_WIDEST; }

/* Splits the keys so that there are about two groups for each compute unit. */
static void split(attention_params *p, const dev_info *device, int64_t groups) {
  int64_t wanted = groups > 0 ? OX_CEIL_DIV((int64_t)device->n_units * 2, groups) : 1;
  int64_t keys = OX_MAX(p->kv_len, 1), most = is_few(p) ? ATT_RANGE : INT_MAX / 2, least = is_few(p) ? ATT_KEYS : 128;
  if (device->is_cpu || wanted < 1) wanted = 1;
  keys = OX_CEIL_DIV(keys, wanted);
  keys = OX_MIN(OX_MAX(OX_ROUND_UP(keys, (int64_t)ATT_KEYS), least), most);
  p->split_keys = (int)keys, p->splits = (int)OX_MAX(OX_CEIL_DIV((int64_t)p->kv_len, keys), 1);
}

static void lay_out(attention_params *p, const dev_attention *a) {
  p->per = p->heads / p->kv_heads;
  p->q_batch = a->q_at.batch, p->q_head = a->q_at.head, p->q_row = a->q_at.row;
  p->k_batch = a->k_at.batch, p->k_head = a->k_at.head, p->k_row = a->k_at.row;
  p->v_batch = a->v_at.batch, p->v_head = a->v_at.head, p->v_row = a->v_at.row;
  p->o_batch = a->out_at.batch, p->o_head = a->out_at.head, p->o_row = a->out_at.row;
  p->q_wide = is_wide(a->q, a->dtype, a->q_at), p->k_wide = is_wide(a->k, a->dtype, a->k_at);
  p->v_wide = is_wide(a->v, a->dtype, a->v_at), p->o_wide = is_wide(a->out, a->dtype, a->out_at);
  p->left = OX_MIN(p->left, INT_MAX / 2), p->right = OX_MIN(p->right, INT_MAX / 2); /* so that sums fit int */
}

/* Attention with rows of V no wider than the kernels support. */
static ox_status *emit_columns(dev_plan *plan, dev_attention *a) {
  static const char *const tiles[] = {"attention64", "attention128", "attention256"};
  attention_params *p = &a->p;
  lay_out(p, a);
  int64_t rows = (int64_t)p->batch * p->heads * p->q_len, own = (int64_t)p->per * p->q_len;
  if (rows == 0 || p->dv == 0) return NULL;
  int64_t groups = (int64_t)p->batch * p->kv_heads * (is_few(p) ? 1 : OX_CEIL_DIV(own, (int64_t)ATT_ROWS));
  split(p, dev_plan_device(plan), groups);
  if (groups > INT_MAX || rows * p->splits > INT_MAX / (p->dv + 2) || p->splits > UINT16_MAX)
    return dev_refuse(plan, "too many rows and keys");
  dev_ref sums = a->out;
  if (p->splits > 1) sums = dev_temp(plan, (size_t)(rows * p->splits * (p->dv + 2)) * sizeof(float));
  const char *tile = tiles[p->dv <= 64 ? 0 : p->dv <= 128 ? 1 : 2];
  const dev_call c = {.source = is_few(p) ? "attention_few" : tile,
                      .kernel = is_few(p) ? "attention_few" : tile,
                      .dtype = a->dtype,
                      .groups = {(uint32_t)groups, (uint32_t)p->splits},
                      .items = 256,
                      .n_buffers = 8,
                      .buffers = {a->q, a->k, a->v, sums, a->bias[0], a->bias[1], a->lens, a->sink},
                      .written = 1u << 3,
                      .params = p,
                      .params_bytes = sizeof *p};
  DEV_TRY(dev_emit(plan, &c));
  if (p->splits == 1) return NULL;
  dev_call combine = {.source = "attention_few",
                      .kernel = "attention_combine",
                      .dtype = a->dtype,
                      .n_buffers = 2,
                      .buffers = {sums, a->out},
                      .written = 1u << 1,
                      .params = p,
                      .params_bytes = sizeof *p};
  return dev_emit_items(plan, &combine, rows * p->dv);
}

/* Splits wider rows of V into pieces, for each of which the weights are computed again. */
ox_status *dev_emit_attention(dev_plan *p, dev_attention *a) {
  size_t bytes = ATT_WIDEST * (a->dtype == OX_F16 ? 2 : 4);
  int left = a->p.dv;
  if (a->p.kv_heads < 1 || a->p.heads % a->p.kv_heads) return dev_refuse(p, "heads that do not divide");
  for (; left > 0; left -= ATT_WIDEST, a->v.offset += bytes, a->out.offset += bytes) {
    a->p.dv = OX_MIN(left, ATT_WIDEST);
    DEV_TRY(emit_columns(p, a));
  }
  return NULL;
}
