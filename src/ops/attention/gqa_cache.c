/* SPDX-License-Identifier: Apache-2.0
 * ops/attention/gqa_cache.c - appends rows of keys and values to the cache: normalizes, rotates and quantizes them,
 * and drops rows that leave a sliding window. See gqa.h. */
#include <math.h>
#include <string.h>

#include "kern/attention/rotary.h"
#include "kern/quant/convert.h"
#include "ops/attention/gqa.h"

static char *element(const ox_attn_mat *m, int64_t b, int64_t h, int64_t row) {
  return (char *)m->p + (size_t)(b * m->batch + h * m->head + row * m->row) * ox_attn_item(m->dtype);
}

/* ---- queries and keys ---- */

/* A row of floats, one of the query's type and one of the cache's, for a head of k. */
size_t gqa_spare_bytes(const gqa_prep *p) { return OX_ROUND_UP((size_t)p->s.d * 3 * sizeof(float), OX_ALIGN_BYTES); }

static float *spare_of(const ox_kernel_ctx *c, int64_t b, int64_t hk) {
  const gqa_prep *p = c->prep;
  const gqa_run *r = c->shared;
  if (!r->spare) return NULL; /* it is not needed */
  return (float *)(void *)(r->spare + (size_t)(b * p->s.kv_heads + hk) * gqa_spare_bytes(p));
}

static void normalize(const ox_kernel_ctx *c, uint32_t weight, const void *from, float *x, void *to) {
  const gqa_prep *p = c->prep;
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t type = c->in[Q]->dtype;
  size_t d = (size_t)p->s.d;
  float *w = x + d;
  double sum = 0;
  cv->load_f32[type](from, 0, d, x), cv->load_f32[type](c->in[weight]->data, 0, d, w);
  for (size_t i = 0; i < d; i++) sum += (double)x[i] * (double)x[i];
  float by = (float)(1 / sqrt(sum / (double)d + (double)((const gqa_attrs *)c->attrs)->qk_norm_epsilon));
  for (size_t i = 0; i < d; i++) x[i] = x[i] * by * w[i];
  cv->store_f32[type](x, to, 0, d, NULL);
}

/* The position of token |i| of batch item |b|. For a prompt only the first of the given positions is used. */
static ox_status *position_of(const ox_kernel_ctx *c, int64_t b, int64_t i, int64_t *out) {
  const gqa_prep *p = c->prep;
  const gqa_run *r = c->shared;
  const int64_t *given = ox_ctx_has(c, POS) ? c->in[POS]->data : NULL;
  *out = !given ? gqa_lens_of(c)[b].first + i : r->prompt ? ox_dim_add(given[0], i) : given[b * p->s.q_len + i];
  if (*out >= 0 && *out < p->angles) return NULL;
  return ox_fail(OX_INVALID_ARGUMENT, "position %lld is outside the rotary caches of %lld", (long long)*out,
                 (long long)p->angles);
}

/* Normalizes and rotates token |i|'s row of a query or key from |from| to |to|. |weight|: the input with the weights of
 * its norm. */
static ox_status *normalize_and_rotate(const ox_kernel_ctx *c, uint32_t weight, int64_t b, int64_t i, const void *from,
                                       float *spare, void *to) {
  const gqa_prep *p = c->prep;
  uint32_t type = c->in[Q]->dtype;
  size_t item = ox_attn_item(type);
  int64_t at;
  if (ox_ctx_has(c, weight)) normalize(c, weight, from, spare, to), from = to;
  if (!p->half) {
    if (from != to) memcpy(to, from, (size_t)p->s.d * item);
    return NULL;
  }
  OX_TRY(position_of(c, b, i, &at));
  size_t angle = (size_t)(at * p->half) * item;
  ox_rotary_select(c->isa)->row(type, from, (const char *)c->in[COS]->data + angle,
                                (const char *)c->in[SIN]->data + angle, p->half, p->s.d,
                                ((const gqa_attrs *)c->attrs)->rotary_interleaved != 0, to);
  return NULL;
}

/* ---- quantized rows ---- */

/* The scales of a head: one for each channel, or for all. */
typedef struct scales {
  const float *v;
  int64_t step;
} scales;

/* 1 for a cache of floats, which only have another type than the query. */
static scales scales_of(const ox_kernel_ctx *c, uint32_t input, int64_t b, int64_t h) {
  static const float one = 1;
  if (gqa_is_real(((const gqa_prep *)c->prep)->cache)) return (scales){&one, 0};
  const ox_tensor *t = c->in[input];
  int64_t dim[4] = {1, 1, 1, 1};
  for (int i = 0; i < t->shape.rank; i++) dim[4 - t->shape.rank + i] = t->shape.dim[i];
  int64_t at = (dim[0] > 1 ? b : 0) * dim[1] + (dim[1] > 1 ? h : 0);
  return (scales){(const float *)t->data + at * dim[3], dim[3] > 1};
}

