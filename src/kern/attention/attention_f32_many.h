/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/attention_f32_many.h - attention of many query rows. Scores: lanes are query rows, q is transposed, one
 * element of k is broadcast at a time; so the softmax has no horizontal steps, and its weights lie in the order in which
 * the sums broadcast them. Sums: lanes are columns of v. k and v stay where they are; their rows are fetched ahead. A
 * tile has a few groups of rows, which share each block of keys. Part of attention_f32_body.h. */

enum { PR = ATTN_PR, PV = ATTN_PV }; /* query rows and vectors of v in a tile of sums */

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

/* o row r = o row r * scale[r] + sum over t of p[t][r] v[t], for PR rows, of which |rows| are stored, and |pv| vectors
 * of v, the last of |last| lanes. The first block finds no older sums. */
OX_INLINE void attn_pv_block(const int pv, const size_t last, const float *v, int64_t stride, const float *p,
                             int64_t lanes, int64_t n, const float *scale, bool first, float *o, int64_t os,
                             int64_t rows) {
  vf32 acc[PR][PV];
  OX_UNROLL for (int r = 0; r < PR; r++) OX_UNROLL for (int j = 0; j < pv; j++) acc[r][j] = vf32_zero();
  for (int64_t t = 0; t < n; t++, v += stride, p += lanes) {
    vf32 x[PV];
    OX_UNROLL for (int j = 0; j < pv; j++) x[j] = last == L ? vf32_load(v + j * L) : vf32_load_n(v, last);
    OX_UNROLL for (int r = 0; r < PR; r++) {
      vf32 y = vf32_splat(p[r]);
      OX_UNROLL for (int j = 0; j < pv; j++) acc[r][j] = vf32_fma(y, x[j], acc[r][j]);
    }
  }
  OX_UNROLL for (int r = 0; r < PR; r++) {
    if (r >= rows) return;
    OX_UNROLL for (int j = 0; j < pv; j++) {
      float *at = o + r * os + j * L;
      vf32_store(at, first ? acc[r][j] : vf32_fma(vf32_load(at), vf32_splat(scale[r]), acc[r][j]));
    }
  }
}

static void attn_fetch(const float *p, int64_t stride, int64_t rows, int64_t width) {
  for (int64_t i = 0; i < rows; i++, p += stride)
    for (int64_t e = 0; e < width; e += 16) OX_PREFETCH(p + e);
}

/* The last keys may be computed twice, which costs less than a block of few. */
OX_INLINE void attn_qk(const int nv, const float *k, int64_t stride, const float *q, int64_t d, int64_t n, float *s) {
  if (n < MR) {
    for (int64_t i = 0; i < n; i++) attn_qk_block(1, nv, k + i * stride, stride, q, d, s + i * nv * L);
    return;
  }
  for (int64_t i = 0; i < n; i += MR) {
    int64_t at = OX_MIN(i, n - MR);
    attn_qk_block(MR, nv, k + at * stride, stride, q, d, s + at * nv * L);
  }
}

/* The same for who reads these rows of k and v first: rows that lie apart are fetched ahead. */
OX_INLINE void attn_first_qk(const int nv, const ox_attn *a, const float *k, int64_t ks, const float *v, int64_t vs,
                             const float *q, int64_t n, float *s) {
  for (int64_t i = 0; i < n; i += MR) {
    int64_t rows = OX_MIN(n - i, MR);
    attn_fetch(k + (i + MR) * ks, ks, OX_MIN(n - i - rows, MR), a->d), attn_fetch(v + i * vs, vs, rows, a->dv);
    int64_t at = OX_MAX(OX_MIN(i, n - MR), 0);
    attn_qk(nv, k + at * ks, ks, q, a->d, OX_MIN(n, MR), s + at * nv * L);
  }
}

