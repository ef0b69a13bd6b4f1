/* SPDX-License-Identifier: Apache-2.0
 * nanothread/nanothread.h - the names of the nanothread library, served by Onyx's task pool (onyx/task.h).
 * Header only, for C and C++; written from nanothread's documented behaviour. Differences: a pool has at most
 * OX_POOL_MAX threads (larger requests get that many); a failure to make threads yields a smaller pool; from inside a
 * task pool_set_size does nothing; exceptions are carried if the file that submits is C++. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__cplusplus)
#include <atomic>
#include <exception>
#include <initializer_list>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>
#else
#include <stdbool.h>
#endif

#include "onyx/task.h"

#if !defined(NANOTHREAD_EXPORT)
#define NANOTHREAD_EXPORT
#endif
#define NANOTHREAD_AUTO ((uint32_t)-1)

#if defined(__cplusplus)
#define NANOTHREAD_DEF(x) = x
#define NANOTHREAD_THROW noexcept(false)
#define NANOTHREAD_FN inline
#else
#define NANOTHREAD_DEF(x)
#define NANOTHREAD_THROW
#define NANOTHREAD_FN static inline
#endif

typedef struct Pool Pool; /* an ox_pool */
typedef struct Task Task; /* an ox_task */

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define NANOTHREAD_THROWS_
#endif

/* The default pool is never destroyed. pool_destroy(NULL) takes its workers; the next use gives it new ones. One
 * variable for all files of the program. */
#if defined(__GNUC__)
#define NANOTHREAD_ONE_ __attribute__((weak))
#else
#define NANOTHREAD_ONE_ static
#endif
#if defined(__cplusplus)
extern "C" {
#endif
NANOTHREAD_ONE_ int nanothread_default_is_gone_;
#if defined(__cplusplus)
}
#endif
static inline void nanothread_set_gone_(int gone) {
#if defined(__GNUC__)
  __atomic_store_n(&nanothread_default_is_gone_, gone, __ATOMIC_RELAXED);
#else
  nanothread_default_is_gone_ = gone;
#endif
}
static inline int nanothread_is_gone_(void) {
#if defined(__GNUC__)
  return __atomic_load_n(&nanothread_default_is_gone_, __ATOMIC_RELAXED);
#else
  return nanothread_default_is_gone_;
#endif
}

static inline ox_pool *nanothread_pool_(const Pool *pool) {
  if (pool) return (ox_pool *)pool;
  if (nanothread_is_gone_()) {
    ox_status *st = ox_pool_resize(NULL, 0);
    if (!st) nanothread_set_gone_(0);
    ox_status_free(st);
  }
  return ox_pool_default();
}
static inline ox_task *nanothread_task_(const Task *task) { return (ox_task *)task; }

/* 0 and 1: no worker threads; NANOTHREAD_AUTO: the default size. */
static inline uint32_t nanothread_size_(uint32_t size) {
  if (size == NANOTHREAD_AUTO) return 0;
  return size <= 1 ? 1 : size > OX_POOL_MAX ? (uint32_t)OX_POOL_MAX : size;
}

NANOTHREAD_FN Pool *pool_create(uint32_t size NANOTHREAD_DEF(NANOTHREAD_AUTO), int ftz NANOTHREAD_DEF(1)) {
  ox_pool_opts opts;
  ox_pool *pool = NULL;
  ox_status *st;
  memset(&opts, 0, sizeof opts);
  opts.struct_size = sizeof opts;
  opts.n_threads = nanothread_size_(size);
  opts.flags = ftz ? OX_POOL_FLUSH_DENORMALS : 0;
  opts.name = "nanothread";
  while ((st = ox_pool_create(&opts, &pool)) != NULL && opts.n_threads != 1) {
    ox_status_free(st);
    opts.n_threads = opts.n_threads / 2 > 1 ? opts.n_threads / 2 : 1;
  }
  ox_status_free(st);
  return (Pool *)pool;
}