/* A row of floats as elements of the cache; 4 bits: two in a byte, the first one low, 8 is 0. */
static void quantize(uint32_t cache, scales s, float *x, int64_t d, void *to) {
  static const ox_narrow_how how = {.saturate = true};
  for (int64_t i = 0; i < d; i++) x[i] /= s.v[i * s.step];
  if (cache == OX_F8E4M3FN || gqa_is_real(cache)) {
    ox_convert_select(0)->store_f32[cache](x, to, 0, (size_t)d, &how);
    return;
  }
  float most = cache == OX_U8 ? 7 : 127;
  for (int64_t i = 0; i < d; i++) x[i] = fmaxf(fminf(rintf(x[i]), most), -most - 1);
  for (int64_t i = 0; i < d; i += cache == OX_U8 ? 2 : 1) {
    if (cache == OX_I8)
      ((int8_t *)to)[i] = (int8_t)x[i];
    else
      ((uint8_t *)to)[i / 2] = (uint8_t)((int)x[i] + 8 + (i + 1 < d ? ((int)x[i + 1] + 8) << 4 : 0));
  }
}

static void dequantize(uint32_t cache, scales s, const void *from, int64_t d, float *x) {
  const uint8_t *bytes = from;
  if (cache == OX_U8)
    for (int64_t i = 0; i < d; i++) x[i] = (float)((int)(bytes[i / 2] >> (i % 2 ? 4 : 0) & 15) - 8);
  else
    ox_convert_select(0)->load_f32[cache](from, 0, (size_t)d, x);
  for (int64_t i = 0; i < d; i++) x[i] *= s.v[i * s.step];
}

/* ---- the cache ---- */

/* Keys or values of one head. */
typedef struct stream {
  bool is_key;
  uint32_t scale;                   /* input */
  ox_attn_mat fresh, past, present; /* as given, and the cache before and after */
  ox_attn_mat seen;                 /* what attention reads: the present itself, or staged rows */
} stream;

/* The present may be the past's own buffer, so what attention reads is taken from there first. */
static void keep_past(const ox_kernel_ctx *c, const stream *x, int64_t b, int64_t h, const gqa_lens *n) {
  const gqa_prep *p = c->prep;
  size_t row = (size_t)p->s.width * ox_attn_item(p->cache);
  int64_t gone = n->kept + n->fresh - n->stays; /* rows that leave the cache */
  if (p->quantized) {
    scales s = scales_of(c, x->scale, b, h);
    for (int64_t i = 0; i < n->kept; i++)
      dequantize(p->cache, s, element(&x->past, b, h, i), p->s.d, (float *)(void *)element(&x->seen, b, h, i));
  } else if (p->staged && n->kept) {
    memcpy(element(&x->seen, b, h, 0), element(&x->past, b, h, 0), (size_t)n->kept * row);
  }
  char *to = element(&x->present, b, h, 0), *from = element(&x->past, b, h, gone);
  if (n->kept > gone && to != from) memmove(to, from, (size_t)(n->kept - gone) * row);
}

/* Writes new row |i| to where attention reads it, and to the present if it stays there. Attention reads quantized rows
 * dequantized. */
static ox_status *add_row(const ox_kernel_ctx *c, const stream *x, int64_t b, int64_t h, const gqa_lens *n, int64_t i) {
  const gqa_prep *p = c->prep;
  uint32_t type = c->in[Q]->dtype;
  size_t d = (size_t)p->s.d;
  int64_t at = i - n->fresh + n->stays; /* in the present */
  float *spare = spare_of(c, b, h);
  char *from = element(&x->fresh, b, h, i), *seen = element(&x->seen, b, h, n->kept + i);
  char *to = p->quantized ? (char *)(spare + 2 * d) : seen;
  if (x->is_key && p->transformed)
    OX_TRY(normalize_and_rotate(c, K_NORM, b, i, from, spare, to));
  else
    memcpy(to, from, d * ox_attn_item(type));
  if (!p->staged) return NULL;
  bool stays = at >= 0;
  if (!p->quantized) {
    if (stays) memcpy(element(&x->present, b, h, at), seen, d * ox_attn_item(type));
    return NULL;
  }
  scales s = scales_of(c, x->scale, b, h);
  ox_convert_select(c->isa)->load_f32[type](to, 0, d, spare);
  quantize(p->cache, s, spare, p->s.d, to);
  if (stays) memcpy(element(&x->present, b, h, at), to, (size_t)p->s.width * ox_attn_item(p->cache));
  dequantize(p->cache, s, to, p->s.d, (float *)(void *)seen);
  return NULL;
}

