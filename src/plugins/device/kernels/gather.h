/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/gather.h - Gather, GatherElements, GatherND, and the corresponding scatters. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/move_params.h"
#include "plugins/device/kernels/index.h"

#define GATHER_KERNEL(name, type)                                                      \
  KERNEL(name, gather_params) {                                                        \
    BUFFER(const type, x, 0);                                                          \
    BUFFER(const char, index, 1);                                                      \
    BUFFER(type, y, 2);                                                                \
    PARAMS(gather_params, p);                                                          \
    FOR_ITEMS(t, 256) {                                                                \
      int at = GROUP(0) * 256 + t;                                                     \
      if (at < p.n) {                                                                  \
        int row = at / p.inner, which = index_at(index, p.wide, row % p.many, p.axis); \
        y[at] = x[(row / p.many * p.axis + which) * p.inner + at % p.inner];           \
      }                                                                                \
    }                                                                                  \
  }
GATHER_KERNEL(gather1, unsigned char)
GATHER_KERNEL(gather2, unsigned short)
GATHER_KERNEL(gather4, unsigned)
GATHER_KERNEL(gather8, dev_long)

/* The position in data that index |i| refers to. */
FUNCTION int elements_place(const elements_params *p, const GLOBAL char *index, int i) {
  int place = index_at(index, p->wide, i, p->axis_size) * p->stride[p->axis];
  for (int d = MOVE_DIMS - 1; d >= 0; d--) {
    if (d != p->axis) place += i % p->size[d] * p->stride[d];
    i /= p->size[d];
  }
  return place;
}

/* The position in data of element |i| of the slices that tuples of indices refer to. */
FUNCTION int tuples_place(const tuples_params *p, const GLOBAL char *index, int i) {
  int tuple = i / p->inner, place = 0;
  for (int d = 0; d < p->k; d++) place = place * p->size[d] + index_at(index, p->wide, tuple * p->k + d, p->size[d]);
  return tuple / p->batch_tuples * p->batch_step + place * p->inner + i % p->inner;
}

#define PLACES_KERNEL(name, type, params, place, from, to) \
  KERNEL(name, params) {                                   \
    BUFFER(const type, x, 0);                              \
    BUFFER(const char, index, 1);                          \
    BUFFER(type, y, 2);                                    \
    PARAMS(params, p);                                     \
    FOR_ITEMS(t, 256) {                                    \
      int i = GROUP(0) * 256 + t;                          \
      if (i < p.n) {                                       \
        int at = place(&p, index, i);                      \
        y[to] = x[from];                                   \
      }                                                    \
    }                                                      \
  }
PLACES_KERNEL(gather_elements1, unsigned char, elements_params, elements_place, at, i)
PLACES_KERNEL(gather_elements2, unsigned short, elements_params, elements_place, at, i)
PLACES_KERNEL(gather_elements4, unsigned, elements_params, elements_place, at, i)
PLACES_KERNEL(gather_elements8, dev_long, elements_params, elements_place, at, i)
PLACES_KERNEL(gather_nd1, unsigned char, tuples_params, tuples_place, at, i)
PLACES_KERNEL(gather_nd2, unsigned short, tuples_params, tuples_place, at, i)
PLACES_KERNEL(gather_nd4, unsigned, tuples_params, tuples_place, at, i)
PLACES_KERNEL(gather_nd8, dev_long, tuples_params, tuples_place, at, i)
PLACES_KERNEL(scatter_elements1, unsigned char, elements_params, elements_place, i, at)
PLACES_KERNEL(scatter_elements2, unsigned short, elements_params, elements_place, i, at)
PLACES_KERNEL(scatter_elements4, unsigned, elements_params, elements_place, i, at)
PLACES_KERNEL(scatter_elements8, dev_long, elements_params, elements_place, i, at)
PLACES_KERNEL(scatter_nd1, unsigned char, tuples_params, tuples_place, i, at)
PLACES_KERNEL(scatter_nd2, unsigned short, tuples_params, tuples_place, i, at)
PLACES_KERNEL(scatter_nd4, unsigned, tuples_params, tuples_place, i, at)
PLACES_KERNEL(scatter_nd8, dev_long, tuples_params, tuples_place, i, at)