/* New workers sleep soon in any case, so |start_parked| changes nothing. */
NANOTHREAD_FN void pool_set_size(Pool *pool, uint32_t size, int start_parked NANOTHREAD_DEF(1)) {
  (void)start_parked;
  if (!pool) nanothread_set_gone_(0);
  ox_status_free(ox_pool_resize((ox_pool *)pool, nanothread_size_(size)));
}
NANOTHREAD_FN void pool_destroy(Pool *pool NANOTHREAD_DEF(0)) {
  if (pool) {
    ox_pool_destroy((ox_pool *)pool);
    return;
  }
  pool_set_size(NULL, 1, 1);
  nanothread_set_gone_(1);
}
NANOTHREAD_FN uint32_t pool_size(Pool *pool NANOTHREAD_DEF(0)) {
  return !pool && nanothread_is_gone_() ? ox_pool_default_size()
                                        : ox_pool_size(pool ? (ox_pool *)pool : ox_pool_default());
}
NANOTHREAD_FN uint32_t core_count(void) { return ox_pool_usable_cpus(); }
NANOTHREAD_FN uint32_t performance_core_count(void) { return ox_pool_default_size(); }
NANOTHREAD_FN uint32_t pool_thread_id(void) { return ox_pool_thread_id(); }
NANOTHREAD_FN void pool_set_profile(int value) { ox_task_set_timing(value); }
NANOTHREAD_FN int pool_profile(void) { return ox_task_timing(); }

typedef struct nanothread_until_ {
  bool (*stop)(void *);
  void *payload;
} nanothread_until_;
static inline int nanothread_stop_(void *ctx) {
  nanothread_until_ *u = (nanothread_until_ *)ctx;
  return u->stop(u->payload);
}
NANOTHREAD_FN void pool_work_until(Pool *pool, bool (*stopping_criterion)(void *), void *payload) {
  nanothread_until_ u;
  u.stop = stopping_criterion, u.payload = payload;
  ox_pool_work_until(nanothread_pool_(pool), nanothread_stop_, &u);
}

/* What a unit needs. A copied payload follows it in memory. */
typedef struct nanothread_call_ {
  void (*func)(uint32_t, void *);
  void *payload; /* unless copied */
  void (*payload_deleter)(void *);
  size_t copied; /* bytes that follow */
} nanothread_call_;

enum { NANOTHREAD_COPIED_AT_ = 32, NANOTHREAD_INLINE_ = 128 }; /* 16-byte aligned; what a task holds by itself */

static inline void *nanothread_payload_(nanothread_call_ *call) {
  return call->copied ? (char *)call + NANOTHREAD_COPIED_AT_ : (char *)call->payload;
}

static inline void nanothread_delete_(void *p) {
  nanothread_call_ *call = (nanothread_call_ *)p;
  if (call->payload_deleter) call->payload_deleter(call->payload);
  free(call);
}

#if defined(NANOTHREAD_THROWS_)
/* Leaves the exception with the task; task_wait throws it. */
static inline ox_status *nanothread_keep_(void) {
  std::exception_ptr *kept = new (std::nothrow) std::exception_ptr(std::current_exception());
  if (kept) ox_task_keep(ox_task_current(), kept, [](void *k) { delete static_cast<std::exception_ptr *>(k); });
  return ox_task_error(OX_FAIL, "an exception");
}
#endif

/* Throws what is left with the task, or the text of its error. Consumes |st|. */
static inline void nanothread_throw_(const ox_task *task, ox_status *st) NANOTHREAD_THROW {
#if defined(NANOTHREAD_THROWS_)
  if (st) {
    std::runtime_error error(ox_status_message(st));
    ox_status_free(st);
    if (void *kept = ox_task_kept(task)) {
      std::exception_ptr exception = *static_cast<std::exception_ptr *>(kept); /* outlives a release of the task */
      std::rethrow_exception(exception);
    }
    throw error;
  }
#else
  (void)task;
  ox_status_free(st);
#endif
}

static inline ox_status *nanothread_unit_(void *p, uint32_t index) {
  nanothread_call_ *call = (nanothread_call_ *)p;
#if defined(NANOTHREAD_THROWS_)
  try {
    call->func(index, nanothread_payload_(call));
  } catch (...) {
    return nanothread_keep_();
  }
#else
  call->func(index, nanothread_payload_(call));
#endif
  return NULL;
}

