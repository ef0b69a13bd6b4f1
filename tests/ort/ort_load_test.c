/* SPDX-License-Identifier: Apache-2.0
 * Models that are not loaded: the ABI's code for each reason. */
#include "ort/models.h"

static message one_node(const char *op, const char *in, const char *out, ONNXTensorElementDataType in_type,
                        ONNXTensorElementDataType out_type) {
  message g = {0};
  graph_node(&g, "n", op, in, "y");
  graph_input(&g, "x", (int)in_type, "4");
  graph_input(&g, "w", (int)in_type, "3");
  graph_output(&g, out, (int)out_type, "4");
  return g;
}

static message cycle(void) {
  message g = {0};
  graph_node(&g, "n", "Add", "x,b", "a");
  graph_node(&g, "m", "Relu", "a", "b");
  graph_input(&g, "x", FLOAT, "4");
  graph_output(&g, "b", FLOAT, "4");
  return model_of(&g, NULL, 0);
}

static message twice(void) {
  message g = {0};
  graph_node(&g, "n", "Relu", "x", "y");
  graph_node(&g, "m", "Neg", "x", "y");
  graph_input(&g, "x", FLOAT, "4");
  graph_output(&g, "y", FLOAT, "4");
  return model_of(&g, NULL, 0);
}

static message without_opset(void) {
  message g = one_node("Relu", "x", "y", FLOAT, FLOAT), m = {0};
  put_text(&g, 2, "g");
  put_int(&m, 1, 8);
  put_message(&m, 7, &g);
  return m;
}

static message bytes_of(const char *text) {
  message m = {0};
  while (*text) put_byte(&m, (uint8_t)*text++);
  return m;
}

static void check(const message *m, OrtErrorCode code, const char *part) {
  OrtEnv *env = test_env();
  OrtSessionOptions *o;
  OrtSession *s;
  OK(ort()->CreateSessionOptions(&o));
  FAILS(ort()->CreateSessionFromArray(env, m->bytes, m->n, o, &s), code, part);
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseEnv(env);
}

