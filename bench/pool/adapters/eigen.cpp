/* SPDX-License-Identifier: Apache-2.0
 * bench/pool/adapters/eigen.cpp - Eigen's ThreadPool. eigen: threads - 1 workers help a caller who works too, through
 * one counter per loop; eigen-device: ThreadPoolDevice as it comes, all threads are workers and the caller blocks.
 * needs: eigen3/unsupported/Eigen/CXX11/Tensor */
#define EIGEN_USE_THREADS
#include <eigen3/unsupported/Eigen/CXX11/Tensor>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "../pool_bench.h"

namespace {
std::unique_ptr<Eigen::ThreadPool> pool;
std::unique_ptr<Eigen::ThreadPoolDevice> device;
int n_workers;

int init(int threads, int clients) {
  (void)clients;
  n_workers = threads - 1;
  if (n_workers > 0) pool = std::make_unique<Eigen::ThreadPool>(n_workers);
  return 1;
}

int init_device(int threads, int clients) {
  (void)clients;
  n_workers = threads;
  pool = std::make_unique<Eigen::ThreadPool>(threads);
  device = std::make_unique<Eigen::ThreadPoolDevice>(pool.get(), threads);
  return 1;
}

void fini() {
  device.reset();
  pool.reset();
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/* Helpers may come when the loop is over: the last one to leave frees it. */
struct job {
  size_t n;
  bench_fn fn;
  void *ctx;
  std::atomic<int> refs;
  alignas(64) std::atomic<size_t> next{0};
  alignas(64) std::atomic<size_t> done{0};
  job(size_t n_, bench_fn fn_, void *ctx_, int refs_) : n(n_), fn(fn_), ctx(ctx_), refs(refs_) {}

  void work() {
    size_t i, count = 0;
    for (; (i = next.fetch_add(1, std::memory_order_relaxed)) < n; count++) fn(ctx, i);
    if (count) done.fetch_add(count, std::memory_order_release);
  }
  void drop() {
    if (refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
};

void loop(size_t n, bench_fn fn, void *ctx) {
  int helpers = n_workers < (int)n - 1 ? n_workers : (int)n - 1;
  if (helpers <= 0) {
    for (size_t i = 0; i < n; i++) fn(ctx, i);
    return;
  }
  job *j = new job(n, fn, ctx, helpers + 1);
  for (int k = 0; k < helpers; k++) {
    pool->Schedule([j] {
      j->work();
      j->drop();
    });
  }
  j->work();
  for (int spins = 0; j->done.load(std::memory_order_acquire) != n; spins++) {
    if (spins < 1000)
      relax();
    else
      std::this_thread::yield();
  }
  j->drop();
}

/* The cost says: worth a block for each thread. */
void loop_device(size_t n, bench_fn fn, void *ctx) {
  device->parallelFor((Eigen::Index)n, Eigen::TensorOpCost(0, 0, 1000000), [=](Eigen::Index begin, Eigen::Index end) {
    for (Eigen::Index i = begin; i < end; i++) fn(ctx, (size_t)i);
  });
}

void tasks(const bench_call *call, size_t n) {
  Eigen::Barrier barrier((unsigned)n);
  bench_submits(1);
  for (size_t i = 0; i < n; i++) {
    pool->Schedule([call, &barrier] {
      call->fn(call->ctx, call->index);
      barrier.Notify();
    });
  }
  bench_submits(0);
  barrier.Wait();
}

/* A graph as counters of unfinished parents; whoever ends a task goes on with one of those it made ready. */
struct counters {
  const bench_dag *dag;
  std::vector<std::atomic<int>> left;
  std::atomic<uint32_t> unfinished{0};
  Eigen::Notification *all = nullptr;
  explicit counters(const bench_dag *d) : dag(d), left(d->n_nodes) {}

  void follow(uint32_t i) {
    uint32_t count = 0;
    for (uint32_t next = i; next != UINT32_MAX;) {
      i = next;
      next = UINT32_MAX;
      const bench_call *c = &dag->calls[i];
      c->fn(c->ctx, c->index);
      count++;
      for (uint32_t k = dag->child_begin[i]; k < dag->child_begin[i + 1]; k++) {
        uint32_t child = dag->children[k];
        if (left[child].fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
        if (next == UINT32_MAX)
          next = child;
        else
          pool->Schedule([this, child] { follow(child); });
      }
    }
    if (unfinished.fetch_sub(count, std::memory_order_acq_rel) == count) all->Notify();
  }
};

void *graph_prepare(const bench_dag *dag) { return new counters(dag); }

void graph_run(void *graph) {
  auto *g = static_cast<counters *>(graph);
  Eigen::Notification all;
  g->all = &all;
  g->unfinished.store(g->dag->n_nodes, std::memory_order_relaxed);
  for (auto &left : g->left) left.store(2, std::memory_order_relaxed);
  for (uint32_t i = 0; i < g->dag->n_roots; i++) pool->Schedule([g, i] { g->follow(i); });
  all.Wait();
}

void graph_free(void *graph) { delete static_cast<counters *>(graph); }

const bench_contender plain = {.name = "eigen",
                               .can = BENCH_NESTS | BENCH_CLIENTS,
                               .env = nullptr,
                               .missing = nullptr,
                               .init = init,
                               .fini = fini,
                               .enter = nullptr,
                               .loop = loop,
                               .tasks = nullptr,
                               .tasks_held = nullptr,
                               .graph_anew = nullptr,
                               .graph_prepare = nullptr,
                               .graph_run = nullptr,
                               .graph_free = nullptr};
const bench_contender with_device = {.name = "eigen-device",
                                     .can = BENCH_CLIENTS,
                                     .env = nullptr,
                                     .missing = nullptr,
                                     .init = init_device,
                                     .fini = fini,
                                     .enter = nullptr,
                                     .loop = loop_device,
                                     .tasks = tasks,
                                     .tasks_held = nullptr,
                                     .graph_anew = nullptr,
                                     .graph_prepare = graph_prepare,
                                     .graph_run = graph_run,
                                     .graph_free = graph_free};
}  // namespace

extern "C" const bench_contender *const bench_contenders[] = {&plain, &with_device, nullptr};
