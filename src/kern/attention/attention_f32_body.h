/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/attention_f32_body.h - one tile of attention. Two ways:
 * - many rows: lanes are query rows, q and the sums are kept transposed, one element of k or v
 *   is broadcast at a time: nothing is packed (only rows far apart are copied together), and the softmax has no
 *   horizontal steps; a tile has a few groups of rows, which share each block of keys;
 * - few rows (decoding): lanes are elements of a row of k or v, which stream through once. */
#include <math.h>
#include <string.h>

#include "kern/attention/attention_rows.h"

enum { L = VF32_LANES, MR = ATTN_MR, NV = ATTN_NV, NVH = (ATTN_NV + 1) / 2, NL = ATTN_NV * VF32_LANES };

/* Scratch of a tile; see ox_attn_scratch. Many rows: q, o, most and sum are those of the group at hand. */
typedef struct attn_mem {
  float *q, *o, *s, *bias, *k, *v, *row; /* row: max(d, dv, keys) */
  float *most, *sum;                     /* per row */
} attn_mem;

static float *attn_take(char **p, size_t floats) {
  float *at = (float *)*p;
  *p += OX_ROUND_UP(floats * sizeof(float), OX_ALIGN_BYTES);
  return at;
}

static attn_mem attn_split(const ox_attn *a, void *scratch) {
  char *p = (char *)OX_ROUND_UP((uintptr_t)scratch, OX_ALIGN_BYTES);
  size_t lanes = OX_MAX((size_t)NL, (size_t)OX_ATTN_FEW), rows = lanes * OX_ATTN_GROUPS;
  size_t keys = (size_t)ox_attn_block_keys(a) + 16, d = (size_t)a->d + 16, dv = (size_t)a->dv + 16;
  attn_mem m = {0};
  m.q = attn_take(&p, rows * d), m.o = attn_take(&p, rows * dv), m.s = attn_take(&p, lanes * keys);
  m.bias = attn_take(&p, lanes * keys), m.most = attn_take(&p, rows), m.sum = attn_take(&p, rows);
  m.row = attn_take(&p, OX_MAX(OX_MAX(d, dv), keys));
  if (ox_attn_copies(a, &a->k)) m.k = attn_take(&p, keys * d);
  if (ox_attn_copies(a, &a->v)) m.v = attn_take(&p, keys * dv);
  return m;
}

/* ---- types ---- */
static void attn_widen(uint32_t dtype, const void *src, int64_t at, int64_t n, float *out) {
  const uint16_t *h = (const uint16_t *)src + at;
  int64_t i = 0;
  if (dtype == OX_F32) {
    memcpy(out, (const float *)src + at, (size_t)n * sizeof(float));
  } else if (dtype == OX_F16) {
    for (; i + L <= n; i += L) vf32_store(out + i, vf32_load_f16(h + i));
    if (i < n) vf32_store_n(out + i, vf32_load_f16_n(h + i, (size_t)(n - i)), (size_t)(n - i));
  } else {
    for (; i + L <= n; i += L) vf32_store(out + i, vf32_load_bf16(h + i));
    if (i < n) vf32_store_n(out + i, vf32_load_bf16_n(h + i, (size_t)(n - i)), (size_t)(n - i));
  }
}

static void attn_narrow(uint32_t dtype, const float *src, int64_t n, void *dst, int64_t at) {
  uint16_t *h = (uint16_t *)dst + at;
  if (dtype == OX_F32) {
    memcpy((float *)dst + at, src, (size_t)n * sizeof(float));
    return;
  }
  for (int64_t i = 0; i < n; i += L) {
    size_t live = vf32_lanes_at((size_t)i, (size_t)n);
    vf32 x = vf32_load_n(src + i, live);
    if (dtype == OX_F16)
      vf32_store_f16_n(h + i, x, live);
    else
      vf32_store_bf16_n(h + i, x, live);
  }
}

/* Rows [t, t + n) of k or v as f32: where they lie, or copied into |buf|, a little apart: rows of 512 bytes would fall
 * on a few cache sets. */
