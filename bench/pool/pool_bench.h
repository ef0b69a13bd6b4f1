/* SPDX-License-Identifier: Apache-2.0
 * bench/pool/pool_bench.h - what a task pool offers to be compared (adapters/) and what is measured (workloads/).
 * Dropping a file into either folder is the whole registration; docs/bench-pool.md tells what the figures mean. */
#ifndef BENCH_POOL_BENCH_H
#define BENCH_POOL_BENCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One unit of a loop. */
typedef void (*bench_fn)(void *ctx, size_t i);

/* One task: fn(ctx, index). */
typedef struct bench_call {
  bench_fn fn;
  void *ctx;
  size_t index;
} bench_call;

/* A graph of tasks in an order that runs. Nodes below n_roots have no parents, all others have two. */
typedef struct bench_dag {
  uint32_t n_nodes, n_roots;
  const uint32_t (*parents)[2];
  const uint32_t *child_begin; /* children of i: children[child_begin[i]] .. children[child_begin[i + 1] - 1] */
  const uint32_t *children;
  const bench_call *calls; /* one for each node */
} bench_dag;

enum {
  BENCH_NESTS = 1,  /* units may run loops */
  BENCH_CLIENTS = 2 /* several threads may run loops at once */
};

/* A pool in one configuration. Optional entries are NULL where the pool has no such thing. One process runs one. */
typedef struct bench_contender {
  const char *name;
  uint32_t can;
  const char *env;                                 /* optional: NAME=value it needs from the process's start */
  const char *(*missing)(void);                    /* optional: why it cannot run here; NULL: it can */
  int (*init)(int threads, int clients);           /* threads counts one client; 0 if it fails */
  void (*fini)(void);                              /* optional */
  void (*enter)(void (*body)(void *), void *arg);  /* optional: runs body(arg) as a client of the pool */
  void (*loop)(size_t n, bench_fn fn, void *ctx);  /* returns when all units are done */
  void (*tasks)(const bench_call *call, size_t n); /* optional: submits n tasks one by one, then waits for them */
  void (*tasks_held)(const bench_call *call,
                     size_t n);                 /* optional: the same, and each has a handle that is waited for */
  void (*graph_anew)(const bench_dag *dag);     /* optional: builds, runs and frees the graph */
  void *(*graph_prepare)(const bench_dag *dag); /* optional, with the next two */
  void (*graph_run)(void *graph);
  void (*graph_free)(void *graph);
} bench_contender;

/* tasks and tasks_held say when this thread begins to submit (1) and when it begins to wait (0). */
void bench_submits(int on);

/* Ends with NULL; each program has one adapter. */
extern const bench_contender *const bench_contenders[];

/* A run of one workload. */
typedef struct bench_run {
  const bench_contender *pool;
  int threads, cpus;
  double width; /* min(threads, cpus): how many times faster than serial it can be */
} bench_run;

enum {
  BENCH_NEEDS_NESTS = 1,
  BENCH_NEEDS_CLIENTS = 2,
  BENCH_NEEDS_TASKS = 4,
  BENCH_NEEDS_GRAPH = 8,
  BENCH_NEEDS_LOOP = 16
};

/* A file workloads/<name>.c defines bench_<name>[], which ends with a NULL name. */
typedef struct bench_workload {
  const char *name, *title;
  uint32_t needs;
  int clients;
  void (*measure)(const bench_run *run);
} bench_workload;

#ifdef __cplusplus
}
#endif
#endif
