/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp.h - what all files of the provider share: the instance, errors, memory, shapes. */
#ifndef XP_H
#define XP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xnnpack.h>

#include "onyx/ep.h"
#include "xp_pool.h"

struct ox_ep {
  ox_ep_host host;
  struct pthreadpool pool;
  bool half;           /* the library converts float16 on this machine */
  pthreadpool_t given; /* to the library: &pool, or NULL where its pool is not ours */
};

#define XP_TRY(e)         \
  do {                    \
    ox_status *st_ = (e); \
    if (st_) return st_;  \
  } while (0)
#define XP_COUNT(a) (sizeof(a) / sizeof *(a))

enum { XP_NONE = -1, XP_MOST_RANK = 6 };

ox_status *xp_fail(const ox_ep *ep, ox_code code, const char *format, ...) __attribute__((format(printf, 3, 4)));
ox_status *xp_oom(const ox_ep *ep);
/* The library's answer as a status that names the operator; NULL for success. */
ox_status *xp_check(const ox_ep *ep, enum xnn_status answer, const char *op, const char *name);

/* Zeroed memory that is freed at once. */
typedef struct xp_arena {
  const ox_alloc *alloc;
  struct xp_chunk *chunks;
} xp_arena;
void *xp_arena_get(xp_arena *a, size_t count, size_t size); /* aligned to 64; NULL: out of memory */
void xp_arena_free(xp_arena *a);

extern const struct xnn_allocator xp_allocator; /* the library's */

/* A shape as ONNX has it: N, C, spatial. */
typedef struct xp_dims {
  int rank;
  int64_t d[XP_MOST_RANK];
} xp_dims;

bool xp_dims_equal(const xp_dims *a, const xp_dims *b);
size_t xp_elements(const xp_dims *d);
/* In the order of memory: as they are, or with C at the end. */
xp_dims xp_physical(const xp_dims *d, bool last);
/* The axis of memory that is |axis| of the shape. */
int xp_physical_axis(int rank, int axis, bool last);

static inline size_t xp_type_bytes(uint32_t type) {
  return type == OX_F32 || type == OX_I32 ? 4 : type == OX_F16 ? 2 : 1;
}

#endif
