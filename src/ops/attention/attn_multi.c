/* SPDX-License-Identifier: Apache-2.0
 * ops/attention/attn_multi.c - see attn_multi.h. */
#include "ops/attention/attn_multi.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- plan ---- */
static ox_status *plan_mask(attn_multi *m) {
  char text[OX_SHAPE_TEXT];
  m->form = MASK_NONE;
  if (!m->mask) return NULL;
  const ox_shape *s = &m->mask->shape;
  m->mask_dim = s->rank > 0 ? s->dim[s->rank - 1] : 0;
  if (s->rank == 1 && (m->mask_dim == m->batch || m->mask_dim == 2 * m->batch)) {
    m->form = MASK_LENGTHS;
    m->mask_dim = m->batch ? m->mask_dim / m->batch : 1;
  } else if (s->rank == 2 && s->dim[0] == m->batch && (m->mask_dim == m->total || m->mask_dim == m->kv_len)) {
    m->form = MASK_KEYS;
  } else if (s->rank == 3 && s->dim[0] == m->batch && s->dim[1] == m->q_len && m->mask_dim == m->total) {
    m->form = MASK_ROWS;
  } else if (s->rank == 4 && s->dim[0] == m->batch && s->dim[1] == 1 && s->dim[2] == m->mask_dim &&
             m->mask_dim >= m->total) {
    m->form = MASK_SQUARE;
  } else {
    return ox_fail(OX_SHAPE_MISMATCH, "the mask %s fits no form for batch %lld, %lld rows, %lld keys",
                   ox_shape_text(s, text), (long long)m->batch, (long long)m->q_len, (long long)m->total);
  }
  return NULL;
}

static int64_t mask_rows(const attn_multi *m) { return m->form >= MASK_ROWS ? m->q_len : 1; }

static ox_attn_mat bnsh(const attn_multi *m, int64_t rows, int64_t width) {
  ox_tensor none = {.dtype = m->dtype};
  return ox_attn_bnsh(&none, m->heads, rows, width);
}

static size_t book(size_t *at, bool wanted, int64_t count, size_t item) {
  size_t here = *at;
  if (wanted) *at += OX_ROUND_UP((size_t)count * item, OX_ALIGN_BYTES);
  return here;
}

ox_status *attn_multi_plan(ox_kernel_ctx *c, attn_multi *m, uint32_t stage, size_t shared) {
  size_t at = OX_ROUND_UP(shared, OX_ALIGN_BYTES), item = ox_attn_item(m->dtype);
  int64_t bh = m->batch * m->heads;
  m->total = m->past + m->kv_len;
  m->rows = OX_MAX(m->rows, m->total);
  m->stage = stage;
  OX_TRY(plan_mask(m));
  bool joins = m->rows > m->kv_len || m->kv_bias;
  m->copies_q = m->q_bias, m->copies_k = joins || m->wants_k, m->copies_v = joins || m->wants_v;
  m->q_at = book(&at, m->copies_q, bh * m->q_len * m->d, item);
  m->k_at = book(&at, m->copies_k && !m->wants_k, bh * m->rows * m->d, item);
  m->v_at = book(&at, m->copies_v && !m->wants_v, bh * m->rows * m->dv, item);
  m->beam_k_at = book(&at, m->beam > 0, bh * m->total * m->d, item);
  m->beam_v_at = book(&at, m->beam > 0, bh * m->total * m->dv, item);
  m->mask_at = book(&at, m->form, m->batch * mask_rows(m) * m->total, sizeof(float));
  c->shared_bytes = at;
  double scale = m->scale != 0 ? (double)m->scale : 1 / sqrt((double)OX_MAX(m->d, 1));
  m->a = (ox_attn){.batch = m->batch,
                   .heads = m->heads,
                   .kv_heads = m->heads,
                   .q_len = m->q_len,
                   .kv_len = m->total,
                   .d = m->d,
                   .dv = m->dv,
                   .q = m->q,
                   .k = m->k,
                   .v = m->v,
                   .out = m->out,
                   .scale = scale,
                   .left = -1,
                   .right = m->causal ? 0 : -1,
                   .offset = m->past,
                   .qk_mode = m->qk_mode,
                   .qk_forbidden = -FLT_MAX};
  if (m->copies_q) m->a.q = bnsh(m, m->q_len, m->d);
  m->present_k = bnsh(m, m->rows, m->d), m->present_v = bnsh(m, m->rows, m->dv);
  if (m->copies_k) m->a.k = m->present_k;
  if (m->copies_v) m->a.v = m->present_v;
  if (m->beam) m->a.k = bnsh(m, m->total, m->d), m->a.v = bnsh(m, m->total, m->dv);
  if (m->form)
    m->a.bias[0] =
        (ox_attn_bias){NULL, OX_F32, mask_rows(m) * m->total, 0, mask_rows(m) > 1 ? m->total : 0, 1, m->total, 0};
  if (m->add) OX_TRY(ox_attn_bias_of(m->add, "attention_bias", m->batch, m->heads, m->q_len, m->total, &m->a.bias[1]));
  if (m->add && m->a.bias[1].n != m->total)
    return ox_fail(OX_SHAPE_MISMATCH, "attention_bias has %lld keys, wanted %lld", (long long)m->a.bias[1].n,
                   (long long)m->total);
  c->n_tiles[stage] = m->copies_q || m->copies_k || m->copies_v ? bh : m->form ? m->batch : 0;
  ox_attn_book(c, stage + 1, &m->a);
  return NULL;
}

