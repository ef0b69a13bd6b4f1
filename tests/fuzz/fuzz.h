/* SPDX-License-Identifier: Apache-2.0
 * fuzz/fuzz.h - what the fuzz targets share: a sink into memory, and an end that the fuzzer notices. */
#ifndef OX_TESTS_FUZZ_H
#define OX_TESTS_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sink.h"

typedef struct fuzz_buf {
  unsigned char *p;
  size_t n, cap;
} fuzz_buf;

static inline ox_status *fuzz_write(void *ctx, const void *bytes, size_t n) {
  fuzz_buf *b = ctx;
  if (b->n + n + 1 > b->cap) {
    b->cap = (b->n + n + 1) * 2;
    b->p = realloc(b->p, b->cap);
    if (!b->p) abort();
  }
  if (n) memcpy(b->p + b->n, bytes, n);
  b->n += n, b->p[b->n] = 0;
  return NULL;
}
static inline ox_sink fuzz_sink(fuzz_buf *b) { return (ox_sink){fuzz_write, b}; }

static inline void fuzz_fail(const char *what, ox_status *st) {
  fprintf(stderr, "%s: %s\n", what, ox_status_message(st));
  abort();
}

#endif
