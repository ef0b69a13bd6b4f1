/* SPDX-License-Identifier: Apache-2.0
 * task/system/topology_test.c - quota files as systems write them, laid out under a temporary root. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "onyx/task.h"
#include "support/check.h"
#include "support/pool_backend.h"
#include "support/set_variable.h"
#include "task/system/thread.h"
#include "task/system/topology.h"

#if defined(__linux__)
typedef struct file {
  const char *path, *text;
} file;

#define V2_MOUNT "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"
#define V1_MOUNT "31 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:5 - cgroup cgroup rw,cpu,cpuacct\n"
#define V1_SET "32 23 0:28 / /sys/fs/cgroup/cpuset rw shared:6 - cgroup cgroup rw,cpuset\n"
#define V1 "sys/fs/cgroup/cpu,cpuacct"
#define V2 "sys/fs/cgroup"

#define X86_FAST "sys/devices/cpu_core/cpus"
#define X86_THRIFTY "sys/devices/cpu_atom/cpus"
#define CAPACITY(i) "sys/devices/system/cpu/cpu" i "/cpu_capacity"

static const struct {
  const char *name;
  uint64_t wanted; /* thousandths */
  file files[7];
} cases[] = {
    {"nothing", 0, {{NULL, NULL}}},
    {"v2, no limit",
     0,
     {{"proc/self/mountinfo", V2_MOUNT}, {"proc/self/cgroup", "0::/a\n"}, {V2 "/a/cpu.max", "max 100000\n"}}},
    {"v2, own",
     1500,
     {{"proc/self/mountinfo", V2_MOUNT}, {"proc/self/cgroup", "0::/a\n"}, {V2 "/a/cpu.max", "150000 100000\n"}}},
    {"v2, parent tighter",
     500,
     {{"proc/self/mountinfo", V2_MOUNT},
      {"proc/self/cgroup", "0::/a/b/c\n"},
      {V2 "/a/b/c/cpu.max", "300000 100000\n"},
      {V2 "/a/cpu.max", "50000 100000\n"}}},
    {"v2, own files missing",
     2000,
     {{"proc/self/mountinfo", V2_MOUNT}, {"proc/self/cgroup", "0::/docker/xyz\n"}, {V2 "/cpu.max", "200000 100000\n"}}},
    {"v2, mount shows a part",
     3000,
     {{"proc/self/mountinfo", "30 23 0:26 /docker/xyz /sys/fs/cgroup rw - cgroup2 cgroup rw\n"},
      {"proc/self/cgroup", "0::/docker/xyz/in\n"},
      {V2 "/in/cpu.max", "300000 100000\n"}}},
    {"v1, own",
     2500,
     {{"proc/self/mountinfo", V1_SET V1_MOUNT},
      {"proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/a\n"},
      {V1 "/a/cpu.cfs_quota_us", "250000\n"},
      {V1 "/a/cpu.cfs_period_us", "100000\n"}}},
    {"v1, -1 is no limit",
     0,
     {{"proc/self/mountinfo", V1_MOUNT},
      {"proc/self/cgroup", "4:cpu,cpuacct:/\n"},
      {V1 "/cpu.cfs_quota_us", "-1\n"},
      {V1 "/cpu.cfs_period_us", "100000\n"}}},
    {"v1, parent",
     400,
     {{"proc/self/mountinfo", V1_MOUNT},
      {"proc/self/cgroup", "4:cpuacct,cpu:/a/b\n"},
      {V1 "/a/cpu.cfs_quota_us", "20000\n"},
      {V1 "/a/cpu.cfs_period_us", "50000\n"}}},
    {"v1 and v2",
     700,
     {{"proc/self/mountinfo", V1_MOUNT V2_MOUNT},
      {"proc/self/cgroup", "4:cpu,cpuacct:/a\n0::/b\n"},
      {V1 "/a/cpu.cfs_quota_us", "900\n"},
      {V1 "/a/cpu.cfs_period_us", "1000\n"},
      {V2 "/b/cpu.max", "700 1000\n"}}},
    {"garbage",
     0,
     {{"proc/self/mountinfo", "x\n - \n" V2_MOUNT}, {"proc/self/cgroup", ":\n::\n0::\n"}, {V2 "/cpu.max", "lots\n"}}},
    {"zero period", 0, {{"proc/self/mountinfo", V2_MOUNT}, {"proc/self/cgroup", "0::/\n"}, {V2 "/cpu.max", "100 0\n"}}},
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

/* A folder that stands for "/", with |files| in it. The name, from ROOT, is filled in. */
#define ROOT "/tmp/ox_topology_XXXXXX"
static void make_root(char *root, const file *files) {
  assert_non_null(mkdtemp(root));
  for (const file *f = files; f->path; f++) write_file(root, f);
}
static void remove_root(const char *root) {
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", root);
  assert_int_equal(system(command), 0);
}

static void quotas_are_found(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    char root[] = ROOT;
    make_root(root, cases[i].files);
    uint64_t got = ox_topology_quota(root);
    remove_root(root);
    if (got != cases[i].wanted) fail_msg("%s: %d, wanted %d", cases[i].name, (int)got, (int)cases[i].wanted);
  }
}