NANOTHREAD_FN Task *task_submit_dep(Pool *pool, const Task *const *parent, uint32_t parent_count,
                                    uint32_t size NANOTHREAD_DEF(1), void (*func)(uint32_t, void *) NANOTHREAD_DEF(0),
                                    void *payload NANOTHREAD_DEF(0), uint32_t payload_size NANOTHREAD_DEF(0),
                                    void (*payload_deleter)(void *) NANOTHREAD_DEF(0),
                                    int always_async NANOTHREAD_DEF(0), int profile NANOTHREAD_DEF(0)) {
  union {
    nanothread_call_ call;
    char bytes[NANOTHREAD_INLINE_];
  } local;
  nanothread_call_ *call = &local.call;
  ox_task_opts opts;
  ox_task *task = NULL;
  ox_status *st;
  uint32_t i, n_parents = 0;
  size_t copied = payload && payload_size && !payload_deleter && size ? payload_size : 0;
  bool small;
  for (i = 0; i < parent_count; i++) n_parents += parent[i] != NULL;
  small = size <= 1 && !n_parents && !always_async;
  if (small && !profile && !ox_task_timing()) {
    if (func && size) func(0, payload);
    if (payload_deleter) payload_deleter(payload);
    return NULL;
  }
  if (!payload && !small) payload_deleter = NULL;
  memset(&opts, 0, sizeof opts);
  opts.struct_size = sizeof opts;
  opts.flags = (small ? 0 : OX_TASK_ASYNC) | (profile ? OX_TASK_TIMED : 0);
  opts.n_units = func ? size : 0;
  opts.fn = func && size ? nanothread_unit_ : NULL;
  opts.parents = (ox_task *const *)parent;
  opts.n_parents = parent_count;
  opts.payload_bytes = NANOTHREAD_COPIED_AT_ + copied;
  if (payload_deleter || opts.payload_bytes > sizeof local) {
    call = (nanothread_call_ *)malloc(opts.payload_bytes);
    if (!call) abort(); /* nanothread's functions cannot report it */
    opts.payload_bytes = 0;
    opts.payload_delete = nanothread_delete_;
  }
  call->func = func, call->payload = payload, call->payload_deleter = payload_deleter, call->copied = copied;
  if (copied) memcpy((char *)call + NANOTHREAD_COPIED_AT_, payload, copied);
  opts.payload = call;
  st = ox_task_submit(nanothread_pool_(pool), &opts, &task);
  if (st) abort();
#if defined(NANOTHREAD_THROWS_)
  if (small && ox_task_kept(task)) { /* it ran here */
    try {
      nanothread_throw_(task, ox_task_wait(task));
    } catch (...) {
      ox_task_release(task);
      throw;
    }
  }
#endif
  return (Task *)task;
}

static inline Task *task_submit(Pool *pool, uint32_t size NANOTHREAD_DEF(1),
                                void (*func)(uint32_t, void *) NANOTHREAD_DEF(0), void *payload NANOTHREAD_DEF(0),
                                uint32_t payload_size NANOTHREAD_DEF(0),
                                void (*payload_deleter)(void *) NANOTHREAD_DEF(0), int always_async NANOTHREAD_DEF(0)) {
  return task_submit_dep(pool, NULL, 0, size, func, payload, payload_size, payload_deleter, always_async, 0);
}

NANOTHREAD_FN void task_release(Task *task) { ox_task_release(nanothread_task_(task)); }
NANOTHREAD_FN void task_retain(Task *task) { (void)ox_task_retain(nanothread_task_(task)); }
NANOTHREAD_FN bool task_query(Task *task) { return ox_task_is_done(nanothread_task_(task)) != 0; }

NANOTHREAD_FN void task_wait(Task *task) NANOTHREAD_THROW {
  ox_status *st = ox_task_wait(nanothread_task_(task));
  if (st) nanothread_throw_(nanothread_task_(task), st);
}

NANOTHREAD_FN void task_wait_and_release(Task *task) NANOTHREAD_THROW {
#if defined(NANOTHREAD_THROWS_)
  try {
    task_wait(task);
  } catch (...) {
    task_release(task);
    throw;
  }
#else
  task_wait(task);
#endif
  task_release(task);
}

/* Milliseconds, 0 where there are none to tell. */
NANOTHREAD_FN double task_time(Task *task) NANOTHREAD_THROW { return ox_task_ms(nanothread_task_(task)); }
NANOTHREAD_FN double task_time_rel(Task *task_1, Task *task_2) NANOTHREAD_THROW {
  double ms = ox_task_ms_between(nanothread_task_(task_1), nanothread_task_(task_2));
  return ms > 0 ? ms : 0;
}

typedef struct nanothread_loop_ {
  void (*func)(uint32_t, void *);
  void *payload;
#if defined(NANOTHREAD_THROWS_)
  std::atomic<bool> thrown;
  std::exception_ptr exception;
#endif
} nanothread_loop_;

static inline ox_status *nanothread_tiles_(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  nanothread_loop_ *loop = (nanothread_loop_ *)ctx;
  int64_t i;
  (void)worker;
#if defined(NANOTHREAD_THROWS_)
  try {
    for (i = begin; i < end; i++) loop->func((uint32_t)i, loop->payload);
  } catch (...) {
    if (!loop->thrown.exchange(true)) loop->exception = std::current_exception();
    return ox_task_error(OX_FAIL, "exception");
  }
#else
  for (i = begin; i < end; i++) loop->func((uint32_t)i, loop->payload);
#endif
  return NULL;
}

