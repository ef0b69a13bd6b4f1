/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/window_body.h - rows of window.h over the SIMD vocabulary. Cannot fail, no globals. A row is split into
 * tiles of up to 8, 10 or 14 outputs, which are accumulated in registers. For each row of taps, every input is loaded
 * once and used for all outputs whose windows contain it. */
#include "kern/blocks/window.h"
#include "kern/simd/act_f32.h"

/* Hides from the compiler how the pointer was computed: else it keeps the terms of that sum in registers of their own.
 */
OX_INLINE const float *opaque(const float *p) {
#if defined(__GNUC__)
  __asm__("" : "+r"(p));
#endif
  return p;
}

#ifndef WINDOW_MOST
#define WINDOW_MOST 8 /* accumulators of a convolution: with weights and input they fill 16 registers */
#endif
enum {
  L = VF32_LANES,
  TILE = 8,
  MOST = WINDOW_MOST,
  MAX_TAPS = 7,
  PIECE = (int)L == (int)OX_BLOCK ? 1 << 30 : 128 /* outputs whose inputs stay in L1 until all lanes have read them */
};

/* What an accumulator begins with. */
OX_INLINE vf32 start(const ox_window_row *r, size_t lane, ox_window_kind kind) {
  if (kind == OX_WINDOW_CONV) return vf32_load(r->bias + lane);
  return kind == OX_WINDOW_MAX ? vf32_splat(-__builtin_inff()) : vf32_zero();
}

/* Adds input |x| to an accumulator. Maxima ignore NaN in any order, as MaxPool of planes does. */
OX_INLINE vf32 accumulate(vf32 acc, vf32 x, vf32 w, ox_window_kind kind) {
  if (kind == OX_WINDOW_CONV) return vf32_fma(x, w, acc);
  return kind == OX_WINDOW_MAX ? vf32_max(x, acc) : vf32_add(acc, x);
}

/* Stores |n| outputs from |o| on: with residual, clamp and slope, or times their factors. */
OX_INLINE void finish(const ox_window_row *r, int64_t o, size_t lane, const vf32 *acc, ox_window_kind kind, int n) {
  float *y = r->y + o * OX_BLOCK + lane;
  const float *z = kind == OX_WINDOW_CONV && r->z ? r->z + o * OX_BLOCK + lane : NULL;
  const float *slope = kind == OX_WINDOW_CONV && r->slope ? r->slope + lane : NULL;
  vf32 lo = vf32_splat(r->lo), hi = vf32_splat(r->hi);
  OX_UNROLL for (int p = 0; p < n; p++) {
    vf32 v = acc[p];
    if (kind == OX_WINDOW_CONV) {
      if (z) v = vf32_add(v, vf32_load(z + p * OX_BLOCK));
      v = vf32_min(hi, vf32_max(lo, v)); /* NaN stays */
      if (slope) v = vf32_prelu(v, vf32_load(slope));
    } else if (kind == OX_WINDOW_SUM) {
      v = vf32_mul(v, vf32_splat(r->factor * r->scale[o + p]));
    }
    vf32_store(y + p * OX_BLOCK, v);
  }
}

/* ---- adjacent taps ---- */

/* Bit j of the result, j < 31: input first + j is outside. */
OX_INLINE uint32_t outside(int64_t first, int64_t in) {
  int64_t lo = OX_MIN(OX_MAX(-first, 0), 31), hi = OX_MIN(OX_MAX(in - first, 0), 31);
  return ((1u << lo) - 1) | ~((1u << hi) - 1);
}

