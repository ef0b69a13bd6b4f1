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

/* Item |t|'s four elements of step |c|: of Q in the first half of the group, else of K. Missing rows are -1. */
#define ATT_FETCH(t, c)                                                                                         \
  ((t) < 128 ? attention_load(q, MINE(q_at, t)[0], (c) + (t) % 2 * 4, MINE(q_at, t)[0] < 0 ? 0 : p.d, p.q_wide) \
             : attention_load(k, k_from, (c) + (t) % 2 * 4, k_from < 0 ? 0 : p.d, p.k_wide))

FUNCTION void attention_place(LOCAL_POINTER float4 *buffer, int t, float4 v) {
  LOCAL_POINTER float *to = (LOCAL_POINTER float *)(buffer + t / 128 * ATT_SIDE + t % 2 * 4 * 17) + t % 128 / 2;
  to[0] = v.x, to[68] = v.y, to[136] = v.z, to[204] = v.w;
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
  LOCAL_POINTER float *flat = (LOCAL_POINTER float *)weights;
  int rows = p.per * p.q_len, tiles = (rows + ATT_ROWS - 1) / ATT_ROWS;
  int r0 = (tiles - 1 - GROUP(0) % tiles) * ATT_ROWS, hk = GROUP(0) / tiles % p.kv_heads;
  int b = GROUP(0) / tiles / p.kv_heads, r_last = MIN_OF(r0 + ATT_ROWS, rows) - 1;
  int keys = attention_keys(&p, lens, b), offset = attention_offset(&p, keys);
  int one_head = r0 / p.q_len == r_last / p.q_len;
  int low = one_head ? r0 % p.q_len : 0, high = one_head ? r_last % p.q_len : p.q_len - 1;
  int begin = GROUP(1) * p.split_keys, end = MIN_OF(keys, begin + p.split_keys);
  int k_base = b * p.k_batch + hk * p.k_head, v_base = b * p.v_batch + hk * p.v_head;
  if (p.right >= 0) end = MIN_OF(end, high + offset + p.right + 1);
  if (p.left >= 0) begin = MAX_OF(begin, (low + offset - p.left) / ATT_KEYS * ATT_KEYS);
  FOR_ITEMS(t, 256) {
    int r = r0 + t % 128 / 2;
    MINE(q_at, t)[0] = r < rows ? b * p.q_batch + ATT_ROW_HEAD(p, hk, r) * p.q_head + r % p.q_len * p.q_row : -1;
    UNROLL for (int i = 0; i < 4; i++) { UNROLL for (int j = 0; j < ATT_BLOCKS * 4; j++) MINE(acc, t)[i][j] = 0.0f; }
    if (t < ATT_ROWS) {
      int counts = p.has_sink && GROUP(1) == 0 && r0 + t < rows;
      most[t] = counts ? LOAD(sink, ATT_ROW_HEAD(p, hk, r0 + t)) * ATT_LOG2E : -INFINITY;
      sums[t] = counts ? 1.0f : 0.0f;
    }
  }
  BARRIER;
  for (int k0 = begin; k0 < end; k0 += ATT_KEYS) {
    /* Scores. */
    FOR_ITEMS(t, 256) {
      int key = k0 + t % 128 / 2, k_from = key < end ? k_base + key * p.k_row : -1;
      UNROLL for (int i = 0; i < 4; i++) { UNROLL for (int j = 0; j < 4; j++) MINE(scores, t)[i][j] = 0.0f; }
      attention_place(staged, t, ATT_FETCH(t, 0));
    }
    BARRIER;
    for (int c = 0, now = 0; c < p.d; c += ATT_STEP, now = ATT_BUFFER - now) {
      FOR_ITEMS(t, 256) {
        int key = k0 + t % 128 / 2, k_from = key < end ? k_base + key * p.k_row : -1;
        float4 next = ATT_FETCH(t, c + ATT_STEP);
        UNROLL for (int kk = 0; kk < ATT_STEP; kk++) {
          float4 x = staged[now + kk * 17 + t / 16], y = staged[now + ATT_SIDE + kk * 17 + t % 16];
          float u[4], w[4];
          u[0] = x.x, u[1] = x.y, u[2] = x.z, u[3] = x.w, w[0] = y.x, w[1] = y.y, w[2] = y.z, w[3] = y.w;
          UNROLL for (int i = 0; i < 4; i++) {
            UNROLL for (int j = 0; j < 4; j++) MINE(scores, t)[i][j] = FMAF(u[i], w[j], MINE(scores, t)[i][j]);
          }
        }
        attention_place(staged + (ATT_BUFFER - now), t, next);
      }
      BARRIER;
    }
    FOR_ITEMS(t, 256) {
      UNROLL for (int i = 0; i < 4; i++) {
        int r = r0 + t / 16 * 4 + i, h = ATT_ROW_HEAD(p, hk, r), s = r % p.q_len;
        UNROLL for (int j = 0; j < 4; j++) {
          int key = k0 + t % 16 * 4 + j;
          MINE(scores, t)
          [i][j] = key < end && r < rows ? attention_score(&p, MINE(scores, t)[i][j], b0, b1, b, h, s, key, s + offset)
                                         : -INFINITY;
        }
      }
      UNROLL for (int j = 0; j < 4; j++) weights[ATT_WEIGHT(t % 16 * 4 + j, t / 16)] =
          MAKE4(MINE(scores, t)[0][j], MINE(scores, t)[1][j], MINE(scores, t)[2][j], MINE(scores, t)[3][j]);
    }
    BARRIER;
    /* Weights: four items for each row. */
    FOR_ITEMS(t, 256) {
      int row = t % ATT_ROWS;
      float m = -INFINITY;
      UNROLL for (int i = 0; i < 16; i++) {
        float s = flat[ATT_WEIGHT(t / ATT_ROWS * 16 + i, row / 4) * 4 + row % 4];
        m = MAX_OF(s, m);
      }
      parts[t] = m;
    }
    BARRIER;
    FOR_ITEMS(t, 256) {
      int row = t % ATT_ROWS;
      float m = MAX_OF(MAX_OF(parts[row], parts[row + 64]), MAX_OF(parts[row + 128], parts[row + 192]));
      m = MAX_OF(m, most[row]);
      float from = m == -INFINITY ? 0.0f : m, sum = 0.0f;
      UNROLL for (int i = 0; i < 16; i++) {
        int at = ATT_WEIGHT(t / ATT_ROWS * 16 + i, row / 4) * 4 + row % 4;
        float w = EXP2F(flat[at] - from);
        flat[at] = w, sum += w;
      }
      part_sums[t] = sum;
      if (t < ATT_ROWS) higher[t] = m, factor[t] = EXP2F(most[t] - from);
    }
    BARRIER;
    /* Weighted sums of rows of V. */
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
      int key = k0 + t / ATT_QUADS;
      staged[t] = attention_load(v, v_base + key * p.v_row, t % ATT_QUADS * 4, key < end ? p.dv : 0, p.v_wide);
    }
    BARRIER;
    int count = MIN_OF(ATT_KEYS, end - k0);
    for (int c = 0, now = 0; c < count; c += ATT_VALUES, now = 256 - now) {
      FOR_ITEMS(t, 256) {
        int key = k0 + c + ATT_VALUES + t / ATT_QUADS;
        float4 next = attention_load(v, v_base + key * p.v_row, t % ATT_QUADS * 4, key < end ? p.dv : 0, p.v_wide);
        UNROLL for (int kk = 0; kk < ATT_VALUES; kk++) {
          float4 x = weights[ATT_WEIGHT(c + kk, t / 16)];
          float u[4];
          u[0] = x.x, u[1] = x.y, u[2] = x.z, u[3] = x.w;
          UNROLL for (int j = 0; j < ATT_BLOCKS; j++) {
            float4 y = staged[now + kk * ATT_QUADS + j * 16 + t % 16];
            UNROLL for (int i = 0; i < 4; i++) {
              MINE(acc, t)[i][j * 4] = FMAF(u[i], y.x, MINE(acc, t)[i][j * 4]);
              MINE(acc, t)[i][j * 4 + 1] = FMAF(u[i], y.y, MINE(acc, t)[i][j * 4 + 1]);
              MINE(acc, t)[i][j * 4 + 2] = FMAF(u[i], y.z, MINE(acc, t)[i][j * 4 + 2]);
              MINE(acc, t)[i][j * 4 + 3] = FMAF(u[i], y.w, MINE(acc, t)[i][j * 4 + 3]);
            }
          }
        }
        staged[256 - now + t] = next;
      }
      BARRIER;
    }
  }
  FOR_ITEMS(t, 256) {
    UNROLL for (int i = 0; i < 4; i++) {
      int row = t / 16 * 4 + i, r = r0 + row, h = ATT_ROW_HEAD(p, hk, r), s = r % p.q_len;
      float by = sums[row] == 0.0f ? 0.0f : 1.0f / sums[row];
      if (r < rows && p.splits > 1) {
        int at = ATT_PARTIAL(p, GROUP(1), b, h, s);
        UNROLL for (int j = 0; j < ATT_BLOCKS * 4; j++) {
          int column = j / 4 * 64 + t % 16 * 4 + j % 4;
          if (column < p.dv) partial[at + column] = MINE(acc, t)[i][j];
        }
        if (t % 16 == 0) partial[at + p.dv] = most[row], partial[at + p.dv + 1] = sums[row];
      } else if (r < rows) {
        UNROLL for (int j = 0; j < ATT_BLOCKS; j++) {
          int column = j * 64 + t % 16 * 4, at = b * p.o_batch + h * p.o_head + s * p.o_row + column;
          if (p.o_wide && column + 3 < p.dv) {
            STORE4(out, at,
                   MAKE4(MINE(acc, t)[i][j * 4] * by, MINE(acc, t)[i][j * 4 + 1] * by, MINE(acc, t)[i][j * 4 + 2] * by,
                         MINE(acc, t)[i][j * 4 + 3] * by));
          } else {
            UNROLL for (int e = 0; e < 4; e++) {
              if (column + e < p.dv) STORE(out, at + e, MINE(acc, t)[i][j * 4 + e] * by);
            }
          }
        }
      }
    }
  }
}
