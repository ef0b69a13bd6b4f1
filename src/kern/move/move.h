/* SPDX-License-Identifier: Apache-2.0
 * kern/move/move.h - copies a strided region to a strided region; Transpose, Slice, Expand and Tile are such copies.
 * Everything is in bytes; elements have no type. */
#ifndef OX_KERN_MOVE_MOVE_H
#define OX_KERN_MOVE_MOVE_H

#include <stdbool.h>

#include "base/cpu.h"
#include "base/macros.h"

enum { OX_MOVE_DIMS = 32, OX_MOVE_CHUNK = 64 * 1024, OX_MOVE_MAX_TILES = 1024 };

typedef enum ox_move_kind { OX_MOVE_RUNS, OX_MOVE_ELEMENTS, OX_MOVE_FILL, OX_MOVE_TRANSPOSE } ox_move_kind;

/* A region after merging. Units are independent pieces of work in [0, units); every unit writes bytes of its own. */
typedef struct ox_move {
  int64_t units;
  int64_t total_bytes;            /* written by all units */
  int32_t rank, kind;             /* rank: dimensions left to loop over, outermost first */
  int64_t run;                    /* contiguous bytes copied at each position */
  int64_t pieces;                 /* RUNS: units one run is cut into; TRANSPOSE: units one matrix is cut into */
  int64_t col_pieces;             /* TRANSPOSE: of those, along the columns of the input */
  int64_t block_rows, block_cols; /* TRANSPOSE */
  int64_t in_off, out_off;        /* bytes */
  int64_t dim[OX_MOVE_DIMS], is[OX_MOVE_DIMS], os[OX_MOVE_DIMS]; /* TRANSPOSE: the last two: input columns, rows */
} ox_move;

/* A region as the caller sees it; strides and offsets in elements, may be 0 or negative on the input's side. */
typedef struct ox_region {
  int rank; /* at most OX_MOVE_DIMS */
  int64_t dim[OX_MOVE_DIMS], is[OX_MOVE_DIMS], os[OX_MOVE_DIMS];
  int64_t in_off, out_off;
} ox_region;

/* Merges what is contiguous and chooses how to copy. |elem|: bytes of an element. */
void ox_move_init(ox_move *m, int64_t elem, const ox_region *r);
/* Copies units [begin, end). */
void ox_move_run(const ox_move *m, ox_isa isa, const void *in, void *out, int64_t begin, int64_t end);
/* Into how many tiles to divide |bytes| of copying: 1 .. OX_MOVE_MAX_TILES, at most |units|. */
int64_t ox_move_tiles(int64_t bytes, int64_t units);

/* Copies |n| pieces of |run| bytes; strides in bytes. */
void ox_copy_lines(const char *in, int64_t is, char *out, int64_t os, int64_t n, int64_t run);

/* |n| elements of |elem| bytes (up to 16), all equal to |value|. */
void ox_fill(void *out, const void *value, int64_t elem, int64_t n);

/* Writes |bytes| at |to|, of which |done| are there, by copies of these, in pieces that double up to |most|: a multiple
 * of what repeats, so large that it stays in L1. */
void ox_fill_on(char *to, int64_t done, int64_t bytes, int64_t most);

/* out[c][r] = in[r][c] for |rows| x |cols| elements; strides in bytes. */
typedef void (*ox_transpose_fn)(const char *in, int64_t is, char *out, int64_t os, int64_t rows, int64_t cols);
/* The transposition of elements of 1, 2, 4, 8 or 16 bytes for |have|. */
ox_transpose_fn ox_transpose_select(int64_t elem, ox_isa have);

#define OX_TRANSPOSE(bytes, needs, symbol) \
  void symbol(const char *in, int64_t is, char *out, int64_t os, int64_t rows, int64_t cols);
#include "kern/move/transpose_variants.inc"
#undef OX_TRANSPOSE

#endif
