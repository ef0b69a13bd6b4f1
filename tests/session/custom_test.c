/* SPDX-License-Identifier: Apache-2.0
 * session/custom_test.c - operators and rules from C, for an env or one session; assertions on the placement. */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "onyx/rewrite.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/text_session.h"

/* ---- operators: a shift by an attribute, and a Relu that is wrong on purpose ---- */

typedef struct {
  float by;
} shift_attrs;
static const ox_attr_def shift_attr_defs[] = {OX_ATTR_FLOAT(shift_attrs, by, 1)};

static ox_status *same(ox_infer_ctx *c) {
  c->out[0] = *c->in[0];
  return NULL;
}

static ox_status *shift(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const shift_attrs *a = c->attrs;
  (void)stage, (void)tiles, (void)scratch;
  for (size_t i = 0; i < c->in[0]->bytes / 4; i++) ((float *)c->out[0]->data)[i] = ((float *)c->in[0]->data)[i] + a->by;
  return a->by == 13 ? c->host->status_make(OX_FAIL, "thirteen") : NULL;
}

static ox_status *nine(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  for (size_t i = 0; i < c->out[0]->bytes / 4; i++) ((float *)c->out[0]->data)[i] = 9;
  return NULL;
}

#define UNARY .min_in = 1, .max_in = 1, .types = {OX_BIT(OX_F32)}, .infer = same
static const ox_op shift_op[] = {{OX_SCHEMA(.name = "Shift", .domain = "me", .since = 1, UNARY,
                                            OX_ATTRS(shift_attr_defs), .attrs_bytes = sizeof(shift_attrs)),
                                  OX_KERNEL(.run = shift)}};
static const ox_op relu_op[] = {{OX_SCHEMA(.name = "Relu", .since = 14, UNARY), OX_KERNEL(.run = nine)}};
static const ox_op known_op[] = {{OX_SCHEMA(.name = "Known", .domain = "me", .since = 1, UNARY), NULL}};

/* ---- one pair of functions for rows made at run time: what they find of the row and of the node ---- */

typedef struct {
  float by;
  char dim[16], attrs[64], load[128];
} times_user;

static ox_status *times_infer(ox_infer_ctx *c) {
  times_user *u = c->user;
  ox_attr_view a;
  const char *name;
  c->out[0] = *c->in[0];
  u->attrs[0] = u->dim[0] = 0;
  for (size_t i = 0; (name = c->host->attr_at(c->host_data, i, &a)) != NULL; i++)
    snprintf(u->attrs + strlen(u->attrs), sizeof u->attrs - strlen(u->attrs), "%s:%u ", name, a.kind);
  if (c->in[0]->shape.dim[0] < -1)
    snprintf(u->dim, sizeof u->dim, "%s", c->host->dim_name(c->host_data, c->in[0]->shape.dim[0]));
  return NULL;
}

static ox_status *times_load(ox_load_ctx *c) {
  times_user *u = c->user;
  const ox_type *out = c->out_type[0];
  ox_attr_view a;
  const char *first = c->host->attr_at(c->host_data, 0, &a);
  int at = snprintf(u->load, sizeof u->load, "%s:", c->node);
  for (uint32_t i = 0; i < c->n_in + c->n_out; i++) {
    const char *value = i < c->n_in ? c->in_name[i] : c->out_name[i - c->n_in];
    at += snprintf(u->load + at, sizeof u->load - (size_t)at, "%s'%s'", i == c->n_in ? " -> " : " ", value);
  }
  snprintf(u->load + at, sizeof u->load - (size_t)at, ", %u of rank %d, %s", out->dtype, (int)out->shape.rank,
           first ? first : "none");
  if (c->host->dim_name(c->host_data, out->shape.dim[0]) == NULL) return c->host->status_make(OX_FAIL, "no symbol");
  c->state = u;
  return NULL;
}

static ox_status *times_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const times_user *u = c->state;
  (void)stage, (void)tiles, (void)scratch;
  for (size_t i = 0; i < c->in[0]->bytes / 4; i++) ((float *)c->out[0]->data)[i] = ((float *)c->in[0]->data)[i] * u->by;
  return NULL;
}

