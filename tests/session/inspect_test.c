/* SPDX-License-Identifier: Apache-2.0
 * session/inspect_test.c - metadata, and the optimized graph in every format. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/model.h"
#include "onnx/text.h"
#include "session/session.h"
#include "support/check.h"
#include "support/text_session.h"

static ox_session *open_text(const char *text) {
  ox_env *env;
  ox_session *s;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(text_session(env, text, NULL, &s));
  ox_env_release(env); /* the session keeps it */
  return s;
}

/* ---- metadata ---- */

static const char bare[] = "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) { y = Relu (x) }";
static const char full[] =
    "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1], producer_name: \"mill\", producer_version: "
    "\"0.1\", domain: \"org.example\", model_version: -9223372036854775808, doc_string: \"a \\\"doc\\\"\", "
    "metadata_props: [\"author\" : \"someone\", \"empty\" : \"\", \"author\" : \"again\"]>"
    "main_graph (float[2] x) => (float[2] y) { y = Relu (x) }";

enum { MOST_PAIRS = 13 };
static const struct {
  const char *text;
  const char *pairs[MOST_PAIRS][2]; /* up to the first NULL */
} metadata[] = {
    {bare,
     {{"producer_name", ""},
      {"producer_version", ""},
      {"domain", ""},
      {"doc_string", ""},
      {"graph_name", "g"},
      {"ir_version", "8"},
      {"model_version", ""},
      {"opset", "17"},
      {"graph_doc_string", ""}}},
    {full,
     {{"producer_name", "mill"},
      {"producer_version", "0.1"},
      {"domain", "org.example"},
      {"doc_string", "a \"doc\""},
      {"graph_name", "main_graph"},
      {"ir_version", "10"},
      {"model_version", "-9223372036854775808"},
      {"opset", "21"},
      {"graph_doc_string", ""},
      {"author", "someone"},
      {"empty", ""},
      {"author", "again"}}},
};

static void test_metadata_is_the_models(void **state) {
  (void)state;
  for (size_t k = 0; k < OX_COUNT(metadata); k++) {
    ox_session *s = open_text(metadata[k].text);
    const char *key, *value;
    size_t n = 0;
    for (; metadata[k].pairs[n][0]; n++) {
      ox_session_metadata(s, n, &key, &value);
      assert_string_equal(key, metadata[k].pairs[n][0]);
      assert_string_equal(value, metadata[k].pairs[n][1]);
    }
    const size_t beyond[] = {n, n + 1, SIZE_MAX};
    for (size_t i = 0; i < OX_COUNT(beyond); i++) {
      ox_session_metadata(s, beyond[i], &key, &value);
      assert_null(key);
      assert_null(value);
    }
    ox_session_release(s);
  }
}

/* Many threads may ask at once: the const session stays as it is, byte by byte. */
static void test_asking_changes_nothing(void **state) {
  (void)state;
  ox_session *s = open_text(full);
  unsigned char *before = malloc(sizeof *s);
  const char *key, *value;
  assert_non_null(before);
  memcpy(before, s, sizeof *s);
  for (size_t i = 0; ox_session_metadata(s, i, &key, &value), key; i++) continue;
  assert_memory_equal(before, s, sizeof *s);
  free(before);
  ox_session_release(s);
}

/* ---- the optimized graph ---- */

typedef struct {
  char bytes[4096];
  size_t n, calls_left;
} collected;

static int collect(void *ctx, const void *bytes, size_t n) {
  collected *c = ctx;
  if (!c->calls_left || n >= sizeof c->bytes - c->n) return 1;
  c->calls_left--;
  memcpy(c->bytes + c->n, bytes, n);
  c->n += n;
  return 0;
}

/* 17 elements: one more than the short text shows. */
static const char long_constant[] =
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float[17] x) => (float[17] y)"
    "<float[17] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}> { y = Mul (x, w) }";

static collected written(const ox_session *s, uint32_t format) {
  collected c = {.calls_left = SIZE_MAX};
  CHECK_OK(ox_session_write(s, format, collect, &c));
  return c;
}