/* Nobody else can depend on this task, so it is a loop: that needs no task and starts sooner. */
static inline void task_submit_and_wait(Pool *pool, uint32_t size NANOTHREAD_DEF(1),
                                        void (*func)(uint32_t, void *) NANOTHREAD_DEF(0),
                                        void *payload NANOTHREAD_DEF(0)) {
  nanothread_loop_ loop;
  if (!func || !size) return;
  loop.func = func, loop.payload = payload;
#if defined(NANOTHREAD_THROWS_)
  loop.thrown = false;
#endif
  ox_status_free(ox_task_for(nanothread_pool_(pool), size, nanothread_tiles_, &loop));
#if defined(NANOTHREAD_THROWS_)
  if (loop.exception) std::rethrow_exception(loop.exception);
#endif
}

#if defined(__cplusplus)
namespace drjit {

template <typename Int>
struct blocked_range {
 public:
  struct iterator {
    Int value;
    iterator(Int v) : value(v) {}
    Int operator*() const { return value; }
    operator Int() const { return value; }
    void operator++() { value++; }
    bool operator==(const iterator &it) const { return value == it.value; }
    bool operator!=(const iterator &it) const { return value != it.value; }
  };

  blocked_range(Int begin, Int end, Int block_size = 1) : begin_(begin), end_(end), block_(block_size) {}
  uint32_t blocks() const { return (uint32_t)((end_ - begin_ + block_ - 1) / block_); }
  iterator begin() const { return iterator(begin_); }
  iterator end() const { return iterator(end_); }
  Int block_size() const { return block_; }

  /* Block number |index|. */
  blocked_range part_(uint32_t index) const {
    Int first = (Int)(begin_ + block_ * (Int)index);
    return blocked_range(first, end_ - first > block_ ? (Int)(first + block_) : end_);
  }

 private:
  Int begin_, end_, block_;
};

namespace detail_ {
template <typename Call>
void run(uint32_t index, void *payload) {
  (*(Call *)payload)(index);
}
template <typename Call>
void destroy(void *payload) {
  delete (Call *)payload;
}
template <typename Call>
Task *submit(Call &&call, uint32_t size, const Task *const *parents, size_t n_parents, Pool *pool) {
  using Base = typename std::decay<Call>::type;
  if (std::is_trivially_copyable<Base>::value && std::is_trivially_destructible<Base>::value)
    return task_submit_dep(pool, parents, (uint32_t)n_parents, size, run<Base>, &call, (uint32_t)sizeof(Base), nullptr,
                           1);
  return task_submit_dep(pool, parents, (uint32_t)n_parents, size, run<Base>, new Base(std::forward<Call>(call)), 0,
                         destroy<Base>, 1);
}
template <typename Int, typename Func>
struct range_call {
  Func f;
  blocked_range<Int> range;
  void operator()(uint32_t index) { f(range.part_(index)); }
};
template <typename Func>
struct plain_call {
  Func f;
  void operator()(uint32_t) { f(); }
};
}  // namespace detail_

template <typename Int, typename Func>
void parallel_for(const blocked_range<Int> &range, Func &&func, Pool *pool = nullptr) {
  detail_::range_call<Int, Func &> call{func, range};
  task_submit_and_wait(pool, range.blocks(), detail_::run<detail_::range_call<Int, Func &>>, &call);
}

template <typename Int, typename Func>
Task *parallel_for_async(const blocked_range<Int> &range, Func &&func, const Task *const *parents, size_t parent_count,
                         Pool *pool = nullptr) {
  return detail_::submit(detail_::range_call<Int, typename std::decay<Func>::type>{std::forward<Func>(func), range},
                         range.blocks(), parents, parent_count, pool);
}

template <typename Int, typename Func>
Task *parallel_for_async(const blocked_range<Int> &range, Func &&func, std::initializer_list<const Task *> parents = {},
                         Pool *pool = nullptr) {
  return parallel_for_async(range, std::forward<Func>(func), parents.begin(), parents.size(), pool);
}

template <typename Func>
Task *do_async(Func &&func, const Task *const *parents, size_t parent_count, Pool *pool = nullptr) {
  return detail_::submit(detail_::plain_call<typename std::decay<Func>::type>{std::forward<Func>(func)}, 1, parents,
                         parent_count, pool);
}

template <typename Func>
Task *do_async(Func &&func, std::initializer_list<const Task *> parents = {}, Pool *pool = nullptr) {
  return do_async(std::forward<Func>(func), parents.begin(), parents.size(), pool);
}

}  // namespace drjit
#endif
