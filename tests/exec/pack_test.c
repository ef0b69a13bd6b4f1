/* SPDX-License-Identifier: Apache-2.0
 * exec/pack_test.c - forms that runs pack (ox_ctx_host.pack_for_runs): the first run of several large ones packs them
 * in one place after the other, the second where they stay, later ones nothing; a single one, small ones and those of
 * steps that each run prepares stay at once. Whoever is stopped or gets no memory, results are right. */
#include "exec/pack.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/packing_session.h"

enum { X = PACKING_X, W = PACKING_W, UNITS = 16, STEPS = 4, N = 8 };

/* y = x + W[0] + ... + W[UNITS - 1], through a form in which each of them is repeated |repeats| times. */
typedef struct {
  size_t repeats;
  bool pieces;
  atomic_int packed, runs, bad; /* units; runs of steps */
  int stop_after, flag;
  const void *places[64]; /* of each run of a step */
} witness;

static void piece(const ox_pack *p, int64_t unit, int64_t *out_first, int64_t *out_n) {
  (void)p;
  *out_first = unit, *out_n = 1;
}

static void pack_units(const ox_pack *p, const ox_tensor *const *in, void *to, int64_t begin, int64_t end,
                       void *scratch) {
  witness *k = *(witness *const *)p->arg;
  for (int64_t u = begin; u < end; u++) {
    float w;
    memcpy(&w, (const char *)in[W]->data + (k->pieces ? 0 : u) * (int64_t)sizeof w, sizeof w);
    if (in[X] || (uintptr_t)scratch % OX_ALIGN_BYTES) atomic_fetch_add(&k->bad, 1);
    memset(scratch, 0xff, p->scratch_bytes);
    for (size_t i = 0; i < k->repeats; i++) ((float *)to)[(size_t)u * k->repeats + i] = w;
    if (atomic_fetch_add(&k->packed, 1) + 1 == k->stop_after) __atomic_store_n(&k->flag, 1, __ATOMIC_RELAXED);
  }
}

static ox_status *prepare(ox_kernel_ctx *c) {
  witness *k = c->state, **arg = ox_ctx_alloc(c, sizeof *arg);
  if (!arg) return ox_oom();
  *arg = k;
  const ox_pack p = {.struct_size = sizeof p,
                     .inputs = 1u << W,
                     .bytes = UNITS * k->repeats * sizeof(float),
                     .n_units = UNITS,
                     .scratch_bytes = 100,
                     .fn = pack_units,
                     .arg = arg,
                     .piece = k->pieces ? piece : NULL};
  OX_TRY(ox_ctx_plan(c, 1, 8));
  return ox_ctx_pack_for_runs(c, &p, (const void *const **)&c->prep);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  witness *k = c->state;
  const float *x = c->in[X]->data, *w = *(const void *const *)c->prep;
  float sum = 0;
  (void)stage, (void)tiles, (void)scratch;
  k->places[atomic_fetch_add(&k->runs, 1) % (int)OX_COUNT(k->places)] = w;
  for (size_t u = 0; u < UNITS; u++) {
    const float *unit = w + u * k->repeats;
    sum += unit[0];
    for (size_t i = 1; i < k->repeats; i++)
      if (unit[i] != unit[0]) atomic_fetch_add(&k->bad, 1);
  }
  for (int64_t i = 0; i < c->in[X]->shape.dim[0]; i++) ((float *)c->out[0]->data)[i] = x[i] + sum;
  return NULL;
}

typedef struct {
  witness w;
  packing_session on;
} opened;