OX_INLINE void attn_pv(const int nv, const float *v, int64_t stride, const float *p, int64_t n, int64_t dv,
                       const float *scale, bool first, float *o, int64_t os, int64_t rows) {
  for (int64_t r = 0; r < rows; r += PR) {
    int64_t c = 0;
    float *to = o + r * os;
    for (; c + PV * L <= dv; c += PV * L)
      attn_pv_block(PV, L, v + c, stride, p + r, nv * L, n, scale + r, first, to + c, os, rows - r);
    for (; c + 2 * L <= dv; c += 2 * L)
      attn_pv_block(2, L, v + c, stride, p + r, nv * L, n, scale + r, first, to + c, os, rows - r);
    for (; c + L <= dv; c += L)
      attn_pv_block(1, L, v + c, stride, p + r, nv * L, n, scale + r, first, to + c, os, rows - r);
    if (c < dv)
      attn_pv_block(1, (size_t)(dv - c), v + c, stride, p + r, nv * L, n, scale + r, first, to + c, os, rows - r);
  }
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
OX_INLINE void attn_softmax_lanes(const int nv, float *s, int64_t n, float *most, float *sum, float *scale) {
  vf32 top[NV], more[NV], total[NV], base[NV];
  OX_UNROLL for (int j = 0; j < nv; j++) top[j] = more[j] = vf32_load(most + j * L);
  int64_t t = 0;
  for (; t + 2 <= n; t += 2) OX_UNROLL for (int j = 0; j < nv; j++) {
      top[j] = vf32_max(top[j], vf32_load(s + (t * nv + j) * L));
      more[j] = vf32_max(more[j], vf32_load(s + ((t + 1) * nv + j) * L));
    }
  OX_UNROLL for (int j = 0; j < nv; j++) {
    if (t < n) more[j] = vf32_max(more[j], vf32_load(s + (t * nv + j) * L));
    top[j] = vf32_max(top[j], more[j]);
    base[j] = attn_top(top[j]);
    vf32 old = attn_weight(vf32_load(most + j * L), base[j]);
    total[j] = vf32_mul(vf32_load(sum + j * L), old);
    vf32_store(scale + j * L, old), vf32_store(most + j * L, top[j]);
  }
  for (t = 0; t < n; t++) OX_UNROLL for (int j = 0; j < nv; j++) {
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
  const vf32 scale = vf32_splat((float)a->scale);
  int64_t at[NL];
  for (int i = 0; i < lanes; i++) {
    at[i] = attn_at(&a->q, tile->b, w->row[i].h, w->row[i].s);
    if (a->q.dtype == OX_F32) attn_fetch((const float *)a->q.p + at[i], 0, 1, a->d);
  }
  for (int i = 0; i < lanes; i += L)
    for (int64_t e = 0; e < a->d; e += L) { /* a square of L rows */
      size_t live = vf32_lanes_at((size_t)e, (size_t)a->d);
      vf32 x[L];
      OX_UNROLL for (int r = 0; r < L; r++) x[r] = vf32_mul(attn_load(a->q.dtype, a->q.p, at[i + r] + e, live), scale);
      vf32_transpose(x);
      OX_UNROLL for (int c = 0; c < L; c++) vf32_store(m->q + (e + c) * lanes + i, x[c]);
    }
  for (int i = 0; i < lanes; i++) {
    m->most[i] = a->sink ? a->sink[w->row[i].h] : -INFINITY;
    m->sum[i] = a->sink ? 1.0f : 0.0f;
  }
}

static void attn_store_o(const ox_attn *a, const attn_tile *tile, const attn_lanes *w, attn_mem *m, bool none) {
  for (int i = 0; i < w->n; i++) {
    float sum = none ? 0 : m->sum[i];
    vf32 scale = vf32_splat(sum > 0 ? 1.0f / sum : sum); /* 0: saw nothing; NaN passes */
    int64_t at = attn_at(&a->out, tile->b, w->row[i].h, w->row[i].s);
    float *o = m->o + i * (a->dv + 16), *to = a->out.dtype == OX_F32 ? (float *)a->out.p + at : o;
    for (int64_t e = 0; e < a->dv; e += L) {
      size_t live = vf32_lanes_at((size_t)e, (size_t)a->dv);
      vf32_store_n(to + e, none ? vf32_zero() : vf32_mul(vf32_load(o + e), scale), live);
    }
    if (a->out.dtype != OX_F32) attn_narrow(a->out.dtype, o, a->dv, a->out.p, at);
  }
}

/* One group of rows against one block of keys. */
OX_INLINE void attn_group_block(const int nv, const ox_attn *a, const attn_tile *tile, const attn_lanes *w, int64_t t,
                                int64_t n, const float *k, int64_t ks, const float *v, int64_t vs, bool first,
                                attn_mem *m) {
  float scale[NL];
  if (first)
    attn_first_qk(nv, a, k, ks, v, vs, m->q, n, m->s);
  else
    attn_qk(nv, k, ks, m->q, a->d, n, m->s);
  if (a->qk_mode == OX_ATTN_QK_RAW) attn_put_qk_lanes(a, tile, w, nv * L, n, m->s, NULL, m);
  if (a->softcap > 0) attn_cap_block(m->s, n * nv * L, a->softcap);
  if (a->qk_mode == OX_ATTN_QK_CAPPED) attn_put_qk_lanes(a, tile, w, nv * L, n, m->s, NULL, m);
  attn_mask_lanes(nv, a, tile, w, t, n, m);
  if (a->qk_mode == OX_ATTN_QK_BIASED) attn_put_qk_lanes(a, tile, w, nv * L, n, m->s, NULL, m);
  attn_softmax_lanes(nv, m->s, n, m->most, m->sum, scale);
  if (a->qk_mode == OX_ATTN_QK_SOFTMAX) attn_put_qk_lanes(a, tile, w, nv * L, n, m->s, m->sum, m);
  attn_pv(nv, v, vs, m->s, n, a->dv, scale, first, m->o, a->dv + 16, w->n);
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
  bool half[OX_ATTN_GROUPS], first[OX_ATTN_GROUPS],
      whole = a->qk_mode != OX_ATTN_QK_NONE; /* whole: one block holds all keys */
  int64_t keys = ox_attn_block_keys(a), lo = INT64_MAX, hi = 0, ks, vs;
  int groups = (int)OX_CEIL_DIV(tile->n, NL);
  for (int g = 0; g < groups; g++) {
    half[g] = NV > 1 && tile->n - g * NL <= NL / 2;
    own[g] = attn_group_mem(a, m, g), first[g] = true;
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
    const float *k = attn_rows_f32(&a->k, tile, t, n, a->d, m->k, &ks);
    const float *v = attn_rows_f32(&a->v, tile, t, n, a->dv, m->v, &vs);
    for (int g = 0; g < groups; g++) {
      if (!whole && (t >= w[g].hi || t + n <= w[g].lo)) continue;
      int64_t live = whole ? n : OX_MIN(n, w[g].hi - t);
      if (half[g])
        attn_group_block(NVH, a, tile, &w[g], t, live, k, ks, v, vs, first[g], &own[g]);
      else
        attn_group_block(NV, a, tile, &w[g], t, live, k, ks, v, vs, first[g], &own[g]);
      first[g] = false;
    }
  }
  for (int g = 0; g < groups; g++) attn_store_o(a, tile, &w[g], &own[g], first[g]);
}
