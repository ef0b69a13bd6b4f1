/* SPDX-License-Identifier: Apache-2.0
 * base/memory_test.c - memory as systems tell of it, laid out under a temporary root. */
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"

#if defined(__linux__)
typedef struct file {
  const char *path, *text;
} file;

#define INFO \
  { "proc/meminfo", "MemTotal:        1000 kB\nMemFree:          10 kB\n" }
#define V2_MOUNT "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"
#define V1_MOUNT "31 23 0:27 / /sys/fs/cgroup/memory rw shared:5 - cgroup cgroup rw,memory\n"
#define V1_CPU "32 23 0:28 / /sys/fs/cgroup/cpu rw shared:6 - cgroup cgroup rw,cpu\n"
#define V1 "sys/fs/cgroup/memory"
#define V2 "sys/fs/cgroup"

static const struct {
  const char *name;
  uint64_t wanted;
  file files[7];
} cases[] = {
    {"nothing", 0, {{NULL, NULL}}},
    {"the machine", 1024000, {INFO}},
    {"no number", 0, {{"proc/meminfo", "MemTotal: much kB\n"}}},
    {"v2, no limit",
     1024000,
     {INFO, {"proc/self/mountinfo", V2_MOUNT}, {"proc/self/cgroup", "0::/a\n"}, {V2 "/a/memory.max", "max\n"}}},
    {"v2, own",
     5000,
     {INFO, {"proc/self/mountinfo", V2_MOUNT}, {"proc/self/cgroup", "0::/a\n"}, {V2 "/a/memory.max", "5000\n"}}},
    {"v2, parent tighter",
     4000,
     {INFO,
      {"proc/self/mountinfo", V2_MOUNT},
      {"proc/self/cgroup", "0::/a/b\n"},
      {V2 "/a/b/memory.max", "5000\n"},
      {V2 "/a/memory.max", "4000\n"}}},
    {"v2, more than there is",
     1024000,
     {INFO, {"proc/self/mountinfo", V2_MOUNT}, {"proc/self/cgroup", "0::/\n"}, {V2 "/memory.max", "1024001\n"}}},
    {"v2, machine unknown",
     7000,
     {{"proc/self/mountinfo", V2_MOUNT}, {"proc/self/cgroup", "0::/\n"}, {V2 "/memory.max", "7000\n"}}},
    {"v1, own, beside another controller",
     3000,
     {INFO,
      {"proc/self/mountinfo", V1_CPU V1_MOUNT},
      {"proc/self/cgroup", "5:cpu:/x\n4:memory:/a\n"},
      {V1 "/a/memory.limit_in_bytes", "3000\n"}}},
    {"v1, the largest number is no limit",
     1024000,
     {INFO,
      {"proc/self/mountinfo", V1_MOUNT},
      {"proc/self/cgroup", "4:memory:/\n"},
      {V1 "/memory.limit_in_bytes", "9223372036854771712\n"}}},
};

static void write_file(const char *root, const file *f) {
  char path[512], command[600];
  snprintf(path, sizeof path, "%s/%s", root, f->path);
  snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s')\"", path);
  assert_int_equal(system(command), 0);
  FILE *out = fopen(path, "w");
  assert_non_null(out);
  fputs(f->text, out);
  fclose(out);
}

static void test_limits_are_found(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    char root[] = "/tmp/ox_memory_XXXXXX", command[64];
    assert_non_null(mkdtemp(root));
    for (const file *f = cases[i].files; f->path; f++) write_file(root, f);
    uint64_t got = ox_memory_usable(root);
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
    if (got != cases[i].wanted)
      fail_msg("%s: %llu, wanted %llu", cases[i].name, (unsigned long long)got, (unsigned long long)cases[i].wanted);
  }
}
#else
static void test_limits_are_found(void **state) {
  (void)state;
  skip(); /* no files to lay out */
}
#endif

static void test_this_machine_has_some(void **state) {
  (void)state;
#if defined(__linux__) || defined(__APPLE__) || defined(_WIN32)
  assert_true(ox_memory_usable("") >= 1 << 20);
#else
  assert_int_equal(ox_memory_usable(""), 0);
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_limits_are_found),
                                     cmocka_unit_test(test_this_machine_has_some)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
