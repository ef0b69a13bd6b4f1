/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp.c - see xp.h. */
#include "xp.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

ox_status *xp_fail(const ox_ep *ep, ox_code code, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return ep->host.status_make(code, text);
}

ox_status *xp_oom(const ox_ep *ep) { return ep->host.status_make(OX_OUT_OF_MEMORY, "xnnpack: out of memory"); }

ox_status *xp_check(const ox_ep *ep, enum xnn_status answer, const char *op, const char *name) {
  static const struct {
    ox_code code;
    const char *text;
  } rows[] = {
      [xnn_status_uninitialized] = {OX_FAIL, "the library is not initialized"},
      [xnn_status_invalid_parameter] = {OX_INVALID_ARGUMENT, "the library finds a parameter invalid"},
      [xnn_status_invalid_state] = {OX_FAIL, "the library finds an operator in the wrong state"},
      [xnn_status_unsupported_parameter] = {OX_NOT_IMPLEMENTED, "the library does not support a parameter"},
      [xnn_status_unsupported_hardware] = {OX_NOT_IMPLEMENTED, "the library does not support this processor"},
      [xnn_status_out_of_memory] = {OX_OUT_OF_MEMORY, "the library is out of memory"},
  };
  if (answer == xnn_status_success) return NULL;
  bool known = (size_t)answer < XP_COUNT(rows);
  return xp_fail(ep, known ? rows[answer].code : OX_FAIL, "xnnpack: %s '%s': %s", op, name,
                 known ? rows[answer].text : "the library fails");
}

/* ---- memory ---- */

enum { CHUNK_BYTES = 1 << 16, ALIGN = 64 };

struct xp_chunk {
  struct xp_chunk *next;
  size_t bytes, used; /* of the whole block, with this header */
};

void *xp_arena_get(xp_arena *a, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX - CHUNK_BYTES) return NULL;
  bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
  struct xp_chunk *c = a->chunks;
  if (!c || c->bytes - c->used < bytes) {
    size_t whole = bytes + ALIGN > CHUNK_BYTES ? bytes + ALIGN : CHUNK_BYTES;
    if (!(c = a->alloc->alloc(a->alloc->ctx, whole, ALIGN))) return NULL;
    *c = (struct xp_chunk){a->chunks, whole, ALIGN};
    a->chunks = c;
  }
  void *p = (char *)c + c->used;
  c->used += bytes;
  return memset(p, 0, bytes);
}

void xp_arena_free(xp_arena *a) {
  for (struct xp_chunk *c = a->chunks, *next; c; c = next) {
    next = c->next;
    a->alloc->free(a->alloc->ctx, c, c->bytes);
  }
  a->chunks = NULL;
}

/* ---- shapes ---- */

bool xp_dims_equal(const xp_dims *a, const xp_dims *b) {
  return a->rank == b->rank && memcmp(a->d, b->d, (size_t)a->rank * sizeof *a->d) == 0;
}

size_t xp_elements(const xp_dims *d) {
  size_t n = 1;
  for (int i = 0; i < d->rank; i++) n *= (size_t)d->d[i];
  return n;
}

int xp_physical_axis(int rank, int axis, bool last) {
  if (!last || axis == 0) return axis;
  return axis == 1 ? rank - 1 : axis - 1;
}

xp_dims xp_physical(const xp_dims *d, bool last) {
  xp_dims p = *d;
  for (int i = 0; i < d->rank; i++) p.d[xp_physical_axis(d->rank, i, last)] = d->d[i];
  return p;
}
