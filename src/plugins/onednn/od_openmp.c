/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_openmp.c - the six functions of GCC's OpenMP run-time that libdnnl imports. They are exported under
 * the run-time's symbol versions (od_exports.map), and the dynamic linker finds them before those of libgomp, which is
 * only a dependency of a dependency. So there is one pool, the host's, and libgomp starts no thread.
 *
 * A region asks for n members. In most of oneDNN's forward primitives a member's share of the work depends only on its
 * number and n, and no member waits for another: the n members become n tiles, run by any number of threads. Primitives
 * whose members do wait (the GEMM drivers: at barriers, and for each other's partial sums) get a team of host threads
 * that run at the same time. Some of these drivers divide the work among all available threads before they open a
 * region and rely on every one of them. So the team is formed before the library is called, its size is reported as the
 * number of threads, and all regions of that call have the same members.
 *
 * A team has as many members as there are threads free, so where the bits tell how GEMM's work was divided, its
 * primitives get no team but a fixed division (od_shares.h). */
#define _GNU_SOURCE /* dladdr, RTLD_DEFAULT */
#include "od_openmp.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

typedef struct od_region {
  void (*fn)(void *);
  void *data;
  od_crew *crew;
  int size;
  atomic_int arrived, turn; /* of its barrier */
} region;

static __thread od_seat here = {NULL, NULL, 0, 1};
static atomic_int asked;

/* ---- another run-time that libdnnl may be bound to ---- */

static struct {
  void (*set_num_threads)(int); /* for the calling thread's regions; NULL: libdnnl is bound to ours */
  int (*get_max_threads)(void);
} other;

int od_openmp_is_ours(void) { return atomic_load_explicit(&asked, memory_order_relaxed); }

int od_openmp_leave_to_other(void) {
  union { /* ISO C has no conversion from object to function pointers; POSIX promises this one */
    void *object;
    void (*set)(int);
    int (*get)(void);
  } set = {dlsym(RTLD_DEFAULT, "omp_set_num_threads")}, get = {NULL};
  Dl_info where;
  void *lib = set.object && dladdr(set.object, &where) ? dlopen(where.dli_fname, RTLD_NOW | RTLD_NOLOAD) : NULL;
  if (lib) get.object = dlsym(lib, "omp_get_max_threads");
  if (!get.object) return 0;
  other.get_max_threads = get.get, other.set_num_threads = set.set; /* |lib| stays open */
  return 1;
}

static __thread int others_threads; /* the other run-time's setting for this thread, to be restored */

od_seat od_crew_enter(od_crew *crew) {
  od_seat before = here;
  if (other.set_num_threads && !before.crew) {
    others_threads = other.get_max_threads();
    other.set_num_threads(1);
  }
  here = (od_seat){crew, NULL, 0, 1};
  return before;
}

void od_crew_leave(od_seat before) {
  here = before;
  if (other.set_num_threads && !before.crew) other.set_num_threads(others_threads);
}

/* ---- members ---- */

static void run_member(region *r, int member, int size) {
  od_seat before = here; /* a thread that waits for its own region may help with another's */
  here = (od_seat){r->crew, r, member, size};
  r->fn(r->data);
  here = before;
}

static ox_status *run_tiles(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)worker;
  region *r = ctx;
  for (int64_t i = begin; i < end; i++) run_member(r, (int)i, r->size);
  return NULL;
}

/* ---- teams ---- */

enum { LOOKS_PER_YIELD = 1024 };

/* Spins until |*x| differs from |old|. */
static void wait_while(atomic_int *x, int old) {
  for (int looks = 1; atomic_load_explicit(x, memory_order_acquire) == old; looks++)
    if (looks % LOOKS_PER_YIELD == 0) sched_yield();
}

/* Member 0 calls the library; the others wait for the regions that it opens. */
typedef struct od_team {
  od_crew *crew;
  void (*fn)(void *ctx);
  void *ctx;
  int size;
  region *now;     /* the current region; NULL: no more will come */
  atomic_int turn; /* number of regions so far; its increment publishes |now| */
  atomic_int busy; /* members that have not finished |now| */
} team;

