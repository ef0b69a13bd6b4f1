/* SPDX-License-Identifier: Apache-2.0
 * The model editor: models built node by node, who owns what, and what is refused. */
#include "ort/editor.h"

/* ---- models from nothing ---- */

/* z = Gemm (x, w, b; alpha) with an initializer that stays in the test's memory, one that the library has, and one that
 * is small. */
static void test_a_model_is_built_and_runs(void **state) {
  (void)state;
  static float weights[64], bias[] = {10, 20}, x[32];
  OrtEnv *env = test_env();
  OrtSessionOptions *options = new_options();
  OrtGraph *g = new_graph();
  OrtValue *owned, *in;
  float *data, alpha = 2;
  OrtOpAttr *attr;
  OrtNode *n;
  const char *names[] = {"x", "w", "b"}, *outs[] = {"h"};
  OrtSession *s;
  for (int i = 0; i < 64; i++) weights[i] = i % 2 == 0 ? 1 : -1; /* [32, 2]: columns of 1 and -1 */
  for (int i = 0; i < 32; i++) x[i] = 1;
  OK(ort()->CreateOpAttr("alpha", &alpha, 1, ORT_OP_ATTR_FLOAT, &attr));
  OK(editor()->CreateNode("Gemm", "", "gemm", names, 3, outs, 1, &attr, 1, &n));
  assert_null(attr); /* the node's now */
  OK(editor()->AddNodeToGraph(g, n));
  add_node(g, "Mul", "mul", "h", "scale", "z");
  OK(editor()->AddInitializerToGraph(g, "w", FLOATS(weights, 32, 2), true));
  OK(editor()->AddInitializerToGraph(g, "b", FLOATS(bias, 2), false));
  OK(ort()->CreateTensorAsOrtValue(default_allocator(), (const int64_t[]){1, 2}, 2, FLOAT, &owned));
  OK(ort()->GetTensorMutableData(owned, (void **)&data));
  data[0] = 1, data[1] = 3;
  OK(editor()->AddInitializerToGraph(g, "scale", owned, false));
  set_inputs(g, value_info("x", FLOAT, -1, 32), NULL);
  set_output(g, value_info("z", FLOAT, -1, 2));
  OrtModel *m = new_model(g, "", 18);
  OK(editor()->CreateSessionFromModel(env, m, options, &s));
  ort()->ReleaseModel(m);
  bias[0] = 99; /* a copy is used */
  in = FLOATS(x, 1, 32);
  check_run(s, "x", in, "z", (const float[]){2 * 32 + 10, 3 * (-2 * 32 + 20)}, 2);
  ort()->ReleaseValue(in);
  ort()->ReleaseSession(s);
  ort()->ReleaseSessionOptions(options);
  ort()->ReleaseEnv(env);
}

/* Every kind of attribute that can be made, in operators that show it. */
static void test_attributes_arrive(void **state) {
  (void)state;
  static float x[] = {1, 2, 3, 4};
  OrtEnv *env = test_env();
  OrtSessionOptions *options = new_options();
  const int64_t perm[] = {1, 0};
  const char *in[] = {"x", "p"}, *t = "t", *c = "c", *y = "y", *mode = "reflect", *z = "z";
  const float factors[] = {0.5f, 2};
  OrtOpAttr *attr;
  OrtNode *n;
  OrtGraph *g = new_graph();
  OrtSession *s;
  OK(ort()->CreateOpAttr("perm", perm, 2, ORT_OP_ATTR_INTS, &attr));
  OK(editor()->CreateNode("Transpose", "", "transpose", in, 1, &t, 1, &attr, 1, &n));
  OK(editor()->AddNodeToGraph(g, n));
  OK(ort()->CreateOpAttr("value_floats", factors, 2, ORT_OP_ATTR_FLOATS, &attr));
  OK(editor()->CreateNode("Constant", "", "constant", NULL, 0, &c, 1, &attr, 1, &n));
  OK(editor()->AddNodeToGraph(g, n));
  add_node(g, "Mul", "mul", "t", "c", "y");
  OK(ort()->CreateOpAttr("mode", mode, (int)strlen(mode), ORT_OP_ATTR_STRING, &attr));
  in[0] = y;
  OK(editor()->CreateNode("Pad", "", "pad", in, 2, &z, 1, &attr, 1, &n));
  OK(editor()->AddNodeToGraph(g, n));
  OrtValue *pads;
  int64_t *data;
  OK(ort()->CreateTensorAsOrtValue(default_allocator(), (const int64_t[]){4}, 1, INT64, &pads));
  OK(ort()->GetTensorMutableData(pads, (void **)&data));
  data[0] = 0, data[1] = 1, data[2] = 0, data[3] = 0;
  OK(editor()->AddInitializerToGraph(g, "p", pads, false));
  set_inputs(g, value_info("x", FLOAT, 2, 2), NULL);
  set_output(g, value_info("z", FLOAT, 2, 3));
  OrtModel *m = new_model(g, "", 17);
  OK(editor()->CreateSessionFromModel(env, m, options, &s));
  ort()->ReleaseModel(m);
  OrtValue *value = FLOATS(x, 2, 2); /* transposed {1, 3; 2, 4}, scaled {.5, 6; 1, 8}, reflected in front */
  check_run(s, "x", value, "z", (const float[]){6, 0.5f, 6, 8, 1, 8}, 6);
  ort()->ReleaseValue(value);
  ort()->ReleaseSession(s);
  ort()->ReleaseSessionOptions(options);
  ort()->ReleaseEnv(env);
}