static const struct {
  const char *name;
  uint32_t wanted;
  uint64_t allowed; /* processors 0 .. 63; 0: unknown */
  file files[7];
} kinds[] = {
    {"nothing", 0, 0xff, {{NULL, NULL}}},
    {"x86, both", 4, 0xff, {{X86_FAST, "0-3\n"}, {X86_THRIFTY, "4-7\n"}}},
    {"x86, mask unknown", 4, 0, {{X86_FAST, "0-3\n"}, {X86_THRIFTY, "4-7\n"}}},
    {"x86, lists with holes", 3, 0xff, {{X86_FAST, "0,2-3\n"}, {X86_THRIFTY, "1,4-7\n"}}},
    {"x86, some allowed", 1, 0x1e8, {{X86_FAST, "0-3\n"}, {X86_THRIFTY, "4-7\n"}}},
    {"x86, only fast ones allowed", 0, 0x07, {{X86_FAST, "0-3\n"}, {X86_THRIFTY, "4-7\n"}}},
    {"x86, only thrifty ones allowed", 0, 0xf0, {{X86_FAST, "0-3\n"}, {X86_THRIFTY, "4-7\n"}}},
    {"x86, one kind", 0, 0xff, {{X86_FAST, "0-7\n"}}},
    {"x86, empty list", 0, 0xff, {{X86_FAST, "0-7\n"}, {X86_THRIFTY, "\n"}}},
    {"x86, beyond the mask", 0, 0xff, {{X86_FAST, "0-7\n"}, {X86_THRIFTY, "4096-99999999999\n"}}},
    {"x86, garbage", 0, 0xff, {{X86_FAST, "all\n"}, {X86_THRIFTY, "-\n"}}},
    {"arm, three kinds",
     3,
     0x3f,
     {{CAPACITY("0"), "250\n"},
      {CAPACITY("1"), "250\n"},
      {CAPACITY("2"), "700\n"},
      {CAPACITY("3"), "700\n"},
      {CAPACITY("5"), "1024\n"}}},
    {"arm, mask unknown", 1, 0, {{CAPACITY("0"), "400\n"}, {CAPACITY("1"), "1024\n"}}},
    {"arm, one kind", 0, 3, {{CAPACITY("0"), "1024\n"}, {CAPACITY("1"), "1024\n"}}},
    {"arm, garbage", 0, 3, {{CAPACITY("0"), "much\n"}, {CAPACITY("1"), "-5\n"}}},
};

static void fast_processors_are_counted(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(kinds); i++) {
    char root[] = ROOT;
    make_root(root, kinds[i].files);
    ox_cpu_mask allowed = {{kinds[i].allowed}};
    uint32_t got = ox_topology_fast(root, &allowed);
    remove_root(root);
    if (got != kinds[i].wanted) fail_msg("%s: %u, wanted %u", kinds[i].name, (unsigned)got, (unsigned)kinds[i].wanted);
  }
}
#else
static void quotas_are_found(void **state) {
  (void)state;
  skip(); /* no cgroups here */
}
static void fast_processors_are_counted(void **state) {
  (void)state;
  ox_cpu_mask mask = ox_thread_mask();
  uint32_t n = ox_topology_fast("", &mask); /* as this machine is */
  assert_in_range(n, 0, ox_topology_cpus());
}
#endif

