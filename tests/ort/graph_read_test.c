/* SPDX-License-Identifier: Apache-2.0
 * What a library of providers reads of the graphs that it is asked about: tests/ort/ep/graph_reader.c writes it down.
 * The texts are what Microsoft's library says. */
#include "ort/graph_texts.h"
#include "ort/models.h"

#include <unistd.h>

static char folder[] = "/tmp/onyx_graph_read_XXXXXX";

static char *in_folder(const char *name, char *path) {
  snprintf(path, 200, "%s/%s", folder, name);
  return path;
}

static void put_file(const char *name, const void *bytes, size_t n) {
  char path[200];
  FILE *f = fopen(in_folder(name, path), "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, n, f), n);
  fclose(f);
}

/* All that the provider wrote while a session of |model| was created; the caller's to free. */
static char *read_by_provider(const message *model, const char *take, const char *constants) {
  char path[200], out[200];
  const OrtEpDevice *const *devices, *reader = NULL;
  size_t n;
  OrtEnv *env = test_env();
  OrtSessionOptions *options;
  OrtSession *s;
  put_file("model.onnx", model->bytes, model->n);
  OK(ort()->RegisterExecutionProviderLibrary(env, "reader", GRAPH_READER));
  OK(ort()->GetEpDevices(env, &devices, &n));
  for (size_t i = 0; i < n; i++)
    if (strcmp(ort()->EpDevice_EpName(devices[i]), "graph_reader") == 0) reader = devices[i];
  assert_non_null(reader);
  const char *keys[] = {"file", "take", "constants"}, *values[] = {in_folder("read.txt", out), take, constants};
  OK(ort()->CreateSessionOptions(&options));
  OK(ort()->SetSessionGraphOptimizationLevel(options, ORT_DISABLE_ALL));
  OK(ort()->SessionOptionsAppendExecutionProvider_V2(options, env, &reader, 1, keys, values, 3));
  OK(ort()->CreateSession(env, in_folder("model.onnx", path), options, &s));
  ort()->ReleaseSession(s);
  ort()->ReleaseSessionOptions(options);
  OK(ort()->UnregisterExecutionProviderLibrary(env, "reader"));
  ort()->ReleaseEnv(env);
  char *text = calloc(1, 1 << 16);
  FILE *f = fopen(out, "r");
  assert_non_null(f);
  assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
  fclose(f);
  return text;
}

/* The part of |text| under |title| that has |mark| in it has to be |want|. */
static void check_part(const char *text, const char *title, const char *mark, const char *want) {
  char head[40];
  snprintf(head, sizeof head, "== %s\n", title);
  for (const char *at = strstr(text, head); at != NULL; at = strstr(at + 1, head)) {
    const char *begin = at + strlen(head), *end = strstr(begin, "\n== ");
    size_t n = end != NULL ? (size_t)(end - begin) + 1 : strlen(begin);
    char *part = calloc(1, n + 1);
    memcpy(part, begin, n);
    bool found = strstr(part, mark) != NULL;
    if (found) assert_string_equal(part, want);
    free(part);
    if (found) return;
  }
  fail_msg("nothing under '%s' has '%s' in it:\n%s", title, mark, text);
}

/* ---- nodes, values, bodies ---- */

static message graph_attribute(const char *name, const message *graph) {
  message a = attribute(name, A_GRAPH);
  put_message(&a, 6, graph);
  return a;
}

static message floats4(const char *name, float first) {
  const float data[] = {first, first + 1, first + 2, first + 3};
  return tensor(name, FLOAT, (const int64_t[]){4}, 1, data, sizeof data);
}

/* If whose branches read of the graph, an input that is left out, attributes of several kinds. */
static message branches_model(void) {
  const float limit = 3;
  const int64_t seven = 7;
  message g = {0}, yes = {0}, no = {0}, n, a, w = floats4("w", 1), v = floats4("v", 5);
  message low = tensor("low", FLOAT, NULL, 0, &limit, sizeof limit);
  message value = tensor(NULL, INT64, (const int64_t[]){1}, 1, &seven, sizeof seven);
  put_text(&yes, 2, "yes");
  graph_node(&yes, "neg", "Neg", "a", "t");
  graph_output(&yes, "t", FLOAT, "N,4");
  put_text(&no, 2, "no");
  graph_node(&no, "mul", "Mul", "a,w", "t0");
  graph_node(&no, "sub", "Sub", "t0,v", "f");
  put_message(&no, 5, &v);
  graph_output(&no, "f", FLOAT, "N,4");
  graph_node(&g, "add", "Add", "x,w", "a");
  n = node("if", "If", "c", "b");
  a = graph_attribute("then_branch", &yes);
  put_message(&n, 5, &a);
  a = graph_attribute("else_branch", &no);
  put_message(&n, 5, &a);
  put_message(&g, 1, &n);
  graph_node(&g, "clip", "Clip", "b,-,low", "y");
  n = node("shape", "Shape", "y", "s");
  a = int_attribute("start", 0);
  put_message(&n, 5, &a);
  put_message(&g, 1, &n);
  n = node("fill", "ConstantOfShape", "s", "z");
  a = attribute("value", A_TENSOR);
  put_message(&a, 5, &value);
  put_message(&n, 5, &a);
  put_message(&g, 1, &n);
  put_message(&g, 5, &w);
  put_message(&g, 5, &low);
  graph_input(&g, "c", ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, "");
  graph_input(&g, "x", FLOAT, "N,4");
  graph_input(&g, "unused", FLOAT, "3");
  graph_output(&g, "y", FLOAT, "N,4");
  graph_output(&g, "z", INT64, "A,4");
  message m = model_of(&g, NULL, 0);
  put_int(&m, 5, 1); /* without model_version Microsoft's library says the largest number there is */
  return m;
}

static message pair(const char *key, const char *value) {
  message entry = {0};
  put_text(&entry, 1, key);
  put_text(&entry, 2, value);
  return entry;
}

/* A tensor of 64 floats from byte 256 of data.bin on. */
static message external_floats(const char *name) {
  message t = {0}, location = pair("location", "data.bin"), offset = pair("offset", "256"),
          length = pair("length", "256");
  put_int(&t, 1, 64);
  put_int(&t, 2, FLOAT);
  put_text(&t, 8, name);
  put_message(&t, 13, &location);
  put_message(&t, 13, &offset);
  put_message(&t, 13, &length);
  put_int(&t, 14, 1);
  return t;
}

/* Types of all kinds, a Loop, an initializer in a file, and all that a model says of itself. */
static message facts_model(void) {
  const int64_t zero = 0, three = 3;
  const uint8_t yes = 1;
  const float five = 5;
  message g = {0}, body = {0}, n, a, type, elem, optional = {0}, kind = {0};
  message i = tensor("i", INT64, NULL, 0, &zero, 8), m = tensor("m", INT64, NULL, 0, &three, 8);
  message t = tensor("t", ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, NULL, 0, &yes, 1);
  message outside = tensor("outside", FLOAT, NULL, 0, &five, 4), large = external_floats("large");
  graph_node(&g, "at", "SequenceAt", "s,i", "y");
  put_text(&body, 2, "body of the loop");
  graph_node(&body, "id", "Identity", "go", "again");
  graph_node(&body, "more", "Add", "sum,outside", "next");
  graph_input(&body, "turn", INT64, "");
  graph_input(&body, "go", ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, "");
  graph_input(&body, "sum", FLOAT, "");
  graph_output(&body, "again", ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, "");
  graph_output(&body, "next", FLOAT, "");
  n = node("loop", "Loop", "m,t,x", "z");
  a = graph_attribute("body", &body);
  put_message(&n, 5, &a);
  put_message(&g, 1, &n);
  graph_node(&g, "twice", "Add", "large,large", "u");
  put_message(&g, 5, &i), put_message(&g, 5, &m), put_message(&g, 5, &t);
  put_message(&g, 5, &outside), put_message(&g, 5, &large);
  put_text(&g, 10, "words about the graph");
  elem = tensor_type(FLOAT, "N");
  type = sequence_type(&elem);
  put_value(&g, 11, "s", &type);
  put_message(&kind, 1, &elem);
  put_message(&optional, 9, &kind);
  put_value(&g, 11, "o", &optional);
  graph_input(&g, "x", FLOAT, "");
  graph_input(&g, "any", FLOAT, NULL);
  graph_output(&g, "y", FLOAT, "N");
  graph_output(&g, "z", FLOAT, "");
  graph_output(&g, "u", FLOAT, "64");
  message model = model_of(&g, "example.ops", 2), prop = pair("key", "value");
  put_text(&model, 2, "producer");
  put_text(&model, 4, "domain");
  put_int(&model, 5, 7);
  put_text(&model, 6, "words about the model");
  put_message(&model, 14, &prop);
  return model;
}

/* ---- what is read of them ---- */

static void test_graphs_with_bodies(void **state) {
  (void)state;
  message model = branches_model();
  char *text = read_by_provider(&model, "", "0");
  check_part(text, "asked", "graph g\n", branches);
  check_part(text, "asked", "\ngraph yes\n", branch_yes);
  check_part(text, "asked", "\ngraph no\n", branch_no);
  check_part(text, "refused", "", refused);
  free(text);
}

static void test_parts_of_graphs(void **state) {
  (void)state;
  message model = branches_model();
  char *text = read_by_provider(&model, "|Add|If|Clip|", "0");
  check_part(text, "view", "", view);
  check_part(text, "compiled", "", compiled);
  free(text);
  text = read_by_provider(&model, "|Add|If|Clip|", "1");
  check_part(text, "compiled", "", compiled_with_constants);
  free(text);
}

static void test_types_files_and_the_model(void **state) {
  (void)state;
  float data[128];
  message model = facts_model();
  for (int i = 0; i < 128; i++) data[i] = (float)i;
  put_file("data.bin", data, sizeof data);
  char *text = read_by_provider(&model, "", "0");
  check_part(text, "asked", "\ngraph g\n", facts);
  check_part(text, "asked", "\ngraph body of the loop\n", loop_body);
  free(text);
}

int main(void) {
  if (mkdtemp(folder) == NULL) return 1;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_graphs_with_bodies), cmocka_unit_test(test_parts_of_graphs),
                                     cmocka_unit_test(test_types_files_and_the_model)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  static const char *const files[] = {"model.onnx", "read.txt", "data.bin"};
  char path[200];
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) remove(in_folder(files[i], path));
  remove(folder);
  return failed;
}