static void test_a_model_may_have_no_outputs(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  OrtSessionOptions *options = new_options();
  OrtGraph *g = new_graph();
  OrtSession *s;
  size_t n;
  add_node(g, "Neg", "neg", "x", NULL, "m");
  set_inputs(g, value_info("x", FLOAT, 1, 2), NULL);
  OrtModel *m = new_model(g, "", 18);
  OK(editor()->CreateSessionFromModel(env, m, options, &s));
  ort()->ReleaseModel(m);
  OK(ort()->SessionGetOutputCount(s, &n));
  assert_int_equal(n, 0);
  ort()->ReleaseSession(s);
  ort()->ReleaseSessionOptions(options);
  ort()->ReleaseEnv(env);
}

static void test_strings_are_initializers_too(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip(); /* Microsoft's takes the initializer, but makes no session of it */
  OrtEnv *env = test_env();
  OrtSessionOptions *options = new_options();
  OrtGraph *g = new_graph();
  OrtSession *s;
  OrtValue *words, *x, *y = NULL;
  static const char *const texts[] = {"one", ""};
  OK(ort()->CreateTensorAsOrtValue(default_allocator(), (const int64_t[]){1, 2}, 2,
                                   ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &words));
  OK(ort()->FillStringTensor(words, texts, 2));
  OK(editor()->AddInitializerToGraph(g, "words", words, false));
  add_node(g, "Equal", "equal", "x", "words", "y");
  set_inputs(g, value_info("x", ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, 1, 2), NULL);
  set_output(g, value_info("y", ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, 1, 2));
  OrtModel *m = new_model(g, "", 19);
  OK(editor()->CreateSessionFromModel(env, m, options, &s));
  ort()->ReleaseModel(m);
  static const char *const asked[] = {"one", "two"};
  const char *in = "x", *out = "y";
  bool *data;
  OK(ort()->CreateTensorAsOrtValue(default_allocator(), (const int64_t[]){1, 2}, 2,
                                   ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &x));
  OK(ort()->FillStringTensor(x, asked, 2));
  OK(ort()->Run(s, NULL, &in, (const OrtValue *const *)&x, 1, &out, 1, &y));
  OK(ort()->GetTensorMutableData(y, (void **)&data));
  assert_true(data[0] && !data[1]);
  ort()->ReleaseValue(y);
  ort()->ReleaseValue(x);
  ort()->ReleaseSession(s);
  ort()->ReleaseSessionOptions(options);
  ort()->ReleaseEnv(env);
}

/* ---- what is refused ---- */

