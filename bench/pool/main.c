/* SPDX-License-Identifier: Apache-2.0
 * bench/pool/main.c - one contender, one workload, one process; run.py starts many of them.
 * usage: pool_bench.ADAPTER list | pool_bench.ADAPTER CONTENDER WORKLOAD THREADS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure.h"

#define BENCH_WORKLOAD(stem) extern const bench_workload bench_##stem[];
#include "bench_workloads.inc"
#undef BENCH_WORKLOAD
static const bench_workload *const workload_files[] = {
#define BENCH_WORKLOAD(stem) bench_##stem,
#include "bench_workloads.inc"
#undef BENCH_WORKLOAD
    NULL};

static int list(void) {
  for (size_t i = 0; bench_contenders[i]; i++) {
    const bench_contender *c = bench_contenders[i];
    const char *why = c->missing ? c->missing() : NULL;
    printf("contender|%s|%s\n", c->name, why ? why : "");
  }
  for (size_t i = 0; workload_files[i]; i++)
    for (const bench_workload *w = workload_files[i]; w->name; w++) printf("workload|%s|%s\n", w->name, w->title);
  return 0;
}

static int can(const bench_contender *c, uint32_t needs) {
  return !((needs & BENCH_NEEDS_LOOP && !c->loop) || (needs & BENCH_NEEDS_NESTS && !(c->can & BENCH_NESTS)) ||
           (needs & BENCH_NEEDS_CLIENTS && !(c->can & BENCH_CLIENTS)) || (needs & BENCH_NEEDS_TASKS && !c->tasks) ||
           (needs & BENCH_NEEDS_GRAPH && !c->graph_anew && !c->graph_prepare));
}

typedef struct job {
  bench_run run;
  const bench_workload *workload;
} job;

static void body(void *arg) {
  job *j = arg;
  bench_check(&j->run);
  j->workload->measure(&j->run);
}

/* Run-time libraries read their environment before main: start again with it. */
static void set_env(const bench_contender *c, char **argv) {
  char name[64];
  size_t n = c->env ? strcspn(c->env, "=") : 0;
  if (n == 0 || n >= sizeof name) return;
  memcpy(name, c->env, n);
  name[n] = 0;
  const char *have = getenv(name);
  if (have && strcmp(have, c->env + n + 1) == 0) return;
  setenv(name, c->env + n + 1, 1);
  execv("/proc/self/exe", argv);
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "list") == 0) return list();
  if (argc != 4) {
    fprintf(stderr, "usage: %s list | %s CONTENDER WORKLOAD THREADS\n", argv[0], argv[0]);
    return 2;
  }
  job j = {0};
  for (size_t i = 0; bench_contenders[i]; i++)
    if (strcmp(bench_contenders[i]->name, argv[1]) == 0) j.run.pool = bench_contenders[i];
  for (size_t i = 0; workload_files[i]; i++)
    for (const bench_workload *w = workload_files[i]; w->name; w++)
      if (strcmp(w->name, argv[2]) == 0) j.workload = w;
  j.run.threads = atoi(argv[3]);
  if (!j.run.pool || !j.workload || j.run.threads < 1) {
    fprintf(stderr, "unknown contender or workload, or no threads\n");
    return 2;
  }
  const bench_contender *c = j.run.pool;
  if (!can(c, j.workload->needs)) return 0;
  set_env(c, argv);
  bench_calibrate();
  j.run.cpus = bench_usable_cpus();
  j.run.width = j.run.threads < j.run.cpus ? j.run.threads : j.run.cpus;
  if (!c->init(j.run.threads, j.workload->clients)) {
    fprintf(stderr, "%s: cannot start\n", c->name);
    return 1;
  }
  if (c->enter)
    c->enter(body, &j);
  else
    body(&j);
  if (c->fini) c->fini();
  return 0;
}