static ox_status *append_stream(const ox_kernel_ctx *c, const stream *x, int64_t b, int64_t h) {
  const gqa_prep *p = c->prep;
  const gqa_run *r = c->shared;
  gqa_lens n = gqa_lens_of(c)[b];
  keep_past(c, x, b, h, &n);
  for (int64_t i = 0; i < n.fresh; i++) OX_TRY(add_row(c, x, b, h, &n, i));
  size_t rest = (size_t)((r->present - n.stays) * p->s.width) * ox_attn_item(p->cache);
  bool theirs = x->past.p == x->present.p && !c->cache_rows; /* one buffer of the caller's: the rest stays as it is */
  if (rest && !theirs) memset(element(&x->present, b, h, n.stays), 0, rest); /* rows that no key fills yet */
  return NULL;
}

/* [batch, heads of k, rows, width]. */
static ox_attn_mat cache_mat(const gqa_prep *p, void *data, uint32_t type, int64_t rows, int64_t width) {
  return (ox_attn_mat){data, type, p->s.kv_heads * rows * width, rows * width, width};
}

/* Copies the columns of the bias for the rows that are in the cache, for the heads that share |hk|. */
static void select_bias(const ox_kernel_ctx *c, const ox_attn *a, int64_t b, int64_t hk) {
  const gqa_prep *p = c->prep;
  const gqa_run *r = c->shared;
  const ox_tensor *t = c->in[ADD];
  const gqa_lens *n = &gqa_lens_of(c)[b];
  size_t item = ox_attn_item(t->dtype);
  int64_t per = p->s.heads / p->s.kv_heads, from = n->first - n->kept, heads = t->shape.dim[1];
  for (int64_t h = hk * per; h < (hk + 1) * per; h++)
    for (int64_t i = 0; i < p->s.q_len; i++) {
      int64_t row = ((t->shape.dim[0] > 1 ? b : 0) * heads + (heads > 1 ? h : 0)) * t->shape.dim[2] +
                    (t->shape.dim[2] > 1 ? i : 0);
      char *to = (char *)r->bias + (size_t)(((b * p->s.heads + h) * p->s.q_len + i) * a->kv_len) * item;
      memcpy(to, (const char *)t->data + (size_t)(row * r->total + from) * item, (size_t)(n->kept + n->fresh) * item);
    }
}

ox_status *gqa_append(const ox_kernel_ctx *c, const ox_attn *a, int64_t b, int64_t hk) {
  const gqa_prep *p = c->prep;
  const gqa_sizes *s = &p->s;
  const gqa_run *r = c->shared;
  uint32_t type = c->in[Q]->dtype;
  int64_t heads = s->packed ? s->heads + 2 * s->kv_heads : s->kv_heads, row = heads * s->d, apart = c->cache_rows;
  int64_t q_row = s->packed ? row : s->heads * s->d;
  char *packed = (char *)c->in[Q]->data + (size_t)(s->heads * s->d) * ox_attn_item(type);
  for (int i = 0; i < 2; i++) {
    const ox_tensor *past = ox_ctx_has(c, PAST_K + i) ? c->in[PAST_K + i] : NULL;
    char *fresh = s->packed ? packed + (size_t)(i * s->kv_heads * s->d) * ox_attn_item(type) : c->in[K + i]->data;
    stream x = {.is_key = i == 0,
                .scale = i ? V_SCALE : K_SCALE,
                .fresh = {fresh, type, s->q_len * row, s->d, row},
                .past = cache_mat(p, past ? past->data : NULL, p->cache, apart ? apart : s->past, s->width),
                .present = cache_mat(p, i ? r->present_v : r->present_k, p->cache, apart ? apart : r->present, s->width),
                .seen = i ? a->v : a->k};
    OX_TRY(append_stream(c, &x, b, hk));
  }
  if (r->bias) select_bias(c, a, b, hk);
  if (!p->transformed) return NULL;
  int64_t per = s->heads / s->kv_heads;
  ox_attn_mat q = {c->in[Q]->data, type, s->q_len * q_row, s->d, q_row};
  for (int64_t h = hk * per; h < (hk + 1) * per; h++)
    for (int64_t i = 0; i < s->q_len; i++)
      OX_TRY(normalize_and_rotate(c, Q_NORM, b, i, element(&q, b, h, i), spare_of(c, b, hk), element(&a->q, b, h, i)));
  return NULL;
}
