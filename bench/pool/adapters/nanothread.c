/* SPDX-License-Identifier: Apache-2.0
 * bench/pool/adapters/nanothread.c - the library that the environment variable NANOTHREAD_LIB names, through pointers.
 * needs: dlfcn.h -ldl */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../pool_bench.h"

static struct {
  void *(*create)(uint32_t size, int flush_denormals);
  void (*destroy)(void *pool);
  void *(*submit)(void *pool, void *const *parents, uint32_t n_parents, uint32_t size, void (*fn)(uint32_t, void *),
                  void *payload, uint32_t payload_size, void (*payload_deleter)(void *), int async, int profile);
  void (*wait_release)(void *task);
  void (*release)(void *task);
  void (*work_until)(void *pool, bool (*stop)(void *), void *payload);
} nt;
static void *pool;

static int find(void *lib, const char *name, void *out_fn) {
  void *p = dlsym(lib, name);
  memcpy(out_fn, &p, sizeof p); /* ISO C has no cast from an object's address to a function's */
  return p != NULL;
}

static const char *missing(void) {
  const char *path = getenv("NANOTHREAD_LIB");
  if (path == NULL || *path == 0) return "NANOTHREAD_LIB names no library";
  void *lib = dlopen(path, RTLD_NOW);
  if (lib == NULL) return "NANOTHREAD_LIB cannot be loaded";
  int ok = find(lib, "pool_create", &nt.create) && find(lib, "pool_destroy", &nt.destroy) &&
           find(lib, "task_submit_dep", &nt.submit) && find(lib, "task_wait_and_release", &nt.wait_release) &&
           find(lib, "task_release", &nt.release) && find(lib, "pool_work_until", &nt.work_until);
  return ok ? NULL : "NANOTHREAD_LIB lacks functions";
}

static int init(int threads, int clients) {
  (void)clients;
  if (missing() != NULL) return 0;
  pool = nt.create((uint32_t)threads, 0);
  return pool != NULL;
}

static void fini(void) { nt.destroy(pool); }

static void run_unit(uint32_t i, void *payload) {
  const bench_call *c = payload;
  c->fn(c->ctx, i);
}

static void loop(size_t n, bench_fn fn, void *ctx) {
  bench_call c = {fn, ctx, 0};
  nt.wait_release(nt.submit(pool, NULL, 0, (uint32_t)n, run_unit, &c, 0, NULL, 0, 0));
}

static void run_call(uint32_t i, void *payload) {
  const bench_call *c = payload;
  (void)i;
  c->fn(c->ctx, c->index);
}

static void *submit(const bench_call *c, void *const *parents, uint32_t n_parents) {
  return nt.submit(pool, parents, n_parents, 1, run_call, (void *)c, 0, NULL, 1, 0);
}

static void tasks_held(const bench_call *call, size_t n) {
  void **handles = malloc(n * sizeof *handles);
  if (handles == NULL) abort();
  bench_submits(1);
  for (size_t i = 0; i < n; i++) handles[i] = submit(call, NULL, 0);
  bench_submits(0);
  for (size_t i = 0; i < n; i++) nt.wait_release(handles[i]);
  free(handles);
}

/* On a line of its own: whoever submits reads |pool|. */
static struct {
  _Alignas(128) atomic_size_t left;
  char rest[128 - sizeof(atomic_size_t)];
} counter;

static void run_counted(uint32_t i, void *payload) {
  run_call(i, payload);
  atomic_fetch_sub_explicit(&counter.left, 1, memory_order_release);
}

static bool none_left(void *ctx) {
  (void)ctx;
  return atomic_load_explicit(&counter.left, memory_order_acquire) == 0;
}

static void tasks(const bench_call *call, size_t n) {
  atomic_store(&counter.left, n);
  bench_submits(1);
  for (size_t i = 0; i < n; i++) nt.release(nt.submit(pool, NULL, 0, 1, run_counted, (void *)call, 0, NULL, 1, 0));
  bench_submits(0);
  nt.work_until(pool, none_left, NULL);
}

static void graph_anew(const bench_dag *dag) {
  void **handles = malloc(dag->n_nodes * sizeof *handles);
  if (handles == NULL) abort();
  for (uint32_t i = 0; i < dag->n_nodes; i++) {
    void *parents[2] = {handles[dag->parents[i][0]], handles[dag->parents[i][1]]};
    handles[i] = submit(&dag->calls[i], parents, i < dag->n_roots ? 0 : 2);
  }
  for (uint32_t i = 0; i < dag->n_nodes; i++) {
    if (dag->child_begin[i] == dag->child_begin[i + 1])
      nt.wait_release(handles[i]);
    else
      nt.release(handles[i]);
  }
  free(handles);
}

static const bench_contender plain = {.name = "nanothread",
                                      .can = BENCH_NESTS | BENCH_CLIENTS,
                                      .missing = missing,
                                      .init = init,
                                      .fini = fini,
                                      .loop = loop,
                                      .tasks = tasks,
                                      .tasks_held = tasks_held,
                                      .graph_anew = graph_anew};
const bench_contender *const bench_contenders[] = {&plain, NULL};