static const float *attn_rows_f32(const ox_attn *a, const ox_attn_mat *m, const attn_tile *tile, int64_t t, int64_t n,
                                  int64_t width, float *buf, int64_t *stride) {
  int64_t at = attn_at(m, tile->b, tile->hk, t);
  *stride = m->row;
  if (!ox_attn_copies(a, m)) return (const float *)m->p + at;
  *stride = width + 16;
  for (int64_t i = 0; i < n; i++) attn_widen(m->dtype, m->p, at + i * m->row, width, buf + i * *stride);
  return buf;
}

/* One kind of bias of one row for keys [t, t + n), n within what it has. */
static void attn_bias_read(const ox_attn_bias *m, int64_t at, int64_t n, float *out) {
  if (m->dtype == OX_BOOL) {
    const uint8_t *p = (const uint8_t *)m->p + at;
    for (int64_t i = 0; i < n; i++) out[i] = p[i * m->key] ? 0.0f : -INFINITY;
  } else if (m->key == 1) {
    attn_widen(m->dtype, m->p, at, n, out);
  } else {
    for (int64_t i = 0; i < n; i++) attn_widen(m->dtype, m->p, at + i * m->key, 1, out + i);
  }
}

/* Bias of one row for keys [t, t + n), every kind of bias added up, into |out|; |row| is room for as many. */
static void attn_bias_row(const ox_attn *a, int64_t b, const attn_row *r, int64_t t, int64_t n, float *out,
                          float *row) {
  bool first = true;
  for (int k = 0; k < 2; k++) {
    const ox_attn_bias *m = &a->bias[k];
    if (!m->p) continue;
    int64_t live = OX_MIN(n, OX_MAX(m->n - t, 0));
    float *to = first ? out : row;
    attn_bias_read(m, attn_bias_at(m, b, r, t), live, to);
    for (int64_t i = live; i < n; i++) to[i] = -INFINITY;
    for (int64_t i = 0; !first && i < n; i++) out[i] += row[i];
    first = false;
  }
}

static bool attn_has_bias(const ox_attn *a) { return a->bias[0].p || a->bias[1].p; }

/* Writes a row of qk. QK_BIASED: |s| is a copy and gets changed. */
static void attn_put_qk(const ox_attn *a, int64_t b, const attn_row *r, float *s, int64_t n) {
  if (a->qk_mode == OX_ATTN_QK_BIASED && a->qk_forbidden != -INFINITY)
    for (int64_t i = 0; i < n; i++) s[i] = s[i] == -INFINITY ? a->qk_forbidden : s[i];
  attn_narrow(a->q.dtype, s, n, a->qk, ((b * a->heads + r->h) * a->q_len + r->s) * a->kv_len);
}

/* p 2^n for results that are normal numbers. */
OX_INLINE vf32 attn_scale2(vf32 p, vf32 n) {
#ifdef OX_SIMD_F32_AVX512_H
  return vf32_ldexp(p, n);
#else
  return vi32_as_f32(vi32_add(vf32_bits(p), vi32_shl(vf32_to_i32(n), 23)));
#endif
}

OX_INLINE vf32 attn_cap(vf32 s, float cap) {
  return vf32_mul(vf32_tanh(vf32_div(s, vf32_splat(cap))), vf32_splat(cap));
}

/* s + bias; a bias of -inf forbids whatever the score is */
OX_INLINE vf32 attn_biased(vf32 s, vf32 bias) {
  return vf32_select(vf32_eq(bias, vf32_splat(-INFINITY)), bias, vf32_add(s, bias));
}

/* e^(s - top), with top = attn_top(most): a weight in (0, 1]; the difference comes first, for it is exact near the top
 * and large scores would drown in the rounding of their multiples. 2^r by a minimax polynomial of our own (relative
 * error 2e-7); below 2^-126 it is 0, so that no denormals reach the products. */
OX_INLINE vf32 attn_weight(vf32 s, vf32 top) {
  vf32 x = vf32_mul(vf32_sub(s, top), vf32_splat(0x1.715476p+0f)), n = vf32_round(x), r = vf32_sub(x, n);
  vf32 p = vf32_fma(vf32_splat(0x1.5c08e6p-10f), r, vf32_splat(0x1.3d0c52p-7f));
  p = vf32_fma(p, r, vf32_splat(0x1.c6b6e4p-5f));
  p = vf32_fma(p, r, vf32_splat(0x1.ebf918p-3f));
  p = vf32_fma(p, r, vf32_splat(0x1.62e428p-1f));
  p = vf32_fma(p, r, vf32_splat(0x1.000002p+0f));
  return vf32_select(vf32_le(x, vf32_splat(-126.0f)), vf32_zero(), attn_scale2(p, n));
}

