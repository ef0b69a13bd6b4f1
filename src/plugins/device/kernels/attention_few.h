/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/attention_few.h - attention of up to ATT_FEW rows, which reads K and V once. A group takes up to
 * ATT_RANGE keys of a head; attention_combine merges the partial results of a head's groups. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/attention_params.h"
#include "plugins/device/kernels/attention_common.h"

enum { ATT_QUARTERS = ATT_WIDEST / 4, ATT_LANES = 256 / ATT_FEW };

/* What a group computes: the |rows| of the heads that share head |hk| of K, in batch item |b|, with the keys from
 * |begin| to |end|. A row's position among the keys is its own plus |offset|. */
typedef struct attention_work {
  int rows, hk, b, offset, begin, end, k_base, v_base;
} attention_work;

FUNCTION void attention_divide(const attention_params *p, const GLOBAL char *lens, int group, int split,
                               attention_work *w) {
  int keys;
  w->rows = p->per * p->q_len, w->hk = group % p->kv_heads, w->b = group / p->kv_heads;
  keys = attention_keys(p, lens, w->b), w->offset = attention_offset(p, keys);
  w->begin = split * p->split_keys, w->end = MIN_OF(keys, w->begin + p->split_keys);
  w->k_base = w->b * p->k_batch + w->hk * p->k_head, w->v_base = w->b * p->v_batch + w->hk * p->v_head;
  if (p->right >= 0) w->end = MIN_OF(w->end, w->offset + p->q_len + p->right);
  if (p->left >= 0) w->begin = MAX_OF(w->begin, w->offset - p->left);
}

/* The rows of Q go to local memory; zeros where there are fewer than ATT_FEW. */
FUNCTION void attention_stage_rows(const attention_params *p, const attention_work *w, const GLOBAL REAL *q, int t,
                                   LOCAL_POINTER float4 *qs) {
  for (int e = t; e < ATT_FEW * ATT_QUARTERS; e += 256) {
    int r = e / ATT_QUARTERS, at = 0;
    if (r < w->rows) at = w->b * p->q_batch + ATT_ROW_HEAD(*p, w->hk, r) * p->q_head + r % p->q_len * p->q_row;
    qs[e] = attention_load(q, at, e % ATT_QUARTERS * 4, r < w->rows ? p->d : 0, p->q_wide);
  }
}

/* A quarter of the products of one key with all rows. */
FUNCTION void attention_quarter(const attention_params *p, const attention_work *w, const GLOBAL REAL *k, int key,
                                int t, const LOCAL_POINTER float4 *qs, LOCAL_POINTER float *quarters) {
  float mine[ATT_FEW];
  int at = w->k_base + key * p->k_row;
  UNROLL for (int i = 0; i < ATT_FEW; i++) mine[i] = 0.0f;
  if (key < w->end) {
    UNROLL4 for (int c = t % 4; c * 4 < p->d; c += 4) {
      float4 y = attention_load(k, at, c * 4, p->d, p->k_wide);
      UNROLL for (int i = 0; i < ATT_FEW; i++) {
        if (i < w->rows) {
          float4 x = qs[i * ATT_QUARTERS + c];
          mine[i] = FMAF(x.x, y.x, FMAF(x.y, y.y, FMAF(x.z, y.z, FMAF(x.w, y.w, mine[i]))));
        }
      }
    }
  }
  UNROLL for (int i = 0; i < ATT_FEW; i++) quarters[i * 256 + t] = mine[i];
}

/* The scores of all keys: four items for each of 64 keys, then one for each of their scores. */
FUNCTION void attention_scores(const attention_params *p, const attention_work *w, const GLOBAL REAL *k,
                               const GLOBAL char *b0, const GLOBAL char *b1, const LOCAL_POINTER float4 *qs,
                               LOCAL_POINTER float4 *products, LOCAL_POINTER float *weights) {
  for (int k0 = w->begin; k0 < w->end; k0 += ATT_KEYS) {
    FOR_ITEMS(t, 256) { attention_quarter(p, w, k, k0 + t / 4, t, qs, (LOCAL_POINTER float *)products); }
    BARRIER;
    FOR_ITEMS(t, 256) {
      for (int i = t / ATT_KEYS; i < w->rows; i += 4) {
        float4 x = products[i * ATT_KEYS + t % ATT_KEYS];
        int key = k0 + t % ATT_KEYS, s = i % p->q_len, h = ATT_ROW_HEAD(*p, w->hk, i);
        float score = -INFINITY;
        if (key < w->end) score = attention_score(p, (x.x + x.y) + (x.z + x.w), b0, b1, w->b, h, s, key, s + w->offset);
        weights[i * ATT_RANGE + key - w->begin] = score;
      }
    }
    BARRIER;
  }
}

