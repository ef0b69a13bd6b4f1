/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_i8.h - products of 8-bit matrices in exact 32-bit sums (wrapping). Results are int32, scaled floats,
 * or bytes again, and bit-identical on every instruction set.
 *
 * Internally A is unsigned and B signed: 128 is added to a signed A, subtracted from an unsigned B, and from or to
 * their zero points likewise. With these,
 *   sum (a - za)(b - zb) = sum ab - za * colsum(b) - zb * (rowsum(a) - k za).
 * B is packed in panels of [k / 4][NR][4] bytes, zero padded in k to the variant's multiple. A is copied row by row per
 * tile, unless it is unsigned with rows of such a multiple and B has no zero points.
 *
 * A variant whose instructions multiply small pairs faster (simd/i8_kept.h) splits its panels: large pairs are halved,
 * and the other halves are extra quads behind the panel. A panel with too many of them stays as it is, and a tile of
 * several rows keeps its weights in the form for these. */
#ifndef OX_KERN_GEMM_I8_H
#define OX_KERN_GEMM_I8_H

#include "base/cpu.h"
#include "base/stop.h"
#include "kern/act.h"
#include "kern/quant/small_pairs.h"
#include "onyx/ep.h"

/* The epilogue. */
typedef struct ox_gemm_i8_out {
  uint32_t type; /* OX_I32: sums; OX_F32: act(sum * scales + term + bias); OX_U8, OX_I8: the same rounded, + zero */
  const float *row_scale; /* scale of (i, j): row_scale[i * row_step] * col_scale[j * col_step] */
  const float *col_scale;
  size_t row_step, col_step; /* 0 or 1 */
  const float *term;         /* a matrix with row stride term_rs, added after scaling; NULL: none */
  size_t term_rs;
  const float *bias;       /* per column, added last; NULL: none */
  const int32_t *bias_i32; /* per column, added to the sums; NULL: none */
  ox_act act;              /* OX_F32 only */
  int32_t zero;
} ox_gemm_i8_out;

/* One register tile of at most MR x NR. */
typedef struct ox_gemm_i8_tile {
  const uint8_t *a; /* rows of a_rs bytes, quads of k */
  size_t a_rs;
  const int8_t *b;
  size_t quads, m, n;
  const int8_t *fetch; /* prefetched meanwhile, |fetch_step| bytes per quad: to L1 if m <= MR / 2, else to L2 */
  size_t fetch_step;
  const uint32_t *extra; /* the quads that the |n_extra| ones after |quads| are multiplied by; only of split panels */
  size_t n_extra;
  const int32_t *a_zero, *row_sum; /* per row; row_sum[i] = sum of the row - k * a_zero[i] */
  const int32_t *b_zero, *col_sum; /* per column of the tile; b_zero NULL: all 0 */
  const ox_gemm_i8_out *out;
  int32_t *sums;   /* of kept weights, [m][NR]: */
  bool more;       /* they go on with these sums */
  size_t row, col; /* position of the tile, by which scales and biases are indexed */
  void *c;         /* element (0, 0) of the tile */
  size_t c_rs;
} ox_gemm_i8_tile;

typedef void (*ox_gemm_i8_fn)(const ox_gemm_i8_tile *t);

/* Packs one panel of B: w columns by k rows with strides ks, ns, every byte xored with |flip|, into |to| (rows of NR
 * quads, k padded to kp); stores the sums of its columns. */
typedef void (*ox_gemm_i8_panel_fn)(const uint8_t *b, uint8_t flip, ptrdiff_t ks, ptrdiff_t ns, size_t k, size_t kp,
                                    size_t w, uint8_t *to, int32_t *sums);
/* Copies a row of A: k bytes xored with |flip|, then zeros up to kp; returns the sum of the k bytes. */
typedef int32_t (*ox_gemm_i8_row_fn)(const uint8_t *a, uint8_t flip, size_t k, size_t kp, uint8_t *to);

/* What stands at the end of a panel that could be split: |pairs| tells whether it was. */
typedef struct ox_gemm_i8_extras {
  uint32_t pairs, n;
} ox_gemm_i8_extras;

enum { OX_GEMM_I8_ABREAST = 4 };

/* The kernels of a variant that splits panels. */
typedef struct ox_gemm_i8_forms {
  ox_gemm_i8_fn pairs;        /* of split panels */
  ox_gemm_i8_fn abreast;      /* one row by OX_GEMM_I8_ABREAST of them, a tile each, read in turns: several streams of
                                 memory are faster than one (kern/gemm/compressed_abreast.h) */
  ox_gemm_i8_fn kept, finish; /* sums of kept weights to t->sums, results from these */
  size_t kept_bytes;          /* of a weight */
  /* As simd/i8_kept.h says: split of NR quads, keep of a multiple of NR. */
  ox_split_pairs_fn *split;
  void (*keep)(const int8_t *w, size_t quads, int8_t *to);
} ox_gemm_i8_forms;