/* The largest score; 0 if nothing was seen yet, for then every s is -inf, too. */
OX_INLINE vf32 attn_top(vf32 most) { return vf32_select(vf32_eq(most, vf32_splat(-INFINITY)), vf32_zero(), most); }

/* ==== many rows: lanes are query rows ==== */
/* s[i][lane] = k row i . q[.][lane] for |mr| keys */
OX_INLINE void attn_qk_block(const int mr, const int nv, const float *k, int64_t stride, const float *q, int64_t d,
                             float *s) {
  vf32 acc[MR][NV];
  OX_UNROLL for (int i = 0; i < mr; i++) OX_UNROLL for (int j = 0; j < nv; j++) acc[i][j] = vf32_zero();
  for (int64_t e = 0; e < d; e++, q += nv * L) {
    vf32 x[NV];
    OX_UNROLL for (int j = 0; j < nv; j++) x[j] = vf32_load(q + j * L);
    OX_UNROLL for (int i = 0; i < mr; i++) {
      vf32 y = vf32_splat(k[i * stride + e]);
      OX_UNROLL for (int j = 0; j < nv; j++) acc[i][j] = vf32_fma(y, x[j], acc[i][j]);
    }
  }
  OX_UNROLL for (int i = 0; i < mr; i++) OX_UNROLL for (int j = 0; j < nv; j++)
      vf32_store(s + (i * nv + j) * L, acc[i][j]);
}

/* o[i][lane] = o[i][lane] * scale[lane] + sum over t of v[t][i] p[t][lane] for |mr| columns of v */
OX_INLINE void attn_pv_block(const int mr, const int nv, const float *v, int64_t stride, const float *p, int64_t n,
                             const vf32 *scale, float *o) {
  vf32 acc[MR][NV];
  OX_UNROLL for (int i = 0; i < mr; i++) OX_UNROLL for (int j = 0; j < nv; j++) acc[i][j] =
      vf32_mul(vf32_load(o + (i * nv + j) * L), scale[j]);
  for (int64_t t = 0; t < n; t++, v += stride, p += nv * L) {
    vf32 x[NV];
    OX_UNROLL for (int j = 0; j < nv; j++) x[j] = vf32_load(p + j * L);
    OX_UNROLL for (int i = 0; i < mr; i++) {
      vf32 y = vf32_splat(v[i]);
      OX_UNROLL for (int j = 0; j < nv; j++) acc[i][j] = vf32_fma(y, x[j], acc[i][j]);
    }
  }
  OX_UNROLL for (int i = 0; i < mr; i++) OX_UNROLL for (int j = 0; j < nv; j++)
      vf32_store(o + (i * nv + j) * L, acc[i][j]);
}

OX_INLINE void attn_qk(const int nv, const float *k, int64_t stride, const float *q, int64_t d, int64_t n, float *s) {
  int64_t i = 0;
  for (; i + MR <= n; i += MR) attn_qk_block(MR, nv, k + i * stride, stride, q, d, s + i * nv * L);
  for (; i + 2 <= n; i += 2) attn_qk_block(2, nv, k + i * stride, stride, q, d, s + i * nv * L);
  for (; i < n; i++) attn_qk_block(1, nv, k + i * stride, stride, q, d, s + i * nv * L);
}

OX_INLINE void attn_pv(const int nv, const float *v, int64_t stride, const float *p, int64_t n, int64_t dv,
                       const vf32 *scale, float *o) {
  int64_t i = 0;
  for (; i + MR <= dv; i += MR) attn_pv_block(MR, nv, v + i, stride, p, n, scale, o + i * nv * L);
  for (; i + 2 <= dv; i += 2) attn_pv_block(2, nv, v + i, stride, p, n, scale, o + i * nv * L);
  for (; i < dv; i++) attn_pv_block(1, nv, v + i, stride, p, n, scale, o + i * nv * L);
}