static void test_models_that_are_not_complete(void **state) {
  (void)state;
  static const struct {
    const char *op, *input, *domain;
    int elem, code;
    const char *text;
  } rows[] = {
      {"Neg", "nothing", "", FLOAT, ORT_INVALID_ARGUMENT, "nothing"},
      {"Neg", "x", "com.example", FLOAT, ORT_INVALID_ARGUMENT, "domain ''"},
      {"NoSuchOperator", "x", "", FLOAT, ORT_INVALID_GRAPH, "NoSuchOperator"},
      {"Neg", "x", "", 0, ORT_FAIL, "element type 0"},
  };
  OrtEnv *env = test_env();
  OrtSessionOptions *options = new_options();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    OrtGraph *g = new_graph();
    OrtSession *s = NULL;
    add_node(g, rows[i].op, "node", rows[i].input, NULL, "y");
    set_inputs(g, value_info("x", (ONNXTensorElementDataType)rows[i].elem, 1, 2), NULL);
    set_output(g, value_info("y", FLOAT, 1, 2));
    OrtModel *m = new_model(g, rows[i].domain, 18);
    FAILS(editor()->CreateSessionFromModel(env, m, options, &s), (OrtErrorCode)rows[i].code, rows[i].text);
    assert_null(s);
    ort()->ReleaseModel(m);
  }
  ort()->ReleaseSessionOptions(options);
  ort()->ReleaseEnv(env);
}

static void test_types_and_values(void **state) {
  (void)state;
  OrtTypeInfo *tensor_info = tensor_type_info(FLOAT, (const int64_t[]){2}, 1), *types[4];
  OrtTensorTypeAndShapeInfo *shape;
  OrtValueInfo *v = NULL;
  const OrtTypeInfo *type;
  const char *name;
  ONNXType kind;
  static const ONNXType kinds[] = {ONNX_TYPE_SPARSETENSOR, ONNX_TYPE_MAP, ONNX_TYPE_SEQUENCE, ONNX_TYPE_OPTIONAL};
  OK(ort()->CreateTensorTypeAndShapeInfo(&shape));
  OK(editor()->CreateSparseTensorTypeInfo(shape, &types[0]));
  OK(editor()->CreateMapTypeInfo(INT64, tensor_info, &types[1]));
  OK(editor()->CreateSequenceTypeInfo(tensor_info, &types[2]));
  OK(editor()->CreateOptionalTypeInfo(tensor_info, &types[3]));
  for (size_t i = 0; i < 4; i++) {
    OK(ort()->GetOnnxTypeFromTypeInfo(types[i], &kind));
    assert_int_equal(kind, kinds[i]);
    FAILS(editor()->CreateValueInfo("v", types[i], &v), ORT_FAIL, "tensors only");
    ort()->ReleaseTypeInfo(types[i]);
  }
  FAILS(editor()->CreateValueInfo(NULL, tensor_info, &v), ORT_INVALID_ARGUMENT, "name");
  FAILS(editor()->CreateValueInfo("", tensor_info, &v), ORT_INVALID_ARGUMENT, "name");
  FAILS(editor()->CreateValueInfo("v", NULL, &v), ORT_INVALID_ARGUMENT, "type_info");
  assert_null(v);
  OK(editor()->CreateValueInfo("v", tensor_info, &v));
  ort()->ReleaseTypeInfo(tensor_info);
  OK(ort()->GetValueInfoName(v, &name));
  assert_string_equal(name, "v");
  OK(ort()->GetValueInfoTypeInfo(v, &type));
  OK(ort()->GetOnnxTypeFromTypeInfo(type, &kind));
  assert_int_equal(kind, ONNX_TYPE_TENSOR);
  ort()->ReleaseValueInfo(v);
  ort()->ReleaseTensorTypeAndShapeInfo(shape);
  ort()->ReleaseValueInfo(NULL), ort()->ReleaseNode(NULL), ort()->ReleaseGraph(NULL), ort()->ReleaseModel(NULL);
}