static void check_model(ox_model *m) {
  const ox_graph *g = m->graph;
  ox_id w = ox_graph_find(g, "w");
  assert_int_equal(g->n_nodes, 1);
  assert_string_equal(ox_graph_node(g, 0)->op, "Mul");
  assert_int_not_equal(w, OX_NONE);
  assert_non_null(g->values[w].init);
  for (int i = 0; i < 17; i++) {
    float f;
    memcpy(&f, (const char *)g->values[w].init->data + (size_t)i * sizeof f, sizeof f);
    assert_true(f == (float)(i + 1));
  }
  ox_model_destroy(m);
}

static void test_every_format_is_written(void **state) {
  (void)state;
  ox_session *s = open_text(long_constant);
  ox_model *m;
  collected c = written(s, OX_WRITE_MODEL);
  CHECK_OK(ox_model_read(ox_alloc_heap(), (const unsigned char *)c.bytes, c.n, NULL, &m));
  check_model(m);
  c = written(s, OX_WRITE_TEXT);
  CHECK_OK(ox_text_read(ox_alloc_heap(), NULL, c.bytes, c.n, &m));
  check_model(m);
  c = written(s, OX_WRITE_TEXT_SHORT);
  assert_non_null(strstr(c.bytes, "15, 16, ...}"));
  assert_null(strstr(c.bytes, "17}"));
  ox_session_release(s);
}

static void test_writing_can_fail(void **state) {
  (void)state;
  ox_session *s = open_text(long_constant);
  collected c = {.calls_left = 0};
  for (uint32_t format = OX_WRITE_MODEL; format <= OX_WRITE_TEXT_SHORT; format++)
    CHECK_FAILS(ox_session_write(s, format, collect, &c), OX_FAIL, "stopped by the caller");
  CHECK_FAILS(ox_session_write(s, 3, collect, &c), OX_INVALID_ARGUMENT, "format is 3");
  CHECK_FAILS(ox_session_write(s, UINT32_MAX, collect, &c), OX_INVALID_ARGUMENT, "format is 4294967295");
  ox_session_release(s);
}

/* ---- types ---- */

/* The type as a path from the outside in: "seq of map of i64 to tensor of f32[2,-]". */
static void put_type(const ox_type *t, char *out, size_t room) {
  size_t n = strlen(out);
  if (t->optional) n += (size_t)snprintf(out + n, room - n, "optional ");
  if (t->kind == OX_SEQUENCE) snprintf(out + n, room - n, "sequence of ");
  if (t->kind == OX_MAP) snprintf(out + n, room - n, "map of %s to ", ox_type_name(t->key_dtype));
  if (t->kind == OX_TENSOR) {
    n += (size_t)snprintf(out + n, room - n, "%s", ox_type_name(t->dtype));
    for (int d = 0; d < t->shape.rank; d++)
      n += (size_t)snprintf(out + n, room - n, t->shape.dim[d] < 0 ? "[-]" : "[%d]", (int)t->shape.dim[d]);
    if (t->shape.rank < 0) snprintf(out + n, room - n, "?");
  }
  if (t->elem) put_type(t->elem, out, room);
}

static void test_types_are_told_to_the_innermost(void **state) {
  (void)state;
  ox_value_info info;
  ox_session *s = open_text(
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float x, seq(float[2,N]) s, optional(seq(int64[])) o, "
      "map(string, seq(float[1])) m, int64 k = {5}) => (seq(float[2,N]) y, float z) "
      "{ y = Identity (s) z = Identity (x) }");
  static const char *const want[] = {"float32", "sequence of float32[2][-]", "optional sequence of int64?",
                                     "map of string to sequence of float32[1]"};
  for (size_t i = 0; i < OX_COUNT(want); i++) {
    char text[100] = "";
    CHECK_OK(ox_session_input(s, i, &info));
    put_type(info.type, text, sizeof text);
    assert_string_equal(text, want[i]);
  }
  char text[100] = "";
  CHECK_OK(ox_session_output(s, 0, &info));
  put_type(info.type, text, sizeof text);
  assert_string_equal(text, want[1]);
  assert_null(info.dim_names[0]);
  assert_string_equal(info.dim_names[1], "N");
  CHECK_OK(ox_session_default(s, 0, &info));
  assert_int_equal(info.type->dtype, OX_I64);
  ox_session_release(s);
}

/* ---- its own pool and log ---- */

static void count_lines(void *ctx, int level, const char *text) {
  (void)level, (void)text;
  ++*(int *)ctx;
}

