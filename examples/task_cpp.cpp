/* SPDX-License-Identifier: Apache-2.0
 * examples/task_cpp.cpp - the task pool in C++11: lambdas, tasks with parents, exceptions that reach the waiter. */
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <onyx/task.hpp>

int main() {
  std::vector<double> x(1000000);
  const std::size_t n = x.size();
  onyx::parallel_for(onyx::blocked_range<std::size_t>(0, n, 10000), [&](onyx::blocked_range<std::size_t> range) {
    for (std::size_t i : range) x[i] = 1.0 / static_cast<double>(i + 1);
  });

  double sum = 0;
  onyx::task add = onyx::do_async([&] { sum = std::accumulate(x.begin(), x.end(), 0.0); });
  onyx::task print = onyx::do_async([&] { std::printf("sum of 1/i up to a million: %.6f\n", sum); }, {add});
  onyx::task fail = onyx::do_async([] { throw std::runtime_error("thrown in a task"); }, {print});
  onyx::task never = onyx::do_async([] { std::puts("not reached"); }, {fail});
  try {
    never.wait();
  } catch (const std::runtime_error &e) {
    std::printf("%s, caught by whoever waits\n", e.what());
  }
  return 0;
}
