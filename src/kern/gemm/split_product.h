/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/split_product.h - float32 products on a bfloat16 matrix unit (AMX). A float is the sum of three bfloat16
 * terms, hi + mid + lo: 8 bits of significand each, float32's 24. Of the nine products of terms the six largest are
 * computed, which is as exact as float multiply-adds; fewer terms are faster and less exact.
 *
 * The matrix unit multiplies a *record* of A, 32 rows by 32 of k, by a record of B, 32 of k by 32 columns: 24 tile
 * products for three terms. A is split once into an image that stays in L2. B stays float, in the panels that plain
 * products read, too: while the unit multiplies one block of records, the vector units split the next one and store
 * completed sums.
 *
 * The image of A is [step of k][term][row][64 bytes], where the bytes are 16 pairs: pair p is k = 2 p and k = 2 p + 1.
 * Any order of k will do if A and B agree; with this one B is read in the order of memory. Rows are consecutive, so the
 * taps of a convolution are just different offsets into the same image.
 *
 * Not finite: the terms of an infinity, of NaN, or of a number that rounds to infinity make every sum they are part of
 * NaN. Sums that are not finite are computed again from the floats. Denormals: the unit treats denormal terms as zero,
 * an error of at most 2^-126 times the other factor. */
#ifndef OX_KERN_GEMM_SPLIT_PRODUCT_H
#define OX_KERN_GEMM_SPLIT_PRODUCT_H

#include "base/macros.h"
#include "kern/carried.h"
#include "kern/gemm/gemm.h"

enum {
  OX_SPLIT_K = 32,
  OX_SPLIT_TERM = 1024,              /* bytes of one tile of the unit: 16 rows */
  OX_SPLIT_TILE = 3 * OX_SPLIT_TERM, /* bytes of half a record of B */
  OX_SPLIT_SIDE = 32,                /* rows, columns and k of a record */
  OX_SPLIT_SUMS = 32 * 32,           /* sums of a record of C */
  OX_SPLIT_RECORD = 6 * 1024,        /* bytes of a record of B: [half of the columns][term][16 pairs of k][16] */
  OX_SPLIT_STEPS = 16,               /* most records of B per block: 96 KB in L2, and as much for the next block */
  OX_SPLIT_L2 = 1280 << 10,          /* budget for A and B in an L2 of 2 MB */
  OX_SPLIT_L2_FLOATS = 512 << 10     /* so many bytes of floats are expected to stay there, too */
};

/* Columns of B to be split during a multiplication: all 32 of a record, rows of unit stride. */
typedef struct ox_split_ahead {
  const float *from; /* NULL: none */
  ptrdiff_t ks;      /* floats from row to row */
  size_t pairs;      /* of rows; those missing in the last record are zero already */
  char *to;
  bool fetch; /* B comes from beyond L2, so prefetch what follows */
} ox_split_ahead;

/* Completed sums that are still to be stored: the tile's rows from |row| to |end|, all of one strip, of panel |col|.
 * Just one field changes with each piece of work. */
typedef struct ox_split_trail {
  void (*finish)(const void *io, size_t col, size_t row, size_t n, float *sums); /* |n| of them */
  const void *io;
  size_t col, row, end;
  float *sums; /* of the strip's first row */
} ox_split_trail;

/* A multiplication: all rows of A by |steps| records of B. */
typedef struct ox_split_mul {
  int terms;
  const char *a;         /* the image, at the first row */
  size_t a_term;         /* bytes from term to term */
  const ptrdiff_t *a_at; /* byte offset of each step's rows */
  size_t rows, steps;    /* rows are read up to a multiple of 16 */
  const char *b;
  float *sums; /* [32 rows][32], 64-byte aligned; the next 32 rows' are |sums_step| floats on, in the same place if 0 */
  size_t sums_step;
  bool add, whole; /* add: to the contents of |sums|; whole: sums are complete after this and go to |trail| */
  size_t col;      /* column of the panel */
  ox_split_ahead ahead;
  ox_split_trail *trail; /* sums left over from the multiplication before */
} ox_split_mul;

enum { OX_SPLIT_PIXELS_AHEAD = 16 }; /* prefetch distance */

/* Pixels that are consecutive in the sums, but anywhere in Y. */
typedef struct ox_split_pixels {
  const float *sums; /* rows of 32 */
  size_t n;
  const ptrdiff_t *at;   /* each pixel's offset in y and z, in floats; n + OX_SPLIT_PIXELS_AHEAD entries; < 0: none */
  float *y[2];           /* for each half of the 32 channels; NULL: there is none */
  const float *z[2];     /* residual like y, or NULL */
  const float *slope[2]; /* PRelu's slopes for each half, 16 each, instead of act; or NULL */
  _Alignas(64) float bias[OX_SPLIT_SIDE]; /* zeros where there is none */
  ox_act act;
} ox_split_pixels;