static void test_models_that_are_none(void **state) {
  (void)state;
  const message whole = add_model();
  const struct {
    message m;
    OrtErrorCode code;
    const char *part;
  } rows[] = {{{0}, ORT_INVALID_ARGUMENT, "empty"},
              {bytes_of("this is no model, is it"), ORT_INVALID_PROTOBUF, "malformed"},
              {bytes_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), ORT_INVALID_PROTOBUF, "malformed"},
              {{.n = 4, .bytes = {8, 8, 16, 0}}, ORT_INVALID_ARGUMENT, "no graph"},
              {without_opset(), ORT_FAIL, "opset_import"},
              {cycle(), ORT_FAIL, "cycle"},
              {twice(), ORT_FAIL, "already defined"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check(&rows[i].m, rows[i].code, rows[i].part);
  for (size_t n = 1; n < whole.n; n++) {
    message cut = whole;
    cut.n = n;
    bool between = n == 2 || n == 2 + 2u + whole.bytes[3]; /* fields: what is there is whole, and no model */
    if (!between) check(&cut, ORT_INVALID_PROTOBUF, "malformed");
  }
}

static void test_nodes_that_are_none(void **state) {
  (void)state;
  static const struct {
    const char *op, *in, *out;
    ONNXTensorElementDataType in_type, out_type;
    OrtErrorCode code;
    const char *part;
  } rows[] = {
      {"Bogus", "x", "y", FLOAT, FLOAT, ORT_INVALID_GRAPH, "Bogus"},
      {"Relu", "q", "y", FLOAT, FLOAT, ORT_INVALID_ARGUMENT, "'q', is not defined"},
      {"Relu", "x", "z", FLOAT, FLOAT, ORT_FAIL, "output 'z'"},
      {"Relu", "x", "y", FLOAT, INT64, ORT_FAIL, "'y' is declared as int64"},
      {"Relu", "x", "y", ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, ORT_INVALID_GRAPH,
       "input 0 is bool"},
      {"Relu", "x,x", "y", FLOAT, FLOAT, ORT_INVALID_GRAPH, "Relu has 2 inputs"},
      {"Relu", "", "y", FLOAT, FLOAT, ORT_INVALID_GRAPH, "Relu has 0 inputs"},
      {"Add", ",x", "y", FLOAT, FLOAT, ORT_INVALID_GRAPH, "input 0 is required"},
      {"Concat", "x,w", "y", FLOAT, FLOAT, ORT_INVALID_GRAPH, "needs the attribute 'axis'"},
      {"Add", "x,w", "y", FLOAT, FLOAT, ORT_FAIL, "[4] and [3]"},
      {"Conv", "x,w", "y", FLOAT, FLOAT, ORT_FAIL, "rank 1"},
      {"Trilu", "x", "y", FLOAT, FLOAT, ORT_FAIL, "rank 1"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    message g = one_node(rows[i].op, rows[i].in, rows[i].out, rows[i].in_type, rows[i].out_type);
    message m = model_of(&g, NULL, 0);
    check(&m, rows[i].code, rows[i].part);
  }
  message g = one_node("org.example:Bogus", "x", "y", FLOAT, FLOAT), m = model_of(&g, "org.example", 1);
  check(&m, ORT_FAIL, "org.example.Bogus");
}

static void test_inputs_of_two_types(void **state) {
  (void)state;
  message g = {0};
  graph_node(&g, "n", "Add", "x,k", "y");
  graph_input(&g, "x", FLOAT, "4");
  graph_input(&g, "k", INT64, "4");
  graph_output(&g, "y", FLOAT, "4");
  message m = model_of(&g, NULL, 0);
  check(&m, ORT_FAIL, "input 0 is float32, but input 1 is int64");
}

static void test_files_that_are_none(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  OrtSessionOptions *o;
  OrtSession *s;
  OK(ort()->CreateSessionOptions(&o));
  FAILS(ort()->CreateSession(env, "/nonexistent/model.onnx", o, &s), ORT_NO_SUCHFILE, "/nonexistent/model.onnx");
  FAILS(ort()->CreateSession(env, "/", o, &s), ORT_INVALID_ARGUMENT, "not a regular file");
  if (ort_is_onyx()) {
    FAILS(ort()->CreateSession(NULL, "m.onnx", o, &s), ORT_INVALID_ARGUMENT, "'env' is NULL");
    FAILS(ort()->CreateSession(env, NULL, o, &s), ORT_INVALID_ARGUMENT, "'model_path' is NULL");
    FAILS(ort()->CreateSession(env, "m.onnx", o, NULL), ORT_INVALID_ARGUMENT, "'out' is NULL");
    FAILS(ort()->CreateSessionFromArray(env, NULL, 3, o, &s), ORT_INVALID_ARGUMENT, "'model_data' is NULL");
    FAILS(ort()->CreateSession(env, "m.onnx", (OrtSessionOptions *)env, &s), ORT_INVALID_ARGUMENT, "another kind");
  }
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseEnv(env);
}

static void test_a_load_can_be_cancelled(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  OrtSessionOptions *o;
  OrtSession *s;
  message m = add_model();
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->SessionOptionsSetLoadCancellationFlag(o, true));
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s), ORT_MODEL_LOAD_CANCELED, "cancelled");
  OK(ort()->SessionOptionsSetLoadCancellationFlag(o, false));
  OK(ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s));
  ort()->ReleaseSession(s);
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseEnv(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_models_that_are_none),    cmocka_unit_test(test_nodes_that_are_none),
      cmocka_unit_test(test_inputs_of_two_types),     cmocka_unit_test(test_files_that_are_none),
      cmocka_unit_test(test_a_load_can_be_cancelled),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