/* ---- a rule: Neg of Neg goes; a built-in one would do it, too, so this one is for Shift ---- */

static const ox_pat two_shifts[] = {{.op = "Shift", .domain = "me", .single_use = 1},
                                    {.op = "Shift", .domain = "me", .in = {OX_FROM(0)}}};

static ox_status *add_up(const ox_rewrite *g, const ox_match *m) {
  ox_attr_view by = {.kind = OX_ATTR_FLOAT_KIND};
  by.f = ox_attr_f(g, m->node[0], "by", 1) + ox_attr_f(g, m->node[1], "by", 1);
  OX_TRY(g->api->set_attr(g, m->node[1], "by", &by));
  return g->api->set_in(g, m->node[1], 0, g->api->node_in(g, m->node[0], 0));
}

static const ox_rule rules[] = {{OX_RULE("add-shifts", OX_OPTIMIZE_BASIC, two_shifts, NULL, add_up)}};
static const ox_rule_set rule_set = OX_RULE_SET(rules);

/* ---- the harness ---- */

typedef struct {
  ox_env *env;
  ox_session *session;
} world;

static ox_status *run_first(world *w, float *out_first) {
  ox_value *out = NULL, *x = ramp_value(w->env, 1, 1, 1, (const int64_t[]){4});
  const char *name = "x";
  ox_status *st = ox_session_run(w->session, NULL, &name, (const ox_value *const *)&x, 1, NULL, &out, 1);
  if (!st) *out_first = (float)ox_tensor_element(ox_value_get(out), 0);
  ox_value_release(x);
  ox_value_release(out);
  return st;
}

static size_t count_op(const ox_session *s, const char *op, const char *owner) {
  ox_placement p;
  size_t n = 0;
  for (size_t i = 0; ox_session_placement(s, i, &p); i++)
    n += strcmp(p.op, op) == 0 && (!owner || strcmp(p.owner, owner) == 0);
  return n;
}

static void done(world *w) {
  ox_session_release(w->session);
  ox_env_release(w->env);
  w->session = NULL;
}

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17, \"me\" : 1]> g (float[4] x) => (float[4] y) "
static const char *const shifts = HEAD "{ a = me.Shift <by = 2.0> (x) b = me.Shift (a) y = Relu (b) }";

static void test_operators_of_an_env(void **state) {
  (void)state;
  world w = {0};
  float y;
  CHECK_OK(ox_env_create(NULL, &w.env));
  CHECK_FAILS(text_session(w.env, shifts, NULL, &w.session), OX_NOT_IMPLEMENTED, "me.Shift(1) x2");
  CHECK_OK(ox_env_add_ops(w.env, shift_op, 1));
  CHECK_FAILS(ox_env_add_ops(w.env, shift_op, 1), OX_INVALID_ARGUMENT, "Shift");
  CHECK_FAILS(ox_env_add_ops(w.env, NULL, 1), OX_INVALID_ARGUMENT, "NULL");
  CHECK_OK(text_session(w.env, shifts, NULL, &w.session));
  CHECK_OK(run_first(&w, &y));
  assert_true(y == 4); /* the ramp begins with 1 */
  assert_int_equal(count_op(w.session, "Shift", "custom"), 2);
  assert_int_equal(count_op(w.session, "Relu", "cpu"), 1);
  done(&w);
}

static void test_a_standard_operator_is_replaced_in_one_session(void **state) {
  (void)state;
  world w = {0};
  float y;
  ox_session_opts o;
  CHECK_OK(ox_env_create(NULL, &w.env));
  CHECK_OK(ox_env_add_ops(w.env, shift_op, 1));
  ox_session_opts_init(&o);
  o.ops = relu_op, o.n_ops = 1;
  CHECK_OK(text_session(w.env, shifts, &o, &w.session));
  CHECK_OK(run_first(&w, &y));
  assert_true(y == 9);
  ox_session_release(w.session);
  CHECK_OK(text_session(w.env, shifts, NULL, &w.session));
  CHECK_OK(run_first(&w, &y));
  assert_true(y == 4);
  done(&w);
}

