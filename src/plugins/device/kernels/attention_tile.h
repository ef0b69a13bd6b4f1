/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/attention_tile.h - attention for 64 rows by a group of 256 items, arranged 16 x 16. The including file
 * defines ATT_KERNEL and ATT_WIDTH, the most elements in a row of V. Keys are processed 64 at a time with an online
 * softmax: their scores are a tile of products, 4 x 4 per item, which goes through local memory to become weights. Each
 * item accumulates its columns of four rows in registers and rescales them when a row's highest score grows.
 *
 * Weights are stored by key; blocks of four rows are permuted depending on the key, so that neither writes nor reads
 * have bank conflicts. Loads for the next step are issued while one step is computed; with two buffers that takes one
 * barrier per step. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/attention_params.h"
#include "plugins/device/kernels/attention_common.h"

enum {
  ATT_SIDE = ATT_STEP * 17,      /* float4s of staged Q, and of K: 64 rows and 4 more against bank conflicts */
  ATT_BUFFER = 2 * ATT_SIDE,     /* size of one of the two buffers */
  ATT_BLOCKS = ATT_WIDTH / 64,   /* blocks of four columns per item */
  ATT_VALUES = 1024 / ATT_WIDTH, /* rows of V per buffer */
  ATT_QUADS = ATT_WIDTH / 4
};

#define ATT_WEIGHT(key, block) ((key)*16 + ((block) ^ (key) / 4))

/* What a group computes: rows |r0| on of the heads that share head |hk| of K, in batch item |b|, with the keys from
 * |begin| to |end|. A row's position among the keys is its own plus |offset|. */
typedef struct attention_work {
  int rows, r0, hk, b, offset, begin, end, k_base, v_base;
} attention_work;

FUNCTION void attention_divide(const attention_params *p, const GLOBAL char *lens, int group, int split,
                               attention_work *w) {
  int tiles = (p->per * p->q_len + ATT_ROWS - 1) / ATT_ROWS, r_last, one_head, low, high, keys;
  w->rows = p->per * p->q_len;
  w->r0 = (tiles - 1 - group % tiles) * ATT_ROWS, w->hk = group / tiles % p->kv_heads;
  w->b = group / tiles / p->kv_heads, r_last = MIN_OF(w->r0 + ATT_ROWS, w->rows) - 1;
  keys = attention_keys(p, lens, w->b), w->offset = attention_offset(p, keys);
  one_head = w->r0 / p->q_len == r_last / p->q_len;
  low = one_head ? w->r0 % p->q_len : 0, high = one_head ? r_last % p->q_len : p->q_len - 1;
  w->begin = split * p->split_keys, w->end = MIN_OF(keys, w->begin + p->split_keys);
  w->k_base = w->b * p->k_batch + w->hk * p->k_head, w->v_base = w->b * p->v_batch + w->hk * p->v_head;
  if (p->right >= 0) w->end = MIN_OF(w->end, high + w->offset + p->right + 1);
  if (p->left >= 0) w->begin = MAX_OF(w->begin, (low + w->offset - p->left) / ATT_KEYS * ATT_KEYS);
}

/* Where item |t|'s row of Q begins; -1: there is no such row. */
FUNCTION int attention_q_at(const attention_params *p, const attention_work *w, int t) {
  int r = w->r0 + t % 128 / 2;
  return r < w->rows ? w->b * p->q_batch + ATT_ROW_HEAD(*p, w->hk, r) * p->q_head + r % p->q_len * p->q_row : -1;
}

/* Item |t|'s four elements of step |c| for the keys from |k0| on: of Q in the first half of the group, else of K. */
FUNCTION float4 attention_fetch(const attention_params *p, const attention_work *w, const GLOBAL REAL *q,
                                const GLOBAL REAL *k, int q_at, int k0, int t, int c) {
  int key = k0 + t % 128 / 2, k_from = key < w->end ? w->k_base + key * p->k_row : -1;
  if (t < 128) return attention_load(q, q_at, c + t % 2 * 4, q_at < 0 ? 0 : p->d, p->q_wide);
  return attention_load(k, k_from, c + t % 2 * 4, k_from < 0 ? 0 : p->d, p->k_wide);
}

