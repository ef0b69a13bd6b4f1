/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/api2022/depth_2022.h - a fully connected operator of floats whose depth is no multiple of 4: the
 * micro-kernels for a Zen (core_2022.c) have weights packed by fours of k, but the operator looks for later columns as
 * if they were not. So all columns are one tile, as they are where setup knows no pool; the run may have one. */
#ifndef XP_DEPTH_2022_H
#define XP_DEPTH_2022_H

#include <pthreadpool.h>
#include <stdbool.h>
#include <stddef.h>

enum { XP_DEPTH_GROUP = 4 };

static inline bool xp_columns_part(size_t depth) { return depth % XP_DEPTH_GROUP == 0; }
static inline pthreadpool_t xp_setup_pool(size_t depth, pthreadpool_t pool) {
  return xp_columns_part(depth) ? pool : NULL;
}

#endif
