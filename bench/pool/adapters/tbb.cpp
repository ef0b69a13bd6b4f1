/* SPDX-License-Identifier: Apache-2.0
 * bench/pool/adapters/tbb.cpp - oneTBB: parallel_for and task groups in one arena; tbb-flow: graphs of its flow nodes.
 * needs: tbb/parallel_for.h -ltbb */
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "../pool_bench.h"

namespace {
std::unique_ptr<tbb::global_control> limit;
std::unique_ptr<tbb::task_arena> arena;

/* threads - 1 workers, and a place for each client. */
int init(int threads, int clients) {
  limit = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism, threads);
  arena = std::make_unique<tbb::task_arena>(threads - 1 + clients, clients);
  arena->initialize();
  return 1;
}

void fini() {
  arena.reset();
  limit.reset();
}

void enter(void (*body)(void *), void *arg) {
  arena->execute([=] { body(arg); });
}

void loop(size_t n, bench_fn fn, void *ctx) {
  tbb::parallel_for(size_t(0), n, [=](size_t i) { fn(ctx, i); });
}

void tasks(const bench_call *call, size_t n) {
  tbb::task_group group;
  bench_submits(1);
  for (size_t i = 0; i < n; i++) group.run([=] { call->fn(call->ctx, call->index); });
  bench_submits(0);
  group.wait();
}

/* A graph as counters of unfinished parents; whoever ends a task goes on with one of those it made ready. */
struct counters {
  const bench_dag *dag;
  std::vector<std::atomic<int>> left;
  tbb::task_group group;
  explicit counters(const bench_dag *d) : dag(d), left(d->n_nodes) {}

  void follow(uint32_t i) {
    for (uint32_t next;; i = next) {
      const bench_call *c = &dag->calls[i];
      c->fn(c->ctx, c->index);
      next = UINT32_MAX;
      for (uint32_t k = dag->child_begin[i]; k < dag->child_begin[i + 1]; k++) {
        uint32_t child = dag->children[k];
        if (left[child].fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
        if (next == UINT32_MAX)
          next = child;
        else
          group.run([=, this] { follow(child); });
      }
      if (next == UINT32_MAX) return;
    }
  }
};

void *graph_prepare(const bench_dag *dag) { return new counters(dag); }

void graph_run(void *graph) {
  auto *g = static_cast<counters *>(graph);
  for (auto &left : g->left) left.store(2, std::memory_order_relaxed);
  for (uint32_t i = 0; i < g->dag->n_roots; i++) g->group.run([=] { g->follow(i); });
  g->group.wait();
}

void graph_free(void *graph) { delete static_cast<counters *>(graph); }

using flow_node = tbb::flow::continue_node<tbb::flow::continue_msg>;

struct flow {
  uint32_t n_roots;
  tbb::flow::graph graph;
  std::deque<flow_node> nodes;
};

void *flow_prepare(const bench_dag *dag) {
  auto *f = new flow{dag->n_roots, {}, {}};
  for (uint32_t i = 0; i < dag->n_nodes; i++) {
    const bench_call *c = &dag->calls[i];
    f->nodes.emplace_back(f->graph, [c](const tbb::flow::continue_msg &) { c->fn(c->ctx, c->index); });
    if (i < dag->n_roots) continue;
    for (int k = 0; k < 2; k++) tbb::flow::make_edge(f->nodes[dag->parents[i][k]], f->nodes[i]);
  }
  return f;
}

void flow_run(void *graph) {
  auto *f = static_cast<flow *>(graph);
  for (uint32_t i = 0; i < f->n_roots; i++) f->nodes[i].try_put(tbb::flow::continue_msg());
  f->graph.wait_for_all();
}

void flow_free(void *graph) { delete static_cast<flow *>(graph); }

void flow_anew(const bench_dag *dag) {
  void *f = flow_prepare(dag);
  flow_run(f);
  flow_free(f);
}

const bench_contender plain = {.name = "tbb",
                               .can = BENCH_NESTS | BENCH_CLIENTS,
                               .env = nullptr,
                               .missing = nullptr,
                               .init = init,
                               .fini = fini,
                               .enter = enter,
                               .loop = loop,
                               .tasks = tasks,
                               .tasks_held = nullptr,
                               .graph_anew = nullptr,
                               .graph_prepare = graph_prepare,
                               .graph_run = graph_run,
                               .graph_free = graph_free};
const bench_contender flows = {.name = "tbb-flow",
                               .can = 0,
                               .env = nullptr,
                               .missing = nullptr,
                               .init = init,
                               .fini = fini,
                               .enter = enter,
                               .loop = nullptr,
                               .tasks = nullptr,
                               .tasks_held = nullptr,
                               .graph_anew = flow_anew,
                               .graph_prepare = flow_prepare,
                               .graph_run = flow_run,
                               .graph_free = flow_free};
}  // namespace

extern "C" const bench_contender *const bench_contenders[] = {&plain, &flows, nullptr};