FUNCTION void attention_place(LOCAL_POINTER float4 *buffer, int t, float4 v) {
  LOCAL_POINTER float *to = (LOCAL_POINTER float *)(buffer + t / 128 * ATT_SIDE + t % 2 * 4 * 17) + t % 128 / 2;
  to[0] = v.x, to[68] = v.y, to[136] = v.z, to[204] = v.w;
}

/* Adds a step's products of Q and K to item |t|'s 4 x 4 scores. */
FUNCTION void attention_multiply(const LOCAL_POINTER float4 *staged, int t, float (*scores)[4]) {
  UNROLL for (int kk = 0; kk < ATT_STEP; kk++) {
    float4 x = staged[kk * 17 + t / 16], y = staged[ATT_SIDE + kk * 17 + t % 16];
    float u[4], w[4];
    u[0] = x.x, u[1] = x.y, u[2] = x.z, u[3] = x.w, w[0] = y.x, w[1] = y.y, w[2] = y.z, w[3] = y.w;
    UNROLL for (int i = 0; i < 4; i++) {
      UNROLL for (int j = 0; j < 4; j++) scores[i][j] = FMAF(u[i], w[j], scores[i][j]);
    }
  }
}

/* Turns item |t|'s products with the keys from |k0| on into scores, which go to local memory. */
FUNCTION void attention_put_scores(const attention_params *p, const attention_work *w, const GLOBAL char *b0,
                                   const GLOBAL char *b1, int k0, int t, float (*scores)[4],
                                   LOCAL_POINTER float4 *weights) {
  UNROLL for (int i = 0; i < 4; i++) {
    int r = w->r0 + t / 16 * 4 + i, h = ATT_ROW_HEAD(*p, w->hk, r), s = r % p->q_len;
    UNROLL for (int j = 0; j < 4; j++) {
      int key = k0 + t % 16 * 4 + j;
      scores[i][j] = key < w->end && r < w->rows
                         ? attention_score(p, scores[i][j], b0, b1, w->b, h, s, key, s + w->offset)
                         : -INFINITY;
    }
  }
  UNROLL for (int j = 0; j < 4; j++) weights[ATT_WEIGHT(t % 16 * 4 + j, t / 16)] =
      MAKE4(scores[0][j], scores[1][j], scores[2][j], scores[3][j]);
}

/* The highest of the 16 scores that item |t| looks at; four items share a row. */
FUNCTION float attention_highest(const LOCAL_POINTER float *scores, int t) {
  int row = t % ATT_ROWS;
  float m = -INFINITY;
  UNROLL for (int i = 0; i < 16; i++) {
    float s = scores[ATT_WEIGHT(t / ATT_ROWS * 16 + i, row / 4) * 4 + row % 4];
    m = MAX_OF(s, m);
  }
  return m;
}

/* Turns these scores into weights and returns their sum. */
FUNCTION float attention_weigh(LOCAL_POINTER float *scores, int t, float from) {
  int row = t % ATT_ROWS;
  float sum = 0.0f;
  UNROLL for (int i = 0; i < 16; i++) {
    int at = ATT_WEIGHT(t / ATT_ROWS * 16 + i, row / 4) * 4 + row % 4;
    float w = EXP2F(scores[at] - from);
    scores[at] = w, sum += w;
  }
  return sum;
}

/* Item |t|'s four elements of a buffer of rows of V, the first of which is |key|'s. */
FUNCTION float4 attention_fetch_v(const attention_params *p, const attention_work *w, const GLOBAL REAL *v, int key,
                                  int t) {
  key += t / ATT_QUADS;
  return attention_load(v, w->v_base + key * p->v_row, t % ATT_QUADS * 4, key < w->end ? p->dv : 0, p->v_wide);
}

/* Adds the weighted rows of V in |staged|, the first of which is that of key |c| of this round. */
FUNCTION void attention_add_values(const LOCAL_POINTER float4 *weights, const LOCAL_POINTER float4 *staged, int c,
                                   int t, float (*acc)[ATT_BLOCKS * 4]) {
  UNROLL for (int kk = 0; kk < ATT_VALUES; kk++) {
    float4 x = weights[ATT_WEIGHT(c + kk, t / 16)];
    float u[4];
    u[0] = x.x, u[1] = x.y, u[2] = x.z, u[3] = x.w;
    UNROLL for (int j = 0; j < ATT_BLOCKS; j++) {
      float4 y = staged[kk * ATT_QUADS + j * 16 + t % 16];
      UNROLL for (int i = 0; i < 4; i++) {
        acc[i][j * 4] = FMAF(u[i], y.x, acc[i][j * 4]);
        acc[i][j * 4 + 1] = FMAF(u[i], y.y, acc[i][j * 4 + 1]);
        acc[i][j * 4 + 2] = FMAF(u[i], y.z, acc[i][j * 4 + 2]);
        acc[i][j * 4 + 3] = FMAF(u[i], y.w, acc[i][j * 4 + 3]);
      }
    }
  }
}

