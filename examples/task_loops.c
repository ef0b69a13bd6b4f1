/* SPDX-License-Identifier: Apache-2.0
 * examples/task_loops.c - the task pool on its own: loops, scratch for each worker, an error that ends a loop. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <onyx/task.h>

enum { N = 10000000 };

typedef struct sums {
  const uint32_t *x;
  uint64_t *of_worker; /* one for each, so nobody waits for anybody */
} sums;

static ox_status *fill(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)worker;
  for (int64_t i = begin; i < end; i++) ((uint32_t *)ctx)[i] = (uint32_t)(i * i % 1000);
  return NULL;
}

static ox_status *add(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  sums *s = ctx;
  for (int64_t i = begin; i < end; i++) s->of_worker[worker] += s->x[i];
  return NULL;
}

static ox_status *look_for_961(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)worker;
  for (int64_t i = begin; i < end; i++)
    if (((uint32_t *)ctx)[i] == 961) return ox_task_error(OX_LIMIT, "961 is in there"); /* ends the loop early */
  return NULL;
}

int main(void) {
  ox_pool *pool = ox_pool_default(); /* one for the whole process; never destroyed */
  uint32_t threads = ox_pool_size(pool), *x = malloc(N * sizeof *x);
  sums s = {x, calloc(threads, sizeof *s.of_worker)};
  if (!x || !s.of_worker) return 1;

  /* Ten million items of a few cycles each: the pool cuts them into blocks that are worth a claim. */
  ox_status *st = ox_task_for_cost(pool, N, (ox_cost){.bytes_out = 4, .cycles = 10}, fill, x);
  if (!st) st = ox_task_for_block(pool, N, 100000, add, &s); /* blocks of one's own choice */
  uint64_t sum = 0;
  for (uint32_t i = 0; i < threads; i++) sum += s.of_worker[i];
  printf("%u threads, sum %" PRIu64 "\n", (unsigned)threads, sum);

  if (!st) st = ox_task_for_block(pool, N, 100000, look_for_961, x);
  printf("%s\n", st ? ox_status_message(st) : "no 961");
  ox_status_free(st);
  free(s.of_worker), free(x);
  return 0;
}
