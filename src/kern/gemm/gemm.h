/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm.h - C = act(alpha A B + beta (terms)) for 32-bit accumulation: microkernels, packing, and a driver
 * that runs one tile of C at a time. Nothing here allocates, fails or starts threads.
 *
 * B is consumed in panels of NR columns (k rows of NR elements each, zero padded), A where it lies, by two strides:
 * row-major, transposed and packed A are the same to the kernel. K is walked in blocks of kc; partial sums wait in C
 * (float) or in scratch. A tile depends on shapes only, so do the bits of the result. */
#ifndef OX_KERN_GEMM_H
#define OX_KERN_GEMM_H

#include "base/stop.h"
#include "base/cpu.h"
#include "kern/act.h"
#include "onyx/ep.h" /* ox_dtype: OX_F32, OX_F16, OX_BF16 */

/* A term added to the product before the activation. Element (i, j) is p[i * rs + j * cs], where cs is 0 or 1: a bias
 * per column has (rs, cs) = (0, 1), a bias per row (1, 0), a scalar (0, 0), a whole matrix (ld, 1). type: OX_F32,
 * OX_F16 or OX_BF16. p NULL: absent. */
typedef struct ox_gemm_term {
  const void *p;
  uint32_t type;
  ptrdiff_t rs, cs;
} ox_gemm_term;

typedef struct ox_gemm_epi {
  float alpha, beta; /* beta scales the terms */
  ox_gemm_term term[2];
  bool far; /* the first term, a float matrix, is not in L1 or L2 */
  ox_act act;
} ox_gemm_epi;

/* A B in memory, to be packed. */
typedef struct ox_gemm_src {
  const void *p;    /* may be unaligned */
  uint32_t type;    /* the panel type, or OX_F16 / OX_BF16 into float panels */
  ptrdiff_t ks, ns; /* element (k, n) at p[k * ks + n * ns] */
} ox_gemm_src;

/* One register tile of at most MR x NR. */
typedef struct ox_gemm_tile {
  const float *a; /* element (i, k) at a[i * a_rs + k * a_ks] */
  ptrdiff_t a_rs, a_ks;
  const void *b; /* row k of the panel is at b + k * b_ks elements of the panel type; all NR of them must be readable */
  size_t b_ks;
  size_t m, n, k;    /* 1 <= m <= MR, 1 <= n <= NR */
  const char *fetch; /* prefetched during the product, |fetch_step| bytes per k: to L1 if m <= MR / 2, else to L2 */
  bool streams;      /* OX_SLOW_L3: single rows and compressed panels prefetch to L2 */
  size_t fetch_step;
  float *part; /* partial sums: read if |add|, written unless |epi|; row stride part_rs */
  size_t part_rs;
  bool add;
  const ox_gemm_epi *epi;   /* for the last block of k: the epilogue, which stores to c; NULL: leave the sums in part */
  const ox_gemm_src *whole; /* compressed panels: B itself */
  void *c;                  /* element (0, 0) of the tile */
  uint32_t c_type;          /* OX_F32, OX_F16, OX_BF16 */
  size_t c_rs;
  size_t row, col; /* position of the tile in the matrix, by which terms are indexed */
} ox_gemm_tile;

typedef void (*ox_gemm_fn)(const ox_gemm_tile *t);

typedef struct ox_gemm_variant {
  uint32_t panel; /* element type of the B panels: OX_F32, OX_F16, OX_BF16 */
  ox_isa needs;
  uint16_t mr, nr, kc;
  ox_gemm_fn fn;
  ox_gemm_fn dots; /* the same tile from a transposed float B: column j at b + j * b_ks, unit stride along k; a_ks 1 */
  const char *name;
  const char *form[4]; /* names for profiles: by ox_gemm_b, then packed in the run */
} ox_gemm_variant;

#define OX_GEMM(panel, needs, mr, nr, kc, sym, dots) \
  void sym(const ox_gemm_tile *t);                   \
  void dots(const ox_gemm_tile *t);
#include "kern/gemm/gemm_variants.inc"
#undef OX_GEMM
/* rows for a table of variants */
#define OX_GEMM_FORMS(tile) \
  { "packed " tile, "in place " tile, "dots " tile, "packed in the run " tile }