/* Stores item |t|'s part of a row, divided by the row's sum of weights. |at|: of the row. */
FUNCTION void attention_store(const attention_params *p, GLOBAL REAL *out, int at, int t, float sum, const float *acc) {
  int zeros = attention_gives_zeros(p, sum);
  float by = zeros ? 0.0f : 1.0f / sum, u[ATT_BLOCKS * 4];
  UNROLL for (int j = 0; j < ATT_BLOCKS * 4; j++) u[j] = zeros ? 0.0f : acc[j] * by;
  UNROLL for (int j = 0; j < ATT_BLOCKS; j++) {
    int column = j * 64 + t % 16 * 4;
    if (p->o_wide && column + 3 < p->dv) {
      STORE4(out, at + column, MAKE4(u[j * 4], u[j * 4 + 1], u[j * 4 + 2], u[j * 4 + 3]));
    } else {
      UNROLL for (int e = 0; e < 4; e++) {
        if (column + e < p->dv) STORE(out, at + column + e, u[j * 4 + e]);
      }
    }
  }
}

/* Stores it as one of several parts (attention_combine): sums that are not divided, and what they are sums of. */
FUNCTION void attention_store_part(const attention_params *p, GLOBAL float *to, int t, float most, float sum,
                                   const float *acc) {
  UNROLL for (int j = 0; j < ATT_BLOCKS * 4; j++) {
    int column = j / 4 * 64 + t % 16 * 4 + j % 4;
    if (column < p->dv) to[column] = acc[j];
  }
  if (t % 16 == 0) to[p->dv] = most, to[p->dv + 1] = sum;
}

/* Phases of a group, for the ATT_KEYS keys from |k0| on. Their scores, staged step by step: */
FUNCTION void attention_scores(const attention_params *p, const attention_work *w, const GLOBAL REAL *q,
                               const GLOBAL REAL *k, int k0, LOCAL_POINTER float4 *staged, OF_ITEMS(int, q_at, [1]),
                               OF_ITEMS(float, scores, [4][4])) {
  FOR_ITEMS(t, 256) {
    UNROLL for (int i = 0; i < 4; i++) { UNROLL for (int j = 0; j < 4; j++) MINE(scores, t)[i][j] = 0.0f; }
    attention_place(staged, t, attention_fetch(p, w, q, k, MINE(q_at, t)[0], k0, t, 0));
  }
  BARRIER;
  for (int c = 0, now = 0; c < p->d; c += ATT_STEP, now = ATT_BUFFER - now) {
    FOR_ITEMS(t, 256) {
      float4 next = attention_fetch(p, w, q, k, MINE(q_at, t)[0], k0, t, c + ATT_STEP);
      attention_multiply(staged + now, t, MINE(scores, t));
      attention_place(staged + (ATT_BUFFER - now), t, next);
    }
    BARRIER;
  }
}

/* Scores become weights, with sums of a quarter of a row's each; |most|, a row's highest score before, has become
 * |higher|, for which earlier sums are multiplied by |factor|. */
FUNCTION void attention_soften(LOCAL_POINTER float *scores, LOCAL_POINTER float *parts, LOCAL_POINTER float *part_sums,
                               const LOCAL_POINTER float *most, LOCAL_POINTER float *higher,
                               LOCAL_POINTER float *factor) {
  FOR_ITEMS(t, 256) { parts[t] = attention_highest(scores, t); }
  BARRIER;
  FOR_ITEMS(t, 256) {
    int row = t % ATT_ROWS;
    float m = MAX_OF(MAX_OF(parts[row], parts[row + 64]), MAX_OF(parts[row + 128], parts[row + 192]));
    m = MAX_OF(m, most[row]);
    float from = m == -INFINITY ? 0.0f : m;
    part_sums[t] = attention_weigh(scores, t, from);
    if (t < ATT_ROWS) higher[t] = m, factor[t] = EXP2F(most[t] - from);
  }
  BARRIER;
}

