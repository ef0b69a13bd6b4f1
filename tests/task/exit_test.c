/* SPDX-License-Identifier: Apache-2.0
 * task/exit_test.c - processes that end, fork or unload the library while pools are at work. Each runs in a process of
 * its own; ONYX_TASK_LIBRARY names the shared library. */
#if defined(_WIN32) || defined(__EMSCRIPTEN__)
#include "support/check.h"

static void processes_end_as_they_should(void **state) {
  (void)state;
  skip(); /* there is no fork to begin with */
}

int main(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(processes_end_as_they_should)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "onyx/task.h"
#include "support/can_fork.h"
#include "support/check.h"
#include "support/count_units.h"

enum { SECONDS = 60, CODE = 23 };

static ox_pool *make_pool(uint32_t n) {
  ox_pool *pool;
  CHECK_OK(ox_pool_create(&(ox_pool_opts){.struct_size = sizeof(ox_pool_opts), .n_threads = n}, &pool));
  return pool;
}

static ox_task *submit(ox_pool *pool, ox_unit_fn fn, void *payload, uint32_t n) {
  ox_task *t;
  ox_task_opts o = {.struct_size = sizeof o, .flags = OX_TASK_ASYNC, .n_units = n, .fn = fn, .payload = payload};
  CHECK_OK(ox_task_submit(pool, &o, &t));
  return t;
}

static ox_status *nap(void *payload, uint32_t unit) {
  (void)payload, (void)unit;
  usleep(300);
  return NULL;
}
static ox_status *nap_tiles(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)worker;
  for (; begin < end; begin++) (void)nap(ctx, 0);
  return NULL;
}
static int works(ox_pool *pool) {
  atomic_int n = 0;
  CHECK_OK(ox_task_for(pool, 500, count_tiles, &n));
  CHECK_OK(ox_task_wait_release(submit(pool, count, &n, 500)));
  return n == 1000;
}

static void *loop_for_ever(void *pool) {
  for (;; usleep(1000)) CHECK_OK(ox_task_for(pool, 50, nap_tiles, NULL)); /* workers prefer loops to tasks */
  return NULL;
}
/* Loops from a second thread, tasks nobody waits for, on a pool of one's own and on the default one. */
static ox_pool *get_busy(void) {
  ox_pool *pool = make_pool(4);
  pthread_t thread;
  if (pthread_create(&thread, NULL, loop_for_ever, pool) != 0) abort();
  for (int i = 0; i < 30; i++) {
    ox_task_release(submit(pool, nap, NULL, 20));
    ox_task_release(submit(ox_pool_default(), nap, NULL, 20));
  }
  usleep(5000);
  return pool;
}

/* --- Ends: each ends the process with CODE ----------------------------------------------------------------------- */

static void exit_while_busy(void) {
  get_busy();
  exit(CODE);
}

static ox_status *exit_here(void *payload, uint32_t unit) {
  (void)payload, (void)unit;
  exit(CODE);
}
static void exit_from_a_unit(void) {
  ox_task *t = submit(get_busy(), exit_here, NULL, 1);
  for (;;) usleep(1000);
  (void)t;
}
static void exit_from_a_unit_that_is_waited_for(void) {
  ox_status_free(ox_task_wait(submit(get_busy(), exit_here, NULL, 8)));
}

static ox_status *exit_from_the_last_tile(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)ctx, (void)begin, (void)worker;
  if (end == 1000) exit(CODE);
  return NULL;
}
static void exit_from_a_tile(void) { ox_status_free(ox_task_for(get_busy(), 1000, exit_from_the_last_tile, NULL)); }

static ox_pool *late_pool;
static void work_late(void) {
  if (!works(late_pool) || !works(ox_pool_default())) _exit(1);
  ox_pool_destroy(make_pool(3));
}
static void work_at_exit(void) {
  late_pool = get_busy();
  if (atexit(work_late)) abort();
  exit(CODE);
}

static void *works_in_a_thread(void *pool) {
  if (!works(pool)) _exit(1);
  return NULL;
}
static void threads_that_end_leave_nothing(void) {
  ox_pool *pool = make_pool(3);
  for (int i = 0; i < 50; i++) { /* clients come and go */
    pthread_t thread;
    if (pthread_create(&thread, NULL, works_in_a_thread, pool) != 0) abort();
    pthread_join(thread, NULL);
  }
  ox_pool_destroy(pool);
  exit(CODE);
}

/* --- Forks ------------------------------------------------------------------------------------------------------- */

static void check_child(pid_t pid) {
  int status;
  waitpid(pid, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != CODE) _exit(2);
}