static void test_graphs_take_things_once(void **state) {
  (void)state;
  static float small[4], large[64];
  OrtGraph *g = new_graph(), *second = new_graph();
  OrtValueInfo *x = value_info("x", FLOAT, 1, 2), *list[] = {x, x};
  FAILS(editor()->SetGraphInputs(NULL, list, 1), ORT_INVALID_ARGUMENT, "graph");
  FAILS(editor()->SetGraphInputs(g, NULL, 1), ORT_INVALID_ARGUMENT, "inputs");
  FAILS(editor()->SetGraphInputs(g, list, 2), ORT_INVALID_ARGUMENT, "twice");
  list[1] = NULL;
  FAILS(editor()->SetGraphInputs(g, list, 2), ORT_INVALID_ARGUMENT, "NULL");
  assert_ptr_equal(list[0], x); /* still ours */
  OK(editor()->SetGraphInputs(g, NULL, 0));
  OK(editor()->SetGraphInputs(g, list, 1));
  assert_null(list[0]);
  list[0] = x;
  FAILS(editor()->SetGraphInputs(g, list, 1), ORT_INVALID_ARGUMENT, "already");
  FAILS(editor()->SetGraphOutputs(g, list, 1), ORT_INVALID_ARGUMENT, "already");

  OrtValue *few = FLOATS(small, 4), *many = FLOATS(large, 64);
  FAILS(editor()->AddInitializerToGraph(NULL, "w", few, false), ORT_INVALID_ARGUMENT, "graph");
  FAILS(editor()->AddInitializerToGraph(g, NULL, few, false), ORT_INVALID_ARGUMENT, "name");
  FAILS(editor()->AddInitializerToGraph(g, "", few, false), ORT_INVALID_ARGUMENT, "name");
  FAILS(editor()->AddInitializerToGraph(g, "w", NULL, false), ORT_INVALID_ARGUMENT, "tensor");
  FAILS(editor()->AddInitializerToGraph(g, "w", few, true), ORT_INVALID_ARGUMENT, "128 bytes");
  OK(editor()->AddInitializerToGraph(g, "w", few, false));
  FAILS(editor()->AddInitializerToGraph(g, "w", many, true), ORT_INVALID_ARGUMENT, "already");
  OK(editor()->AddInitializerToGraph(g, "v", many, true));

  OrtNode *n = new_node("Neg", "neg", "x", NULL, "y");
  size_t id;
  FAILS(editor()->AddNodeToGraph(NULL, n), ORT_INVALID_ARGUMENT, "graph");
  FAILS(editor()->AddNodeToGraph(g, NULL), ORT_INVALID_ARGUMENT, "node");
  OK(editor()->AddNodeToGraph(g, n));
  FAILS(editor()->AddNodeToGraph(g, n), ORT_INVALID_ARGUMENT, "already");
  OK(ort()->Graph_GetNumNodes(g, &id));
  assert_int_equal(id, 1);
  OK(ort()->Graph_GetNumInitializers(g, &id));
  assert_int_equal(id, 2);

  OrtModel *m = new_model(g, "", 18);
  FAILS(editor()->AddGraphToModel(m, second), ORT_INVALID_ARGUMENT, "already");
  FAILS(editor()->AddGraphToModel(NULL, second), ORT_INVALID_ARGUMENT, "model");
  FAILS(editor()->AddGraphToModel(m, NULL), ORT_INVALID_ARGUMENT, "graph");
  ort()->ReleaseModel(m);
  ort()->ReleaseGraph(second);
}

/* What the editor has made can be asked for names and counts, and for little else. */
#define CANNOT(call) FAILS(ort()->call, ORT_NOT_IMPLEMENTED, "model editor")

static void test_queries_of_a_new_node(void **state) {
  (void)state;
  OrtNode *n = new_node("Add", "sum", "x", "w", "y");
  const OrtValueInfo *info;
  const OrtOpAttr *attr;
  const OrtGraph *graph;
  const char *text;
  size_t count;
  int since;
  OK(ort()->Node_GetName(n, &text));
  assert_string_equal(text, "sum");
  OK(ort()->Node_GetOperatorType(n, &text));
  assert_string_equal(text, "Add");
  OK(ort()->Node_GetDomain(n, &text));
  assert_string_equal(text, "");
  OK(ort()->Node_GetNumInputs(n, &count));
  assert_int_equal(count, 2);
  OK(ort()->Node_GetNumOutputs(n, &count));
  assert_int_equal(count, 1);
  OK(ort()->Node_GetNumAttributes(n, &count));
  assert_int_equal(count, 0);
  CANNOT(Node_GetSinceVersion(n, &since));
  CANNOT(Node_GetInputs(n, &info, 2));
  CANNOT(Node_GetOutputs(n, &info, 1));
  CANNOT(Node_GetNumImplicitInputs(n, &count));
  CANNOT(Node_GetImplicitInputs(n, &info, 0));
  CANNOT(Node_GetAttributes(n, &attr, 0));
  CANNOT(Node_GetNumSubgraphs(n, &count));
  CANNOT(Node_GetSubgraphs(n, &graph, 0, NULL));
  CANNOT(Node_GetGraph(n, &graph));
  FAILS(ort()->Node_GetAttributeByName(n, "axis", &attr), ORT_INVALID_ARGUMENT, "model editor");
  FAILS(ort()->Node_GetEpName(n, &text), ORT_INVALID_ARGUMENT, "model editor");
  ort()->ReleaseNode(n);
}