/* The highest score of those that item |t| looks at; 32 items share a row. */
FUNCTION float attention_highest(const attention_work *w, int t, const LOCAL_POINTER float *weights) {
  float m = -INFINITY;
  if (t / ATT_LANES < w->rows) {
    for (int i = t % ATT_LANES; i < w->end - w->begin; i += ATT_LANES) {
      float s = weights[t / ATT_LANES * ATT_RANGE + i];
      m = MAX_OF(s, m);
    }
  }
  return m;
}

/* Turns these scores into weights and returns their sum. |first|: the score of the row's sink, -INFINITY without one;
 * |parts|: the highest scores of the 32 items, of which the highest becomes |most|. */
FUNCTION float attention_weigh(const attention_work *w, int t, float first, const LOCAL_POINTER float *parts,
                               LOCAL_POINTER float *weights, LOCAL_POINTER float *most) {
  int row = t / ATT_LANES;
  float m = first, sum = 0.0f;
  UNROLL for (int i = 0; i < ATT_LANES; i++) m = MAX_OF(parts[row * ATT_LANES + i], m);
  float from = m == -INFINITY ? 0.0f : m;
  if (row < w->rows) {
    for (int i = t % ATT_LANES; i < w->end - w->begin; i += ATT_LANES) {
      float weight = EXP2F(weights[row * ATT_RANGE + i] - from);
      weights[row * ATT_RANGE + i] = weight, sum += weight;
    }
  }
  if (t % ATT_LANES == 0) sum += EXP2F(first - from), most[row] = m;
  return sum;
}

/* The weighted sums of item |t|'s four columns of V, over every (256 / quads)-th key. */
FUNCTION void attention_values(const attention_params *p, const attention_work *w, const GLOBAL REAL *v, int quads,
                               int t, const LOCAL_POINTER float *weights, float (*acc)[4]) {
  UNROLL for (int i = 0; i < ATT_FEW; i++) { UNROLL for (int j = 0; j < 4; j++) acc[i][j] = 0.0f; }
  UNROLL4 for (int i0 = t / quads; i0 < w->end - w->begin; i0 += 256 / quads) {
    float4 y = attention_load(v, w->v_base + (w->begin + i0) * p->v_row, t % quads * 4, p->dv, p->v_wide);
    UNROLL for (int i = 0; i < ATT_FEW; i++) {
      if (i < w->rows) {
        float by = weights[i * ATT_RANGE + i0];
        acc[i][0] = FMAF(by, y.x, acc[i][0]), acc[i][1] = FMAF(by, y.y, acc[i][1]);
        acc[i][2] = FMAF(by, y.z, acc[i][2]), acc[i][3] = FMAF(by, y.w, acc[i][3]);
      }
    }
  }
}

/* Item |t|'s sums of row |i|: registers cannot be indexed dynamically. */
FUNCTION float4 attention_row_of(float (*acc)[4], int i) {
  float4 mine = MAKE4(0.0f, 0.0f, 0.0f, 0.0f);
  UNROLL for (int j = 0; j < ATT_FEW; j++) {
    if (j == i) mine = MAKE4(acc[j][0], acc[j][1], acc[j][2], acc[j][3]);
  }
  return mine;
}

