/* SPDX-License-Identifier: Apache-2.0
 * install/no_exceptions.cpp - both C++ faces in a program built with -fno-exceptions -fno-rtti. Returns 0. */
#include <atomic>

#include <nanothread/nanothread.h>
#include <onyx/task.hpp>

int main() {
  std::atomic<int> sum{0};
  auto add = [&](onyx::blocked_range<int> range) {
    for (int i : range) sum += i;
  };
  onyx::parallel_for(onyx::blocked_range<int>(0, 100, 3), add);
  onyx::task task = onyx::parallel_for_async(onyx::blocked_range<int>(0, 100, 3), add);
  onyx::do_async([&] { sum += 100; }, {task}).wait();
  Task *other = drjit::do_async([&] { sum += 1000; });
  task_wait_and_release(other);
  drjit::parallel_for(drjit::blocked_range<int>(0, 10), [&](drjit::blocked_range<int>) { sum += 1; });
  return sum != 2 * 4950 + 100 + 1000 + 10;
}
