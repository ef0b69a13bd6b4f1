/* SPDX-License-Identifier: Apache-2.0
 * task/cost.c - loops over items: fixed blocks, batches, and blocks chosen by cost.
 * The cost model is that of Eigen and ONNX Runtime (11/64 cycles a byte, equal work per thread) with this pool's own
 * constants: here a claim costs about 20 cycles and a loop 1,000, so blocks may be a twentieth of theirs, which
 * balances better. */
#include "base/macros.h"
#include "onyx/task.h"
#include "task/pool.h"

static const double CYCLES_PER_BYTE = 11.0 / 64;
static const double LOOP_CYCLES = 10000; /* a loop of less than twice this ends before a helper arrives */
static const double BLOCK_CYCLES = 4000; /* a claim is 1/200 of it */
enum {
  BLOCKS_PER_THREAD = 4, /* more than one: even if all items cost the same, threads do not run at the same speed */
  MIXED_MORE = 4         /* times as many where some processors are slow, so that fast ones take more of them */
};

typedef struct blocks {
  ox_tile_fn fn;
  void *ctx;
  int64_t n, block;
} blocks;

static ox_status *run_blocks(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  const blocks *b = ctx;
  int64_t first = begin * b->block; /* below n; the product of end might not be */
  int64_t count = end - begin > (b->n - first) / b->block ? b->n - first : (end - begin) * b->block;
  return b->fn(b->ctx, first, first + count, worker);
}

ox_status *ox_task_for_block(ox_pool *pool, int64_t n, int64_t block, ox_tile_fn fn, void *ctx) {
  if (n <= 0) return NULL;
  blocks b = {fn, ctx, n, OX_MAX(block, 1)};
  if (b.block >= n) return fn(ctx, 0, n, 0);
  return ox_task_for(pool, 1 + (n - 1) / b.block, run_blocks, &b);
}

void ox_task_partition(int64_t batch, int64_t n_batches, int64_t n, int64_t *out_begin, int64_t *out_end) {
  n_batches = OX_MAX(n_batches, 1);
  int64_t each = n / n_batches, more = n % n_batches;
  *out_begin = batch * each + OX_MIN(batch, more);
  *out_end = *out_begin + each + (batch < more);
}

static ox_status *run_batches(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  const blocks *b = ctx; /* block: number of batches */
  for (int64_t i = begin; i < end; i++) {
    int64_t first, last;
    ox_task_partition(i, b->block, b->n, &first, &last);
    ox_status *st = b->fn(b->ctx, first, last, worker);
    if (st) return st;
  }
  return NULL;
}

ox_status *ox_task_for_batch(ox_pool *pool, int64_t n, int64_t n_batches, ox_tile_fn fn, void *ctx) {
  if (n <= 0) return NULL;
  if (n_batches <= 0) n_batches = ox_pool_size(pool);
  blocks b = {fn, ctx, n, OX_MIN(n_batches, n)};
  return ox_task_for(pool, b.block, run_batches, &b);
}

int64_t ox_task_block_for_cost(int64_t n, ox_cost c, uint32_t n_threads) {
  if (n <= 1 || n_threads <= 1) return OX_MAX(n, 1);
  double item = (c.bytes_in + c.bytes_out) * CYCLES_PER_BYTE + c.cycles;
  if (!(item > 0)) item = 1; /* also NaN */
  if ((double)n * item < 2 * LOOP_CYCLES) return n;
  double by_cost = BLOCK_CYCLES / item;
  int64_t by_share = 1 + (n - 1) / ((int64_t)BLOCKS_PER_THREAD * n_threads);
  /* Not finer than a block is worth, not coarser than a thread's share. */
  int64_t least = by_cost >= (double)n ? n : (int64_t)by_cost + 1;
  int64_t most = 1 + (n - 1) / n_threads;
  return OX_MIN(OX_MAX(by_share, least), most);
}

ox_status *ox_task_for_cost(ox_pool *pool, int64_t n, ox_cost per_item, ox_tile_fn fn, void *ctx) {
  if (n <= 0) return NULL;
  uint32_t threads = ox_pool_size(pool);
  if (pool && atomic_load_explicit(&pool->mixed, memory_order_relaxed)) threads *= MIXED_MORE;
  return ox_task_for_block(pool, n, ox_task_block_for_cost(n, per_item, threads), fn, ctx);
}