/* ---- the preparing stage ---- */
static void add_row(uint32_t dtype, const void *x, const void *b, int64_t n, void *y) {
  if (dtype == OX_F32) {
    for (int64_t i = 0; i < n; i++) ((float *)y)[i] = ((const float *)x)[i] + ((const float *)b)[i];
  } else if (dtype == OX_F16) {
    for (int64_t i = 0; i < n; i++)
      ((uint16_t *)y)[i] =
          ox_f16_from_f32(ox_f16_to_f32(((const uint16_t *)x)[i]) + ox_f16_to_f32(((const uint16_t *)b)[i]));
  } else {
    for (int64_t i = 0; i < n; i++)
      ((uint16_t *)y)[i] =
          ox_bf16_from_f32(ox_bf16_to_f32(((const uint16_t *)x)[i]) + ox_bf16_to_f32(((const uint16_t *)b)[i]));
  }
}

static char *at(const ox_attn_mat *m, int64_t b, int64_t h, int64_t row) {
  return (char *)m->p + (size_t)(b * m->batch + h * m->head + row * m->row) * ox_attn_item(m->dtype);
}

/* Rows of |from| plus head |h|'s bias (from element |first| on), to rows |skip| and up of |to|. */
static void biased_rows(const attn_multi *m, const ox_attn_mat *from, const void *bias, int64_t first, int64_t b,
                        int64_t h, int64_t rows, int64_t skip, int64_t width, const ox_attn_mat *to) {
  const char *add = (const char *)bias + (size_t)(first + h * width) * ox_attn_item(m->dtype);
  for (int64_t i = 0; i < rows; i++) add_row(m->dtype, at(from, b, h, i), add, width, at(to, b, h, skip + i));
}

static void join(const attn_multi *m, const ox_attn_mat *past, const ox_attn_mat *fresh, const ox_attn_mat *to,
                 const void *bias, int64_t first, int64_t width, int64_t b, int64_t h) {
  bool plain = !m->kv_bias;
  attn_append a = {*past, *fresh, *to, m->past, plain ? m->kv_len : 0, width};
  ox_attn_append(&a, b, h);
  if (!plain) biased_rows(m, fresh, bias, first, b, h, m->kv_len, m->past, width, to);
  if (m->rows > m->total && past->p != to->p) /* the rest of the buffer stays as it is */
    memcpy(at(to, b, h, m->total), at(past, b, h, m->total),
           (size_t)((m->rows - m->total) * width) * ox_attn_item(m->dtype));
}

/* Rows of the past come from the items that |beams| names, new ones from the item itself. */
static void follow_beams(const attn_multi *m, const int32_t *beams, const ox_attn_mat *past, const ox_attn_mat *present,
                         const ox_attn_mat *to, int64_t width, int64_t b, int64_t h) {
  size_t row = (size_t)width * ox_attn_item(m->dtype);
  const int32_t *from = beams + b * m->beam_len;
  for (int64_t t = 0; t < m->past; t++) memcpy(at(to, b, h, t), at(past, b / m->beam * m->beam + from[t], h, t), row);
  memcpy(at(to, b, h, m->past), at(present, b, h, m->past), row * (size_t)m->kv_len);
}

