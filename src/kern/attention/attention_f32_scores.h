/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/attention_f32_scores.h - shared by both variants of attention_f32_body.h: scratch, conversion of rows
 * to floats, bias, and the softmax. */

/* Scratch of a tile; see ox_attn_scratch. For many rows, q, o, most and sum are those of the current group. */
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
  size_t lanes = OX_MAX((size_t)NL, (size_t)OX_ATTN_FEW), rows = lanes * (size_t)ox_attn_groups(a, NL);
  size_t keys = (size_t)ox_attn_block_keys(a) + 16, d = (size_t)a->d + 16, dv = (size_t)a->dv + 16;
  attn_mem m = {0};
  m.q = attn_take(&p, rows * d), m.o = attn_take(&p, rows * dv), m.s = attn_take(&p, lanes * keys);
  m.bias = attn_take(&p, lanes * keys), m.most = attn_take(&p, rows), m.sum = attn_take(&p, rows);
  m.row = attn_take(&p, OX_MAX(OX_MAX(d, dv), keys));
  if (ox_attn_copies(&a->k)) m.k = attn_take(&p, keys * d);
  if (ox_attn_copies(&a->v)) m.v = attn_take(&p, keys * dv);
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

OX_INLINE vf32 attn_load(uint32_t dtype, const void *p, int64_t at, size_t n) {
  if (dtype == OX_F32) return n == L ? vf32_load((const float *)p + at) : vf32_load_n((const float *)p + at, n);
  if (dtype == OX_F16) return vf32_load_f16_n((const uint16_t *)p + at, n);
  return vf32_load_bf16_n((const uint16_t *)p + at, n);
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

/* Rows [t, t + n) of k or v as floats: in place, or converted into |buf| with a padded stride, since rows of a multiple
 * of 512 bytes would fall on few cache sets. */
static const float *attn_rows_f32(const ox_attn_mat *m, const attn_tile *tile, int64_t t, int64_t n, int64_t width,
                                  float *buf, int64_t *stride) {
  int64_t at = attn_at(m, tile->b, tile->hk, t);
  *stride = m->row;
  if (!ox_attn_copies(m)) return (const float *)m->p + at;
  *stride = width + 16;
  for (int64_t i = 0; i < n; i++) attn_widen(m->dtype, m->p, at + i * m->row, width, buf + i * *stride);
  return buf;
}

/* Reads one bias of one row for |n| keys, all of which it has. */
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

/* The sum of both biases of one row for keys [t, t + n), into |out|; |row| is scratch of the same size. */
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

/* Writes a row of qk. With QK_BIASED, |s| is a copy and is modified. */
static void attn_put_qk(const ox_attn *a, int64_t b, const attn_row *r, float *s, int64_t n) {
  if (a->qk_mode == OX_ATTN_QK_BIASED && a->qk_forbidden != -INFINITY)
    for (int64_t i = 0; i < n; i++) s[i] = s[i] == -INFINITY ? a->qk_forbidden : s[i];
  attn_narrow(a->q.dtype, s, n, a->qk, ((b * a->heads + r->h) * a->q_len + r->s) * a->kv_len);
}

/* Whether a row whose weights add up to |sum| gives zeros whatever its sums of products are. */
OX_INLINE bool attn_gives_zeros(const ox_attn *a, float sum) { return a->nan_to_zero && isnan(sum); }

/* p * 2^n, where the result is a normal number. */
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

static void attn_cap_block(float *s, int64_t n, float cap) {
  for (int64_t i = 0; i < n; i += L) vf32_store(s + i, attn_cap(vf32_load(s + i), cap));
}

/* s + bias; a bias of -inf gives -inf, even for a score of inf or NaN */
OX_INLINE vf32 attn_biased(vf32 s, vf32 bias) {
  return vf32_select(vf32_eq(bias, vf32_splat(-INFINITY)), bias, vf32_add(s, bias));
}

/* e^(s - top) with top = attn_top(most): a weight in (0, 1]. The difference is taken before multiplying by log2(e), as
 * it is exact near the top, while the products of large scores would lose digits. 2^r is our own minimax polynomial
 * (relative error 2e-7); results below 2^-126 are 0, so that no denormals reach the products. */
OX_INLINE vf32 attn_weight(vf32 s, vf32 top) {
  vf32 x = vf32_mul(vf32_sub(s, top), vf32_splat(0x1.715476p+0f)), n = vf32_round(x), r = vf32_sub(x, n);
  vf32 p = vf32_fma(vf32_splat(0x1.5c08e6p-10f), r, vf32_splat(0x1.3d0c52p-7f));
  p = vf32_fma(p, r, vf32_splat(0x1.c6b6e4p-5f));
  p = vf32_fma(p, r, vf32_splat(0x1.ebf918p-3f));
  p = vf32_fma(p, r, vf32_splat(0x1.62e428p-1f));
  p = vf32_fma(p, r, vf32_splat(0x1.000002p+0f));
  return vf32_select(vf32_le(x, vf32_splat(-126.0f)), vf32_zero(), attn_scale2(p, n));
}

/* The largest score; 0 if no key was seen yet, as then every s is -inf, too. */
OX_INLINE vf32 attn_top(vf32 most) { return vf32_select(vf32_eq(most, vf32_splat(-INFINITY)), vf32_zero(), most); }
