/* SPDX-License-Identifier: Apache-2.0
 * support/census.h - how many threads a process has while it does something: in a forked child, as the pool of a
 * process never shrinks, looked at from outside, so that looking needs no thread there. */
#ifndef OX_TESTS_CENSUS_H
#define OX_TESTS_CENSUS_H

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/can_fork.h"
#include "support/check.h"

/* /proc lists them here, and a child may have some. */
#if defined(__linux__)
#define CAN_COUNT_THREADS CAN_FORK
#else
#define CAN_COUNT_THREADS 0
#endif

/* Beyond those that the child began with (1: a sanitizer may have its own), plus 1. */
typedef struct census {
  int most, last; /* at any time; when all was done */
} census;

static inline int census_count(pid_t pid) {
  char path[64];
  int n = 0;
  snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
  DIR *d = opendir(path);
  for (struct dirent *e; d && (e = readdir(d)) != NULL;) n += e->d_name[0] != '.';
  if (d) closedir(d);
  return n;
}

/* Runs fn(arg), which must not fail a test of cmocka's but return 0. */
static inline census census_take(int (*fn)(const void *arg), const void *arg) {
  int ready[2], go[2], begun = 0, last = 0, status = 0;
  census c = {0, 0};
  assert_true(pipe(ready) == 0 && pipe(go) == 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    alarm(120);
    begun = census_count(getpid());
    if (write(ready[1], &begun, sizeof begun) != sizeof begun || fn(arg) != 0) _exit(1);
    last = census_count(getpid());
    if (write(ready[1], &last, sizeof last) != sizeof last || read(go[0], &last, 1) != 1) _exit(2);
    _exit(0);
  }
  close(ready[1]), close(go[0]);
  assert_int_equal(read(ready[0], &begun, sizeof begun), sizeof begun);
  while (waitpid(child, &status, WNOHANG) == 0) {
    int n = census_count(child);
    if (n > c.most) c.most = n;
    struct pollfd answer = {.fd = ready[0], .events = POLLIN};
    if (last == 0 && poll(&answer, 1, 0) == 1 && answer.revents & POLLIN) {
      assert_int_equal(read(ready[0], &last, sizeof last), sizeof last);
      assert_int_equal(write(go[1], "", 1), 1);
    }
    usleep(100);
  }
  close(ready[0]), close(go[1]);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("the child ended with status %x", (unsigned)status);
  if (last > c.most) c.most = last; /* which the child saw, and this process perhaps did not */
  return (census){c.most - begun + 1, last - begun + 1};
}

#endif