typedef struct ox_split_kernels {
  ox_isa needs;
  const char *name;
  void (*begin)(void), (*end)(void); /* to be called around all multiplications of a thread */
  /* Splits rows of A into an image at |to|: |k| floats of each, element (i, k) at a[i * rs + k * ks]. Image rows from
   * |rows| to |all| are set to zero. |term| and |step| are strides in bytes. */
  void (*split_rows)(int terms, const float *a, ptrdiff_t rs, ptrdiff_t ks, size_t rows, size_t all, size_t k, char *to,
                     size_t term, size_t step);
  /* Splits |k| rows of |w| <= 32 floats of B into records; element (k, j) at b[k * ks + j * ns]. */
  void (*split_columns)(int terms, const float *b, ptrdiff_t ks, ptrdiff_t ns, size_t k, size_t w, char *to);
  void (*multiply)(const ox_split_mul *m);
  /* Splits |n| pixels of two blocks of 16 channels, |step| floats apart, into rows of an image. k = 2 p and 2 p + 1 are
   * channel p of both blocks. lanes: the number of channels of each block, 0 to 16; the others count as zero. */
  void (*split_pixels)(int terms, const float *x0, const float *x1, size_t lanes0, size_t lanes1, size_t n,
                       ptrdiff_t step, char *to, size_t term);
  /* Stores pixels. False: it stored none, because a sum is not finite and |any| is not set. */
  bool (*finish_pixels)(const ox_split_pixels *p, bool any);
  /* Stores a record of C; sums that are not finite are computed again from the floats at t->a and t->b, where t->b_ks
   * and |b_ns| are the row and column strides of B. */
  void (*finish)(const ox_gemm_tile *t, ptrdiff_t b_ns, float *sums);
} ox_split_kernels;

/* NULL: the CPU has no such unit. */
const ox_split_kernels *ox_split_select(ox_isa have);
/* The number of terms used: 3 (six products), 2 (three products, 50 times as exact as TF32), or 1. */
static inline int ox_split_terms(ox_isa have) {
  return have & OX_PRECISION_BF16 ? 1 : have & OX_PRECISION_TF32 ? 2 : 3;
}

/* ---- a sweep: all panels of B in a tile, by steps [k0, k1) of k, for which the image of A has been made ---- */
typedef struct ox_split_sweep ox_split_sweep;
struct ox_split_sweep {
  const ox_split_kernels *v;
  int terms;
  const char *image; /* the image of A, at the tile's first row and step k0 */
  size_t a_term;
  const ptrdiff_t *a_at; /* of steps k0, k0 + 1 ... */
  /* B: element (k, n) is b[n / panel * panel_floats + k * b_ks + n % panel * b_ns]. panel: a multiple of 32 with zeros
   * past the last column; SIZE_MAX: no panels. */
  const float *b;
  ptrdiff_t b_ks, b_ns;
  size_t panel, panel_floats;
  bool fetch;                  /* B is larger than what L2 keeps of it */
  size_t row, rows, col, cols; /* the tile; row is for |finish| */
  size_t k, k0, k1;            /* k: elements; k0, k1: steps */
  char *records;               /* ox_split_records_bytes, aligned */
  float *sums; /* of all strips of a panel; the next panel's are |panel_sums| floats on; 0: panels reuse one place */
  size_t panel_sums;
  /* Stores |n| rows of sums over all of k, from row |row| of the tile in panel |col|; |sweep| is the ox_split_sweep. */
  void (*finish)(const void *sweep, size_t col, size_t row, size_t n, float *sums);
  const void *io; /* for |finish| */
};
/* To be called between begin and end. */
void ox_split_sweep_run(const ox_split_sweep *s);
/* The size of |records| for a sweep over |steps| steps of k. */
static inline size_t ox_split_records_bytes(size_t steps) {
  return 2 * OX_MIN(steps, (size_t)OX_SPLIT_STEPS) * OX_SPLIT_RECORD;
}

/* ---- products of matrices ---- */
typedef struct ox_split_plan {
  const ox_split_kernels *v;
  int terms;
  size_t m, n, k, steps;
  size_t mc, nc, kc;  /* a tile is mc x nc; kc: steps of k for which A stays in L2 */
  size_t mt, nt;      /* tiles; those of the same rows follow each other */
  size_t most_tiles;  /* of a sweep */
  size_t pitch;       /* rows of an image */
  size_t image_bytes; /* of kc steps */
  size_t sums_bytes, scratch;
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
  ox_stop stop;
} ox_split_io;

/* Is the matrix unit faster for this product, by the cost model? |contiguous|: rows of B have unit stride. |alone|: one
 * product, not many small ones. */
bool ox_split_pays(size_t m, size_t n, size_t k, int terms, bool contiguous, bool alone);
void ox_split_plan_init(ox_split_plan *g, const ox_split_kernels *v, int terms, size_t m, size_t n, size_t k,
                        bool alone);
static inline size_t ox_split_tiles(const ox_split_plan *g) { return g->mt * g->nt; }
/* Tiles [begin, end). How they are grouped does not change the bits. |made|: notes of the product's workers, which
 * split A into their scratch and find it there in the next call; NULL: scratch has other users between calls. */
void ox_split_run(const ox_split_plan *g, const ox_split_io *io, size_t begin, size_t end, ox_carried *made,
                  void *scratch);

#endif