/* |n| outputs from |o| on, whose windows overlap or touch. |edge|: some of the inputs are outside. */
OX_INLINE void dense_tile(const ox_window_line *l, const ox_window_row *r, int64_t o, size_t lane, ox_window_kind kind,
                          int taps, int stride, bool edge, int n) {
  int64_t first = o * stride + l->tap[0];
  uint32_t out = edge ? outside(first, l->in) : 0;
  vf32 acc[MOST];
  OX_UNROLL for (int p = 0; p < n; p++) acc[p] = start(r, lane, kind);
  for (size_t i = 0; i < r->n; i++) {
    const float *x = opaque(r->x[i] + first * OX_BLOCK + (int64_t)lane);
    vf32 w[MAX_TAPS];
    OX_UNROLL for (int t = 0; t < taps; t++) w[t] =
        kind == OX_WINDOW_CONV ? vf32_load(r->w[i] + t * OX_BLOCK + lane) : vf32_zero();
    OX_UNROLL for (int j = 0; j < (n - 1) * stride + taps; j++) {
      bool may_be_out = edge && (j < taps - 1 || j > (n - 1) * stride);
      if (may_be_out && (out >> j & 1)) continue;
      vf32 v = vf32_held(vf32_load(x + j * OX_BLOCK));
      OX_UNROLL for (int t = 0; t < taps; t++) {
        int p = (j - t) / stride;
        if (j >= t && (j - t) % stride == 0 && p < n) acc[p] = accumulate(acc[p], v, w[t], kind);
      }
    }
  }
  finish(r, o, lane, acc, kind, n);
}

#define WINDOW_CASE(i)                                           \
  case i:                                                        \
    if (i > 8 && kind != OX_WINDOW_CONV) break;                  \
    if (edge)                                                    \
      dense_tile(l, r, o, lane, kind, taps, stride, true, (i));  \
    else                                                         \
      dense_tile(l, r, o, lane, kind, taps, stride, false, (i)); \
    break;

/* Tiles are of nearly equal size: 28 outputs are 7 7 7 7 if a tile has at most 8. */
OX_INLINE void dense_row(const ox_window_line *l, const ox_window_row *r, ox_window_kind kind, int taps, int stride) {
  for (size_t lane = 0; lane < OX_BLOCK; lane += L)
    for (int64_t i = 0, o = 0; i < l->n_tiles; i++) {
      int64_t n = l->each + (i < l->more);
      bool edge = o < l->begin || o + n > l->end;
      switch (n) {
        WINDOW_CASE(1)
        WINDOW_CASE(2)
        WINDOW_CASE(3)
        WINDOW_CASE(4)
        WINDOW_CASE(5)
        WINDOW_CASE(6)
        WINDOW_CASE(7)
        WINDOW_CASE(8)
#if WINDOW_MOST > 8
        WINDOW_CASE(9)
        WINDOW_CASE(10)
#endif
#if WINDOW_MOST > 10
        WINDOW_CASE(11)
        WINDOW_CASE(12)
        WINDOW_CASE(13)
        WINDOW_CASE(14)
#endif
      }
      o += n;
    }
}

/* ---- any taps ---- */

/* |n| outputs from |o| on. Each tap is inside for all of them or, if |edge|, outside for all. */
OX_INLINE void any_tile(const ox_window_line *l, const ox_window_row *r, int64_t o, size_t lane, ox_window_kind kind,
                        bool edge, int n) {
  vf32 acc[TILE];
  OX_UNROLL for (int p = 0; p < n; p++) acc[p] = start(r, lane, kind);
  for (size_t i = 0; i < r->n; i++)
    for (int64_t t = 0; t < l->n_taps; t++) {
      int64_t at = o * l->stride + l->tap[t];
      if (edge && (at < 0 || at >= l->in)) continue;
      const float *x = r->x[i] + at * OX_BLOCK + (int64_t)lane;
      vf32 w = kind == OX_WINDOW_CONV ? vf32_load(r->w[i] + t * OX_BLOCK + (int64_t)lane) : vf32_zero();
      OX_UNROLL for (int p = 0; p < n; p++) acc[p] =
          accumulate(acc[p], vf32_load(x + p * l->stride * OX_BLOCK), w, kind);
    }
  finish(r, o, lane, acc, kind, n);
}

