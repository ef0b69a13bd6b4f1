/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/moe.h - MoE and QMoE: tokens are routed to experts, pairs are sorted by expert so that a tile of rows
 * reads its expert's weights once, and results are summed per token. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/moe_params.h"

/* The best experts of each token (among equal ones the first) and their weights: an item for each token. */
KERNEL(moe_route, moe_params) {
  BUFFER(const REAL, router, 0);
  BUFFER(const REAL, given, 1);
  BUFFER(int, expert, 2);
  BUFFER(float, weight, 3);
  PARAMS(moe_params, p);
  FOR_ITEMS(t, 256) {
    int token = GROUP(0) * 256 + t;
    if (token < p.tokens) {
      int row = token * p.experts, to = token * p.top;
      float sum = 0.0f, chosen = 0.0f;
      for (int j = 0; j < p.top; j++) {
        int best = -1;
        for (int e = 0; e < p.experts; e++) {
          int taken = 0;
          for (int i = 0; i < j; i++) taken |= expert[to + i] == e;
          if (!taken && (best < 0 || LOAD(router, row + e) > LOAD(router, row + best))) best = e;
        }
        expert[to + j] = best;
      }
      float most = LOAD(router, row + expert[to]);
      for (int e = 0; e < p.experts; e++) sum += EXPF(LOAD(router, row + e) - most);
      for (int j = 0; j < p.top; j++) {
        int at = row + expert[to + j];
        float w = p.has_weights ? LOAD(given, at) : EXPF(LOAD(router, at) - most) / sum;
        weight[to + j] = w, chosen += w;
      }
      if (p.among && chosen != 0.0f) {
        for (int j = 0; j < p.top; j++) weight[to + j] = weight[to + j] / chosen;
      }
    }
  }
}

/* Sorts pairs by expert. first: each expert's first row, then the end of all; pair: the pair of each row; row: the row
 * of each pair. Runs as one group. */
KERNEL(moe_sort, moe_params) {
  BUFFER(const int, expert, 0);
  BUFFER(int, first, 1);
  BUFFER(int, pair, 2);
  BUFFER(int, row, 3);
  PARAMS(moe_params, p);
  FOR_ITEMS(t, 256) {
    for (int e = t; e < p.experts; e += 256) {
      int count = 0;
      for (int i = 0; i < p.tokens * p.top; i++) count += expert[i] == e;
      first[e + 1] = count;
    }
  }
  BARRIER;
  FOR_ITEMS(t, 256) {
    if (t == 0) {
      first[0] = 0;
      for (int e = 0; e < p.experts; e++) first[e + 1] += first[e];
    }
  }
  BARRIER;
  FOR_ITEMS(t, 256) {
    for (int e = t; e < p.experts; e += 256) {
      int at = first[e];
      for (int i = 0; i < p.tokens * p.top; i++) {
        if (expert[i] == e) pair[at] = i, row[i] = at++;
      }
    }
  }
}

FUNCTION int moe_bits(const GLOBAL unsigned char *v, int bits, int i) {
  int each = 8 / bits;
  return v[i / each] >> (i % each * bits) & ((1 << bits) - 1);
}

/* Element |i| of row |line| of the weights, rows counted over all experts. */
FUNCTION float moe_weight(const moe_layer_params *p, const GLOBAL unsigned char *w, const GLOBAL REAL *scale,
                          const GLOBAL unsigned char *zero, int line, int i) {
  if (p->bits == 0) return LOAD((const GLOBAL REAL *)w, line * p->k + i);
  int z = 1 << (p->bits - 1), b = i / p->block;
  if (p->has_zero) {
    const GLOBAL unsigned char *of = zero + line / p->n * p->zero_e + line % p->n * p->zero_row;
    z = moe_bits(of, p->bits, p->zero_row ? b : line % p->n);
  }
  return (float)(moe_bits(w, p->bits, line * p->k + i) - z) * LOAD(scale, line * p->blocks + b);
}

FUNCTION float moe_input(const GLOBAL char *x, int of_tokens, int i) {
  if (of_tokens) return LOAD((const GLOBAL REAL *)x, i);
  return ((const GLOBAL float *)x)[i];
}

/* Group (c, tile) computes MOE_COLUMNS columns from MOE_COLUMNS * c on for one tile of MOE_ROWS rows of an expert;
 * tiles are counted expert by expert. */
