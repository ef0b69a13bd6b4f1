/* SPDX-License-Identifier: Apache-2.0
 * session/first_run_test.c - an operator that packs a constant in prepare: every unit of every form once, whoever runs
 * at the same time, is stopped or gets no memory; the forms as often as they are asked for. So for a constant as it
 * came, or one that a rule left to be computed; seen as a whole or unit by unit. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/macros.h"
#include "onyx/rewrite.h"
#include "support/check.h"
#include "support/packing_session.h"

enum {
  X = PACKING_X,
  W = PACKING_W,
  UNITS = 48,
  FORMS = 3,
  CLIENTS = 6,
  LONG = 512 /* elements of a unit, where a rule made W */
};

/* ---- y = x + form + W[i % UNITS], where W is packed in one of FORMS forms: x's length modulo FORMS ---- */

enum { LATER = 1, PIECES = 2, MODES = 4 };
static int mode;
static atomic_int computed; /* elements */

typedef struct {
  atomic_int packed[FORMS][UNITS]; /* how often */
  atomic_int done, bad;
  int stop_after; /* units; 0: never */
  int flag;
} witness;

typedef struct {
  witness *w;
  int form;
} packing;

/* Element LONG u of the new W is element u of the old one, what is between them is nothing. */
static void lengthen(const ox_tensor *w, const void *arg, int64_t first, int64_t n, void *to) {
  (void)arg;
  for (int64_t i = 0; i < n; i++) {
    float one = NAN;
    if ((first + i) % LONG == 0) memcpy(&one, (const char *)w->data + (first + i) / LONG * 4, sizeof one);
    ((float *)to)[i] = one;
  }
  atomic_fetch_add(&computed, (int)n);
}

static ox_status *make_later(const ox_rewrite *g, const ox_match *m) {
  const ox_shape shape = {.rank = 1, .dim = {UNITS * LONG}};
  ox_id later;
  OX_TRY(
      g->api->const_later(g, "later", OX_F32, &shape, ox_const(g, ox_in(g, m->node[0], W)), lengthen, "", 1, &later));
  return ox_set_in(g, m->node[0], W, later);
}

static int is_short(const ox_rewrite *g, ox_match *m) {
  return (mode & LATER) && ox_const_type(g, ox_in(g, m->node[0], W))->shape.dim[0] == UNITS;
}

static const ox_pat packs[] = {{.op = "Packs", .domain = "me"}};
static const ox_rule rules[] = {{OX_RULE("w-later", OX_OPTIMIZE_BASIC, packs, is_short, make_later)}};
static const ox_rule_set rule_set = OX_RULE_SET(rules);

static int64_t unit_length(void) { return mode & LATER ? LONG : 1; }

static void piece(const ox_pack *p, int64_t unit, int64_t *out_first, int64_t *out_n) {
  (void)p;
  *out_first = unit * unit_length(), *out_n = unit_length();
}

static void pack_units(const ox_pack *p, const ox_tensor *const *in, void *to, int64_t begin, int64_t end,
                       void *scratch) {
  const packing *k = p->arg;
  const struct timespec moment = {0, 20000};
  for (int64_t u = begin; u < end; u++) {
    float w;
    int64_t at = mode & PIECES ? 0 : u * unit_length();
    if (in[X] || !in[W] || in[W]->bytes != (size_t)(UNITS * unit_length()) * sizeof w || !scratch || end > begin + 1)
      atomic_fetch_add(&k->w->bad, 1);
    memcpy(&w, (const char *)in[W]->data + at * (int64_t)sizeof w, sizeof w);
    ((float *)scratch)[7] = w + (float)k->form;
    nanosleep(&moment, NULL); /* so that others come */
    ((float *)to)[u] = ((const float *)scratch)[7];
    atomic_fetch_add(&k->w->packed[k->form][u], 1);
    if (atomic_fetch_add(&k->w->done, 1) + 1 == k->w->stop_after) __atomic_store_n(&k->w->flag, 1, __ATOMIC_RELAXED);
  }
}