/* Row |s| of the mask of batch item |b|, as numbers to add to the scores. */
static void mask_row(const attn_multi *m, const int32_t *mask, int64_t b, int64_t s, float *out) {
  const int32_t *row = mask;
  int64_t skip = 0; /* keys that the mask has no columns for */
  if (m->form == MASK_LENGTHS) {
    int64_t end = mask[b], start = m->mask_dim == 2 ? mask[m->batch + b] : 0;
    for (int64_t t = 0; t < m->total; t++) out[t] = t >= start && t < end ? 0.0f : m->filter;
    return;
  }
  if (m->form == MASK_KEYS) row += b * m->mask_dim, skip = m->total - m->mask_dim;
  if (m->form == MASK_ROWS) row += (b * m->q_len + s) * m->total;
  if (m->form == MASK_SQUARE) row += (b * m->mask_dim + OX_MIN(m->past + s, m->mask_dim - 1)) * m->mask_dim;
  for (int64_t t = 0; t < m->total; t++) out[t] = t < skip || row[t - skip] > 0 ? 0.0f : m->filter;
}

/* |plan| with the pointers of this run. */
static attn_multi bind(const ox_kernel_ctx *c, const attn_multi *plan, const attn_multi_io *io) {
  attn_multi m = *plan;
  char *shared = c->shared;
  m.q.p = (void *)io->q, m.k.p = (void *)io->k, m.v.p = (void *)io->v;
  m.past_k.p = (void *)io->past_k, m.past_v.p = (void *)io->past_v;
  m.present_k.p = m.wants_k ? io->present_k : shared + m.k_at;
  m.present_v.p = m.wants_v ? io->present_v : shared + m.v_at;
  m.a.q.p = m.copies_q ? shared + m.q_at : m.q.p;
  m.a.k.p = m.copies_k ? m.present_k.p : m.k.p;
  m.a.v.p = m.copies_v ? m.present_v.p : m.v.p;
  if (c->cache_rows) {
    ox_attn_mat *caches[] = {&m.past_k, &m.past_v, &m.present_k, &m.present_v, &m.a.k, &m.a.v};
    for (size_t i = 0; i < OX_COUNT(caches); i++) ox_attn_spread(caches[i], m.heads, c->cache_rows);
  }
  if (m.beam) m.a.k.p = shared + m.beam_k_at, m.a.v.p = shared + m.beam_v_at;
  m.a.out.p = io->out, m.a.qk = io->qk;
  if (m.form) m.a.bias[0].p = shared + m.mask_at;
  if (m.add) m.a.bias[1].p = io->add;
  return m;
}

static void prepare_tile(const attn_multi *m, const attn_multi_io *io, int64_t b, int64_t h, float *mask) {
  int64_t hidden = m->heads * m->d;
  if (m->copies_q) biased_rows(m, &m->q, io->bias, 0, b, h, m->q_len, 0, m->d, &m->a.q);
  if (m->copies_k) join(m, &m->past_k, &m->k, &m->present_k, io->bias, hidden, m->d, b, h);
  if (m->copies_v) join(m, &m->past_v, &m->v, &m->present_v, io->bias, 2 * hidden, m->dv, b, h);
  if (m->beam) {
    follow_beams(m, io->beams, &m->past_k, &m->present_k, &m->a.k, m->d, b, h);
    follow_beams(m, io->beams, &m->past_v, &m->present_v, &m->a.v, m->dv, b, h);
  }
  if (m->form && h == 0)
    for (int64_t s = 0; s < mask_rows(m); s++) mask_row(m, io->mask, b, s, mask + (b * mask_rows(m) + s) * m->total);
}

void attn_multi_run(const ox_kernel_ctx *c, const attn_multi *plan, const attn_multi_io *io, uint32_t stage,
                    ox_range tiles, void *scratch) {
  attn_multi m = bind(c, plan, io);
  if (stage > m.stage) {
    ox_attn_run_tiles(c, &m.a, tiles, scratch);
    return;
  }
  bool copies = m.copies_q || m.copies_k || m.copies_v;
  for (int64_t t = tiles.begin; t < tiles.end; t++)
    prepare_tile(&m, io, copies ? t / m.heads : t, copies ? t % m.heads : 0, (float *)((char *)c->shared + m.mask_at));
}
