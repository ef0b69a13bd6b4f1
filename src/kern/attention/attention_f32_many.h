/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/attention_f32_many.h - attention for many query rows. For the scores, lanes are query rows, q is
 * transposed, and one element of k is broadcast at a time; so the softmax needs no horizontal operations, and its
 * weights are stored in the order in which the second product broadcasts them. There lanes are columns of v. k and v
 * are read in place. A tile has a few groups of rows, which share each block of keys. Part of attention_f32_body.h. */

enum { PR = ATTN_PR, PV = ATTN_PV }; /* query rows and vectors of v in a register block */

/* s[i][lane] = (k row i) . q[.][lane] + bias[i] for |mr| keys; |bias| may be NULL */
OX_INLINE void attn_qk_block(const int mr, const int nv, const float *k, int64_t stride, const float *q, int64_t d,
                             const float *bias, float *s) {
  vf32 acc[MR][NV];
  OX_UNROLL for (int i = 0; i < mr; i++) OX_UNROLL for (int j = 0; j < nv; j++) acc[i][j] = vf32_zero();
  int64_t e = 0;
#if ATTN_MR == 6 && ATTN_NV == 2
  if (mr == MR && nv == NV) {
    const float *first = k, *second = k + 3 * stride;
    const ptrdiff_t row = stride * (ptrdiff_t)sizeof(float);
#define ATTN_STEP(c)                                                            \
  {                                                                             \
    const vf32 x[2] = {vf32_load(q + (c)*2 * L), vf32_load(q + (c)*2 * L + L)}; \
    OX_SUMS_STEP(acc, mr, first, second, row, c, x);                            \
  }
    OX_SUMS_OPEN(acc, mr);
    for (; e + 4 <= d; e += 4, q += 8 * L, first += 4, second += 4) {
      OX_FOUR(ATTN_STEP)
    }
    OX_SUMS_CLOSE(acc, mr);
#undef ATTN_STEP
  }
#endif
  for (; e < d; e++, q += nv * L) {
    vf32 x[NV];
    OX_UNROLL for (int j = 0; j < nv; j++) x[j] = vf32_load(q + j * L);
    OX_UNROLL for (int i = 0; i < mr; i++) {
      vf32 y = vf32_splat(k[i * stride + e]);
      OX_UNROLL for (int j = 0; j < nv; j++) acc[i][j] = vf32_fma(y, x[j], acc[i][j]);
    }
  }
  if (bias)
    OX_UNROLL for (int i = 0; i < mr; i++) OX_UNROLL for (int j = 0; j < nv; j++) acc[i][j] =
        vf32_add(acc[i][j], vf32_splat(bias[i]));
  OX_UNROLL for (int i = 0; i < mr; i++) OX_UNROLL for (int j = 0; j < nv; j++)
      vf32_store(s + (i * nv + j) * L, acc[i][j]);
}

/* MR keys by a group, and by half of one. Not inlined: their callers have too few registers left for the addresses of
 * so many rows. */
static OX_NOINLINE void attn_qk_group(const float *k, int64_t stride, const float *q, int64_t d, const float *bias,
                                      float *s) {
  attn_qk_block(MR, NV, k, stride, q, d, bias, s);
}

static OX_NOINLINE void attn_qk_half(const float *k, int64_t stride, const float *q, int64_t d, const float *bias,
                                     float *s) {
  attn_qk_block(MR, NVH, k, stride, q, d, bias, s);
}

/* o[r] = o[r] * scale[r] + sum over t of p[t][r] v[t], for PR rows, of which |rows| are stored, and |pv| vectors of v,
 * the last one with |last| lanes. |first|: there are no sums of earlier blocks in o. */
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

static void attn_fetch(const float *p, int64_t width) {
  for (int64_t e = 0; e < width; e += 16) OX_PREFETCH(p + e);
}

/* Scores of |n| keys. The last block overlaps the one before it if need be, which is faster than a smaller block. */
OX_INLINE void attn_qk(const int nv, const float *k, int64_t stride, const float *q, int64_t d, int64_t n,
                       const float *bias, float *s) {
  if (n < MR) {
    for (int64_t i = 0; i < n; i++)
      attn_qk_block(1, nv, k + i * stride, stride, q, d, bias ? bias + i : NULL, s + i * nv * L);
    return;
  }
  for (int64_t i = 0; i < n; i += MR) {
    int64_t at = OX_MIN(i, n - MR);
    (nv == NV ? attn_qk_group : attn_qk_half)(k + at * stride, stride, q, d, bias ? bias + at : NULL, s + at * nv * L);
  }
}

