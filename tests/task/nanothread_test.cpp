/* SPDX-License-Identifier: Apache-2.0
 * task/nanothread_test.cpp - programs written for nanothread: both languages' names, semantics and corner cases. */
#include <nanothread/nanothread.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../support/tsan.hpp"

static int failures;
#define CHECK(cond)                                                                 \
  do {                                                                              \
    if (!(cond)) std::printf("%s:%d: %s\n", __FILE__, __LINE__, #cond), failures++; \
  } while (0)

static void store_index(uint32_t index, void *payload) { ((uint32_t *)payload)[index] = index; }

static void units_and_ids(Pool *pool) {
  std::vector<uint32_t> out(1000);
  task_submit_and_wait(pool, 1000, store_index, out.data());
  for (uint32_t i = 0; i < 1000; i++) CHECK(out[i] == i);
  CHECK(pool_thread_id() == 0);
  Task *none = task_submit(pool, 1, store_index, out.data());
  CHECK(none == nullptr && task_query(none));
  CHECK(task_submit(pool, 0) == nullptr);
}

struct big {
  int data[100];
  std::atomic<int> *sum;
};
static void add_big(uint32_t, void *p) { *((big *)p)->sum += ((big *)p)->data[99]; }
static void add_small(uint32_t index, void *p) { **(std::atomic<int> **)p += (int)index; }
static int n_deleted;
static void free_big(void *p) {
  n_deleted++;
  delete (big *)p;
}

static void payloads(Pool *pool) {
  std::atomic<int> sum{0}, *where = &sum;
  Task *t = task_submit(pool, 5, add_small, &where, sizeof where);
  where = nullptr; /* it was copied */
  task_wait_and_release(t);
  CHECK(sum == 10);
  big b;
  b.data[99] = 3, b.sum = &sum;
  t = task_submit(pool, 4, add_big, &b, sizeof b);
  b.data[99] = 1000;
  task_wait_and_release(t);
  CHECK(sum == 22);
  n_deleted = 0;
  for (int async = 0; async < 2; async++)
    task_wait_and_release(task_submit(pool, 1, add_big, new big(b), 0, free_big, async));
  CHECK(sum == 2022 && n_deleted == 2);
}

static Task *tetranacci(Pool *pool, uint32_t i, uint32_t *out) {
  if (i < 4) {
    *out = i == 3;
    return nullptr;
  }
  uint32_t *part = new uint32_t[4];
  Task *tasks[4];
  for (uint32_t k = 0; k < 4; k++) tasks[k] = tetranacci(pool, i - k - 1, part + k);
  Task *sum = drjit::do_async([part, out] { *out = part[0] + part[1] + part[2] + part[3], delete[] part; },
                              {tasks[0], tasks[1], tasks[2], tasks[3]}, pool);
  for (Task *t : tasks) task_release(t);
  return sum;
}

static Task *tetranacci_waiting(Pool *pool, uint32_t i, uint32_t *out) {
  if (i < 4) {
    *out = i == 3;
    return nullptr;
  }
  return drjit::do_async(
      [pool, i, out] {
        uint32_t part[4];
        Task *tasks[4];
        for (uint32_t k = 0; k < 4; k++) tasks[k] = tetranacci_waiting(pool, i - k - 1, part + k);
        for (Task *t : tasks) task_wait_and_release(t);
        *out = part[0] + part[1] + part[2] + part[3];
      },
      {}, pool);
}

static void graphs(Pool *pool) {
  uint32_t out = 0;
  task_wait_and_release(tetranacci(pool, 14, &out));
  CHECK(out == 773);
  out = 0;
  task_wait_and_release(tetranacci_waiting(pool, 14, &out));
  CHECK(out == 773);
}

template <typename Func>
static std::string text_of(Func f) {
  try {
    f();
  } catch (const std::exception &e) {
    return e.what();
  }
  return "";
}

static void exceptions(Pool *pool) {
  std::string text;
  try {
    drjit::parallel_for(
        drjit::blocked_range<uint32_t>(0, 1000, 5),
        [](drjit::blocked_range<uint32_t>) { throw std::runtime_error("loop"); }, pool);
  } catch (std::exception &e) {
    text = e.what();
  }
  CHECK(text == "loop");
  Task *t = drjit::parallel_for_async(
      drjit::blocked_range<uint32_t>(0, 1000, 5),
      [](drjit::blocked_range<uint32_t>) { throw std::runtime_error("task"); }, {}, pool);
  auto never = [] { CHECK(false); };
  Task *child = drjit::do_async(never, {t}, pool), *grandchild = drjit::do_async(never, {child, nullptr}, pool);
  Task *barrier = task_submit_dep(pool, &grandchild, 1, 0);
  Task *waited_for[] = {barrier, grandchild, child, t, t}; /* each waiter gets the exception of the first */
  for (Task *w : waited_for) CHECK(text_of([w] { task_wait(w); }) == "task");
  Task *late = drjit::do_async(never, {t}, pool); /* the parent has ended */
  CHECK(text_of([late] { task_wait_and_release(late); }) == "task");
  task_release(barrier), task_release(grandchild), task_release(child), task_release(t);
}

static void throw_text(uint32_t, void *payload) { throw std::runtime_error((const char *)payload); }
static void set_flag(void *payload) { *(bool *)payload = true; }

static void exceptions_of_small_tasks(Pool *pool) {
  char text[] = "here";
  CHECK(text_of([&] { task_submit(pool, 1, throw_text, text); }) == "here"); /* it runs inside submit */
  CHECK(text_of([&] { task_submit_dep(pool, nullptr, 0, 1, throw_text, text, 0, nullptr, 0, 1); }) == "here");
  CHECK(text_of([&] { task_submit_and_wait(pool, 1, throw_text, text); }) == "here");
  CHECK(text_of([&] { task_submit_and_wait(pool, 9, throw_text, text); }) == "here");
  Task *t = task_submit(pool, 1, throw_text, text, sizeof text, nullptr, 1);
  CHECK(text_of([&] { task_wait_and_release(t); }) == "here");
  bool deleted = false; /* of a failed task too */
  auto fail = [](uint32_t, void *) { throw 7; };
  Task *u = task_submit(pool, 3, fail, &deleted, 0, set_flag, 1);
  bool caught = false;
  try {
    task_wait_and_release(u);
  } catch (int seven) {
    caught = seven == 7;
  }
  CHECK(caught && deleted);
}

static void an_exception_outlives_its_task(Pool *pool) {
  std::exception_ptr kept;
  try {
    task_wait_and_release(drjit::do_async([] { throw std::runtime_error("kept"); }, {}, pool));
  } catch (...) {
    kept = std::current_exception();
  }
  for (int i = 0; i < 100; i++) task_wait_and_release(drjit::do_async([] {}, {}, pool)); /* its memory is used again */
  CHECK(text_of([&] { std::rethrow_exception(kept); }) == "kept");
}

static void objects_are_moved_and_destroyed_once(Pool *pool) {
  auto shared = std::make_shared<int>(0);
  for (uint32_t n : {0u, 1u, 3u}) {
    Task *t = drjit::parallel_for_async(
        drjit::blocked_range<uint32_t>(0, n), [shared](drjit::blocked_range<uint32_t>) {}, {}, pool);
    CHECK(t != nullptr);
    task_wait_and_release(t);
  }
  task_wait_and_release(drjit::do_async([shared] {}, {}, pool));
  CHECK(shared.use_count() == 1);
}

/* Random graphs: exactly those that throw and their descendants fail, all others run once, after their parents. */
static void failures_spread_downwards_only(Pool *pool) {
  enum { N = 150 };
  uint32_t random = 12345;
  auto below = [&](uint32_t n) { return random = random * 1664525u + 1013904223u, (random >> 8) % n; };
  for (int round = 0; round < 8; round++) {
    std::atomic<int> runs[N], early{0};
    Task *tasks[N];
    bool fails[N], throws[N];
    for (uint32_t i = 0; i < N; i++) {
      std::vector<uint32_t> from;
      std::vector<const Task *> parents;
      runs[i] = 0, fails[i] = throws[i] = below(20) == 0;
      for (uint32_t k = below(5); k && i; k--) {
        from.push_back(below(i)), parents.push_back(tasks[from.back()]);
        fails[i] = fails[i] || fails[from.back()];
      }
      bool throws_now = throws[i];
      auto body = [&runs, &early, i, from, throws_now] {
        for (uint32_t f : from) early += runs[f] != 1;
        runs[i]++;
        if (throws_now) throw std::runtime_error("spread");
      };
      tasks[i] = drjit::do_async(body, parents.data(), parents.size(), pool);
    }
    for (uint32_t i = 0; i < N; i++) {
      Task *t = tasks[N - 1 - i]; /* those before are waited for first by way of their children */
      CHECK(text_of([&] { task_wait(t); }) == (fails[N - 1 - i] ? "spread" : ""));
    }
    for (uint32_t i = 0; i < N; i++) {
      if (!fails[i]) CHECK(runs[i] == 1);
      if (fails[i] && !throws[i]) CHECK(runs[i] == 0);
      task_release(tasks[i]);
    }
    CHECK(early == 0);
  }
}

/* Denormal floats in units are zero if the pool says so, on every thread, and in the caller only meanwhile. */
static void denormals() {
#if defined(__SSE2__) || defined(__aarch64__)
  for (int ftz = 0; ftz < 2; ftz++)
    for (uint32_t size : {1u, 3u}) {
      Pool *pool = pool_create(size, ftz);
      std::atomic<int> kept{0};
      volatile float tiny = 1e-30f;
      task_wait_and_release(drjit::parallel_for_async(
          drjit::blocked_range<int>(0, 100), [&](drjit::blocked_range<int>) { kept += tiny * 1e-10f != 0.0f; }, {},
          pool));
      CHECK(kept == (ftz ? 0 : 100));
      CHECK(tiny * 1e-10f != 0.0f);
      pool_destroy(pool);
    }
#endif
}

static void ranges(Pool *pool) {
  std::vector<int> hits(103);
  drjit::parallel_for(
      drjit::blocked_range<int>(0, 103, 10),
      [&](drjit::blocked_range<int> r) {
        CHECK(*r.begin() % 10 == 0 && (*r.end() % 10 == 0 || *r.end() == 103) && *r.end() - *r.begin() <= 10);
        for (auto i : r) hits[(size_t)i]++;
      },
      pool);
  for (int h : hits) CHECK(h == 1);
}

static void timing(Pool *pool) {
  pool_set_profile(1);
  CHECK(pool_profile() == 1);
  auto nap = [](uint32_t, void *) { std::this_thread::sleep_for(std::chrono::milliseconds(3)); };
  Task *a = task_submit(pool, 1, nap), *b = task_submit_dep(pool, &a, 1, 1, nap);
  CHECK(a != nullptr && task_query(a)); /* small: it ran, but there is a handle to ask */
  task_wait(b);
  CHECK(task_time(a) >= 2.9 && task_time(b) >= 2.9 && task_time_rel(a, b) >= 2.9);
  task_release(a), task_release(b);
  pool_set_profile(0);
}

struct meeting {
  uint32_t n;
  std::atomic<uint32_t> here{0}, met{0};
  std::atomic<bool> given_up{false};
};
/* Waits for the others, with a limit far above what a busy machine takes to wake a thread. */
static void meet(uint32_t, void *p) {
  meeting *m = *(meeting **)p;
  m->here++;
  for (int ms = 0; m->here < m->n && !m->given_up; ms++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (ms == 20000) m->given_up = true;
  }
  m->met += !m->given_up;
}

/* k units that wait for each other need k threads at once. */
static void sleeping_workers_all_wake() {
  Pool *pool = pool_create(4);
  for (uint32_t k = 1; k <= 4; k++) {
    meeting m, *where = &m;
    m.n = k;
    std::this_thread::sleep_for(std::chrono::milliseconds(10)); /* for the workers to fall asleep */
    task_wait_and_release(task_submit(pool, k, meet, &where, sizeof where, nullptr, 1));
    CHECK(m.met == k);
  }
  pool_destroy(pool);
}

int main() {
  for (uint32_t size : {0u, 1u, 2u, 3u, 20u}) {
    Pool *pool = pool_create(size);
    CHECK(pool_size(pool) == (size ? size : 1));
    units_and_ids(pool), payloads(pool), graphs(pool), exceptions(pool), ranges(pool), timing(pool);
    exceptions_of_small_tasks(pool), an_exception_outlives_its_task(pool), objects_are_moved_and_destroyed_once(pool);
    failures_spread_downwards_only(pool);
    pool_set_size(pool, 5);
    CHECK(pool_size(pool) == 5);
    units_and_ids(pool);
    pool_set_size(pool, 0);
    units_and_ids(pool);
    pool_destroy(pool);
  }
  denormals();
  sleeping_workers_all_wake();
  CHECK(core_count() >= 1 && performance_core_count() >= 1 && pool_size() >= 1);
  units_and_ids(nullptr);
  std::printf("%d failures\n", failures);
  return failures != 0;
}