static void test_errors_name_the_node(void **state) {
  (void)state;
  world w = {0};
  float y;
  CHECK_OK(ox_env_create(NULL, &w.env));
  CHECK_OK(ox_env_add_ops(w.env, shift_op, 1));
  CHECK_OK(ox_env_add_ops(w.env, known_op, 1));
  CHECK_OK(text_session(w.env, HEAD "{ y = me.Shift <by = 13.0> (x) }", NULL, &w.session));
  CHECK_FAILS(run_first(&w, &y), OX_FAIL, "thirteen");
  ox_session_release(w.session);
  CHECK_FAILS(text_session(w.env, HEAD "{ y = me.Shift <by = 1> (x) }", NULL, &w.session), OX_INVALID_MODEL, "'by'");
  CHECK_FAILS(text_session(w.env, HEAD "{ y = me.Known (x) }", NULL, &w.session), OX_NOT_IMPLEMENTED, "me.Known(1) x1");
  done(&w);
}

static void test_a_row_knows_its_owner_and_its_node(void **state) {
  (void)state;
  static times_user users[2] = {{.by = 10}, {.by = 100}};
  static const ox_kernel_def kernel = {.struct_size = sizeof kernel, .load = times_load, .run = times_run};
  static const struct {
    const char *text, *dim, *attrs, *load;
  } rows[] = {
      {"{ [n0] y = me.Ten <k = 1, t = \"x\"> (x) }", "N", "k:2 t:3 ", "n0: 'x' -> 'y', 1 of rank 1, k"},
      {"{ y = me.Hundred (x, , x) }", "N", "", ": 'x' '' 'x' -> 'y', 1 of rank 1, none"},
  };
  static const char *const names[] = {"Ten", "Hundred"};
  ox_schema schemas[2];
  ox_op ops[2];
  for (size_t i = 0; i < 2; i++) {
    schemas[i] = (ox_schema){.struct_size = sizeof *schemas,
                             .name = names[i],
                             .domain = "me",
                             .since = 1,
                             .min_in = 1,
                             .max_in = 3,
                             .infer = times_infer,
                             .user = &users[i]};
    ops[i] = (ox_op){&schemas[i], &kernel};
  }
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    world w = {0};
    float y;
    char text[256];
    ox_session_opts o;
    ox_session_opts_init(&o);
    o.ops = ops, o.n_ops = 2;
    snprintf(text, sizeof text,
             "<ir_version: 8, opset_import: [\"\" : 17, \"me\" : 1]> g (float[N] x) => (float[N] y) %s", rows[i].text);
    CHECK_OK(ox_env_create(NULL, &w.env));
    CHECK_OK(text_session(w.env, text, &o, &w.session));
    assert_string_equal(users[i].dim, rows[i].dim);
    assert_string_equal(users[i].attrs, rows[i].attrs);
    assert_string_equal(users[i].load, rows[i].load);
    CHECK_OK(run_first(&w, &y));
    assert_true(y == users[i].by);
    done(&w);
  }
}

static void test_rules_of_an_env_and_of_a_session(void **state) {
  (void)state;
  world w = {0};
  float y;
  ox_session_opts o;
  const ox_rule_set *const sets[] = {&rule_set};
  const char *const off[] = {"add-shifts"};
  ox_session_opts_init(&o);
  o.rule_sets = sets, o.n_rule_sets = 1;
  for (int by_env = 0; by_env < 2; by_env++) {
    CHECK_OK(ox_env_create(NULL, &w.env));
    CHECK_OK(ox_env_add_ops(w.env, shift_op, 1));
    if (by_env) CHECK_OK(ox_env_add_rules(w.env, &rule_set));
    CHECK_OK(text_session(w.env, shifts, by_env ? NULL : &o, &w.session));
    assert_int_equal(count_op(w.session, "Shift", NULL), 1);
    CHECK_OK(run_first(&w, &y));
    assert_true(y == 4);
    done(&w);
  }
  CHECK_OK(ox_env_create(NULL, &w.env));
  CHECK_OK(ox_env_add_ops(w.env, shift_op, 1));
  o.disabled_rules = off, o.n_disabled_rules = 1;
  CHECK_OK(text_session(w.env, shifts, &o, &w.session));
  assert_int_equal(count_op(w.session, "Shift", NULL), 2);
  CHECK_FAILS(ox_env_add_rules(w.env, NULL), OX_INVALID_ARGUMENT, "NULL");
  done(&w);
}

