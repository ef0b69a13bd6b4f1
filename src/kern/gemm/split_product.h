/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/split_product.h - float32 products on a bfloat16 matrix unit (AMX). A float is the sum of three bfloat16
 * terms, hi + mid + lo: 8 bits of significand each, float32's 24. Of the nine products of terms the six largest count,
 * which is as exact as float multiply-adds; fewer terms are faster and coarser.
 *
 * The matrix unit multiplies a *record* of A, 32 rows by 32 of k, by a record of B, 32 of k by 32 columns: 24 products
 * of tiles for three terms. A is split once into an image that stays in L2. B stays float, in the panels that plain
 * products read, too: while the unit multiplies one block of records, the vector units split the next one and bring
 * sums that are whole to their place.
 *
 * The image of A: [step of k][term][row][64 bytes], where the bytes are 16 pairs: pair p is k = p and k = p + 16. Any
 * order of k will do if A and B agree, and this one takes whole vectors. Rows are consecutive, so that a convolution's
 * taps are but other places in the same image.
 *
 * Not finite: the terms of an infinity, of NaN, or of what rounds to infinity make NaN in each sum they have a part in.
 * Whatever sum is not finite is computed again from the floats. Denormal: the unit takes denormal terms for zero, an
 * error of at most 2^-126 times the other factor. */
#ifndef OX_KERN_GEMM_SPLIT_PRODUCT_H
#define OX_KERN_GEMM_SPLIT_PRODUCT_H

#include "base/macros.h"
#include "kern/gemm/gemm.h"

enum {
  OX_SPLIT_K = 32,
  OX_SPLIT_TERM = 1024,              /* bytes: 16 rows of a tile of the unit */
  OX_SPLIT_TILE = 3 * OX_SPLIT_TERM, /* of half a record of B */
  OX_SPLIT_SIDE = 32,                /* rows, columns and k of a record */
  OX_SPLIT_SUMS = 32 * 32,           /* of a record of C */
  OX_SPLIT_RECORD = 6 * 1024,        /* bytes of a record of B: [half of the columns][term][16 pairs of k][16] */
  OX_SPLIT_STEPS = 32,               /* records of B at a time, at most: 192 KB in L2, and those to come */
  OX_SPLIT_L2 = 1280 << 10           /* bytes of A and B that are to stay in an L2 of 2 MB */
};

/* Columns of B that are still to be split, as the multiplication goes on: whole records, rows of unit stride. */
typedef struct ox_split_ahead {
  const float *from; /* NULL: none */
  ptrdiff_t ks;      /* floats from row to row */
  size_t steps;
  char *to;
} ox_split_ahead;

/* Sums that wait: |left| rows of panel |col|, from the tile's row |row| on. */
typedef struct ox_split_trail {
  void (*finish)(const void *io, size_t col, size_t row, size_t n, float *sums); /* |n| of them */
  const void *io;
  size_t col, row, left;
  float *sums;
} ox_split_trail;

/* Something else to be done meanwhile, in |left| pieces: one for each |due_all| / |due_step| groups of products. */
typedef struct ox_split_chore {
  void (*piece)(void *io);
  void *io;
  size_t left, due, due_step, due_all;
} ox_split_chore;

/* |steps| records of B by all rows of A. */
typedef struct ox_split_mul {
  int terms;
  const char *a;         /* the image, at the first row */
  size_t a_term;         /* bytes from term to term */
  const ptrdiff_t *a_at; /* bytes to each step's rows */
  size_t rows, steps;    /* rows past the last, up to a multiple of 16, are read */
  const char *b;
  float *sums; /* [32 rows][32], 64-byte aligned; |sums_step| floats on are the next 32 rows'; 0: in the same place */
  size_t sums_step;
  bool add, whole; /* to what |sums| hold; they go to |trail| */
  size_t col;      /* of the panel */
  ox_split_ahead ahead;
  ox_split_trail *trail; /* what was left by the multiplication before */
  ox_split_chore *chore; /* or NULL */
} ox_split_mul;

/* Pixels that follow each other in the sums, and are anywhere in Y. */
typedef struct ox_split_pixels {
  const float *sums; /* rows of 32 */
  size_t n;
  const ptrdiff_t *at;  /* floats into y and z; 16 more than n; < 0: no pixel */
  float *y[2];          /* by halves of the 32 channels; NULL: there is none */
  const float *z[2];    /* residual like y, or NULL */
  const float *bias[2]; /* of each half, or NULL */
  size_t lanes[2];      /* that bias has */
  const float *slope[2]; /* of each half, 16 each, or NULL: in place of act */
  ox_act act;
} ox_split_pixels;

