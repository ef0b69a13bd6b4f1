/* SPDX-License-Identifier: Apache-2.0
 * support/pool_backend.c - a plain thread pool as an executor: one lock, one queue. */
#include "support/pool_backend.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "task/backend.h"
#include "task/pool.h"

enum { MOST_THREADS = 12 }; /* more than most pools have, fewer than those of a crowded test: some visits queue up */

typedef struct call {
  struct call *next;
  void (*fn)(void *);
  void *arg;
} call;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static call *head, **tail = &head;
static int n_threads, n_idle, n_queued;

static void *serve(void *unused) {
  (void)unused;
  pthread_mutex_lock(&lock);
  for (;;) {
    n_idle++;
    while (!head) pthread_cond_wait(&filled, &lock);
    n_idle--;
    call *c = head;
    head = c->next, n_queued--;
    if (!head) tail = &head;
    pthread_mutex_unlock(&lock);
    c->fn(c->arg);
    free(c);
    pthread_mutex_lock(&lock);
  }
  return NULL;
}

static int run(void *ctx, void (*fn)(void *), void *arg) {
  (void)ctx;
  call *c = malloc(sizeof *c);
  if (!c) return 0;
  *c = (call){NULL, fn, arg};
  pthread_mutex_lock(&lock);
  *tail = c, tail = &c->next, n_queued++;
  if (n_queued > n_idle && n_threads < MOST_THREADS) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, serve, NULL) != 0) abort();
    pthread_detach(thread);
    n_threads++;
  }
  pthread_cond_signal(&filled);
  pthread_mutex_unlock(&lock);
  return 1;
}

#if !defined(_WIN32)
static void before_fork(void) { pthread_mutex_lock(&lock); }
static void in_parent(void) { pthread_mutex_unlock(&lock); }
static void in_child(void) { /* the threads are gone, and so is what they were asked to do */
  head = NULL, tail = &head, n_threads = n_idle = n_queued = 0;
  (void)pthread_cond_init(&filled, NULL);
  pthread_mutex_unlock(&lock);
}
static void install(void) { (void)pthread_atfork(before_fork, in_parent, in_child); }
#else
static void install(void) {} /* no fork */
#endif

const ox_executor *test_executor(void) {
  static const ox_executor executor = {.struct_size = sizeof executor, .run = run};
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, install);
  return &executor;
}

static bool wants_executor(void) { return getenv("ONYX_TEST_EXECUTOR") != NULL; }

ox_pool *test_pool_with(ox_pool_opts opts) {
  ox_pool *pool;
  opts.struct_size = sizeof opts;
  if (wants_executor() && !opts.thread_create && !opts.affinity) opts.executor = test_executor();
  CHECK_OK(ox_pool_create(&opts, &pool));
  return pool;
}

ox_pool *test_pool(uint32_t n) {
  ox_pool_opts opts = {.n_threads = n};
  return test_pool_with(opts);
}

bool test_pool_resizes(void) { return !wants_executor(); }

bool test_pool_has_workers(const ox_pool *pool) { return ox_pool_size(pool) > 1 && !pool->backend->run_loop; }

bool test_pool_has_company(const ox_pool *pool) {
  const char *openmp = pool->backend->run_loop ? getenv("OMP_THREAD_LIMIT") : NULL;
  return ox_pool_size(pool) > 1 && !(openmp && atoi(openmp) == 1);
}

bool test_pool_has_policy(const ox_pool *pool) { return pool->policy != &ox_policy_off; }

uint32_t test_pool_size(uint32_t n) { return wants_executor() ? n : OX_MIN(n, ox_backend_of_build.most_threads); }