typedef struct attn_lanes {
  attn_row row[NL];
  int64_t n, lo, hi;      /* live rows; keys any of them sees */
  int64_t all_lo, all_hi; /* keys all of them see */
  bool same_bias;         /* one bias row serves all */
} attn_lanes;

static void attn_lanes_init(const ox_attn *a, const attn_tile *tile, int64_t first, int lanes, attn_lanes *w) {
  w->n = OX_MIN(tile->n - first, lanes);
  w->lo = INT64_MAX, w->hi = 0, w->all_lo = 0, w->all_hi = INT64_MAX, w->same_bias = true;
  for (int i = 0; i < lanes; i++) {
    attn_row r = w->row[i] = attn_row_at(a, tile, first + OX_MIN(i, w->n - 1));
    if (r.lo < r.hi) w->lo = OX_MIN(w->lo, r.lo), w->hi = OX_MAX(w->hi, r.hi);
    w->all_lo = OX_MAX(w->all_lo, r.lo), w->all_hi = OX_MIN(w->all_hi, r.hi);
    for (int k = 0; k < 2; k++)
      if (a->bias[k].p && ((a->bias[k].row && r.s != w->row[0].s) || (a->bias[k].head && r.h != w->row[0].h)))
        w->same_bias = false;
  }
  w->lo = OX_MIN(w->lo, w->hi);
}

static void attn_cap_block(float *s, int64_t n, float cap) {
  for (int64_t i = 0; i < n; i += L) vf32_store(s + i, attn_cap(vf32_load(s + i), cap));
}

/* Adds the bias to a block of scores and forbids what the rows may not see. */
OX_INLINE void attn_mask_lanes(const int nv, const ox_attn *a, const attn_tile *tile, const attn_lanes *w, int64_t t0,
                               int64_t n, const attn_mem *m) {
  const int lanes = nv * L;
  float *s = m->s;
  if (attn_has_bias(a) && w->same_bias) {
    attn_bias_row(a, tile->b, &w->row[0], t0, n, m->bias, m->row);
    for (int64_t t = 0; t < n; t++) OX_UNROLL for (int j = 0; j < nv; j++) {
        float *at = s + (t * nv + j) * L;
        vf32_store(at, attn_biased(vf32_load(at), vf32_splat(m->bias[t])));
      }
  } else if (attn_has_bias(a)) {
    float row[OX_ATTN_KEYS]; /* a piece of a row of bias at a time becomes a column */
    for (int i = 0; i < lanes; i++)
      for (int64_t t = 0; t < n; t += OX_ATTN_KEYS) {
        int64_t piece = OX_MIN(n - t, OX_ATTN_KEYS);
        attn_bias_row(a, tile->b, &w->row[i], t0 + t, piece, row, m->row);
        float *column = m->bias + t * lanes + i;
        for (int64_t k = 0; k < piece; k++) column[k * lanes] = row[k];
      }
    for (int64_t i = 0; i < n * lanes; i += L) vf32_store(s + i, attn_biased(vf32_load(s + i), vf32_load(m->bias + i)));
  }
  if (t0 >= w->all_lo && t0 + n <= w->all_hi) return;
  for (int i = 0; i < lanes; i++) {
    for (int64_t t = t0; t < OX_MIN(w->row[i].lo, t0 + n); t++) s[(t - t0) * lanes + i] = -INFINITY;
    for (int64_t t = OX_MAX(w->row[i].hi, t0); t < t0 + n; t++) s[(t - t0) * lanes + i] = -INFINITY;
  }
}

/* Turns scores into weights and keeps the running maximum and sum; |scale|: what older sums must be multiplied by. */
OX_INLINE void attn_softmax_lanes(const int nv, float *s, int64_t n, float *most, float *sum, vf32 *scale) {
  vf32 top[NV], total[NV], base[NV];
  OX_UNROLL for (int j = 0; j < nv; j++) top[j] = vf32_load(most + j * L);
  for (int64_t t = 0; t < n; t++)
    OX_UNROLL for (int j = 0; j < nv; j++) top[j] = vf32_max(top[j], vf32_load(s + (t * nv + j) * L));
  OX_UNROLL for (int j = 0; j < nv; j++) {
    base[j] = attn_top(top[j]);
    scale[j] = attn_weight(vf32_load(most + j * L), base[j]);
    total[j] = vf32_mul(vf32_load(sum + j * L), scale[j]);
    vf32_store(most + j * L, top[j]);
  }
  for (int64_t t = 0; t < n; t++) OX_UNROLL for (int j = 0; j < nv; j++) {
      vf32 p = attn_weight(vf32_load(s + (t * nv + j) * L), base[j]);
      vf32_store(s + (t * nv + j) * L, p);
      total[j] = vf32_add(total[j], p);
    }
  OX_UNROLL for (int j = 0; j < nv; j++) vf32_store(sum + j * L, total[j]);
}