typedef struct ox_split_kernels {
  ox_isa needs;
  const char *name;
  void (*begin)(void), (*end)(void); /* around all multiplications of a thread */
  /* Rows of A into an image at |to|: |k| floats of each, element (i, k) at a[i * rs + k * ks]. Image rows past |rows|
   * up to |all| become zero. term, step: bytes. */
  void (*split_rows)(int terms, const float *a, ptrdiff_t rs, ptrdiff_t ks, size_t rows, size_t all, size_t k, char *to,
                     size_t term, size_t step);
  /* k x w <= 32 floats of B into records; element (k, j) at b[k * ks + j * ns]. */
  void (*split_columns)(int terms, const float *b, ptrdiff_t ks, ptrdiff_t ns, size_t k, size_t w, char *to);
  void (*multiply)(const ox_split_mul *m);
  /* Pixels of two blocks of 16 channels into rows of an image: |n| pixels, |step| floats apart. lanes: channels of each
   * block, 0 to 16; what is behind them counts as zero. */
  void (*split_pixels)(int terms, const float *x0, const float *x1, size_t lanes0, size_t lanes1, size_t n,
                       ptrdiff_t step, char *to, size_t term);
  void (*finish_pixels)(const ox_split_pixels *p);
  bool (*all_finite)(const float *sums, size_t n); /* n: whole rows of 32 */
  /* A record of C to its place; what is not finite is computed again. t->a and t->b are the floats it was made of:
   * t->b_ks from row to row of B, |b_ns| from column to column. */
  void (*finish)(const ox_gemm_tile *t, ptrdiff_t b_ns, float *sums);
} ox_split_kernels;

/* NULL: there is no such unit. */
const ox_split_kernels *ox_split_select(ox_isa have);
/* How many terms of a float count: 3, two with 3 products, which is 50 times as exact as TF32, or one. */
static inline int ox_split_terms(ox_isa have) {
  return have & OX_PRECISION_BF16 ? 1 : have & OX_PRECISION_TF32 ? 2 : 3;
}

/* ---- a sweep: all panels of B in a tile by steps [k0, k1) of k, whose part of the image of A is there ---- */
typedef struct ox_split_sweep ox_split_sweep;
struct ox_split_sweep {
  const ox_split_kernels *v;
  int terms;
  const char *image; /* of A, at the tile's first row and step k0 */
  size_t a_term;
  const ptrdiff_t *a_at; /* of steps k0, k0 + 1 ... */
  /* B: element (k, n) is b[n / panel * panel_floats + k * b_ks + n % panel * b_ns]. panel: a multiple of 32 with zeros
   * past the last column; SIZE_MAX: no panels. */
  const float *b;
  ptrdiff_t b_ks, b_ns;
  size_t panel, panel_floats;
  size_t row, rows, col, cols; /* of the tile; row is for |finish| */
  size_t k, k0, k1;            /* k: elements; k0, k1: steps */
  char *records;               /* ox_split_records_bytes, aligned */
  float *sums; /* of all strips for a panel, |panel_sums| floats to the next panel's; 0: one at a time */
  size_t panel_sums;
  /* |n| rows of sums over all of k, from |row| of the tile and of panel |col|; sweep: the ox_split_sweep. */
  void (*finish)(const void *sweep, size_t col, size_t row, size_t n, float *sums);
  const void *io;        /* for |finish| */
  ox_split_chore *chore; /* or NULL; done when the sweep is */
};
/* Between begin and end. */
void ox_split_sweep_run(const ox_split_sweep *s);
/* Of a sweep over |steps| steps of k. */
static inline size_t ox_split_records_bytes(size_t steps) {
  return 2 * OX_MIN(steps, (size_t)OX_SPLIT_STEPS) * OX_SPLIT_RECORD;
}

/* ---- products of matrices ---- */
typedef struct ox_split_plan {
  const ox_split_kernels *v;
  int terms;
  size_t m, n, k, steps;
  size_t mc, nc, kc; /* a tile is mc x nc; kc: steps of k whose part of A stays in L2 */
  size_t mt, nt;
  size_t pitch;       /* rows of an image */
  bool shared_a;      /* a stage before splits A once for all tiles of C */
  size_t split_rows;  /* rows of a tile of that stage */
  size_t image_bytes; /* of the rows of one tile of C: all of k, or kc steps of it */
  size_t shared, scratch;
} ox_split_plan;

typedef struct ox_split_io {
  const float *a;
  ptrdiff_t a_rs, a_ks;
  const float *b;
  ptrdiff_t b_ks, b_ns;
  size_t panel, panel_floats;
  float *c;
  size_t c_rs;
  const ox_gemm_epi *epi;
  char *shared;
  ox_stop stop;
} ox_split_io;

/* How a product is to be done, by what it would cost: true where the matrix unit wins. |contiguous|: rows of B have
 * unit stride. |alone|: one product, not many small ones. */
bool ox_split_pays(size_t m, size_t n, size_t k, int terms, bool contiguous, bool alone);
void ox_split_plan_init(ox_split_plan *g, const ox_split_kernels *v, int terms, size_t m, size_t n, size_t k,
                        bool alone);
static inline size_t ox_split_tiles(const ox_split_plan *g) { return g->mt * g->nt; }
/* Tiles of the stage that splits A; 0: there is none. */
static inline size_t ox_split_a_tiles(const ox_split_plan *g) {
  return g->shared_a ? OX_CEIL_DIV(g->mc, g->split_rows) * g->mt : 0;
}
void ox_split_run_a(const ox_split_plan *g, const ox_split_io *io, size_t index);
void ox_split_run(const ox_split_plan *g, const ox_split_io *io, size_t index, void *scratch);

#endif
