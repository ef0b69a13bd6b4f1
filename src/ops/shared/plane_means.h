/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/plane_means.h - the second output of convolutions in blocks: means of Y's channels over all pixels, for
 * squeeze and excite, [N, C / 16, 1..., 16]. The stage that writes Y also writes sums of its parts to shared memory,
 * if its form supports that; else the last stage reads Y. */
#ifndef OX_OPS_SHARED_PLANE_MEANS_H
#define OX_OPS_SHARED_PLANE_MEANS_H

#include "graph/op_def.h"

typedef struct ox_plane_means {
  int64_t planes, pixels, n_sums; /* planes: 0 if there is no second output; n_sums: of a plane's parts, or 0 */
  int64_t each;                   /* planes of a tile of the last stage */
  size_t at;                      /* of the sums in shared memory, [planes][n_sums][16] */
} ox_plane_means;

/* The shape of the means of |y|, which is in blocks. */
ox_shape ox_plane_means_shape(const ox_shape *y);
/* Books |n_sums| sums of each plane (0: none are made) behind the shared memory of |c|, and the last stage. Nothing
 * where output 1 is left out. */
OX_NODISCARD ox_status *ox_plane_means_book(ox_kernel_ctx *c, int64_t n_sums, ox_plane_means *m);
/* The memory for the sums; NULL: there are none. */
float *ox_plane_means_sums(const ox_kernel_ctx *c, const ox_plane_means *m);
void ox_plane_means_run(const ox_kernel_ctx *c, const ox_plane_means *m, ox_range tiles);

#endif