/* Is each tap inside for all outputs of the tile that begins at |o|, or outside for all? */
OX_INLINE bool taps_agree(const ox_window_line *l, int64_t o) {
  for (int64_t t = 0; t < l->n_taps; t++) {
    int64_t first = o * l->stride + l->tap[t], last = first + (TILE - 1) * l->stride;
    if ((first < 0) != (last < 0) || (first >= l->in) != (last >= l->in)) return false;
  }
  return true;
}

/* Output |o|, some of whose taps are outside. */
OX_INLINE void any_edge(const ox_window_line *l, const ox_window_row *r, int64_t o, size_t lane, ox_window_kind kind) {
  vf32 acc[TILE] = {start(r, lane, kind)};
  for (size_t i = 0; i < r->n; i++)
    for (int64_t t = 0; t < l->n_taps; t++) {
      int64_t at = o * l->stride + l->tap[t];
      if (at < 0 || at >= l->in) continue;
      vf32 w = kind == OX_WINDOW_CONV ? vf32_load(r->w[i] + t * OX_BLOCK + (int64_t)lane) : vf32_zero();
      acc[0] = accumulate(acc[0], vf32_load(r->x[i] + at * OX_BLOCK + (int64_t)lane), w, kind);
    }
  finish(r, o, lane, acc, kind, 1);
}

/* Outputs [o, end), some of whose taps are outside. */
OX_INLINE void any_edges(const ox_window_line *l, const ox_window_row *r, int64_t o, int64_t end, size_t lane,
                         ox_window_kind kind) {
  while (o < end)
    if (end - o >= TILE && taps_agree(l, o))
      any_tile(l, r, o, lane, kind, true, TILE), o += TILE;
    else
      any_edge(l, r, o++, lane, kind);
}

/* Outputs [from, to). */
OX_INLINE void any_piece(const ox_window_line *l, const ox_window_row *r, int64_t from, int64_t to, size_t lane,
                         ox_window_kind kind) {
  int64_t o = OX_MAX(OX_MIN(l->begin, to), from), end = OX_MIN(l->end, to);
  any_edges(l, r, from, o, lane, kind);
  for (; end - o >= TILE; o += TILE) any_tile(l, r, o, lane, kind, false, TILE);
  for (; end - o >= 3; o += 3) any_tile(l, r, o, lane, kind, false, 3);
  for (; o < end; o++) any_tile(l, r, o, lane, kind, false, 1);
  any_edges(l, r, o, to, lane, kind);
}

OX_INLINE void any_row(const ox_window_line *l, const ox_window_row *r, ox_window_kind kind) {
  for (int64_t o = 0, next; o < l->out; o = next) {
    next = OX_MIN(OX_MAX(o, l->begin) + PIECE, l->out);
    for (size_t lane = 0; lane < OX_BLOCK; lane += L) any_piece(l, r, o, next, lane, kind);
  }
}

/* ---- the table: functions for common windows, and one of each kind for all others ---- */
#define WINDOW_DENSE(name, kind, taps, stride) \
  static void name(const ox_window_line *l, const ox_window_row *r) { dense_row(l, r, kind, taps, stride); }
#define WINDOW_ANY(name, kind) \
  static void name(const ox_window_line *l, const ox_window_row *r) { any_row(l, r, kind); }
WINDOW_DENSE(conv_3_1, OX_WINDOW_CONV, 3, 1)
WINDOW_DENSE(conv_3_2, OX_WINDOW_CONV, 3, 2)
WINDOW_DENSE(conv_5_1, OX_WINDOW_CONV, 5, 1)
WINDOW_DENSE(conv_5_2, OX_WINDOW_CONV, 5, 2)
WINDOW_DENSE(conv_7_1, OX_WINDOW_CONV, 7, 1)
WINDOW_DENSE(max_2_2, OX_WINDOW_MAX, 2, 2)
WINDOW_DENSE(max_3_2, OX_WINDOW_MAX, 3, 2)
WINDOW_DENSE(max_5_1, OX_WINDOW_MAX, 5, 1)
WINDOW_ANY(conv_any, OX_WINDOW_CONV)
WINDOW_ANY(max_any, OX_WINDOW_MAX)
WINDOW_ANY(sum_any, OX_WINDOW_SUM)