static void the_affinity_mask_counts(void **state) {
  (void)state;
  ox_cpu_mask before = ox_thread_mask(), one = {{0}};
  uint32_t n = 0;
  for (size_t i = 0; i < OX_COUNT(before.bits); i++) n += (uint32_t)__builtin_popcountll(before.bits[i]);
  if (!n) skip(); /* the system has no masks */
  assert_int_equal(ox_topology_cpus(), n);
  size_t word = 0;
  while (!before.bits[word]) word++;
  one.bits[word] = before.bits[word] & -before.bits[word];
  int self = ox_thread_id();
  assert_true(ox_thread_avoid_cpu(self, &one, -1));
  assert_int_equal(ox_topology_cpus(), 1);
  assert_int_equal(ox_topology_usable(), 1);
  int cpu = ox_thread_cpu();
  assert_true(cpu < 0 || (one.bits[cpu / 64] >> cpu % 64 & 1));
  assert_false(ox_thread_avoid_cpu(self, &one, cpu)); /* nothing would be left */
  assert_true(ox_thread_avoid_cpu(self, &before, -1));
  assert_int_equal(ox_topology_cpus(), n);
}

static void the_environment_decides(void **state) {
  (void)state;
  static const struct {
    const char *onyx, *omp;
    uint32_t wanted; /* 0: as without either */
  } rows[] = {{NULL, NULL, 0},
              {"3", NULL, 3},
              {NULL, "5", 5},
              {"3", "5", 3},
              {NULL, "7,2", 7},
              {"x", "5", 5},
              {"0", NULL, 0},
              {"-4", NULL, 0},
              {"3x", NULL, 0},
              {"99999999999999999999", NULL, 0},
              {"100000", NULL, OX_POOL_MAX},
              {"", "", 0}};
  set_variable("ONYX_NUM_THREADS", NULL), set_variable("OMP_NUM_THREADS", NULL);
  uint32_t plain = ox_pool_default_size();
  ox_cpu_mask mask = ox_thread_mask();
  uint32_t fast = ox_topology_fast("", &mask), usable = ox_topology_usable();
  assert_int_equal(plain, fast ? OX_MIN(fast, usable) : usable);
  assert_int_equal(ox_pool_usable_cpus(), usable);
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    set_variable("ONYX_NUM_THREADS", rows[i].onyx), set_variable("OMP_NUM_THREADS", rows[i].omp);
    uint32_t got = ox_pool_default_size(), wanted = rows[i].wanted ? rows[i].wanted : plain;
    if (got != wanted) fail_msg("row %d: %u, wanted %u", (int)i, (unsigned)got, (unsigned)wanted);
  }
  set_variable("ONYX_NUM_THREADS", NULL), set_variable("OMP_NUM_THREADS", NULL);
}

static void a_pool_reads_the_environment_again(void **state) {
  (void)state;
  if (!test_pool_resizes()) skip();
  ox_pool *pool = test_pool(2);
  for (uint32_t n = 1; n <= 5; n++) {
    char text[8];
    snprintf(text, sizeof text, "%u", (unsigned)n);
    set_variable("ONYX_NUM_THREADS", text);
    CHECK_OK(ox_pool_resize(pool, 0));
    assert_int_equal(ox_pool_size(pool), test_pool_size(n));
  }
  set_variable("ONYX_NUM_THREADS", NULL);
  CHECK_OK(ox_pool_resize(pool, 0));
  assert_int_equal(ox_pool_size(pool), test_pool_size(ox_pool_default_size()));
  ox_pool_destroy(pool);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(quotas_are_found),         cmocka_unit_test(fast_processors_are_counted),
      cmocka_unit_test(the_affinity_mask_counts), cmocka_unit_test(a_pool_reads_the_environment_again),
      cmocka_unit_test(the_environment_decides),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