KERNEL(attention_few, attention_params) {
  BUFFER(const REAL, q, 0);
  BUFFER(const REAL, k, 1);
  BUFFER(const REAL, v, 2);
  BUFFER(REAL, out, 3);
  BUFFER(float, partial, 3);
  BUFFER(const char, b0, 4);
  BUFFER(const char, b1, 5);
  BUFFER(const char, lens, 6);
  BUFFER(const REAL, sink, 7);
  PARAMS(attention_params, p);
  LOCAL(float4, qs, [ATT_FEW * ATT_QUARTERS]);
  LOCAL(float4, products, [ATT_FEW * ATT_KEYS]);
  LOCAL(float, weights, [ATT_FEW * ATT_RANGE]);
  LOCAL(float, parts, [256]);
  LOCAL(float, part_sums, [256]);
  LOCAL(float, most, [ATT_FEW]);
  LOCAL(float, sums, [ATT_FEW]);
  PRIVATE(float, acc, 256, [ATT_FEW][4]);
  attention_work w;
  int quads = 1;
  attention_divide(&p, lens, GROUP(0), GROUP(1), &w);
  while (quads * 4 < p.dv) quads *= 2;
  FOR_ITEMS(t, 256) { attention_stage_rows(&p, &w, q, t, qs); }
  BARRIER;
  attention_scores(&p, &w, k, b0, b1, qs, products, weights);
  FOR_ITEMS(t, 256) { parts[t] = attention_highest(&w, t, weights); }
  BARRIER;
  FOR_ITEMS(t, 256) {
    int row = t / ATT_LANES, counts = p.has_sink && GROUP(1) == 0 && row < w.rows;
    float first = counts ? LOAD(sink, ATT_ROW_HEAD(p, w.hk, row)) * ATT_LOG2E : -INFINITY;
    part_sums[t] = attention_weigh(&w, t, first, parts, weights, most);
  }
  BARRIER;
  FOR_ITEMS(t, 256) {
    if (t < ATT_FEW) {
      float sum = 0.0f;
      UNROLL for (int i = 0; i < ATT_LANES; i++) sum += part_sums[t * ATT_LANES + i];
      sums[t] = sum;
    }
    attention_values(&p, &w, v, quads, t, weights, MINE(acc, t));
  }
  for (int i = 0; i < w.rows; i++) {
    BARRIER;
    FOR_ITEMS(t, 256) { products[t] = attention_row_of(MINE(acc, t), i); }
    BARRIER;
    FOR_ITEMS(t, 256) {
      int h = ATT_ROW_HEAD(p, w.hk, i), s = i % p.q_len, part = ATT_PARTIAL(p, GROUP(1), w.b, h, s);
      if (t < p.dv) {
        float sum = 0.0f;
        for (int from = t; from < 1024; from += quads * 4) sum += ((LOCAL_POINTER float *)products)[from];
        if (p.splits > 1) {
          partial[part + t] = sum;
        } else {
          STORE(out, w.b * p.o_batch + h * p.o_head + s * p.o_row + t, attention_quotient(&p, sum, sums[i]));
        }
      }
      if (t == 0 && p.splits > 1) partial[part + p.dv] = most[i], partial[part + p.dv + 1] = sums[i];
    }
  }
}

/* An item for each element of the result. */
KERNEL(attention_combine, attention_params) {
  BUFFER(const float, partial, 0);
  BUFFER(REAL, out, 1);
  PARAMS(attention_params, p);
  FOR_ITEMS(t, 256) {
    int i = GROUP(0) * 256 + t, rows = p.batch * p.heads * p.q_len;
    if (i < rows * p.dv) {
      int row = i / p.dv, column = i % p.dv, s = row % p.q_len, h = row / p.q_len % p.heads;
      int b = row / p.q_len / p.heads;
      float m = -INFINITY, sum = 0.0f, v = 0.0f;
      for (int j = 0; j < p.splits; j++) {
        float other = partial[ATT_PARTIAL(p, j, b, h, s) + p.dv];
        m = MAX_OF(other, m);
      }
      float from = m == -INFINITY ? 0.0f : m;
      for (int j = 0; j < p.splits; j++) {
        int at = ATT_PARTIAL(p, j, b, h, s);
        float w = EXP2F(partial[at + p.dv] - from);
        v = FMAF(w, partial[at + column], v), sum = FMAF(w, partial[at + p.dv + 1], sum);
      }
      STORE(out, b * p.o_batch + h * p.o_head + s * p.o_row + column, attention_quotient(&p, v, sum));
    }
  }
}