typedef struct ox_gemm_i8_variant {
  ox_isa needs;
  uint16_t mr, nr, k_align;
  ox_gemm_i8_fn fn;
  void (*begin)(void), (*end)(void); /* around a run of tiles on one thread (AMX configuration); NULL: nothing */
  ox_gemm_i8_panel_fn panel;
  ox_gemm_i8_row_fn row;
  const ox_gemm_i8_forms *forms; /* NULL: panels are not split */
  const char *name;
  const char *form[2]; /* names for profiles: packed at load, packed in the run */
} ox_gemm_i8_variant;

#define OX_GEMM_I8(needs, mr, nr, k_align, sym, begin, end, pack, forms)                                         \
  void sym(const ox_gemm_i8_tile *t);                                                                            \
  void ox_gemm_i8_panel__##pack(const uint8_t *b, uint8_t flip, ptrdiff_t ks, ptrdiff_t ns, size_t k, size_t kp, \
                                size_t w, uint8_t *to, int32_t *sums);                                           \
  int32_t ox_gemm_i8_row__##pack(const uint8_t *a, uint8_t flip, size_t k, size_t kp, uint8_t *to);
#include "kern/gemm/gemm_i8_variants.inc"
#undef OX_GEMM_I8
extern const ox_gemm_i8_forms ox_gemm_i8_forms__avx2;
void ox_gemm_i8_begin__amxint8(void);
void ox_gemm_i8_end__amxint8(void);

#define OX_GEMM_I8_ROW(needs, mr, nr, k_align, sym, begin, end, pack, forms)                                  \
  {                                                                                                           \
    needs, mr, nr, k_align, sym, begin, end, ox_gemm_i8_panel__##pack, ox_gemm_i8_row__##pack, forms, #sym, { \
      "8-bit packed " #mr "x" #nr, "8-bit packed in the run " #mr "x" #nr                                     \
    }                                                                                                         \
  }
const ox_gemm_i8_variant *ox_gemm_i8_select(ox_isa have);

/* ---- packing B ---- */
static inline size_t ox_gemm_i8_k(const ox_gemm_i8_variant *v, size_t k) {
  return (k + v->k_align - 1) / v->k_align * v->k_align;
}
static inline size_t ox_gemm_i8_panels(const ox_gemm_i8_variant *v, size_t n) { return (n + v->nr - 1) / v->nr; }
/* The most extra quads of a panel: more would take longer than kept weights. */
static inline size_t ox_gemm_i8_most_extras(size_t kp) { return kp / 16; }
/* Bytes from panel to panel, for a padded k. */
static inline size_t ox_gemm_i8_span(const ox_gemm_i8_variant *v, size_t kp) {
  size_t quad = 4 * (size_t)v->nr, all = kp / 4 * quad;
  if (!v->forms) return all;
  return (all + ox_gemm_i8_most_extras(kp) * (quad + 4) + sizeof(ox_gemm_i8_extras) + 63) / 64 * 64;
}
/* Bytes of the packed B: panels, then an int32 sum for each padded column. */
static inline size_t ox_gemm_i8_b_bytes(const ox_gemm_i8_variant *v, size_t k, size_t n) {
  return ox_gemm_i8_panels(v, n) * (ox_gemm_i8_span(v, ox_gemm_i8_k(v, k)) + 4 * (size_t)v->nr);
}
/* The sums of the columns of a packed B of |n| columns. */
static inline int32_t *ox_gemm_i8_sums(const ox_gemm_i8_variant *v, const void *packed, size_t kp, size_t n) {
  return (int32_t *)(uintptr_t)((const char *)packed + ox_gemm_i8_panels(v, n) * ox_gemm_i8_span(v, kp));
}
/* Splits a panel that v->panel has filled, if the variant does that. */
void ox_gemm_i8_split(const ox_gemm_i8_variant *v, size_t kp, void *panel);
/* Packs panels [begin, end) of a k x n matrix of bytes with strides ks, ns. |stop| may be NULL. */
void ox_gemm_i8_pack_b(const ox_gemm_i8_variant *v, const void *b, bool b_signed, ptrdiff_t ks, ptrdiff_t ns, size_t k,
                       size_t n, size_t begin, size_t end, void *packed, const ox_stop *stop);

/* ---- the driver ---- */
typedef struct ox_gemm_i8_plan {
  const ox_gemm_i8_variant *v;
  size_t m, n, k, mc, nc, mt, nt, scratch;
} ox_gemm_i8_plan;

typedef struct ox_gemm_i8_io {
  const void *a; /* bytes; element (i, k) at a[i * a_rs + k * a_ks] */
  bool a_signed, b_signed;
  ptrdiff_t a_rs, a_ks;
  const void *a_zero, *b_zero;     /* bytes of A's and B's types; NULL: 0 */
  size_t a_zero_step, b_zero_step; /* 0: one for all; 1: per row, per column */
  const void *packed;
  const ox_gemm_i8_out *out;
  void *c;
  size_t c_rs;
  ox_stop stop; /* checked between panels of B */
} ox_gemm_i8_io;

void ox_gemm_i8_plan_init(ox_gemm_i8_plan *g, const ox_gemm_i8_variant *v, size_t m, size_t n, size_t k);
static inline size_t ox_gemm_i8_tiles(const ox_gemm_i8_plan *g) { return g->mt * g->nt; }
void ox_gemm_i8_run(const ox_gemm_i8_plan *g, const ox_gemm_i8_io *io, size_t index, void *scratch);

#endif
