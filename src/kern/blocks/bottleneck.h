/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bottleneck.h - up to three convolutions at a time, between tensors in blocks of channels: pointwise
 * (expand), depthwise, pointwise (project, with a residual). The expanded map is the largest by far and goes nowhere
 * else, so it is made some rows at a time, which stay in cache until the depthwise convolution has read them; so do its
 * own rows until they are projected.
 *
 * Every result is that of the three forms one after the other (direct, depthwise, direct), to the last bit. */
#ifndef OX_KERN_BLOCKS_BOTTLENECK_H
#define OX_KERN_BLOCKS_BOTTLENECK_H

#include "kern/blocks/bconv_direct.h"
#include "kern/blocks/window.h"
#include "kern/carried.h"

enum { OX_EXPAND, OX_DEPTHWISE, OX_PROJECT, OX_BOTTLENECK_PARTS };

typedef struct ox_bottleneck_task {
  ox_bconv_task part[OX_BOTTLENECK_PARTS];
  bool has[OX_BOTTLENECK_PARTS]; /* of expand and project one or both; what they lack is X or Y itself */
} ox_bottleneck_task;

typedef struct ox_bottleneck_plan {
  ox_bottleneck_task task;
  ox_bconv_direct_plan expand, project;
  ox_window window;
  int64_t blocks;                        /* of the depthwise convolution */
  int64_t step_rows;                     /* of outputs at a time */
  int64_t ring;                          /* rows of the expanded map in memory */
  int64_t tile_rows, row_tiles, n_tiles; /* a tile: rows of one image; what tiles share is computed twice */
  int64_t first_short;                   /* rows that the first tile of an image lacks */
  size_t ring_at, rows_at, segs_at, scratch_bytes;
} ox_bottleneck_plan;

typedef struct ox_bottleneck_args {
  const float *x, *z;
  const float *w[OX_BOTTLENECK_PARTS], *bias[OX_BOTTLENECK_PARTS]; /* w packed; bias may be NULL */
  float *y;
  float *sums; /* [planes][row_tiles][16] as ox_conv_args.sums, where nothing is projected; or NULL */
} ox_bottleneck_args;

/* Whether the parts fit together and are of these kinds, over at most two axes. */
bool ox_bottleneck_serves(const ox_bottleneck_task *t);
/* Whether it is expected to pay for a depthwise convolution of |channels| between |in| and |out| [rows, columns] of
 * |batch| images: the maps that go nowhere else would leave the cache, and there are tiles enough for some threads. */
bool ox_bottleneck_pays(int64_t batch, int64_t channels, const int64_t *in, const int64_t *out, bool expand,
                        bool project);
/* The form that packs the weights of |part|. */
const ox_bconv_form *ox_bottleneck_form(int part);
/* Fills |p| for a task that is served; false: a size overflows. Depends on shapes and instruction set only. */
bool ox_bottleneck_plan_init(ox_bottleneck_plan *p, const ox_bottleneck_task *t);
/* Tiles [begin, end). What neighbouring tiles share is made once by a worker that takes one after the other; |carried|,
 * of this run, tells from call to call. */
void ox_bottleneck_run(const ox_bottleneck_plan *p, const ox_bottleneck_args *a, int64_t begin, int64_t end,
                       ox_carried *carried, void *scratch);

#endif
