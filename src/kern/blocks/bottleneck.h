/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bottleneck.h - inverted bottlenecks: up to three convolutions fused, between tensors in blocks of
 * channels: pointwise (expand), depthwise, pointwise (project, with a residual). The expanded map is the largest by far
 * and has no other reader, so it is computed some rows at a time, which stay in cache until the depthwise convolution
 * has read them; the same holds for its output rows until they are projected.
 *
 * Results are bit-identical to those of the three forms (direct, depthwise, direct) run one after the other. */
#ifndef OX_KERN_BLOCKS_BOTTLENECK_H
#define OX_KERN_BLOCKS_BOTTLENECK_H

#include "kern/blocks/bconv_direct.h"
#include "kern/blocks/window.h"
#include "kern/carried.h"

enum { OX_EXPAND, OX_DEPTHWISE, OX_PROJECT, OX_BOTTLENECK_PARTS };

typedef struct ox_bottleneck_task {
  ox_bconv_task part[OX_BOTTLENECK_PARTS];
  bool has[OX_BOTTLENECK_PARTS]; /* expand, project or both exist; without them the depthwise convolution reads X or
                                    writes Y */
} ox_bottleneck_task;

typedef struct ox_bottleneck_plan {
  ox_bottleneck_task task;
  ox_bconv_direct_plan expand, project;
  ox_window window;
  int64_t blocks;                        /* of the depthwise convolution */
  int64_t step_rows;                     /* output rows computed at a time */
  int64_t ring;                          /* rows of the expanded map that are kept, in a ring buffer */
  int64_t tile_rows, row_tiles, n_tiles; /* a tile: rows of one image; rows that two tiles read are expanded twice */
  int64_t first_short;                   /* rows by which the first tile of an image is shorter */
  size_t ring_at, rows_at, segs_at, scratch_bytes;
} ox_bottleneck_plan;

typedef struct ox_bottleneck_args {
  const float *x, *z;
  const float *w[OX_BOTTLENECK_PARTS], *bias[OX_BOTTLENECK_PARTS]; /* w packed; bias may be NULL */
  float *y;
  float *sums; /* [planes][row_tiles][16] as ox_conv_args.sums, where nothing is projected; or NULL */
} ox_bottleneck_args;

/* Are the parts such convolutions, over at most two axes, and do their shapes agree? */
bool ox_bottleneck_serves(const ox_bottleneck_task *t);
/* Is fusion expected to be faster for a depthwise convolution of |channels| from |in| to |out| [rows, columns] of
 * |batch| images: would the inner maps not stay in cache, and are there enough tiles for several threads? */
bool ox_bottleneck_pays(int64_t batch, int64_t channels, const int64_t *in, const int64_t *out, bool expand,
                        bool project);
/* The form that packs the weights of |part|. */
const ox_bconv_form *ox_bottleneck_form(int part);
/* Fills |p| for a task that ox_bottleneck_serves; false: a size overflows. Depends on shapes and instruction set only.
 */
bool ox_bottleneck_plan_init(ox_bottleneck_plan *p, const ox_bottleneck_task *t);
/* Tiles [begin, end). A worker that computes neighbouring tiles in order expands the rows that they share only once;
 * |carried|, which belongs to the run, keeps track of this between calls. */
void ox_bottleneck_run(const ox_bottleneck_plan *p, const ox_bottleneck_args *a, int64_t begin, int64_t end,
                       ox_carried *carried, void *scratch);

#endif