/* |steps| of weights of their own, one after the other. |dynamic|: x's length is known to the run only. */
static void open_session(opened *o, size_t repeats, bool pieces, int steps, bool dynamic) {
  char text[4000], *at = text;
  memset(o, 0, sizeof *o);
  o->w.repeats = repeats, o->w.pieces = pieces;
  at += sprintf(at, "<ir_version: 9, opset_import: [\"\" : 20, \"me\" : 1]> g (float[N] x) => (float[M] y%d) <", steps);
  for (int k = 0; k < steps; k++) {
    at += sprintf(at, "%sfloat[%d] w%d = {", k ? ", " : "", UNITS, k);
    for (int i = 0; i < UNITS; i++) at += sprintf(at, "%s%d", i ? "," : "", i + k);
    at += sprintf(at, "}");
  }
  at += sprintf(
      at, "> { %s",
      dynamic ? "k = NonZero (x) f = Flatten <axis = 0> (k) i = Squeeze (f) y0 = Gather (x, i) " : "y0 = Neg (x) ");
  for (int k = 0; k < steps; k++) at += sprintf(at, "y%d = me.Packs (y%d, w%d) ", k + 1, k, k);
  sprintf(at, "}");
  packing_session_open(&o->on, text, (packing_kernel){prepare, run, &o->w}, NULL);
}

static void close_session(opened *o) {
  packing_session_close(&o->on);
  assert_int_equal(o->w.bad, 0);
}

/* On ones; |first| is what each weight's sum is added to. */
static ox_status *run_once(opened *o, int64_t n, int steps, float first, bool cancels) {
  ox_value *y;
  ox_status *st = packing_session_run(&o->on, n, cancels ? &o->w.flag : NULL, &y);
  for (int k = 0; k < steps; k++) first += UNITS * (UNITS - 1) / 2 + (float)(UNITS * k);
  for (int64_t i = 0; i < n && !st; i++)
    if (((const float *)ox_value_get(y)->data)[i] != first) st = ox_fail(OX_FAIL, "element %d is wrong", (int)i);
  ox_value_release(y);
  return st;
}

/* Of 64 KB each: in one place, then apart. */
static void test_the_first_run_packs_in_one_place(void **state) {
  (void)state;
  for (int pieces = 0; pieces < 2; pieces++) {
    opened o;
    open_session(&o, 1024, pieces, STEPS, false);
    CHECK_OK(run_once(&o, N, STEPS, -1, false));
    assert_int_equal(o.w.packed, STEPS * UNITS);
    for (int k = 1; k < STEPS; k++) assert_ptr_equal(o.w.places[k], o.w.places[0]);
    long before = atomic_load(&o.on.count.calls);
    CHECK_OK(run_once(&o, N, STEPS, -1, false));
    assert_int_equal(atomic_load(&o.on.count.calls), before);
    assert_int_equal(o.w.packed, 2 * STEPS * UNITS);
    for (int k = 1; k < STEPS; k++) assert_ptr_not_equal(o.w.places[STEPS + k], o.w.places[STEPS]);
    CHECK_OK(run_once(&o, N, STEPS, -1, false));
    CHECK_OK(run_once(&o, N + 1, STEPS, -1, false)); /* another shape finds them */
    assert_int_equal(o.w.packed, 2 * STEPS * UNITS);
    for (int k = 0; k < 2 * STEPS; k++) assert_ptr_equal(o.w.places[2 * STEPS + k], o.w.places[STEPS + k % STEPS]);
    close_session(&o);
  }
}

/* A shape of its own for each run: what one has passed the next one keeps. */
static void test_another_shape_is_a_later_run(void **state) {
  (void)state;
  opened o;
  open_session(&o, 1024, true, STEPS, false);
  for (int n = 0; n < 3; n++) CHECK_OK(run_once(&o, N + n, STEPS, -1, false));
  assert_int_equal(o.w.packed, 2 * STEPS * UNITS);
  close_session(&o);
}

static void test_what_gains_nothing_stays_at_once(void **state) {
  static const struct {
    size_t repeats;
    int steps;
    bool dynamic;
  } rows[] = {{1024, 1, false}, {1, STEPS, false}, {511, STEPS, false}, {1024, STEPS, true}};
  (void)state;
  for (size_t r = 0; r < OX_COUNT(rows); r++)
    for (int pieces = 0; pieces < 2; pieces++) {
      opened o;
      open_session(&o, rows[r].repeats, pieces, rows[r].steps, rows[r].dynamic);
      for (int k = 0; k < 3; k++) CHECK_OK(run_once(&o, N, rows[r].steps, rows[r].dynamic ? 1 : -1, false));
      assert_int_equal(o.w.packed, rows[r].steps * UNITS);
      close_session(&o);
    }
}

