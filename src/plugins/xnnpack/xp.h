/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp.h - the provider's common definitions: the instance, errors, memory, shapes. */
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
  pthreadpool_t given; /* the pool passed to the library: &pool, or NULL if pthreadpool_* does not resolve to ours */
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
/* Converts the library's return code to a status that names the operator; NULL for success. */
ox_status *xp_check(const ox_ep *ep, enum xnn_status answer, const char *op, const char *name);

/* A bump allocator: memory is zeroed when handed out and all of it is freed together. */
typedef struct xp_arena {
  const ox_alloc *alloc;
  struct xp_chunk *chunks;
} xp_arena;
void *xp_arena_get(xp_arena *a, size_t count, size_t size); /* aligned to 64; NULL: out of memory */
void xp_arena_free(xp_arena *a);

extern const struct xnn_allocator xp_allocator; /* passed to xnn_initialize */

/* Memory for what the library allocates on this thread from one xp_lend to the next: operators that live for one call.
 * What does not fit is allocated. They must be deleted under a loan of the same memory. NULL ends it. */
typedef struct xp_loan {
  char *at, *end;
} xp_loan;
void xp_lend(xp_loan *loan);

/* A shape in ONNX order: N, C, spatial dimensions. */
typedef struct xp_dims {
  int rank;
  int64_t d[XP_MOST_RANK];
} xp_dims;

bool xp_dims_equal(const xp_dims *a, const xp_dims *b);
size_t xp_elements(const xp_dims *d);
/* The dimensions in memory order: unchanged, or with C moved to the end if |last|. */
xp_dims xp_physical(const xp_dims *d, bool last);
/* The position in memory order of ONNX axis |axis|. */
int xp_physical_axis(int rank, int axis, bool last);

static inline size_t xp_type_bytes(uint32_t type) {
  return type == OX_F32 || type == OX_I32 ? 4 : type == OX_F16 ? 2 : 1;
}

#endif