static void fork_while_busy(void) {
  ox_pool *pool = get_busy();
  for (int i = 0; i < 20; i++) {
    pid_t pid = fork();
    if (pid == 0) {
      alarm(SECONDS / 2);
      if (i % 4 == 0) exit(CODE); /* without a look at the pool */
      if (!works(pool) || !works(ox_pool_default())) _exit(3);
      if (i % 4 == 1) {
        pid_t grandchild = fork();
        if (grandchild == 0) _exit(works(pool) ? CODE : 3);
        check_child(grandchild);
      }
      if (i % 4 == 2) {
        CHECK_OK(ox_pool_resize(pool, 2));
        ox_pool_destroy(pool);
      }
      exit(CODE);
    }
    check_child(pid);
  }
  exit(works(pool) ? CODE : 4);
}

static void fork_and_destroy_unseen(void) {
  ox_pool *pool = get_busy();
  pid_t pid = fork();
  if (pid == 0) {
    ox_pool_destroy(pool); /* its threads are not in this process */
    exit(CODE);
  }
  check_child(pid);
  exit(CODE);
}

static ox_status *fork_here(void *payload, uint32_t unit) {
  ox_pool *pool = payload;
  (void)unit;
  pid_t pid = fork();
  if (pid == 0) _exit(works(pool) ? CODE : 5);
  check_child(pid);
  return NULL;
}
static void fork_in_a_unit(void) {
  ox_pool *pool = make_pool(3);
  CHECK_OK(ox_task_wait_release(submit(pool, fork_here, pool, 9)));
  exit(CODE);
}

/* --- Unloading --------------------------------------------------------------------------------------------------- */

static ox_pool *(*default_pool)(void);
static ox_status *(*task_for)(ox_pool *, int64_t, ox_tile_fn, void *);
static ox_status *(*create)(const ox_pool_opts *, ox_pool **);
static void (*destroy)(ox_pool *);

static void *symbol(void *library, const char *name) {
  void *p = dlsym(library, name);
  if (!p) _exit(6);
  return p;
}

static void load_and_unload(void) {
  const char *path = getenv("ONYX_TASK_LIBRARY");
  if (!path) exit(CODE);
  for (int i = 0; i < 100; i++) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *p;
    if (!library) _exit(7);
    p = symbol(library, "ox_pool_default"), memcpy(&default_pool, &p, sizeof p);
    p = symbol(library, "ox_task_for"), memcpy(&task_for, &p, sizeof p);
    p = symbol(library, "ox_pool_create"), memcpy(&create, &p, sizeof p);
    p = symbol(library, "ox_pool_destroy"), memcpy(&destroy, &p, sizeof p);
    atomic_int n = 0;
    ox_pool *pool;
    if (task_for(default_pool(), 500, count_tiles, &n) || n != 500) _exit(8);
    if (create(&(ox_pool_opts){.struct_size = sizeof(ox_pool_opts), .n_threads = 3}, &pool)) _exit(9);
    if (task_for(pool, 500, count_tiles, &n) || n != 1000) _exit(10);
    if (i % 2) destroy(pool); /* else it stays: its threads too, and their code */
    dlclose(library);
  }
  exit(CODE);
}

static const struct {
  const char *name;
  void (*run)(void);
  int forks;
} scenarios[] = {
    {"exit while busy", exit_while_busy, 0},
    {"exit from a unit", exit_from_a_unit, 0},
    {"exit from a unit that is waited for", exit_from_a_unit_that_is_waited_for, 0},
    {"exit from a tile", exit_from_a_tile, 0},
    {"work at exit", work_at_exit, 0},
    {"threads that end leave nothing", threads_that_end_leave_nothing, 0},
    {"fork while busy", fork_while_busy, 1},
    {"fork and destroy unseen", fork_and_destroy_unseen, 1},
    {"fork in a unit", fork_in_a_unit, 1},
    {"load and unload", load_and_unload, 0},
};

static char *program;

static void processes_end_as_they_should(void **state) {
  (void)state;
  if (getenv("ONYX_TEST_NO_FORK")) skip(); /* an emulator, which does not run itself again either */
  for (size_t i = 0; i < OX_COUNT(scenarios); i++) {
    if (scenarios[i].forks && !CAN_FORK) continue;
    char index[8] = {(char)('0' + i)};
    pid_t pid = fork();
    if (pid == 0) {
      /* AddressSanitizer's allocator may be locked by a thread that the child has not got; its leak check waits. */
      if (scenarios[i].forks) setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
      execv(program, (char *[]){program, index, NULL});
      _exit(127);
    }
    int status;
    waitpid(pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != CODE)
      fail_msg("%s: status %#x, wanted exit code %d", scenarios[i].name, (unsigned)status, (int)CODE);
  }
}

int main(int argc, char **argv) {
  program = argv[0];
  if (argc == 2) {
    alarm(SECONDS);
    scenarios[argv[1][0] - '0'].run();
    return 1;
  }
  static const struct CMUnitTest tests[] = {cmocka_unit_test(processes_end_as_they_should)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