OX_INLINE void attn_pv(const int nv, const float *v, int64_t stride, const float *p, int64_t n, int64_t dv,
                       const float *scale, bool first, float *o, int64_t os, int64_t rows) {
  for (int64_t r = 0; r < rows; r += PR) {
    int64_t c = 0;
    float *to = o + r * os;
    for (; c + PV * L <= dv && (PV <= 2 || dv - c != 4 * L); c += PV * L) /* the last four are two and two */
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
  int64_t n, lo, hi;      /* number of rows; range of keys that any of them sees */
  int64_t all_lo, all_hi; /* range of keys that all of them see */
  bool same_bias;         /* all rows have the same bias row */
} attn_lanes;

static void attn_lanes_init(const ox_attn *a, const attn_tile *tile, int64_t first, int lanes, attn_lanes *w) {
  int64_t lo = INT64_MAX, hi = 0, all_lo = 0, all_hi = INT64_MAX;
  attn_row r = attn_row_at(a, tile, first);
  w->n = OX_MIN(tile->n - first, lanes);
  for (int i = 0; i < lanes; i++) {
    if (i > 0 && i < w->n) r = attn_row_next(a, tile, &r);
    w->row[i] = r;
    if (r.lo < r.hi) lo = OX_MIN(lo, r.lo), hi = OX_MAX(hi, r.hi);
    all_lo = OX_MAX(all_lo, r.lo), all_hi = OX_MIN(all_hi, r.hi);
  }
  w->lo = OX_MIN(lo, hi), w->hi = hi, w->all_lo = all_lo, w->all_hi = all_hi;
  bool positions = w->n > 1 && a->q_len > 1, heads = r.h != w->row[0].h;
  w->same_bias = true;
  for (int k = 0; k < 2; k++)
    if (a->bias[k].p && ((a->bias[k].row && positions) || (a->bias[k].head && heads))) w->same_bias = false;
}

/* The bias row with which the products can be initialized: one that all rows share, unless scores without bias are
 * needed, or it masks keys out (-inf, which must win over any score). Else NULL. */
static const float *attn_early_bias(const ox_attn *a, const attn_tile *tile, const attn_lanes *w, int64_t t, int64_t n,
                                    const attn_mem *m) {
  bool plain = a->softcap > 0 || a->qk_mode == OX_ATTN_QK_RAW || a->qk_mode == OX_ATTN_QK_CAPPED;
  if (!attn_has_bias(a) || !w->same_bias || plain) return NULL;
  attn_bias_row(a, tile->b, &w->row[0], t, n, m->bias, m->row);
  for (int64_t i = 0; i < n; i += L) {
    vf32 x = vf32_load_n(m->bias + i, vf32_lanes_at((size_t)i, (size_t)n));
    if (vm32_any(vf32_eq(x, vf32_splat(-INFINITY)))) return NULL;
  }
  return m->bias;
}

/* Whether biases are floats side by side, for keys up to |hi|. */
static bool attn_bias_is_plain(const ox_attn *a, int64_t hi) {
  for (int k = 0; k < 2; k++) {
    const ox_attn_bias *m = &a->bias[k];
    if (m->p && (m->dtype != OX_F32 || m->key != 1 || m->n < hi)) return false;
  }
  return true;
}

/* Adds biases x[row][key] to the scores from |at| on, of |live| keys. */
OX_INLINE void attn_add_square(const int nv, vf32 *x, size_t live, float *at) {
  vf32_transpose(x);
  if (live == L)
    OX_UNROLL for (int c = 0; c < L; c++, at += nv * L) vf32_store(at, attn_biased(vf32_load(at), x[c]));
  else
    for (int c = 0; c < (int)live; c++, at += nv * L) vf32_store(at, attn_biased(vf32_load(at), x[c]));
}

/* Adds plain biases, a row for each lane, to the |j|-th vectors of a block of scores: squares of L rows by L keys are
 * read in place and transposed. */
OX_INLINE void attn_plain_bias_lanes(const int nv, const ox_attn *a, const attn_tile *tile, const attn_lanes *w, int j,
                                     int64_t t0, int64_t n, const attn_mem *m) {
  const ox_attn_bias *first = &a->bias[a->bias[0].p ? 0 : 1], *second = a->bias[0].p ? &a->bias[1] : first;
  const bool two = second != first && second->p;
  const float *row[L], *more[L];
  for (int i = 0; i < L; i++) {
    row[i] = (const float *)first->p + attn_bias_at(first, tile->b, &w->row[j * L + i], t0);
    if (two) more[i] = (const float *)second->p + attn_bias_at(second, tile->b, &w->row[j * L + i], t0);
  }
  for (int64_t k = 0; k < n; k += L) {
    size_t live = vf32_lanes_at((size_t)k, (size_t)n);
    vf32 x[L];
    OX_UNROLL for (int i = 0; i < L; i++) x[i] = attn_load(OX_F32, row[i], k, live);
    if (two) OX_UNROLL for (int i = 0; i < L; i++) x[i] = vf32_add(x[i], attn_load(OX_F32, more[i], k, live));
    attn_add_square(nv, x, live, m->s + (k * nv + j) * L);
  }
}

/* Adds the bias to a block of scores. Where each row has its own, squares of L rows by L keys are transposed. */
OX_INLINE void attn_bias_lanes(const int nv, const ox_attn *a, const attn_tile *tile, const attn_lanes *w, int64_t t0,
                               int64_t n, const attn_mem *m) {
  if (w->same_bias) {
    attn_bias_row(a, tile->b, &w->row[0], t0, n, m->bias, m->row);
    for (int64_t t = 0; t < n; t++) OX_UNROLL for (int j = 0; j < nv; j++) {
        float *at = m->s + (t * nv + j) * L;
        vf32_store(at, attn_biased(vf32_load(at), vf32_splat(m->bias[t])));
      }
    return;
  }
  if (attn_bias_is_plain(a, t0 + n)) {
    for (int j = 0; j < nv; j++) attn_plain_bias_lanes(nv, a, tile, w, j, t0, n, m);
    return;
  }
  float rows[L][OX_ATTN_KEYS];
  for (int j = 0; j < nv; j++)
    for (int64_t t = 0; t < n; t += OX_ATTN_KEYS) {
      int64_t piece = OX_MIN(n - t, OX_ATTN_KEYS);
      for (int i = 0; i < L; i++) attn_bias_row(a, tile->b, &w->row[j * L + i], t0 + t, piece, rows[i], m->row);
      for (int64_t k = 0; k < piece; k += L) {
        vf32 x[L];
        OX_UNROLL for (int i = 0; i < L; i++) x[i] = vf32_load(rows[i] + k);
        attn_add_square(nv, x, vf32_lanes_at((size_t)k, (size_t)piece), m->s + ((t + k) * nv + j) * L);
      }
    }
}

/* Sets the scores of keys outside of the rows' windows to -inf. */
static void attn_window_lanes(int lanes, const attn_lanes *w, int64_t t0, int64_t n, float *s) {
  if (t0 >= w->all_lo && t0 + n <= w->all_hi) return;
  for (int i = 0; i < lanes; i++) {
    for (int64_t t = t0; t < OX_MIN(w->row[i].lo, t0 + n); t++) s[(t - t0) * lanes + i] = -INFINITY;
    for (int64_t t = OX_MAX(w->row[i].hi, t0); t < t0 + n; t++) s[(t - t0) * lanes + i] = -INFINITY;
  }
}

/* Turns scores into weights and updates the running maximum and sum; |scale|: factors for the sums of earlier blocks.
 */
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

/* Writes the transposed block |s|, which holds all keys, to qk, divided by each lane's |sum| unless that is NULL. */
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
    if (a->q.dtype == OX_F32) attn_fetch((const float *)a->q.p + at[i], a->d);
  }
  for (int i = 0; i < lanes; i += L)
    for (int64_t e = 0; e < a->d; e += L) { /* transposes L rows by L elements */
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
  const bool wide = a->out.dtype == OX_F32;
  const int64_t dv = a->dv;
  for (int i = 0; i < NL; i += L) {
    vf32 sum = none ? vf32_zero() : vf32_load(m->sum + i); /* 0 if the row sees no key; NaN stays */
    vf32_store(m->sum + i, vf32_select(vf32_gt(sum, vf32_zero()), vf32_div(vf32_splat(1.0f), sum), sum));
  }
  for (int i = 0; i < w->n; i++) {
    const bool zeros = none || attn_gives_zeros(a, m->sum[i]);
    vf32 scale = vf32_splat(zeros ? 0 : m->sum[i]);
    int64_t at = attn_at(&a->out, tile->b, w->row[i].h, w->row[i].s), e = 0;
    float *o = m->o + i * (dv + 16), *to = wide ? (float *)a->out.p + at : o;
    for (; e < dv && zeros; e++) o[e] = 0;
    for (e = 0; e + L <= dv; e += L) vf32_store(to + e, vf32_mul(vf32_load(o + e), scale));
    if (e < dv) vf32_store_n(to + e, vf32_mul(vf32_load(o + e), scale), (size_t)(dv - e));
    if (!wide) attn_narrow(a->out.dtype, o, dv, a->out.p, at);
  }
}

/* Processes one block of keys for one group of rows. */
OX_INLINE void attn_group_block(const int nv, const ox_attn *a, const attn_tile *tile, const attn_lanes *w, int64_t t,
                                int64_t n, const float *k, int64_t ks, const float *v, int64_t vs, bool first,
                                attn_mem *m) {
  float scale[NL];
  const float *bias = attn_early_bias(a, tile, w, t, n, m);
  attn_qk(nv, k, ks, m->q, a->d, n, bias, m->s);
  if (a->qk_mode == OX_ATTN_QK_RAW) attn_put_qk_lanes(a, tile, w, nv * L, n, m->s, NULL, m);
  if (a->softcap > 0) attn_cap_block(m->s, n * nv * L, a->softcap);
  if (a->qk_mode == OX_ATTN_QK_CAPPED) attn_put_qk_lanes(a, tile, w, nv * L, n, m->s, NULL, m);
  if (attn_has_bias(a) && !bias) attn_bias_lanes(nv, a, tile, w, t, n, m);
  attn_window_lanes(nv * L, w, t, n, m->s);
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