static void test_queries_of_a_new_graph(void **state) {
  (void)state;
  OrtGraph *g = new_graph(), *view;
  const OrtNode *node;
  const OrtValueInfo *info;
  OrtModelMetadata *metadata;
  const char *text;
  size_t count;
  int64_t number;
  OK(ort()->Graph_GetName(g, &text));
  assert_string_equal(text, "ModelEditorGraph");
  OK(ort()->Graph_GetModelPath(g, &text));
  assert_string_equal(text, "");
  OK(ort()->Graph_GetOnnxIRVersion(g, &number));
  assert_int_equal(number, 14);
  OK(ort()->Graph_GetModelMetadata(g, &metadata));
  ort()->ReleaseModelMetadata(metadata);
  OK(ort()->Graph_GetNumInputs(g, &count));
  OK(ort()->Graph_GetNumOutputs(g, &count));
  CANNOT(Graph_GetNumOperatorSets(g, &count));
  CANNOT(Graph_GetOperatorSets(g, &text, &number, 1));
  CANNOT(Graph_GetInputs(g, &info, 0));
  CANNOT(Graph_GetOutputs(g, &info, 0));
  CANNOT(Graph_GetInitializers(g, &info, 0));
  CANNOT(Graph_GetNodes(g, &node, 0));
  CANNOT(Graph_GetParentNode(g, &node));
  FAILS(ort()->Graph_GetGraphView(g, &node, 1, &view), ORT_INVALID_ARGUMENT, "model editor");
  ort()->ReleaseGraph(g);
}

static void test_queries_of_a_new_value(void **state) {
  (void)state;
  OrtValueInfo *v = value_info("v", FLOAT, 1, 2);
  const OrtNode *node;
  const OrtValue *value;
  OrtExternalInitializerInfo *file;
  size_t count;
  int64_t number;
  bool flag;
  CANNOT(ValueInfo_GetValueProducer(v, &node, &count));
  CANNOT(ValueInfo_GetValueNumConsumers(v, &count));
  CANNOT(ValueInfo_GetValueConsumers(v, &node, &number, 0));
  CANNOT(ValueInfo_GetInitializerValue(v, &value));
  CANNOT(ValueInfo_GetExternalInitializerInfo(v, &file));
  CANNOT(ValueInfo_IsRequiredGraphInput(v, &flag));
  CANNOT(ValueInfo_IsOptionalGraphInput(v, &flag));
  CANNOT(ValueInfo_IsGraphOutput(v, &flag));
  CANNOT(ValueInfo_IsConstantInitializer(v, &flag));
  CANNOT(ValueInfo_IsFromOuterScope(v, &flag));
  ort()->ReleaseValueInfo(v);
}

static void test_places_of_initializers(void **state) {
  (void)state;
  OrtExternalInitializerInfo *info;
  OK(ort()->CreateExternalInitializerInfo("", 0, 0, &info));
  ort()->ReleaseExternalInitializerInfo(info);
  OK(ort()->CreateExternalInitializerInfo("data.bin", 4096, 12, &info));
  assert_string_equal(ort()->ExternalInitializerInfo_GetFilePath(info), "data.bin");
  assert_int_equal(ort()->ExternalInitializerInfo_GetFileOffset(info), 4096);
  assert_int_equal(ort()->ExternalInitializerInfo_GetByteSize(info), 12);
  ort()->ReleaseExternalInitializerInfo(info);
  ort()->ReleaseExternalInitializerInfo(NULL);
}