/* Writes the transposed block |s|, which holds all keys, as qk; divided by |sum| per lane unless NULL. */
static void attn_put_qk_lanes(const ox_attn *a, const attn_tile *tile, const attn_lanes *w, int lanes, int64_t n,
                              const float *s, const float *sum, const attn_mem *m) {
  for (int i = 0; i < w->n; i++) {
    float scale = !sum ? 1.0f : sum[i] > 0 ? 1.0f / sum[i] : 0.0f;
    for (int64_t t = 0; t < n; t++) m->bias[t] = s[t * lanes + i] * scale;
    attn_put_qk(a, tile->b, &w->row[i], m->bias, n);
  }
}

OX_INLINE void attn_load_q(const int nv, const ox_attn *a, const attn_tile *tile, const attn_lanes *w, attn_mem *m) {
  const int lanes = nv * L;
  for (int i = 0; i < lanes; i++) {
    int64_t at = attn_at(&a->q, tile->b, w->row[i].h, w->row[i].s);
    const float *q = (const float *)a->q.p + at;
    if (a->q.dtype != OX_F32) attn_widen(a->q.dtype, a->q.p, at, a->d, m->row), q = m->row;
    for (int64_t e = 0; e < a->d; e++) m->q[e * lanes + i] = q[e] * a->scale;
    m->most[i] = a->sink ? a->sink[w->row[i].h] : -INFINITY;
    m->sum[i] = a->sink ? 1.0f : 0.0f;
  }
  memset(m->o, 0, (size_t)(a->dv * lanes) * sizeof(float));
}

OX_INLINE void attn_store_o(const int nv, const ox_attn *a, const attn_tile *tile, const attn_lanes *w, attn_mem *m) {
  const int lanes = nv * L;
  for (int i = 0; i < w->n; i++) {
    float scale = m->sum[i] > 0 ? 1.0f / m->sum[i] : m->sum[i]; /* 0: saw nothing; NaN passes */
    int64_t at = attn_at(&a->out, tile->b, w->row[i].h, w->row[i].s);
    float *to = a->out.dtype == OX_F32 ? (float *)a->out.p + at : m->row;
    for (int64_t e = 0; e < a->dv; e++) to[e] = m->o[e * lanes + i] * scale;
    if (a->out.dtype != OX_F32) attn_narrow(a->out.dtype, m->row, a->dv, a->out.p, at);
  }
}

/* One group of rows against one block of keys. */
OX_INLINE void attn_group_block(const int nv, const ox_attn *a, const attn_tile *tile, const attn_lanes *w, int64_t t,
                                int64_t n, const float *k, int64_t ks, const float *v, int64_t vs, attn_mem *m) {
  vf32 scale[NV];
  attn_qk(nv, k, ks, m->q, a->d, n, m->s);
  if (a->qk_mode == OX_ATTN_QK_RAW) attn_put_qk_lanes(a, tile, w, nv * L, n, m->s, NULL, m);
  if (a->softcap > 0) attn_cap_block(m->s, n * nv * L, a->softcap);
  if (a->qk_mode == OX_ATTN_QK_CAPPED) attn_put_qk_lanes(a, tile, w, nv * L, n, m->s, NULL, m);
  attn_mask_lanes(nv, a, tile, w, t, n, m);
  if (a->qk_mode == OX_ATTN_QK_BIASED) attn_put_qk_lanes(a, tile, w, nv * L, n, m->s, NULL, m);
  attn_softmax_lanes(nv, m->s, n, m->most, m->sum, scale);
  if (a->qk_mode == OX_ATTN_QK_SOFTMAX) attn_put_qk_lanes(a, tile, w, nv * L, n, m->s, m->sum, m);
  attn_pv(nv, v, vs, m->s, n, a->dv, scale, m->o);
}

