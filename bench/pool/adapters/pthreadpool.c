/* SPDX-License-Identifier: Apache-2.0
 * bench/pool/adapters/pthreadpool.c - pthreadpool: loops only; clients wait for each other.
 * needs: pthreadpool.h -lpthreadpool */
#include <pthreadpool.h>

#include "../pool_bench.h"

static pthreadpool_t pool;

static int init(int threads, int clients) {
  (void)clients;
  pool = pthreadpool_create((size_t)threads);
  return pool != NULL;
}

static void fini(void) { pthreadpool_destroy(pool); }
static void loop(size_t n, bench_fn fn, void *ctx) { pthreadpool_parallelize_1d(pool, fn, ctx, n, 0); }

static const bench_contender plain = {
    .name = "pthreadpool", .can = BENCH_CLIENTS, .init = init, .fini = fini, .loop = loop};
const bench_contender *const bench_contenders[] = {&plain, NULL};