#define OX_GEMM_ROW(panel, needs, mr, nr, kc, sym, dots) \
  { panel, needs, mr, nr, kc, sym, dots, #sym, OX_GEMM_FORMS(#mr "x" #nr) }

/* The best variant for panels of type |panel|; NULL: there is none for that type. */
const ox_gemm_variant *ox_gemm_select(uint32_t panel, ox_isa have);
/* The best variant for a float B of |n| columns that is multiplied by |rows| rows repeatedly, from L2 or L3: one with
 * wide panels if there are only a few rows and little padding. */
const ox_gemm_variant *ox_gemm_select_wide(size_t rows, size_t n, ox_isa have);
/* The best variant for a float B of |n| columns that |rows| rows read where it lies. */
const ox_gemm_variant *ox_gemm_select_direct(size_t rows, size_t n, ox_isa have);

/* ---- packing B: any strides, any alignment ---- */
static inline size_t ox_gemm_panels(const ox_gemm_variant *v, size_t n) { return (n + v->nr - 1) / v->nr; }
/* Bytes of |k| rows of one panel. */
static inline size_t ox_gemm_panel_bytes(const ox_gemm_variant *v, size_t k) {
  return v->nr * k * (v->panel == OX_F32 ? 4 : 2);
}
static inline size_t ox_gemm_b_bytes(const ox_gemm_variant *v, size_t k, size_t n) {
  return ox_gemm_panels(v, n) * ox_gemm_panel_bytes(v, k);
}
/* Packs panels [begin, end) of the k x n matrix |src| into |panels|, which is 64-byte aligned and has room for all.
 * |stop| may be NULL. */
void ox_gemm_pack_b(const ox_gemm_variant *v, const ox_gemm_src *src, size_t k, size_t n, size_t begin, size_t end,
                    void *panels, const ox_stop *stop);
/* Packs |kn| rows of panel |j|, from |k0| on, to |to|. */
void ox_gemm_pack_rows(const ox_gemm_variant *v, const ox_gemm_src *src, size_t n, size_t j, size_t k0, size_t kn,
                       void *to);
/* The same in independent units of some 128 to 256 KiB, in the order of the source in memory. src->p is the matrix's
 * element number |first| in memory. */
size_t ox_gemm_pack_units(const ox_gemm_variant *v, const ox_gemm_src *src, size_t k, size_t n);
void ox_gemm_pack_unit(const ox_gemm_variant *v, const ox_gemm_src *src, size_t first, size_t k, size_t n, size_t unit,
                       void *panels);
/* Elements [*out_first, *out_first + *out_n) of a matrix without gaps, in its order in memory, hold all that |unit|
 * reads. Returns whether no element lies in many units' ranges. */
bool ox_gemm_pack_unit_span(const ox_gemm_variant *v, const ox_gemm_src *src, size_t k, size_t n, size_t unit,
                            size_t *out_first, size_t *out_n);

/* ---- the driver ---- */
/* Whether |m| rows are so few that a tile takes all of k at once: a strip, or, where strips are lower, two. */
static inline bool ox_gemm_is_few(const ox_gemm_variant *v, size_t m) {
  enum { FEW_ROWS = 8 };
  return m <= v->mr || m <= FEW_ROWS;
}

/* The form of B. PACKED: panels; LATE: the same, or B itself, of which each tile packs a block at a time; DIRECT: float
 * rows of unit stride; DOTS: float columns of unit stride (then a_ks must be 1); SOURCE: float rows written by a
 * callback, a block of k of a tile at a time; COMPRESSED: the panels of compressed.h. */
typedef enum ox_gemm_b {
  OX_GEMM_PACKED,
  OX_GEMM_DIRECT,
  OX_GEMM_DOTS,
  OX_GEMM_SOURCE,
  OX_GEMM_COMPRESSED,
  OX_GEMM_LATE
} ox_gemm_b;

/* Writes rows [k0, k0 + kn) and columns [col, col + n) of B to |to| with row stride |ld|; columns are padded with zeros
 * to whole panels. */
typedef void (*ox_gemm_source)(const void *ctx, size_t k0, size_t kn, size_t col, size_t n, float *to, size_t ld);

typedef struct ox_gemm_plan {
  const ox_gemm_variant *v;
  size_t m, n, k;
  size_t mc, nc, kc; /* a tile is mc x nc x k, walked kc at a time */
  size_t mt, nt;     /* tiles of one matrix: mt * nt */
  uint32_t a_type, c_type;
  ox_gemm_b b_mode;
  const struct ox_compressed_kernels *compressed; /* of COMPRESSED */
  size_t made_ld;                                 /* SOURCE: stride of the rows that it writes */
  size_t scratch;                                 /* bytes per worker */
} ox_gemm_plan;

typedef struct ox_gemm_io {
  const void *a; /* of a_type; element (i, k) at a[i * a_rs + k * a_ks] */
  ptrdiff_t a_rs, a_ks;
  const void *b; /* the panels; DIRECT: row k is at b + k * b_rs floats, unaligned; SOURCE: the callback's ctx; LATE:
                    the panels, or NULL for B itself, |whole| */
  ptrdiff_t b_rs;
  void *c;
  size_t c_rs;
  const ox_gemm_src *whole; /* LATE, COMPRESSED: B itself; COMPRESSED reads it where weights are out of range */
  const ox_gemm_epi *epi;
  ox_stop stop; /* checked between blocks of k */
  ox_gemm_source source;
} ox_gemm_io;

/* Whether io->b are plain panels. */
static inline bool ox_gemm_has_panels(const ox_gemm_plan *g, const ox_gemm_io *io) {
  return g->b_mode == OX_GEMM_PACKED || (g->b_mode == OX_GEMM_LATE && io->b);
}

void ox_gemm_plan_init(ox_gemm_plan *g, const ox_gemm_variant *v, size_t m, size_t n, size_t k, uint32_t a_type,
                       uint32_t c_type, ox_gemm_b b_mode);
/* The same for COMPRESSED, by panels for |kernels|. */
void ox_gemm_plan_compressed(ox_gemm_plan *g, const ox_gemm_variant *v, size_t m, size_t n, size_t k, uint32_t a_type,
                             uint32_t c_type, const struct ox_compressed_kernels *kernels);
static inline size_t ox_gemm_tiles(const ox_gemm_plan *g) { return g->mt * g->nt; }
/* Computes tile |index| of mt * nt. */
void ox_gemm_run(const ox_gemm_plan *g, const ox_gemm_io *io, size_t index, void *scratch);
/* ---- products in other types: f64, and integers that wrap ---- */
/* C = A B for OX_F64, OX_I8 ... OX_U64 (all strides in elements); rows [row0, row1) of C. */
typedef struct ox_gemm_plain {
  uint32_t type;
  size_t m, n, k;
  const void *a, *b;
  ptrdiff_t a_rs, a_ks, b_ks, b_ns;
  void *c;
  size_t c_rs;
  ox_stop stop;
} ox_gemm_plain;
void ox_gemm_plain_run(const ox_gemm_plain *g, ox_isa isa, size_t row0, size_t row1);

#endif