static void test_requirements(void **state) {
  (void)state;
  static const struct {
    const char *require;
    ox_code code;
    const char *says;
  } rows[] = {
      {"all nodes on cpu", OX_OK, ""},
      {"no node on null", OX_OK, ""},
      {"all Relu|Abs on cpu", OX_OK, ""},
      {"all Conv on null", OX_OK, ""}, /* there is none */
      {"no node on cpu", OX_FAIL,
       "nodes that violate it: 2; node '' (Abs) is on cpu (null: the null provider takes nothing)"},
      {"all Abs on null", OX_FAIL, "nodes that violate it: 1"},
      {"all Relu on host", OX_FAIL, "(Relu) is on cpu"},
      {"", OX_INVALID_ARGUMENT, "wanted"},
      {"some Abs on cpu", OX_INVALID_ARGUMENT, "'some Abs on cpu'"},
      {"all Abs on cpu please", OX_INVALID_ARGUMENT, "wanted"},
      {"all Abs at cpu", OX_INVALID_ARGUMENT, "wanted"},
      {NULL, OX_INVALID_ARGUMENT, "wanted"},
  };
  world w = {0};
  CHECK_OK(ox_env_create(NULL, &w.env));
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    ox_session_opts o;
    const ox_provider_spec null = {"null", {0, NULL, NULL}};
    ox_session_opts_init(&o);
    o.providers = &null, o.n_providers = 1, o.require = &rows[i].require, o.n_require = 1;
    ox_status *st = text_session(w.env, HEAD "{ a = Abs (x) y = Relu (a) }", &o, &w.session);
    if (rows[i].code)
      CHECK_FAILS(st, rows[i].code, rows[i].says);
    else
      CHECK_OK(st);
    ox_session_release(w.session);
    w.session = NULL;
  }
  done(&w);
}

static ox_status *whole_life(ox_alloc alloc) {
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = alloc};
  world w = {0};
  float y;
  ox_status *st = ox_env_create(&eo, &w.env);
  if (st) return st;
  st = ox_env_add_ops(w.env, shift_op, 1);
  if (!st) st = ox_env_add_rules(w.env, &rule_set);
  ox_session_opts o;
  ox_session_opts_init(&o);
  o.ops = relu_op, o.n_ops = 1;
  if (!st) st = text_session(w.env, shifts, &o, &w.session);
  if (!st) {
    static float data[4];
    ox_value *x = NULL, *out = NULL;
    const char *name = "x";
    st = ox_value_wrap(w.env, OX_F32, (const int64_t[]){4}, 1, data, sizeof data, NULL, NULL, &x);
    if (!st) st = ox_session_run(w.session, NULL, &name, (const ox_value *const *)&x, 1, NULL, &out, 1);
    if (!st) y = (float)ox_tensor_element(ox_value_get(out), 0), assert_true(y == 9);
    ox_value_release(x);
    ox_value_release(out);
  }
  done(&w);
  return st;
}

static void test_every_allocation_may_fail(void **state) {
  (void)state;
  for (int64_t n = 0;; n++) {
    counting_alloc count = {.fail_at = n};
    ox_status *st = whole_life(counting_alloc_of(&count));
    assert_int_equal(atomic_load(&count.live), 0);
    if (!st) break;
    CHECK_FAILS(st, OX_OUT_OF_MEMORY, "");
    assert_true(n < 100000);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_operators_of_an_env),
                                     cmocka_unit_test(test_a_standard_operator_is_replaced_in_one_session),
                                     cmocka_unit_test(test_errors_name_the_node),
                                     cmocka_unit_test(test_a_row_knows_its_owner_and_its_node),
                                     cmocka_unit_test(test_rules_of_an_env_and_of_a_session),
                                     cmocka_unit_test(test_requirements),
                                     cmocka_unit_test(test_every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
