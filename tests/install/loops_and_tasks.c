/* SPDX-License-Identifier: Apache-2.0
 * install/loops_and_tasks.c - a stranger's program in C99: sees the installed headers and library only. Returns 0. */
#include <string.h>

#include <nanothread/nanothread.h>
#include <onyx/task.h>

enum { N = 1000 };

static ox_status *square(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  int64_t i;
  (void)worker;
  for (i = begin; i < end; i++) ((int64_t *)ctx)[i] = i * i;
  return NULL;
}

static ox_status *sum_of(void *payload, uint32_t unit) {
  int64_t *const *x = (int64_t *const *)payload, sum = 0;
  int i;
  if (unit != 0) return ox_task_error(OX_FAIL, "one unit only");
  for (i = 0; i < N; i++) sum += x[0][i];
  *x[1] = sum;
  return NULL;
}

static ox_status *fail(void *payload, uint32_t unit) {
  (void)payload, (void)unit;
  return ox_task_error(OX_CANCELLED, "on purpose");
}

static void count(uint32_t index, void *payload) { ((char *)payload)[index]++; }

static int run(ox_pool *pool) {
  int64_t x[N], sum = 0, *both[2];
  char hits[N];
  int i, bad = 0;
  ox_task *task = NULL, *failed = NULL;
  ox_task_opts opts;
  ox_status *st = ox_task_for(pool, N, square, x);
  both[0] = x, both[1] = &sum;
  memset(&opts, 0, sizeof opts);
  opts.struct_size = sizeof opts;
  opts.flags = OX_TASK_ASYNC;
  opts.n_units = 1;
  opts.fn = sum_of;
  opts.payload = both;
  opts.payload_bytes = sizeof both;
  if (!st) st = ox_task_submit(pool, &opts, &task);
  if (!st) st = ox_task_wait_release(task);
  bad += st != NULL || sum != 332833500;
  ox_status_free(st);
  opts.fn = fail;
  st = ox_task_submit(pool, &opts, &failed);
  ox_status_free(st);
  st = ox_task_wait_release(failed);
  bad += ox_status_code(st) != OX_CANCELLED || strcmp(ox_status_message(st), "on purpose") != 0;
  ox_status_free(st);
  memset(hits, 0, sizeof hits);
  task_wait_and_release(task_submit((Pool *)pool, N, count, hits, 0, NULL, 0));
  for (i = 0; i < N; i++) bad += hits[i] != 1;
  return bad;
}

int main(void) {
  ox_pool_opts opts;
  ox_pool *pool;
  int bad;
  memset(&opts, 0, sizeof opts);
  opts.struct_size = sizeof opts;
  opts.n_threads = 3;
  if (ox_pool_create(&opts, &pool)) return 99;
  bad = run(pool) + run(ox_pool_default());
  ox_pool_destroy(pool);
  return bad;
}
