/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/attention_few.h - attention of up to ATT_FEW rows, which reads K and V once. A group takes up to
 * ATT_RANGE keys of a head; attention_combine merges the partial results of a head's groups. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/attention_params.h"
#include "plugins/device/kernels/attention_common.h"

enum { ATT_QUARTERS = ATT_WIDEST / 4, ATT_LANES = 256 / ATT_FEW };

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
  LOCAL_POINTER float *quarters = (LOCAL_POINTER float *)products;
  int rows = p.per * p.q_len, hk = GROUP(0) % p.kv_heads, b = GROUP(0) / p.kv_heads;
  int keys = attention_keys(&p, lens, b), offset = attention_offset(&p, keys);
  int begin = GROUP(1) * p.split_keys, end = MIN_OF(keys, begin + p.split_keys);
  int k_base = b * p.k_batch + hk * p.k_head, v_base = b * p.v_batch + hk * p.v_head, quads = 1;
  if (p.right >= 0) end = MIN_OF(end, offset + p.q_len + p.right);
  if (p.left >= 0) begin = MAX_OF(begin, offset - p.left);
  while (quads * 4 < p.dv) quads *= 2;
  FOR_ITEMS(t, 256) {
    for (int e = t; e < ATT_FEW * ATT_QUARTERS; e += 256) {
      int r = e / ATT_QUARTERS, at = 0;
      if (r < rows) at = b * p.q_batch + ATT_ROW_HEAD(p, hk, r) * p.q_head + r % p.q_len * p.q_row;
      qs[e] = attention_load(q, at, e % ATT_QUARTERS * 4, r < rows ? p.d : 0, p.q_wide);
    }
  }
  BARRIER;
  /* Four items for each of 64 keys, then one for each of their scores. */
  for (int k0 = begin; k0 < end; k0 += ATT_KEYS) {
    FOR_ITEMS(t, 256) {
      float mine[ATT_FEW];
      int key = k0 + t / 4, at = k_base + key * p.k_row;
      UNROLL for (int i = 0; i < ATT_FEW; i++) mine[i] = 0.0f;
      if (key < end) {
        UNROLL4 for (int c = t % 4; c * 4 < p.d; c += 4) {
          float4 y = attention_load(k, at, c * 4, p.d, p.k_wide);
          UNROLL for (int i = 0; i < ATT_FEW; i++) {
            if (i < rows) {
              float4 x = qs[i * ATT_QUARTERS + c];
              mine[i] = FMAF(x.x, y.x, FMAF(x.y, y.y, FMAF(x.z, y.z, FMAF(x.w, y.w, mine[i]))));
            }
          }
        }
      }
      UNROLL for (int i = 0; i < ATT_FEW; i++) quarters[i * 256 + t] = mine[i];
    }
    BARRIER;
    FOR_ITEMS(t, 256) {
      for (int i = t / ATT_KEYS; i < rows; i += 4) {
        float4 x = products[i * ATT_KEYS + t % ATT_KEYS];
        int key = k0 + t % ATT_KEYS, s = i % p.q_len;
        float score = -INFINITY;
        if (key < end)
          score = attention_score(&p, (x.x + x.y) + (x.z + x.w), b0, b1, b, ATT_ROW_HEAD(p, hk, i), s, key, s + offset);
        weights[i * ATT_RANGE + key - begin] = score;
      }
    }
    BARRIER;
  }
  /* 32 items for each row. */
  FOR_ITEMS(t, 256) {
    float m = -INFINITY;
    if (t / ATT_LANES < rows) {
      for (int i = t % ATT_LANES; i < end - begin; i += ATT_LANES) {
        float s = weights[t / ATT_LANES * ATT_RANGE + i];
        m = MAX_OF(s, m);
      }
    }
    parts[t] = m;
  }
  BARRIER;
  FOR_ITEMS(t, 256) {
    int row = t / ATT_LANES, counts = p.has_sink && GROUP(1) == 0 && row < rows;
    float first = counts ? LOAD(sink, ATT_ROW_HEAD(p, hk, row)) * ATT_LOG2E : -INFINITY, m = first, sum = 0.0f;
    UNROLL for (int i = 0; i < ATT_LANES; i++) m = MAX_OF(parts[row * ATT_LANES + i], m);
    float from = m == -INFINITY ? 0.0f : m;
    if (row < rows) {
      for (int i = t % ATT_LANES; i < end - begin; i += ATT_LANES) {
        float w = EXP2F(weights[row * ATT_RANGE + i] - from);
        weights[row * ATT_RANGE + i] = w, sum += w;
      }
    }
    if (t % ATT_LANES == 0) sum += EXP2F(first - from), most[row] = m;
    part_sums[t] = sum;
  }
  BARRIER;
  FOR_ITEMS(t, 256) {
    if (t < ATT_FEW) {
      float sum = 0.0f;
      UNROLL for (int i = 0; i < ATT_LANES; i++) sum += part_sums[t * ATT_LANES + i];
      sums[t] = sum;
    }
    /* Each item has four columns, and every (256 / quads)-th key. */
    UNROLL for (int i = 0; i < ATT_FEW; i++) { UNROLL for (int j = 0; j < 4; j++) MINE(acc, t)[i][j] = 0.0f; }
    UNROLL4 for (int i0 = t / quads; i0 < end - begin; i0 += 256 / quads) {
      float4 y = attention_load(v, v_base + (begin + i0) * p.v_row, t % quads * 4, p.dv, p.v_wide);
      UNROLL for (int i = 0; i < ATT_FEW; i++) {
        if (i < rows) {
          float w = weights[i * ATT_RANGE + i0];
          MINE(acc, t)[i][0] = FMAF(w, y.x, MINE(acc, t)[i][0]), MINE(acc, t)[i][1] = FMAF(w, y.y, MINE(acc, t)[i][1]);
          MINE(acc, t)[i][2] = FMAF(w, y.z, MINE(acc, t)[i][2]), MINE(acc, t)[i][3] = FMAF(w, y.w, MINE(acc, t)[i][3]);
        }
      }
    }
  }
  for (int i = 0; i < rows; i++) {
    BARRIER;
    FOR_ITEMS(t, 256) {
      float4 mine = MAKE4(0.0f, 0.0f, 0.0f, 0.0f);
      UNROLL for (int j = 0; j < ATT_FEW; j++) { /* registers cannot be indexed dynamically */
        if (j == i) mine = MAKE4(MINE(acc, t)[j][0], MINE(acc, t)[j][1], MINE(acc, t)[j][2], MINE(acc, t)[j][3]);
      }
      products[t] = mine;
    }
    BARRIER;
    FOR_ITEMS(t, 256) {
      int h = ATT_ROW_HEAD(p, hk, i), s = i % p.q_len;
      if (t < p.dv) {
        float sum = 0.0f;
        for (int from = t; from < 1024; from += quads * 4) sum += quarters[from];
        if (p.splits > 1) {
          partial[ATT_PARTIAL(p, GROUP(1), b, h, s) + t] = sum;
        } else {
          STORE(out, b * p.o_batch + h * p.o_head + s * p.o_row + t, sums[i] == 0.0f ? 0.0f : sum / sums[i]);
        }
      }
      if (t == 0 && p.splits > 1) {
        int at = ATT_PARTIAL(p, GROUP(1), b, h, s) + p.dv;
        partial[at] = most[i], partial[at + 1] = sums[i];
      }
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
      STORE(out, b * p.o_batch + h * p.o_head + s * p.o_row + column, sum == 0.0f ? 0.0f : v / sum);
    }
  }
}
