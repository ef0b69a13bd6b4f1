/* SPDX-License-Identifier: Apache-2.0
 * install/loops_and_tasks.cpp - a stranger's program in C++11: both C++ faces in one file. Returns 0. */
#include <atomic>
#include <stdexcept>
#include <string>

#include <nanothread/nanothread.h>
#include <onyx/task.hpp>

static int with_onyx(ox_pool *pool) {
  std::atomic<int> sum{0};
  onyx::parallel_for(
      onyx::blocked_range<int>(0, 100, 7),
      [&](onyx::blocked_range<int> r) {
        for (int i : r) sum += i;
      },
      pool);
  onyx::task first = onyx::do_async([&] { sum += 50; }, {}, pool);
  onyx::task second = onyx::parallel_for_async(
      onyx::blocked_range<int>(0, 10), [&](onyx::blocked_range<int>) { sum += 1000; }, {first}, pool);
  second.wait();
  std::string text;
  try {
    onyx::do_async([] { throw std::runtime_error("lost"); }, {second}, pool).wait();
  } catch (const std::exception &e) {
    text = e.what();
  }
  return sum != 4950 + 50 + 10000 || text != "lost";
}

static int with_nanothread(Pool *pool) {
  std::atomic<int> sum{0};
  drjit::parallel_for(
      drjit::blocked_range<int>(0, 100, 7),
      [&](drjit::blocked_range<int> r) {
        for (auto i : r) sum += i;
      },
      pool);
  Task *first = drjit::do_async([&] { sum += 50; }, {}, pool);
  Task *second = drjit::do_async([&] { sum = 2 * sum; }, {first}, pool);
  task_wait_and_release(second);
  task_release(first);
  return sum != 10000;
}

int main() {
  Pool *pool = pool_create(3);
  int bad = with_onyx(reinterpret_cast<ox_pool *>(pool)) + with_onyx(nullptr) + with_nanothread(pool) +
            with_nanothread(nullptr);
  pool_destroy(pool);
  return bad;
}
