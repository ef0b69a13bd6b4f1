/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/attention_common.h - functions shared by the attention kernels. Scores are scaled by log2(e), so that
 * exp2 can be used for exp. */

#define ATT_LOG2E 1.44269504f

/* Elements |i| to i + 3 of the row of |n| elements at |at|; zeros beyond its end. */
FUNCTION float4 attention_load(const GLOBAL REAL *p, int at, int i, int n, int wide) {
  float4 v = MAKE4(0.0f, 0.0f, 0.0f, 0.0f);
  if (wide && i + 3 < n) {
    v = LOAD4(p, at + i);
  } else {
    if (i < n) v.x = LOAD(p, at + i);
    if (i + 1 < n) v.y = LOAD(p, at + i + 1);
    if (i + 2 < n) v.z = LOAD(p, at + i + 2);
    if (i + 3 < n) v.w = LOAD(p, at + i + 3);
  }
  return v;
}

/* The number of keys of batch item |b|. */
FUNCTION int attention_keys(const attention_params *p, const GLOBAL char *lens, int b) {
  dev_long n = p->kv_len;
  if (p->lens == ATT_LENS_I32) n = (dev_long)((const GLOBAL int *)lens)[b] + p->lens_add;
  if (p->lens == ATT_LENS_I64) n = ((const GLOBAL dev_long *)lens)[b] + p->lens_add;
  return (int)(n < 0 ? 0 : n > p->kv_len ? p->kv_len : n);
}

FUNCTION int attention_offset(const attention_params *p, int keys) {
  if (p->lens_offset == 2) return MAX_OF(keys - p->q_len, 0);
  return p->lens_offset ? keys - p->q_len : p->offset;
}

FUNCTION float attention_bias_at(const attention_bias *a, const GLOBAL char *data, int b, int h, int s, int t) {
  const float never = -INFINITY;
  if (a->kind == ATT_BIAS_NONE) return 0.0f;
  if (a->kind == ATT_BIAS_LENGTHS) {
    const GLOBAL int *ends = (const GLOBAL int *)data;
    return t < ends[b] && (!a->key || t >= ends[a->batch + b]) ? 0.0f : a->filter;
  }
  if (t >= a->n) return never;
  if (t < a->skip) return 0.0f;
  int at = b * a->batch + h * a->head + MIN_OF(s + a->first_row, a->last_row) * a->row + (t - a->skip) * a->key;
  if (a->kind == ATT_BIAS_F32) return ((const GLOBAL float *)data)[at];
  if (a->kind == ATT_BIAS_F16) return HALF_TO_FLOAT((const GLOBAL unsigned short *)data, at);
  if (a->kind == ATT_BIAS_BOOL) return data[at] ? 0.0f : never;
  return ((const GLOBAL int *)data)[at] > 0 ? 0.0f : a->filter;
}

/* The score of row |s| and key |t| from their product. |place|: the row's position among the keys. */
FUNCTION float attention_score(const attention_params *p, float product, const GLOBAL char *b0, const GLOBAL char *b1,
                               int b, int h, int s, int t, int place) {
  float v = product * p->scale;
  if (p->softcap != 0.0f) v = p->softcap * TANHF(v / p->softcap);
  if (p->bias[0].kind != ATT_BIAS_NONE) v += attention_bias_at(&p->bias[0], b0, b, h, s, t);
  if (p->bias[1].kind != ATT_BIAS_NONE) v += attention_bias_at(&p->bias[1], b1, b, h, s, t);
  int seen = (p->right < 0 || t <= place + p->right) && (p->left < 0 || t >= place - p->left);
  float score = v * ATT_LOG2E; /* masks may add the lowest float: keep such scores finite */
  if (v - v == 0.0f) score = MIN_OF(MAX_OF(score, -3.402823466e+38f), 3.402823466e+38f);
  return seen ? score : -INFINITY;
}

/* Whether a row whose weights add up to |sum| gives zeros: it sees no key, or p->nan_to_zero. */
FUNCTION int attention_gives_zeros(const attention_params *p, float sum) {
  return sum == 0.0f || (p->nan_to_zero && ISNAN(sum));
}

/* |products|, a sum of weighted values, over the sum of the weights. */
FUNCTION float attention_quotient(const attention_params *p, float products, float weights) {
  return attention_gives_zeros(p, weights) ? 0.0f : products / weights;
}

/* The head of Q that row |r| of the |per| heads sharing head |hk| belongs to. */
#define ATT_ROW_HEAD(p, hk, r) ((hk) * (p).per + (r) / (p).q_len)
/* Offset of the partial result of a row and a split: dv sums, the highest score and the sum of the weights. */
#define ATT_PARTIAL(p, split, b, h, s) \
  ((((split) * (p).batch + (b)) * (p).heads + (h)) * (p).q_len + (s)) * ((p).dv + 2)
