/* SPDX-License-Identifier: Apache-2.0
 * bench/pool/workloads/w7_clients.c - W7: four threads run loops of 32 units of 1 us on one pool at the same time. And
 * for as long, one thread for each processor looks at the clock: what the system takes from those, no pool can give. */
#include <pthread.h>
#include <stdlib.h>

#include "measure.h"

enum { CLIENTS = 4, N = 32, MOST_CPUS = 64 };

static const double duration = 600e6;

typedef struct client {
  const bench_run *run;
  pthread_barrier_t *start;
  uint64_t steps, loops;
  double ns, worst; /* how long it ran; its longest loop */
} client;

static void work(void *arg) {
  client *c = arg;
  pthread_barrier_wait(c->start);
  double begin = bench_now(), a = begin, b;
  do {
    c->run->pool->loop(N, bench_unit_same, &c->steps);
    b = bench_now();
    if (b - a > c->worst) c->worst = b - a;
    c->loops++;
    a = b;
  } while (b - begin < duration);
  c->ns = b - begin;
}

static void *run_client(void *arg) {
  client *c = arg;
  if (c->run->pool->enter)
    c->run->pool->enter(work, c);
  else
    work(c);
  return NULL;
}

static void *look_at_the_clock(void *arg) {
  double *worst = arg, begin = bench_now(), a = begin, b;
  do {
    b = bench_now();
    if (b - a > *worst) *worst = b - a;
    a = b;
  } while (b - begin < duration);
  return NULL;
}

static double worst_pause_without_a_pool(int cpus) {
  pthread_t threads[MOST_CPUS];
  double each[MOST_CPUS] = {0}, worst = 0;
  if (cpus > MOST_CPUS) cpus = MOST_CPUS;
  for (int i = 0; i < cpus; i++)
    if (pthread_create(&threads[i], NULL, look_at_the_clock, &each[i]) != 0) abort();
  for (int i = 0; i < cpus; i++) {
    pthread_join(threads[i], NULL);
    if (each[i] > worst) worst = each[i];
  }
  return worst;
}

static void measure(const bench_run *run) {
  pthread_barrier_t start;
  pthread_t threads[CLIENTS];
  client clients[CLIENTS];
  uint64_t steps = bench_steps(1000);
  bench_loop alone = {NULL, N, bench_unit_same, &steps};
  double serial = bench_serial(bench_loop_body(&alone), 20);
  pthread_barrier_init(&start, NULL, CLIENTS);
  for (int i = 0; i < CLIENTS; i++) clients[i] = (client){.run = run, .start = &start, .steps = steps};
  for (int i = 1; i < CLIENTS; i++)
    if (pthread_create(&threads[i], NULL, run_client, &clients[i]) != 0) abort();
  work(&clients[0]); /* already a client of the pool */
  for (int i = 1; i < CLIENTS; i++) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&start);
  serial = (serial + bench_serial(bench_loop_body(&alone), 20)) / 2;

  double rate = 0, least = 1e300, most = 0, worst = 0; /* loops per ns */
  for (int i = 0; i < CLIENTS; i++) {
    double r = (double)clients[i].loops / clients[i].ns;
    rate += r;
    if (r < least) least = r;
    if (r > most) most = r;
    if (clients[i].worst > worst) worst = clients[i].worst;
  }
  int busy = CLIENTS + run->threads - 1 < run->cpus ? CLIENTS + run->threads - 1 : run->cpus;
  bench_report_more("kloops/s", rate * 1e6);
  bench_report_more("% of ideal", 100 * rate * serial / busy);
  bench_report_more("min/max of clients", least / most);
  bench_report_less("worst loop ms", worst / 1e6);
  bench_report_fact("worst pause of a lone thread ms", worst_pause_without_a_pool(run->cpus) / 1e6);
}

const bench_workload bench_w7_clients[] = {
    {"W7", "four clients, loops of 32 x 1 us", BENCH_NEEDS_LOOP | BENCH_NEEDS_CLIENTS, CLIENTS, measure}, {0}};
