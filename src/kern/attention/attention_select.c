/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/attention_select.c - the table of variants, tile counts and scratch, and the plain body for doubles.
 */
#include "kern/attention/attention.h"

#include <math.h>

#include "kern/attention/attention_rows.h"

static const ox_attn_variant table[] = {
#define OX_ATTN(needs, lanes, symbol) {needs, lanes, #symbol, symbol},
#include "kern/attention/attention_variants.inc"
#undef OX_ATTN
};
static const ox_attn_variant f64_variant = {0, 1, "ox_attn_f64", ox_attn_f64};

const ox_attn_variant *ox_attn_select(uint32_t dtype, ox_isa have) {
  if (dtype == OX_F64) return &f64_variant;
  for (size_t i = 0; i < OX_COUNT(table); i++)
    if ((table[i].needs & ~have) == 0) return &table[i];
  return NULL; /* not reached: the last variant has no requirements */
}

int64_t ox_attn_tiles(const ox_attn *a, const ox_attn_variant *v) {
  int64_t rows = a->heads / a->kv_heads * a->q_len;
  if (!rows || !a->batch || (!a->dv && a->qk_mode == OX_ATTN_QK_NONE)) return 0; /* all outputs are empty */
  int64_t tile_rows = v == &f64_variant ? 1 : ox_attn_tile_rows(a, v->lanes);
  return a->batch * a->kv_heads * OX_CEIL_DIV(rows, tile_rows);
}

size_t ox_attn_scratch(const ox_attn *a, const ox_attn_variant *v) {
  if (v == &f64_variant) return (size_t)OX_MAX(a->kv_len, 1) * sizeof(double);
  size_t lanes = (size_t)OX_MAX(v->lanes, OX_ATTN_FEW), rows = lanes * (size_t)ox_attn_groups(a, v->lanes);
  size_t keys = (size_t)ox_attn_block_keys(a) + 16, d = (size_t)a->d + 16, dv = (size_t)a->dv + 16;
  size_t floats = rows * (d + dv + 2) + 2 * lanes * keys + d + dv + keys; /* q, sums; scores, bias; a row */
  floats += keys * ((ox_attn_copies(&a->k) ? d : 0) + (ox_attn_copies(&a->v) ? dv : 0));
  return floats * sizeof(float) + 12 * OX_ALIGN_BYTES;
}

/* ---- doubles: one row at a time ---- */
static double bias_f64(const ox_attn_bias *m, int64_t b, const attn_row *r, int64_t t) {
  int64_t at = attn_bias_at(m, b, r, t);
  if (m->dtype == OX_BOOL) return ((const uint8_t *)m->p)[at] ? 0 : -INFINITY;
  return m->dtype == OX_F64 ? ((const double *)m->p)[at] : (double)((const float *)m->p)[at];
}

static double score_f64(const ox_attn *a, int64_t b, int64_t hk, const attn_row *r, int64_t t, double *qk) {
  const double *q = (const double *)a->q.p + attn_at(&a->q, b, r->h, r->s);
  const double *k = (const double *)a->k.p + attn_at(&a->k, b, hk, t);
  double s = 0, bias = t < r->lo || t >= r->hi ? -INFINITY : 0;
  for (int64_t i = 0; i < a->d; i++) s += q[i] * k[i];
  s *= a->scale;
  if (a->qk_mode == OX_ATTN_QK_RAW) *qk = s;
  if (a->softcap > 0) s = tanh(s / a->softcap) * a->softcap;
  if (a->qk_mode == OX_ATTN_QK_CAPPED) *qk = s;
  for (int i = 0; i < 2; i++)
    if (a->bias[i].p && t < a->bias[i].n) bias += bias_f64(&a->bias[i], b, r, t);
  s = bias == -INFINITY ? bias : s + bias;
  if (a->qk_mode == OX_ATTN_QK_BIASED) *qk = s == -INFINITY ? (double)a->qk_forbidden : s;
  return s;
}

void ox_attn_f64(const ox_attn *a, int64_t index, void *scratch) {
  attn_tile tile = attn_tile_at(a, 1, index);
  attn_row r = attn_row_at(a, &tile, 0);
  double *s = scratch, most = a->sink ? (double)a->sink[r.h] : -INFINITY, sum = 0, unused;
  double *qk =
      a->qk_mode == OX_ATTN_QK_NONE ? NULL : (double *)a->qk + ((tile.b * a->heads + r.h) * a->q_len + r.s) * a->kv_len;
  double *out = (double *)a->out.p + attn_at(&a->out, tile.b, r.h, r.s);
  for (int64_t t = 0; t < a->kv_len; t++) {
    s[t] = score_f64(a, tile.b, tile.hk, &r, t, qk ? qk + t : &unused);
    most = s[t] > most ? s[t] : most;
  }
  if (a->sink) sum = exp(a->sink[r.h] - most);
  for (int64_t t = 0; t < a->kv_len; t++) sum += s[t] = s[t] == -INFINITY ? 0 : exp(s[t] - most);
  for (int64_t i = 0; i < a->dv; i++) out[i] = 0;
  for (int64_t t = 0; t < a->kv_len; t++) {
    const double *v = (const double *)a->v.p + attn_at(&a->v, tile.b, tile.hk, t);
    double p = !sum || (a->nan_to_zero && isnan(sum)) ? 0 : s[t] / sum;
    if (a->qk_mode == OX_ATTN_QK_SOFTMAX) qk[t] = p;
    for (int64_t i = 0; p != 0 && i < a->dv; i++) out[i] += p * v[i];
  }
}