/* The memory of group |g|. */
static attn_mem attn_group_mem(const ox_attn *a, const attn_mem *m, int g) {
  attn_mem own = *m;
  own.q += g * NL * (a->d + 16), own.o += g * NL * (a->dv + 16), own.most += g * NL, own.sum += g * NL;
  return own;
}

static void attn_many(const ox_attn *a, const attn_tile *tile, const attn_mem *m) {
  attn_lanes w[OX_ATTN_GROUPS];
  attn_mem own[OX_ATTN_GROUPS];
  bool half[OX_ATTN_GROUPS], whole = a->qk_mode != OX_ATTN_QK_NONE; /* whole: one block holds all keys */
  int64_t keys = ox_attn_block_keys(a), lo = INT64_MAX, hi = 0, ks, vs;
  int groups = (int)OX_CEIL_DIV(tile->n, NL);
  for (int g = 0; g < groups; g++) {
    half[g] = NV > 1 && tile->n - g * NL <= NL / 2;
    own[g] = attn_group_mem(a, m, g);
    attn_lanes_init(a, tile, g * NL, half[g] ? NL / 2 : NL, &w[g]);
    if (half[g])
      attn_load_q(NVH, a, tile, &w[g], &own[g]);
    else
      attn_load_q(NV, a, tile, &w[g], &own[g]);
    if (w[g].lo < w[g].hi) lo = OX_MIN(lo, w[g].lo), hi = OX_MAX(hi, w[g].hi);
  }
  if (whole) lo = 0, hi = a->kv_len;
  for (int64_t t = lo; t < hi; t += keys) {
    int64_t n = OX_MIN(hi - t, keys);
    const float *k = attn_rows_f32(a, &a->k, tile, t, n, a->d, m->k, &ks);
    const float *v = attn_rows_f32(a, &a->v, tile, t, n, a->dv, m->v, &vs);
    for (int g = 0; g < groups; g++) {
      if (!whole && (t >= w[g].hi || t + n <= w[g].lo)) continue;
      int64_t live = whole ? n : OX_MIN(n, w[g].hi - t);
      if (half[g])
        attn_group_block(NVH, a, tile, &w[g], t, live, k, ks, v, vs, &own[g]);
      else
        attn_group_block(NV, a, tile, &w[g], t, live, k, ks, v, vs, &own[g]);
    }
  }
  for (int g = 0; g < groups; g++) {
    if (half[g])
      attn_store_o(NVH, a, tile, &w[g], &own[g]);
    else
      attn_store_o(NV, a, tile, &w[g], &own[g]);
  }
}

/* ==== few rows: lanes run along a row of k or v ==== */
enum { FEW = 4, VP = 4 }; /* rows at a time; vectors of a row of v at a time */

/* s[r * keys + i] = q row r . k row i, for |rows| rows and |mk| keys */
OX_INLINE void attn_dots(const int rows, const int mk, const float *q, int64_t dq, const float *k, int64_t stride,
                         int64_t d, float *s, int64_t keys) {
  vf32 acc[FEW][4];
  OX_UNROLL for (int r = 0; r < rows; r++) OX_UNROLL for (int i = 0; i < mk; i++) acc[r][i] = vf32_zero();
  int64_t e = 0;
  for (; e + L <= d; e += L) OX_UNROLL for (int i = 0; i < mk; i++) {
      vf32 x = vf32_load(k + i * stride + e);
      OX_UNROLL for (int r = 0; r < rows; r++) acc[r][i] = vf32_fma(x, vf32_load(q + r * dq + e), acc[r][i]);
    }
  if (e < d) OX_UNROLL for (int i = 0; i < mk; i++) {
      vf32 x = vf32_load_n(k + i * stride + e, (size_t)(d - e));
      OX_UNROLL for (int r = 0; r < rows; r++) acc[r][i] =
          vf32_fma(x, vf32_load_n(q + r * dq + e, (size_t)(d - e)), acc[r][i]);
    }
  OX_UNROLL for (int r = 0; r < rows; r++) OX_UNROLL for (int i = 0; i < mk; i++) s[r * keys + i] = vf32_sum(acc[r][i]);
}