static void test_a_session_may_have_a_log_of_its_own(void **state) {
  (void)state;
  ox_env *env;
  ox_session *s;
  int of_env = 0, of_session = 0, seen;
  ox_env_opts eo = {.struct_size = sizeof eo, .log = count_lines, .log_ctx = &of_env};
  CHECK_OK(ox_env_create(&eo, &env));
  CHECK_OK(text_session(env, bare, NULL, &s));
  ox_session_release(s);
  seen = of_env;
  assert_true(seen > 0);
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.log = count_lines, so.log_ctx = &of_session;
  CHECK_OK(text_session(env, bare, &so, &s));
  ox_session_release(s);
  assert_int_equal(of_env, seen);
  assert_int_equal(of_session, seen);
  so.log_level = OX_LOG_LEVEL_OFF;
  CHECK_OK(text_session(env, bare, &so, &s));
  ox_session_release(s);
  assert_int_equal(of_session, seen);
  ox_env_release(env);
}

static void test_a_session_may_have_a_pool_of_its_own(void **state) {
  (void)state;
  ox_env *env;
  ox_session *s;
  ox_pool *pool;
  ox_pool_opts po = {.struct_size = sizeof po, .n_threads = 3};
  CHECK_OK(ox_pool_create(&po, &pool));
  CHECK_OK(ox_env_create(NULL, &env));
  static const struct { uint32_t n_threads, want; } rows[] = {{0, 3}, {2, 2}, {3, 3}, {4, 4}};
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    ox_session_opts so;
    ox_session_opts_init(&so);
    so.pool = pool, so.n_threads = rows[i].n_threads;
    CHECK_OK(text_session(env, bare, &so, &s));
    assert_int_equal(s->max_threads, rows[i].want);
    assert_int_equal(s->pool == pool, rows[i].want <= 3);
    ox_session_release(s);
  }
  ox_env_release(env);
  ox_pool_destroy(pool);
}

/* ---- profiles ---- */

static void test_a_profile_tells_what_values_were_like(void **state) {
  (void)state;
  ox_node_time t;
  ox_value *out = NULL;
  ox_session *s = open_text(
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,2] x) => (float[N,2] y) <float[2] w = {1, 2}> "
      "{ y = Mul (x, w) }");
  ox_value *x = ramp_value(s->env, 0, 1, 2, (const int64_t[]){3, 2});
  const ox_value *in[] = {x};
  ox_session_profile_start(s);
  CHECK_OK(ox_session_run(s, NULL, (const char *const[]){"x"}, in, 1, NULL, &out, 1));
  ox_session_profile_stop(s);
  assert_int_equal(ox_session_profile_event(s, 0, &t), 1);
  assert_int_equal(ox_session_profile_event(s, 1, &t), 0);
  assert_int_equal(ox_session_profile_event(s, 0, &t), 1);
  assert_string_equal(t.op, "Mul");
  assert_int_equal(t.index, 0);
  assert_int_equal(t.n_in, 2);
  assert_int_equal(t.n_out, 1);
  assert_int_equal(t.constant_bytes, 8);
  assert_int_equal(t.in[0].dtype, OX_F32);
  assert_int_equal(t.in[0].shape.rank, 2);
  assert_int_equal(t.in[0].shape.dim[0], 3);
  assert_int_equal(t.in[1].shape.dim[0], 2);
  assert_int_equal(t.out[0].shape.dim[1], 2);
  assert_null(t.in[0].data);
  ox_value_release(x);
  ox_value_release(out);
  ox_session_release(s);
}

static void test_operator_sets(void **state) {
  (void)state;
  ox_session *s = open_text(full);
  assert_int_equal(ox_session_opset(s, ""), 21);
  assert_int_equal(ox_session_opset(s, "ai.onnx"), 21);
  assert_int_equal(ox_session_opset(s, "com.microsoft"), 1);
  assert_int_equal(ox_session_opset(s, "com.example"), 0);
  ox_session_release(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_profile_tells_what_values_were_like),
      cmocka_unit_test(test_operator_sets),
      cmocka_unit_test(test_types_are_told_to_the_innermost),
      cmocka_unit_test(test_a_session_may_have_a_log_of_its_own),
      cmocka_unit_test(test_a_session_may_have_a_pool_of_its_own),
      cmocka_unit_test(test_metadata_is_the_models),
      cmocka_unit_test(test_asking_changes_nothing),
      cmocka_unit_test(test_every_format_is_written),
      cmocka_unit_test(test_writing_can_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
