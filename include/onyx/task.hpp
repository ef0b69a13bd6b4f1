/* SPDX-License-Identifier: Apache-2.0
 * onyx/task.hpp - the task pool for C++11: lambdas, handles that release themselves, exceptions carried to the waiter.
 * Header only, on top of onyx/task.h. Built without exceptions (-fno-exceptions), what would be thrown is printed and
 * ends the program; ox_task_wait(task.get()) gives a status instead. */
#ifndef ONYX_TASK_HPP
#define ONYX_TASK_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "onyx/task.h"

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(_CPPUNWIND)
#define ONYX_TASK_THROWS 1
#else
#define ONYX_TASK_THROWS 0
#endif

namespace onyx {

/* What a status becomes when there is no exception to carry on. */
class error : public std::runtime_error {
 public:
  error(ox_code code, const std::string &text) : std::runtime_error(text), code_(code) {}
  ox_code code() const noexcept { return code_; }

 private:
  ox_code code_;
};

namespace detail {

#if ONYX_TASK_THROWS
inline void throw_status(ox_status *st) {
  if (!st) return;
  error e(ox_status_code(st), ox_status_message(st));
  ox_status_free(st);
  throw e;
}

/* Leaves the current exception with the task whose unit is running; turns it into a status. */
inline ox_status *keep_exception() noexcept {
  std::exception_ptr *kept = new (std::nothrow) std::exception_ptr(std::current_exception());
  if (kept && ox_task_current())
    ox_task_keep(ox_task_current(), kept, [](void *p) { delete static_cast<std::exception_ptr *>(p); });
  else
    delete kept;
  try {
    throw;
  } catch (const error &e) {
    return ox_task_error(e.code(), e.what());
  } catch (const std::exception &e) {
    return ox_task_error(OX_FAIL, e.what());
  } catch (...) {
    return ox_task_error(OX_FAIL, "an exception that is not a std::exception");
  }
}

/* Throws what the task's unit threw, else the status. */
inline void throw_result(ox_task *task, ox_status *st) {
  if (!st) return;
  if (std::exception_ptr *kept = static_cast<std::exception_ptr *>(ox_task_kept(task))) {
    ox_status_free(st);
    std::rethrow_exception(*kept);
  }
  throw_status(st);
}

template <typename Func>
ox_status *call(Func &&f) noexcept {
  try {
    f();
    return nullptr;
  } catch (...) {
    return keep_exception();
  }
}
#else
inline void throw_status(ox_status *st) {
  if (!st) return;
  std::fprintf(stderr, "onyx: %s\n", ox_status_message(st));
  std::abort();
}

inline void throw_result(ox_task *, ox_status *st) { throw_status(st); }

template <typename Func>
ox_status *call(Func &&f) {
  f();
  return nullptr;
}
#endif

/* a + b and a - b without overflow on the way, for integers of any kind. */
template <typename Int>
Int plus(Int a, std::uint64_t b) {
  return static_cast<Int>(static_cast<std::uint64_t>(a) + b);
}
template <typename Int>
std::uint64_t minus(Int a, Int b) {
  return static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b);
}

}  // namespace detail

/* [begin, end) in blocks of block_size. As an argument of a loop body: the items of one call. */
template <typename Int>
class blocked_range {
 public:
  class iterator {
   public:
    explicit iterator(Int value) : value_(value) {}
    Int operator*() const { return value_; }
    operator Int() const { return value_; }
    iterator &operator++() { return ++value_, *this; }
    bool operator==(const iterator &o) const { return value_ == o.value_; }
    bool operator!=(const iterator &o) const { return value_ != o.value_; }

   private:
    Int value_;
  };

  blocked_range(Int begin, Int end, Int block_size = 1)
      : begin_(begin), end_(end < begin ? begin : end), block_size_(block_size < Int(1) ? Int(1) : block_size) {}
  iterator begin() const { return iterator(begin_); }
  iterator end() const { return iterator(end_); }
  Int block_size() const { return block_size_; }
  std::int64_t size() const { return static_cast<std::int64_t>(detail::minus(end_, begin_)); }
  std::int64_t blocks() const {
    std::int64_t block = static_cast<std::int64_t>(block_size_);
    return size() / block + (size() % block != 0);
  }

 private:
  Int begin_, end_, block_size_;
};

/* A counted handle. Destroying it does not wait. */
class task {
 public:
  task() noexcept : task_(nullptr) {}
  explicit task(ox_task *owned) noexcept : task_(owned) {}
  task(const task &o) noexcept : task_(ox_task_retain(o.task_)) {}
  task(task &&o) noexcept : task_(o.task_) { o.task_ = nullptr; }
  task &operator=(task o) noexcept { return std::swap(task_, o.task_), *this; }
  ~task() { ox_task_release(task_); }