static ox_status *prepare(ox_kernel_ctx *c) {
  packing k = {c->state, (int)(c->in[X]->shape.dim[0] % FORMS)};
  const void *data;
  const ox_pack p = {.struct_size = sizeof p,
                     .form = (uint64_t)k.form << 40,
                     .inputs = 1u << W,
                     .bytes = UNITS * sizeof(float),
                     .n_units = UNITS,
                     .scratch_bytes = 8 * sizeof(float),
                     .fn = pack_units,
                     .arg = &k,
                     .piece = mode & PIECES ? piece : NULL};
  if (c->in[W]->data) return ox_fail(OX_FAIL, "W is not consumed");
  OX_TRY(ox_ctx_pack(c, &p, &data));
  c->prep = (void *)data;
  return (uintptr_t)data % OX_ALIGN_BYTES ? ox_fail(OX_FAIL, "not aligned") : NULL;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const float *x = c->in[X]->data, *w = c->prep;
  float *y = c->out[0]->data;
  (void)stage, (void)tiles, (void)scratch;
  for (int64_t i = 0; i < c->in[X]->shape.dim[0]; i++) y[i] = x[i] + w[i % UNITS];
  return NULL;
}

/* ---- sessions ---- */

typedef struct {
  witness w;
  packing_session on;
} opened;

/* DYNAMIC: x's length is known to the run only, so each run prepares. */
typedef enum { PLAIN, DYNAMIC, TWICE, TWO_WEIGHTS } kind;
static const char *const bodies[] = {
    [PLAIN] = "{ [packs] y = me.Packs (x, w) }",
    [DYNAMIC] =
        "{ k = NonZero (x) f = Flatten <axis = 0> (k) i = Squeeze (f) v = Gather (x, i) [packs] y = "
        "me.Packs (v, w) }",
    [TWICE] = "{ a = me.Packs (x, w) y = me.Packs (a, w) }",
    [TWO_WEIGHTS] = "{ a = me.Packs (x, u) y = me.Packs (a, w) }",
};

static void open_session(opened *o, kind k) {
  char text[2000], *at = text;
  memset(o, 0, sizeof *o);
  at += sprintf(
      at, "<ir_version: 9, opset_import: [\"\" : 20, \"me\" : 1]> g (float[N] x) => (float[M] y) <float[%d] w = {",
      UNITS);
  for (int i = 0; i < UNITS; i++) at += sprintf(at, "%s%d", i ? "," : "", 10 * i);
  at += sprintf(at, "}, float[%d] u = {", UNITS);
  for (int i = 0; i < UNITS; i++) at += sprintf(at, "%s%d", i ? "," : "", i);
  sprintf(at, "}> %s", bodies[k]);
  computed = 0;
  packing_session_open(&o->on, text, (packing_kernel){prepare, run, &o->w}, &rule_set);
}

static void close_session(opened *o) {
  packing_session_close(&o->on);
  assert_int_equal(o->w.bad, 0);
}

/* On ones of length |n|; checks the result. */
static ox_status *run_once(opened *o, int64_t n, bool cancels) {
  ox_value *y;
  ox_status *st = packing_session_run(&o->on, n, cancels ? &o->w.flag : NULL, &y);
  for (int64_t i = 0; i < n && !st; i++)
    if (((const float *)ox_value_get(y)->data)[i] != (float)(1 + n % FORMS + 10 * (i % UNITS)))
      st = ox_fail(OX_FAIL, "element %d of %d is wrong", (int)i, (int)n);
  ox_value_release(y);
  return st;
}

static void check_packed(const opened *o, int forms) {
  for (int f = 0; f < FORMS; f++)
    for (int u = 0; u < UNITS; u++)
      if (o->w.packed[f][u] != (f < forms))
        fail_msg("form %d: unit %d is packed %d times", f, u, (int)o->w.packed[f][u]);
}

typedef struct {
  opened *o;
  int64_t n;
  char failure[200];
} client;

static void *client_main(void *arg) {
  client *c = arg;
  for (int turn = 0; turn < 3; turn++) {
    ox_status *st = run_once(c->o, c->n, false);
    if (st) strncpy(c->failure, ox_status_message(st), sizeof c->failure - 1);
    ox_status_free(st);
  }
  return NULL;
}

static void test_runs_at_the_same_time_share_the_work(void **state) {
  (void)state;
  for (int turn = 0; turn < 6; turn++) {
    opened o;
    pthread_t threads[CLIENTS];
    client clients[CLIENTS] = {0};
    open_session(&o, turn % 2 ? DYNAMIC : PLAIN);
    for (int k = 0; k < CLIENTS; k++) { /* two forms */
      clients[k].o = &o, clients[k].n = FORMS * (20 + k) + k % 2;
      assert_int_equal(pthread_create(&threads[k], NULL, client_main, &clients[k]), 0);
    }
    for (int k = 0; k < CLIENTS; k++) pthread_join(threads[k], NULL);
    for (int k = 0; k < CLIENTS; k++)
      if (clients[k].failure[0]) fail_msg("%s", clients[k].failure);
    check_packed(&o, 2);
    close_session(&o);
  }
}