/* Microsoft's library ends the process where an argument is NULL. */
static void test_null_arguments(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip();
  const OrtModelEditorApi *e = editor();
  const char *name = "x";
  OrtGraph *g = new_graph();
  OrtNode *n = NULL;
  OrtModel *m = NULL;
  OrtTypeInfo *t;
  int version = 18;
  FAILS(e->CreateGraph(NULL), ORT_INVALID_ARGUMENT, "graph");
  FAILS(e->CreateNode(NULL, "", "n", &name, 1, &name, 1, NULL, 0, &n), ORT_INVALID_ARGUMENT, "operator_name");
  FAILS(e->CreateNode("Neg", NULL, "n", &name, 1, &name, 1, NULL, 0, &n), ORT_INVALID_ARGUMENT, "domain_name");
  FAILS(e->CreateNode("Neg", "", NULL, &name, 1, &name, 1, NULL, 0, &n), ORT_INVALID_ARGUMENT, "node_name");
  FAILS(e->CreateNode("Neg", "", "n", NULL, 1, &name, 1, NULL, 0, &n), ORT_INVALID_ARGUMENT, "input_names");
  FAILS(e->CreateNode("Neg", "", "n", &name, 1, NULL, 1, NULL, 0, &n), ORT_INVALID_ARGUMENT, "output_names");
  FAILS(e->CreateNode("Neg", "", "n", &name, 1, &name, 1, NULL, 0, NULL), ORT_INVALID_ARGUMENT, "node");
  const char *none = NULL;
  FAILS(e->CreateNode("Neg", "", "n", &none, 1, &name, 1, NULL, 0, &n), ORT_INVALID_ARGUMENT, "name 0");
  OrtOpAttr *attrs[2] = {NULL, NULL};
  OK(ort()->CreateOpAttr("a", &version, 1, ORT_OP_ATTR_STRING, &attrs[0]));
  FAILS(e->CreateNode("Neg", "", "n", &name, 1, &name, 1, attrs, 2, &n), ORT_INVALID_ARGUMENT, "attributes");
  assert_non_null(attrs[0]); /* still ours */
  ort()->ReleaseOpAttr(attrs[0]);
  FAILS(e->CreateModel(NULL, &version, 1, &m), ORT_INVALID_ARGUMENT, "domain_names");
  FAILS(e->CreateModel(&name, NULL, 1, &m), ORT_INVALID_ARGUMENT, "opset_versions");
  FAILS(e->CreateModel(&none, &version, 1, &m), ORT_INVALID_ARGUMENT, "domain_names");
  FAILS(e->CreateModel(&name, &version, 1, NULL), ORT_INVALID_ARGUMENT, "model");
  FAILS(e->CreateTensorTypeInfo(NULL, &t), ORT_INVALID_ARGUMENT, "tensor_info");
  FAILS(e->CreateSparseTensorTypeInfo(NULL, &t), ORT_INVALID_ARGUMENT, "tensor_info");
  FAILS(e->CreateMapTypeInfo(INT64, NULL, &t), ORT_INVALID_ARGUMENT, "map_value_type");
  FAILS(e->CreateSequenceTypeInfo(NULL, &t), ORT_INVALID_ARGUMENT, "sequence_type");
  FAILS(e->CreateOptionalTypeInfo(NULL, &t), ORT_INVALID_ARGUMENT, "contained_type");
  assert_null(n);
  assert_null(m);
  ort()->ReleaseGraph(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_model_is_built_and_runs),    cmocka_unit_test(test_attributes_arrive),
      cmocka_unit_test(test_a_model_may_have_no_outputs),  cmocka_unit_test(test_strings_are_initializers_too),
      cmocka_unit_test(test_models_that_are_not_complete), cmocka_unit_test(test_types_and_values),
      cmocka_unit_test(test_graphs_take_things_once),      cmocka_unit_test(test_queries_of_a_new_node),
      cmocka_unit_test(test_queries_of_a_new_graph),       cmocka_unit_test(test_queries_of_a_new_value),
      cmocka_unit_test(test_places_of_initializers),       cmocka_unit_test(test_null_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