/* Maxima have no weights to load, so larger tiles are not faster. */
static int64_t tile(ox_window_kind kind) { return kind == OX_WINDOW_CONV ? MOST : 8; }

static ox_window_fn *choose(ox_window_kind kind, const ox_window_line *l) {
  static const struct {
    ox_window_kind kind;
    int64_t taps, stride;
    ox_window_fn *fn;
  } dense[] = {{OX_WINDOW_CONV, 3, 1, conv_3_1}, {OX_WINDOW_CONV, 3, 2, conv_3_2}, {OX_WINDOW_CONV, 5, 1, conv_5_1},
               {OX_WINDOW_CONV, 5, 2, conv_5_2}, {OX_WINDOW_CONV, 7, 1, conv_7_1}, {OX_WINDOW_MAX, 2, 2, max_2_2},
               {OX_WINDOW_MAX, 3, 2, max_3_2},   {OX_WINDOW_MAX, 5, 1, max_5_1}};
  for (size_t i = 0; i < OX_COUNT(dense) && l->dense; i++)
    if (dense[i].kind == kind && dense[i].taps == l->n_taps && dense[i].stride == l->stride) return dense[i].fn;
  return kind == OX_WINDOW_CONV ? conv_any : kind == OX_WINDOW_MAX ? max_any : sum_any;
}

static void apply(const ox_act *act, float *y, size_t n) { vf32_act_run(act, y, n); }

OX_INLINE void act_sum_block(ox_act act, float *y, vf32 *acc) {
  OX_UNROLL for (int j = 0; j < OX_BLOCK / L; j++, y += L) {
    vf32 v = vf32_act(act, vf32_load(y));
    if (act.kind != OX_ACT_NONE) vf32_store(y, v);
    acc[j] = vf32_add(acc[j], v);
  }
}

/* As act_run_as_, with sums: the processor adds while it waits for the activation's steps. Four sums where a block is
 * one vector, so that additions do not wait for each other. */
OX_INLINE void act_sum_as(ox_act act, float *y, size_t n, float *to) {
  enum { PER = OX_BLOCK / L, CHAINS = PER == 1 ? 4 : 1 };
  vf32 acc[CHAINS][PER];
  OX_UNROLL for (int b = 0; b < CHAINS; b++) OX_UNROLL for (int j = 0; j < PER; j++) acc[b][j] = vf32_zero();
  size_t i = 0;
  for (; n - i >= CHAINS * OX_BLOCK; i += CHAINS * OX_BLOCK)
    OX_UNROLL for (int b = 0; b < CHAINS; b++) act_sum_block(act, y + i + b * OX_BLOCK, acc[b]);
  for (; i < n; i += OX_BLOCK) act_sum_block(act, y + i, acc[0]);
  OX_UNROLL for (int j = 0; j < PER; j++) {
    vf32 all = acc[0][j];
    OX_UNROLL for (int b = 1; b < CHAINS; b++) all = vf32_add(all, acc[b][j]);
    vf32_store(to + j * L, vf32_add(vf32_load(to + j * L), all));
  }
}

static void apply_sum(const ox_act *act, float *y, size_t n, float *to) {
  if (act && act->kind == OX_ACT_SILU) {
    act_sum_as((ox_act){OX_ACT_SILU, 0, 0}, y, n, to);
  } else {
    if (act) vf32_act_run(act, y, n);
    act_sum_as((ox_act){OX_ACT_NONE, 0, 0}, y, n, to);
  }
}

const ox_window_variant OX_PASTE(ox_window__, WINDOW_ISA) = {.needs = WINDOW_NEEDS,
                                                             .name = WINDOW_TEXT,
                                                             .lanes = L,
                                                             .tile = tile,
                                                             .choose = choose,
                                                             .act = apply,
                                                             .act_sum = apply_sum};
