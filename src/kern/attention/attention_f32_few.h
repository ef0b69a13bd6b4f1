/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/attention_f32_few.h - attention for few query rows (decoding): vectors run along rows of k and v, each
 * of which is read once. Part of attention_f32_body.h. */

enum { FEW = 4, VP = 4 }; /* rows at a time; vectors of a row of v at a time */

/* s[r * keys + i] = (q row r) . (k row i), for |rows| rows and |mk| keys */
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

/* o[r] = o[r] * scale[r] + sum over t of p[r][t] v[t], for |rows| rows and |vp| vectors of columns of v */
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

/* Turns one row's scores of a block into weights, in place, after cap, bias and mask. |*scale|: the factor by which
 * sums of earlier blocks must be multiplied. */
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
  const float *k = attn_rows_f32(&a->k, tile, t, n, a->d, m->k, &ks);
  const float *v = attn_rows_f32(&a->v, tile, t, n, a->dv, m->v, &vs);
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
    for (int64_t e = 0; e < a->d; e++) m->q[i * d + e] *= (float)a->scale;
    for (int64_t e = 0; e < dv; e++) m->o[i * dv + e] = 0;
    m->most[i] = a->sink ? a->sink[row[i].h] : -INFINITY, m->sum[i] = a->sink ? 1.0f : 0.0f;
  }
  if (a->qk_mode != OX_ATTN_QK_NONE) lo = 0, hi = a->kv_len;
  for (int64_t t = lo; t < hi; t += keys) attn_few_rows(a, tile, row, t, OX_MIN(hi - t, keys), m);
  for (int64_t i = 0; i < tile->n; i++) {
    float scale = m->sum[i] > 0 ? 1.0f / m->sum[i] : m->sum[i]; /* 0 if the row sees no key; NaN stays */
    for (int64_t e = 0; e < a->dv; e++) m->o[i * dv + e] *= scale;
    for (int64_t e = 0; attn_gives_zeros(a, m->sum[i]) && e < a->dv; e++) m->o[i * dv + e] = 0;
    attn_narrow(a->out.dtype, m->o + i * dv, a->dv, a->out.p, attn_at(&a->out, tile->b, row[i].h, row[i].s));
  }
}