static void test_a_stopped_run_leaves_nothing_wrong(void **state) {
  (void)state;
  for (int after = 1; after < 2 * STEPS * UNITS; after += 7) {
    opened o;
    int failed = 0;
    open_session(&o, 1024, true, STEPS, false);
    o.w.stop_after = after;
    for (int k = 0; k < 4; k++) {
      ox_status *st = run_once(&o, N, STEPS, -1, true);
      if (st) assert_int_equal(ox_status_code(st), OX_CANCELLED);
      failed += st != NULL;
      ox_status_free(st);
      o.w.flag = 0;
    }
    assert_true(failed <= 1);
    int packed = o.w.packed;
    CHECK_OK(run_once(&o, N, STEPS, -1, false));
    assert_int_equal(o.w.packed, packed);
    close_session(&o);
  }
}

static void test_without_memory_the_next_run_tries_again(void **state) {
  (void)state;
  bool ok = false;
  int failures = 0;
  for (long at = 0; !ok; at++) {
    opened o;
    open_session(&o, 1024, true, STEPS, false);
    o.on.count.fail_at = atomic_load(&o.on.count.calls) + at;
    ox_status *st = run_once(&o, N, STEPS, -1, false);
    ok = !st && atomic_load(&o.on.count.calls) <= o.on.count.fail_at, failures += st != NULL;
    if (st && ox_status_code(st) != OX_OUT_OF_MEMORY) fail_msg("allocation %ld: %s", at, ox_status_message(st));
    ox_status_free(st);
    o.on.count.fail_at = -1;
    for (int k = 0; k < 2; k++) CHECK_OK(run_once(&o, N, STEPS, -1, false));
    int packed = o.w.packed;
    CHECK_OK(run_once(&o, N, STEPS, -1, false));
    assert_int_equal(o.w.packed, packed);
    close_session(&o);
  }
  assert_true(failures > 5);
}

typedef struct {
  opened *o;
  int64_t n;
  char failure[200];
} client;

static void *client_main(void *arg) {
  client *c = arg;
  for (int turn = 0; turn < 4; turn++) {
    ox_status *st = run_once(c->o, c->n, STEPS, -1, false);
    if (st) strncpy(c->failure, ox_status_message(st), sizeof c->failure - 1);
    ox_status_free(st);
  }
  return NULL;
}

static void test_runs_at_the_same_time_are_right(void **state) {
  enum { CLIENTS = 4 };
  (void)state;
  for (int turn = 0; turn < 6; turn++) {
    opened o;
    pthread_t threads[CLIENTS];
    client clients[CLIENTS] = {0};
    open_session(&o, 1024, turn % 2, STEPS, false);
    for (int k = 0; k < CLIENTS; k++) {
      clients[k].o = &o, clients[k].n = N + k / 2;
      assert_int_equal(pthread_create(&threads[k], NULL, client_main, &clients[k]), 0);
    }
    for (int k = 0; k < CLIENTS; k++) pthread_join(threads[k], NULL);
    for (int k = 0; k < CLIENTS; k++)
      if (clients[k].failure[0]) fail_msg("%s", clients[k].failure);
    /* a form does not pass with whoever comes when hardly any is left */
    assert_true(o.w.packed >= STEPS * UNITS && o.w.packed <= 2 * STEPS * UNITS && o.w.packed % UNITS == 0);
    close_session(&o);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_first_run_packs_in_one_place),
                                     cmocka_unit_test(test_another_shape_is_a_later_run),
                                     cmocka_unit_test(test_what_gains_nothing_stays_at_once),
                                     cmocka_unit_test(test_a_stopped_run_leaves_nothing_wrong),
                                     cmocka_unit_test(test_without_memory_the_next_run_tries_again),
                                     cmocka_unit_test(test_runs_at_the_same_time_are_right)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