KERNEL(moe_layer, moe_layer_params) {
  BUFFER(const char, x, 0);
  BUFFER(const unsigned char, w, 1);
  BUFFER(const REAL, scale, 2);
  BUFFER(const unsigned char, zero, 3);
  BUFFER(const REAL, bias, 4);
  BUFFER(const int, first, 5);
  BUFFER(const int, pair, 6);
  BUFFER(float, y, 7);
  PARAMS(moe_layer_params, p);
  LOCAL(float, xs, [MOE_ROWS][MOE_STEP + 1]);
  LOCAL(float, ws, [MOE_COLUMNS][MOE_STEP + 1]);
  PRIVATE(float, sums, 256, [MOE_EACH]);
  int left = GROUP(1), e = 0, column = GROUP(0) * MOE_COLUMNS;
  while (e < p.experts) { /* find the tile's expert */
    int tiles = (first[e + 1] - first[e] + MOE_ROWS - 1) / MOE_ROWS;
    if (left < tiles) break;
    left -= tiles, e++;
  }
  int row = e < p.experts ? first[e] + left * MOE_ROWS : 0, end = e < p.experts ? first[e + 1] : 0;
  int steps = e < p.experts ? (p.k + MOE_STEP - 1) / MOE_STEP : 0;
  FOR_ITEMS(t, 256) {
    for (int i = 0; i < MOE_EACH; i++) MINE(sums, t)[i] = 0.0f;
  }
  for (int s = 0; s < steps; s++) {
    FOR_ITEMS(t, 256) {
      int r = row + t / MOE_STEP, at = s * MOE_STEP + t % MOE_STEP;
      float v = 0.0f;
      if (r < end && at < p.k) v = moe_input(x, p.of_tokens, (p.of_tokens ? pair[r] / p.top : r) * p.k + at);
      xs[t / MOE_STEP][t % MOE_STEP] = v;
      for (int i = 0; i < MOE_EACH; i++) {
        int c = t / MOE_STEP + i * MOE_ROWS, of = column + c;
        ws[c][t % MOE_STEP] = of < p.n && at < p.k ? moe_weight(&p, w, scale, zero, e * p.n + of, at) : 0.0f;
      }
    }
    BARRIER;
    FOR_ITEMS(t, 256) {
      for (int k = 0; k < MOE_STEP; k++) {
        float v = xs[t / MOE_STEP][k];
        for (int i = 0; i < MOE_EACH; i++)
          MINE(sums, t)[i] = FMAF(v, ws[t % MOE_STEP + i * MOE_STEP][k], MINE(sums, t)[i]);
      }
    }
    BARRIER;
  }
  FOR_ITEMS(t, 256) {
    int r = row + t / MOE_STEP;
    for (int i = 0; i < MOE_EACH; i++) {
      int c = column + t % MOE_STEP + i * MOE_STEP;
      if (r < end && c < p.n) y[r * p.n + c] = MINE(sums, t)[i] + (p.has_bias ? LOAD(bias, e * p.n + c) : 0.0f);
    }
  }
}

KERNEL(moe_activate, moe_act_params) {
  BUFFER(const float, h, 0);
  BUFFER(const float, third, 1);
  BUFFER(float, y, 2);
  PARAMS(moe_act_params, p);
  FOR_ITEMS(t, 256) {
    int i = GROUP(0) * 256 + t;
    if (i < p.n) {
      int row = i / p.inter, at = i % p.inter;
      float v;
      if (p.act == MOE_SWIGLU) {
        int gate = p.fused == 1 ? 2 * i : p.fused ? row * 2 * p.inter + at : i;
        float g = h[gate], l = p.fused == 1 ? h[gate + 1] : p.fused ? h[gate + p.inter] : third[i];
        if (p.has_limit) g = MIN_OF(g, p.limit), l = MIN_OF(MAX_OF(l, -p.limit), p.limit);
        v = g / (1.0f + EXPF(-p.alpha * g)) * (l + p.beta);
      } else {
        v = h[i];
        if (p.act == MOE_RELU) v = v > 0.0f ? v : 0.0f;
        if (p.act == MOE_GELU) v = 0.5f * v * (1.0f + TANHF(0.79788456f * (v + 0.044715f * v * v * v)));
        if (p.act == MOE_SILU) v = v / (1.0f + EXPF(-v));
        if (p.has_third) v *= third[i];
      }
      y[i] = v;
    }
  }
}

KERNEL(moe_combine, moe_params) {
  BUFFER(const float, x, 0);
  BUFFER(const int, row, 1);
  BUFFER(const float, weight, 2);
  BUFFER(REAL, y, 3);
  PARAMS(moe_params, p);
  FOR_ITEMS(t, 256) {
    int i = GROUP(0) * 256 + t;
    if (i < p.tokens * p.hidden) {
      int token = i / p.hidden;
      float sum = 0.0f;
      for (int j = token * p.top; j < (token + 1) * p.top; j++)
        sum = FMAF(weight[j], x[row[j] * p.hidden + i % p.hidden], sum);
      STORE(y, i, sum);
    }
  }
}