/* The weighted sums of rows of V; the first rows are in |staged|. */
FUNCTION void attention_values(const attention_params *p, const attention_work *w, const GLOBAL REAL *v, int k0,
                               const LOCAL_POINTER float4 *weights, LOCAL_POINTER float4 *staged,
                               OF_ITEMS(float, acc, [4][ATT_BLOCKS * 4])) {
  int count = MIN_OF(ATT_KEYS, w->end - k0);
  for (int c = 0, now = 0; c < count; c += ATT_VALUES, now = 256 - now) {
    FOR_ITEMS(t, 256) {
      float4 next = attention_fetch_v(p, w, v, k0 + c + ATT_VALUES, t);
      attention_add_values(weights, staged + now, c, t, MINE(acc, t));
      staged[256 - now + t] = next;
    }
    BARRIER;
  }
}

KERNEL(ATT_KERNEL, attention_params) {
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
  LOCAL(float4, staged, [2 * ATT_BUFFER]);
  LOCAL(float4, weights, [ATT_KEYS * 16]);
  LOCAL(float, parts, [256]);
  LOCAL(float, part_sums, [256]);
  LOCAL(float, most, [ATT_ROWS]);
  LOCAL(float, higher, [ATT_ROWS]);
  LOCAL(float, sums, [ATT_ROWS]);
  LOCAL(float, factor, [ATT_ROWS]);
  PRIVATE(float, scores, 256, [4][4]);
  PRIVATE(float, acc, 256, [4][ATT_BLOCKS * 4]);
  PRIVATE(int, q_at, 256, [1]);
  attention_work w;
  attention_divide(&p, lens, GROUP(0), GROUP(1), &w);
  FOR_ITEMS(t, 256) {
    MINE(q_at, t)[0] = attention_q_at(&p, &w, t);
    UNROLL for (int i = 0; i < 4; i++) { UNROLL for (int j = 0; j < ATT_BLOCKS * 4; j++) MINE(acc, t)[i][j] = 0.0f; }
    if (t < ATT_ROWS) {
      int counts = p.has_sink && GROUP(1) == 0 && w.r0 + t < w.rows;
      most[t] = counts ? LOAD(sink, ATT_ROW_HEAD(p, w.hk, w.r0 + t)) * ATT_LOG2E : -INFINITY;
      sums[t] = counts ? 1.0f : 0.0f;
    }
  }
  BARRIER;
  for (int k0 = w.begin; k0 < w.end; k0 += ATT_KEYS) {
    attention_scores(&p, &w, q, k, k0, staged, q_at, scores);
    FOR_ITEMS(t, 256) { attention_put_scores(&p, &w, b0, b1, k0, t, MINE(scores, t), weights); }
    BARRIER;
    attention_soften((LOCAL_POINTER float *)weights, parts, part_sums, most, higher, factor);
    FOR_ITEMS(t, 256) {
      UNROLL for (int i = 0; i < 4; i++) {
        float f = factor[t / 16 * 4 + i];
        UNROLL for (int j = 0; j < ATT_BLOCKS * 4; j++) MINE(acc, t)[i][j] *= f;
      }
      if (t < ATT_ROWS) {
        sums[t] =
            FMAF(sums[t], factor[t], part_sums[t] + part_sums[t + 64] + (part_sums[t + 128] + part_sums[t + 192]));
        most[t] = higher[t];
      }
      staged[t] = attention_fetch_v(&p, &w, v, k0, t);
    }
    BARRIER;
    attention_values(&p, &w, v, k0, weights, staged, acc);
  }
  FOR_ITEMS(t, 256) {
    UNROLL for (int i = 0; i < 4; i++) {
      int row = t / 16 * 4 + i, r = w.r0 + row, h = ATT_ROW_HEAD(p, w.hk, r), s = r % p.q_len;
      if (r < w.rows && p.splits > 1) {
        attention_store_part(&p, partial + ATT_PARTIAL(p, GROUP(1), w.b, h, s), t, most[row], sums[row],
                             MINE(acc, t)[i]);
      } else if (r < w.rows) {
        attention_store(&p, out, w.b * p.o_batch + h * p.o_head + s * p.o_row, t, sums[row], MINE(acc, t)[i]);
      }
    }
  }
}