  /* Throws what a unit threw. */
  void wait() const { detail::throw_result(task_, ox_task_wait(task_)); }
  bool done() const noexcept { return ox_task_is_done(task_) != 0; }
  void cancel() noexcept { ox_task_cancel(task_); }
  ox_task *get() const noexcept { return task_; }

 private:
  ox_task *task_;
};

/* Runs f(blocked_range) for every block and returns when all are done; throws what one of them threw. Several blocks
 * that follow each other may come in one range. */
template <typename Int, typename Func>
void parallel_for(const blocked_range<Int> &range, Func &&f, ox_pool *pool = ox_pool_default()) {
  struct context {
    typename std::remove_reference<Func>::type *f;
    Int begin;
    std::atomic<bool> failed;
    std::exception_ptr exception;

    void run(std::int64_t first, std::int64_t last) {
      (*f)(blocked_range<Int>(detail::plus(begin, static_cast<std::uint64_t>(first)),
                              detail::plus(begin, static_cast<std::uint64_t>(last))));
    }
  } c{&f, *range.begin(), {false}, nullptr};
  ox_tile_fn run = [](void *ctx, std::int64_t first, std::int64_t last, std::uint32_t) -> ox_status * {
    context *p = static_cast<context *>(ctx);
#if ONYX_TASK_THROWS
    try {
      p->run(first, last);
    } catch (...) {
      if (!p->failed.exchange(true)) p->exception = std::current_exception(); /* read after the loop, which orders it */
      return ox_task_error(OX_FAIL, "exception");
    }
#else
    p->run(first, last);
#endif
    return nullptr;
  };
  ox_status *st = ox_task_for_block(pool, range.size(), static_cast<std::int64_t>(range.block_size()), run, &c);
#if ONYX_TASK_THROWS
  if (c.exception) {
    ox_status_free(st);
    std::rethrow_exception(c.exception);
  }
#endif
  detail::throw_status(st);
}

namespace detail {

template <typename Payload>
task submit(Payload *payload, ox_unit_fn run, std::uint32_t n_units, const std::vector<task> &parents, ox_pool *pool) {
  std::unique_ptr<Payload> owner(payload);
  std::vector<ox_task *> handles;
  for (const task &t : parents) handles.push_back(t.get());
  ox_task_opts o = ox_task_opts();
  o.struct_size = sizeof o;
  o.flags = OX_TASK_ASYNC;
  o.n_units = n_units;
  o.fn = run;
  o.payload = payload;
  o.payload_delete = [](void *p) { delete static_cast<Payload *>(p); };
  o.parents = handles.data();
  o.n_parents = static_cast<std::uint32_t>(handles.size());
  ox_task *out;
  throw_status(ox_task_submit(pool, &o, &out));
  owner.release();
  return task(out);
}

}  // namespace detail

/* parallel_for as a task: returns at once, and keeps f until all blocks are done. At most 2^32 - 1 blocks, one call each. */
template <typename Int, typename Func>
task parallel_for_async(const blocked_range<Int> &range, Func &&f, const std::vector<task> &parents = {},
                        ox_pool *pool = nullptr) {
  struct payload {
    typename std::decay<Func>::type f;
    Int begin, end, block;

    void run(std::uint32_t unit) {
      Int first = detail::plus(begin, static_cast<std::uint64_t>(block) * unit);
      f(blocked_range<Int>(first, detail::minus(end, first) > static_cast<std::uint64_t>(block)
                                      ? detail::plus(first, static_cast<std::uint64_t>(block))
                                      : end));
    }
  };
  if (range.blocks() > 0xffffffffLL) detail::throw_status(ox_task_error(OX_LIMIT, "more than 2^32 - 1 blocks"));
  ox_unit_fn run = [](void *p, std::uint32_t unit) -> ox_status * {
    return detail::call([=] { static_cast<payload *>(p)->run(unit); });
  };
  return detail::submit(new payload{std::forward<Func>(f), *range.begin(), *range.end(), range.block_size()}, run,
                        static_cast<std::uint32_t>(range.blocks()), parents, pool);
}

/* Runs f() once the parents have ended. */
template <typename Func>
task do_async(Func &&f, const std::vector<task> &parents = {}, ox_pool *pool = nullptr) {
  struct payload {
    typename std::decay<Func>::type f;
  };
  ox_unit_fn run = [](void *p, std::uint32_t) -> ox_status * {
    return detail::call([=] { static_cast<payload *>(p)->f(); });
  };
  return detail::submit(new payload{std::forward<Func>(f)}, run, 1, parents, pool);
}

}  // namespace onyx

#endif
