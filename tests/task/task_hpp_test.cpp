/* SPDX-License-Identifier: Apache-2.0
 * task/task_hpp_test.cpp - the C++ wrapper: ranges, handles, exceptions. Prints what failed; returns 0 if nothing did.
 */
#include "onyx/task.hpp"

#include "../support/tsan.hpp"

#include <cstdio>
#include <string>

static int failures;
#define CHECK(cond)                                                                 \
  do {                                                                              \
    if (!(cond)) std::printf("%s:%d: %s\n", __FILE__, __LINE__, #cond), failures++; \
  } while (0)

static ox_pool *make_pool(uint32_t n) {
  ox_pool_opts o = ox_pool_opts();
  o.struct_size = sizeof o;
  o.n_threads = n;
  ox_pool *pool;
  ox_status_free(ox_pool_create(&o, &pool));
  return pool;
}

struct custom {
  int value;
};

static void ranges_are_covered(ox_pool *pool) {
  const int counts[] = {0, 1, 2, 9, 10, 11, 1000};
  for (int n : counts)
    for (int block = 1; block < 13; block += 5) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(n) + 1), async_hits(static_cast<size_t>(n) + 1);
      for (auto &h : hits) h = 0;
      for (auto &h : async_hits) h = 0;
      onyx::parallel_for(
          onyx::blocked_range<int>(-3, n - 3, block),
          [&](onyx::blocked_range<int> r) {
            for (int i : r) hits[static_cast<size_t>(i + 3)]++;
          },
          pool);
      onyx::task t = onyx::parallel_for_async(
          onyx::blocked_range<int>(-3, n - 3, block),
          [&](const onyx::blocked_range<int> &r) {
            for (auto i = r.begin(); i != r.end(); ++i) async_hits[static_cast<size_t>(i + 3)]++;
          },
          {}, pool);
      t.wait();
      for (int i = 0; i < n; i++) CHECK(hits[static_cast<size_t>(i)] == 1 && async_hits[static_cast<size_t>(i)] == 1);
    }
  onyx::parallel_for(
      onyx::blocked_range<uint64_t>(5, 4), [&](onyx::blocked_range<uint64_t>) { CHECK(false); }, pool);
}

template <typename Int>
static void covers(ox_pool *pool, Int begin, Int end, Int block) {
  const int64_t want = static_cast<int64_t>(static_cast<uint64_t>(end) - static_cast<uint64_t>(begin));
  std::atomic<int64_t> items{0}, async_items{0};
  onyx::parallel_for(
      onyx::blocked_range<Int>(begin, end, block), [&](onyx::blocked_range<Int> r) { items += r.size(); }, pool);
  onyx::parallel_for_async(
      onyx::blocked_range<Int>(begin, end, block), [&](onyx::blocked_range<Int> r) { async_items += r.size(); }, {},
      pool)
      .wait();
  CHECK(items == want && async_items == want);
}

static void ranges_may_be_as_wide_as_their_type(ox_pool *pool) {
  covers<signed char>(pool, -128, 127, 7);
  covers<unsigned char>(pool, 0, 255, 16);
  covers<int16_t>(pool, INT16_MIN, INT16_MAX, INT16_MAX);
  covers<int32_t>(pool, INT32_MIN, INT32_MAX, 1 << 20);
  covers<uint32_t>(pool, 0, UINT32_MAX, 1u << 20);
  covers<int64_t>(pool, INT64_MIN / 2, INT64_MAX / 2, INT64_C(1) << 50);
  covers<int64_t>(pool, INT64_MAX - 3, INT64_MAX, INT64_MAX);
  covers<uint64_t>(pool, UINT64_MAX - 100, UINT64_MAX, 3);
}

static void exceptions_reach_the_waiter(ox_pool *pool) {
  bool caught = false;
  try {
    onyx::parallel_for(
        onyx::blocked_range<int>(0, 100), [](onyx::blocked_range<int>) { throw custom{7}; }, pool);
  } catch (const custom &c) {
    caught = c.value == 7;
  }
  CHECK(caught);
  onyx::task t = onyx::parallel_for_async(
      onyx::blocked_range<int>(0, 100),
      [](onyx::blocked_range<int> r) {
        if (*r.begin() == 50) throw custom{8};
      },
      {}, pool);
  for (int again = 0; again < 2; again++) {
    caught = false;
    try {
      t.wait();
    } catch (const custom &c) {
      caught = c.value == 8;
    }
    CHECK(caught);
  }
  onyx::task failed = onyx::do_async([] { throw custom{9}; }, {}, pool);
  onyx::task child = onyx::do_async([] { CHECK(false); }, {failed}, pool); /* does not run */
  onyx::task grandchild = onyx::parallel_for_async(
      onyx::blocked_range<int>(0, 9), [](onyx::blocked_range<int>) { CHECK(false); }, {onyx::task(), child}, pool);
  for (const onyx::task &last : {grandchild, child, failed}) {
    caught = false;
    try {
      last.wait();
    } catch (const custom &c) {
      caught = c.value == 9;
    }
    CHECK(caught);
  }
}

static void tasks_depend_on_each_other(ox_pool *pool) {
  auto shared = std::make_shared<int>(0); /* not trivially copyable: destroyed with the task */
  {
    onyx::task last;
    for (int i = 0; i < 100; i++)
      last = onyx::do_async(
          [shared, i] {
            if (*shared == i) ++*shared;
          },
          {last}, pool);
    last.wait();
    CHECK(last.done());
    onyx::task copy = last, moved = std::move(copy);
    CHECK(moved.get() == last.get() && !copy.get());
  }
  CHECK(*shared == 100);
  CHECK(shared.use_count() == 1);
}

static void cancelled_tasks_throw(ox_pool *pool) {
  std::atomic<bool> go{false};
  onyx::task first = onyx::do_async(
      [&] {
        while (!go) {
        }
      },
      {}, pool);
  onyx::task second = onyx::do_async([] { CHECK(false); }, {first}, pool);
  second.cancel();
  go = true;
  bool caught = false;
  try {
    second.wait();
  } catch (const onyx::error &e) {
    caught = e.code() == OX_CANCELLED;
  }
  CHECK(caught);
}

int main() {
  for (uint32_t n = 1; n <= 4; n++) {
    ox_pool *pool = make_pool(n);
    ranges_are_covered(pool);
    ranges_may_be_as_wide_as_their_type(pool);
    exceptions_reach_the_waiter(pool);
    tasks_depend_on_each_other(pool);
    cancelled_tasks_throw(pool);
    ox_pool_destroy(pool);
  }
  std::printf("%d failures\n", failures);
  return failures != 0;
}