/* o row r = o row r * scale[r] + sum over t of p[r][t] v[t], for columns [0, w) of v, w <= VP * L */
OX_INLINE void attn_few_pv(const int rows, const int vp, const float *v, int64_t stride, const float *p, int64_t keys,
                           int64_t n, size_t last, const float *scale, float *o, int64_t dv) {
  vf32 acc[FEW][VP];
  OX_UNROLL for (int r = 0; r < rows; r++) OX_UNROLL for (int j = 0; j < vp; j++) {
    vf32 old = j == vp - 1 ? vf32_load_n(o + r * dv + j * L, last) : vf32_load(o + r * dv + j * L);
    acc[r][j] = vf32_mul(old, vf32_splat(scale[r]));
  }
  for (int64_t t = 0; t < n; t++, v += stride) OX_UNROLL for (int j = 0; j < vp; j++) {
      vf32 x = j == vp - 1 ? vf32_load_n(v + j * L, last) : vf32_load(v + j * L);
      OX_UNROLL for (int r = 0; r < rows; r++) acc[r][j] = vf32_fma(vf32_splat(p[r * keys + t]), x, acc[r][j]);
    }
  OX_UNROLL for (int r = 0; r < rows; r++) OX_UNROLL for (int j = 0; j < vp; j++) {
    if (j == vp - 1)
      vf32_store_n(o + r * dv + j * L, acc[r][j], last);
    else
      vf32_store(o + r * dv + j * L, acc[r][j]);
  }
}

/* One row's scores of a block: cap, bias, mask; then weights, in place. |scale|: for older sums. */
static void attn_few_softmax(const ox_attn *a, const attn_tile *tile, const attn_row *r, int64_t t0, int64_t n,
                             float *s, attn_mem *m, float *most, float *sum, float *scale) {
  if (a->qk_mode == OX_ATTN_QK_RAW) attn_put_qk(a, tile->b, r, s, n);
  if (a->softcap > 0) attn_cap_block(s, OX_ROUND_UP(n, L), a->softcap);
  if (a->qk_mode == OX_ATTN_QK_CAPPED) attn_put_qk(a, tile->b, r, s, n);
  if (attn_has_bias(a)) {
    attn_bias_row(a, tile->b, r, t0, n, m->bias, m->row);
    for (int64_t i = 0; i < n; i += L) vf32_store(s + i, attn_biased(vf32_load(s + i), vf32_load(m->bias + i)));
  }
  for (int64_t t = t0; t < OX_MIN(r->lo, t0 + n); t++) s[t - t0] = -INFINITY;
  for (int64_t t = OX_MAX(r->hi, t0); t < t0 + n; t++) s[t - t0] = -INFINITY;
  for (int64_t i = n; i < OX_ROUND_UP(n, L); i++) s[i] = -INFINITY;
  if (a->qk_mode == OX_ATTN_QK_BIASED) {
    memcpy(m->bias, s, (size_t)n * sizeof *s);
    attn_put_qk(a, tile->b, r, m->bias, n);
  }
  vf32 top = vf32_splat(*most), total = vf32_zero();
  for (int64_t i = 0; i < n; i += L) top = vf32_max(top, vf32_load(s + i));
  float best = vf32_hmax(top), lane[L];
  vf32 base = attn_top(vf32_splat(best));
  vf32_store(lane, attn_weight(vf32_splat(*most), base));
  *scale = lane[0];
  for (int64_t i = 0; i < n; i += L) {
    vf32 p = attn_weight(vf32_load(s + i), base);
    vf32_store(s + i, p);
    total = vf32_add(total, p);
  }
  *most = best;
  *sum = *sum * *scale + vf32_sum(total);
  if (a->qk_mode != OX_ATTN_QK_SOFTMAX) return;
  for (int64_t i = 0; i < n; i++) m->bias[i] = *sum > 0 ? s[i] / *sum : 0;
  attn_put_qk(a, tile->b, r, m->bias, n);
}