static void next_region(team *t, region *r) {
  t->now = r;
  atomic_store_explicit(&t->busy, t->size - 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&t->turn, 1, memory_order_release); /* pairs with wait_while in serve */
}

static void serve(team *t, int member) {
  for (int turn = 0;; turn++) {
    wait_while(&t->turn, turn);
    region *r = t->now;
    if (!r) return;
    if (member < r->size) run_member(r, member, r->size);
    atomic_fetch_sub_explicit(&t->busy, 1, memory_order_release); /* pairs with the load in run_in_team */
  }
}

static void run_in_team(team *t, region *r) {
  if (r->size > t->size) r->size = t->size;
  if (r->size == 1) {
    run_member(r, 0, 1);
    return;
  }
  next_region(t, r);
  run_member(r, 0, r->size);
  for (int left; (left = atomic_load_explicit(&t->busy, memory_order_acquire)) != 0;) wait_while(&t->busy, left);
}

static void call_alone(od_crew *crew, void (*fn)(void *), void *ctx) {
  od_seat before = od_crew_enter(crew);
  fn(ctx);
  od_crew_leave(before);
}

static void take_part(void *ctx, uint32_t member, uint32_t size) {
  team *t = ctx;
  if (member) {
    serve(t, (int)member);
    return;
  }
  t->size = t->crew->threads = (int)size, t->crew->team = t;
  call_alone(t->crew, t->fn, t->ctx);
  t->crew->team = NULL;
  next_region(t, NULL);
}

void od_crew_call(od_crew *crew, void (*fn)(void *ctx), void *ctx) {
  team t = {.crew = crew, .fn = fn, .ctx = ctx};
  if (crew->together && crew->threads > 1)
    crew->host->parallel_team(crew->host, (uint32_t)crew->threads, take_part, &t);
  else
    call_alone(crew, fn, ctx);
}

/* ---- what the library calls ---- */

OX_API void GOMP_parallel(void (*fn)(void *), void *data, unsigned n, unsigned flags);
OX_API void GOMP_barrier(void);
OX_API int omp_get_max_threads(void);
OX_API int omp_get_num_threads(void);
OX_API int omp_get_thread_num(void);
OX_API int omp_in_parallel(void);

void GOMP_parallel(void (*fn)(void *), void *data, unsigned n, unsigned flags) {
  (void)flags;
  od_crew *crew = here.crew;
  region r = {.fn = fn, .data = data, .crew = crew};
  r.size = n ? (int)n : omp_get_max_threads();
  if (!crew || here.in || r.size <= 1 || (crew->together && !crew->team)) {
    run_member(&r, 0, 1);
    return;
  }
  if (crew->alone)
    for (int i = 0; i < r.size; i++) run_member(&r, i, r.size);
  else if (crew->team)
    run_in_team(crew->team, &r);
  else if (crew->host->parallel_tiles(crew->host, r.size, (uint32_t)crew->threads, run_tiles, &r))
    crew->broken = 1; /* run_tiles never fails, so the host did */
}

/* The last member to arrive releases the others by advancing |turn|. */
void GOMP_barrier(void) {
  region *r = here.in;
  if (!r || here.size <= 1) return;
  if (!r->crew->together) {
    r->crew->broken = 1;
    return;
  }
  int turn = atomic_load_explicit(&r->turn, memory_order_relaxed);
  if (atomic_fetch_add_explicit(&r->arrived, 1, memory_order_acq_rel) + 1 == here.size) {
    atomic_store_explicit(&r->arrived, 0, memory_order_relaxed);
    atomic_store_explicit(&r->turn, turn + 1, memory_order_release); /* pairs with wait_while */
    return;
  }
  wait_while(&r->turn, turn);
}

int omp_get_max_threads(void) {
  if (!atomic_load_explicit(&asked, memory_order_relaxed)) atomic_store_explicit(&asked, 1, memory_order_relaxed);
  if (!here.crew || here.in || here.crew->fixed || (here.crew->together && !here.crew->team)) return 1;
  return here.crew->threads;
}

int omp_get_num_threads(void) { return here.size; }
int omp_get_thread_num(void) { return here.member; }
int omp_in_parallel(void) { return here.in && here.size > 1; }