static void test_a_later_shape_adds_its_form(void **state) {
  (void)state;
  for (int dynamic = 0; dynamic < 2; dynamic++) {
    opened o;
    open_session(&o, dynamic ? DYNAMIC : PLAIN);
    for (int64_t n = 60; n < 60 + 2 * FORMS; n++) {
      check_packed(&o, (int)OX_MIN(n - 60, FORMS));
      CHECK_OK(run_once(&o, n, false));
    }
    check_packed(&o, FORMS);
    long before = atomic_load(&o.on.count.calls);
    CHECK_OK(run_once(&o, 60, false));
    assert_int_equal(atomic_load(&o.on.count.calls), before);
    close_session(&o);
  }
}

static void test_a_stopped_run_leaves_the_rest_to_the_next(void **state) {
  (void)state;
  for (int after = 1; after <= UNITS; after += 9) {
    opened o;
    open_session(&o, PLAIN);
    o.w.stop_after = after;
    CHECK_FAILS(run_once(&o, 60, true), OX_CANCELLED, "cancelled by the caller");
    assert_true(o.w.done >= after && (o.w.done < UNITS || after > UNITS / 2));
    o.w.flag = 0;
    CHECK_OK(run_once(&o, 60, true));
    check_packed(&o, 1);
    close_session(&o);
  }
}

static void test_without_memory_the_next_run_tries_again(void **state) {
  (void)state;
  bool ok = false;
  int failures = 0;
  for (long at = 0; !ok; at++) {
    opened o;
    int64_t n = 60;
    open_session(&o, PLAIN);
    o.on.count.fail_at = atomic_load(&o.on.count.calls) + at;
    ox_status *st = run_once(&o, n, false);
    ok = !st, failures += !ok;
    if (st && ox_status_code(st) != OX_OUT_OF_MEMORY) fail_msg("allocation %ld: %s", at, ox_status_message(st));
    if (st && strstr(ox_status_message(st), "packed weights"))
      assert_non_null(strstr(ox_status_message(st), "'packs'"));
    ox_status_free(st);
    o.on.count.fail_at = -1;
    CHECK_OK(run_once(&o, n, false));
    check_packed(&o, 1);
    close_session(&o);
  }
  assert_true(failures > 5);
}

/* Each element once a form, and none before the first run. */
static void test_only_what_is_packed_is_computed(void **state) {
  (void)state;
  opened o;
  open_session(&o, PLAIN);
  assert_int_equal(computed, 0);
  for (int n = 60; n < 60 + FORMS; n++) {
    CHECK_OK(run_once(&o, n, false));
    assert_int_equal(computed, mode & LATER ? (n - 59) * UNITS * LONG : 0);
  }
  close_session(&o);
}

/* Two nodes of the same weight, and of two. */
static void test_nodes_of_one_weight_share_what_is_packed(void **state) {
  (void)state;
  for (int apart = 0; apart < 2; apart++) {
    const int64_t n = 60;
    ox_value *y;
    opened o;
    if (mode & LATER) skip(); /* each node has a weight of its own, made by the rule */
    open_session(&o, apart ? TWO_WEIGHTS : TWICE);
    CHECK_OK(packing_session_run(&o.on, n, NULL, &y));
    for (int64_t i = 0; i < n; i++) {
      float want = (float)(1 + i % UNITS * (apart ? 11 : 20));
      if (((const float *)ox_value_get(y)->data)[i] != want) fail_msg("apart %d: element %d", apart, (int)i);
    }
    for (int u = 0; u < UNITS; u++) assert_int_equal(o.w.packed[0][u], 1 + apart);
    ox_value_release(y);
    close_session(&o);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_runs_at_the_same_time_share_the_work),
                                     cmocka_unit_test(test_a_later_shape_adds_its_form),
                                     cmocka_unit_test(test_a_stopped_run_leaves_the_rest_to_the_next),
                                     cmocka_unit_test(test_without_memory_the_next_run_tries_again),
                                     cmocka_unit_test(test_only_what_is_packed_is_computed),
                                     cmocka_unit_test(test_nodes_of_one_weight_share_what_is_packed)};
  int failed = 0;
  for (mode = 0; mode < MODES; mode++) failed += cmocka_run_group_tests(tests, NULL, NULL);
  return failed;
}