OX_INLINE void attn_few_block(const int rows, const ox_attn *a, const attn_tile *tile, const attn_row *row, int first,
                              int64_t t, int64_t n, const float *k, int64_t ks, const float *v, int64_t vs,
                              attn_mem *m) {
  int64_t keys = ox_attn_block_keys(a) + 16, i = 0, d = a->d + 16, dv = a->dv + 16, c = 0;
  float scale[FEW], *q = m->q + first * d, *o = m->o + first * dv;
  for (; i + 4 <= n; i += 4) attn_dots(rows, 4, q, d, k + i * ks, ks, a->d, m->s + i, keys);
  for (; i < n; i++) attn_dots(rows, 1, q, d, k + i * ks, ks, a->d, m->s + i, keys);
  for (int r = 0; r < rows; r++)
    attn_few_softmax(a, tile, &row[first + r], t, n, m->s + r * keys, m, &m->most[first + r], &m->sum[first + r],
                     &scale[r]);
  for (; c + VP * L <= a->dv; c += VP * L) attn_few_pv(rows, VP, v + c, vs, m->s, keys, n, L, scale, o + c, dv);
  for (; c < a->dv; c += L)
    attn_few_pv(rows, 1, v + c, vs, m->s, keys, n, (size_t)OX_MIN(a->dv - c, L), scale, o + c, dv);
}

static void attn_few_rows(const ox_attn *a, const attn_tile *tile, const attn_row *row, int64_t t, int64_t n,
                          attn_mem *m) {
  int64_t ks, vs;
  const float *k = attn_rows_f32(a, &a->k, tile, t, n, a->d, m->k, &ks);
  const float *v = attn_rows_f32(a, &a->v, tile, t, n, a->dv, m->v, &vs);
  for (int first = 0; first < tile->n; first += FEW) {
    switch (OX_MIN(tile->n - first, FEW)) {
      case 1:
        attn_few_block(1, a, tile, row, first, t, n, k, ks, v, vs, m);
        break;
      case 2:
        attn_few_block(2, a, tile, row, first, t, n, k, ks, v, vs, m);
        break;
      case 3:
        attn_few_block(3, a, tile, row, first, t, n, k, ks, v, vs, m);
        break;
      default:
        attn_few_block(4, a, tile, row, first, t, n, k, ks, v, vs, m);
        break;
    }
  }
}

static void attn_few(const ox_attn *a, const attn_tile *tile, attn_mem *m) {
  attn_row row[OX_ATTN_FEW];
  int64_t lo = INT64_MAX, hi = 0, keys = ox_attn_block_keys(a), d = a->d + 16, dv = a->dv + 16;
  for (int64_t i = 0; i < tile->n; i++) {
    row[i] = attn_row_at(a, tile, i);
    if (row[i].lo < row[i].hi) lo = OX_MIN(lo, row[i].lo), hi = OX_MAX(hi, row[i].hi);
    attn_widen(a->q.dtype, a->q.p, attn_at(&a->q, tile->b, row[i].h, row[i].s), a->d, m->q + i * d);
    for (int64_t e = 0; e < a->d; e++) m->q[i * d + e] *= a->scale;
    for (int64_t e = 0; e < dv; e++) m->o[i * dv + e] = 0;
    m->most[i] = a->sink ? a->sink[row[i].h] : -INFINITY, m->sum[i] = a->sink ? 1.0f : 0.0f;
  }
  if (a->qk_mode != OX_ATTN_QK_NONE) lo = 0, hi = a->kv_len;
  for (int64_t t = lo; t < hi; t += keys) attn_few_rows(a, tile, row, t, OX_MIN(hi - t, keys), m);
  for (int64_t i = 0; i < tile->n; i++) {
    float scale = m->sum[i] > 0 ? 1.0f / m->sum[i] : m->sum[i]; /* 0: saw nothing; NaN passes */
    for (int64_t e = 0; e < a->dv; e++) m->o[i * dv + e] *= scale;
    attn_narrow(a->out.dtype, m->o + i * dv, a->dv, a->out.p, attn_at(&a->out, tile->b, row[i].h, row[i].s));
  }
}

void ATTN_RUN(const ox_attn *a, int64_t index, void *scratch) {
  int64_t rows = ox_attn_tile_rows(a, NL);
  attn_tile tile = attn_tile_at(a, rows, index);
  attn_mem m = attn_split(a, scratch);
  if (ox_attn_is_few(a))
    attn_few(a, &tile, &m);
  else
    attn_many(a, &tile, &m);
}
