/* SPDX-License-Identifier: Apache-2.0
 * Attributes as objects, and operators of the standard that a client's kernel calls. */
#include <pthread.h>

#include "ort/op_world.h"

static float numbers[] = {1, 2, 3, 4};
static const int64_t four[] = {4};

/* ---- attributes ---- */

static void test_attributes(void **state) {
  static const int64_t ints[] = {3, -4};
  static const float floats[] = {1.5f, -2};
  static const char *const texts[] = {"ab", "", "cde"};
  static const struct {
    OrtOpAttrType type;
    const void *data;
    int len;
    size_t bytes;
    const void *want;
  } cases[] = {
      {ORT_OP_ATTR_INT, ints, 1, 8, ints},
      {ORT_OP_ATTR_INT, ints, 0, 8, ints}, /* of a number, the length does not matter */
      {ORT_OP_ATTR_INTS, ints, 2, 16, ints},
      {ORT_OP_ATTR_FLOAT, floats, 1, 4, floats},
      {ORT_OP_ATTR_FLOATS, floats, 2, 8, floats},
      {ORT_OP_ATTR_STRING, "hello", 5, 5, "hello"},
      {ORT_OP_ATTR_STRING, "hello", 2, 2, "he"},
      {ORT_OP_ATTR_STRINGS, texts, 3, 8, "ab\0\0cde"},
  };
  (void)state;
  for (size_t i = 0; i < COUNT(cases); i++) {
    OrtOpAttr *a;
    OrtOpAttrType type;
    OrtValue *value;
    const char *name;
    char got[32];
    size_t n = 0;
    OK(ort()->CreateOpAttr("name", cases[i].data, cases[i].len, cases[i].type, &a));
    OK(ort()->OpAttr_GetName(a, &name));
    assert_string_equal(name, "name");
    OK(ort()->OpAttr_GetType(a, &type));
    assert_int_equal(type, cases[i].type);
    OK(ort()->ReadOpAttr(a, type, got, sizeof got, &n));
    assert_int_equal(n, cases[i].bytes);
    assert_memory_equal(got, cases[i].want, n);
    if (i > 0 &&
        (type == ORT_OP_ATTR_INTS || type == ORT_OP_ATTR_FLOATS || type == ORT_OP_ATTR_STRINGS || ort_is_onyx()))
      FAILS(ort()->ReadOpAttr(a, type, got, cases[i].bytes - 1, &n), ORT_INVALID_ARGUMENT, "not large enough");
    assert_int_equal(n, cases[i].bytes);
    FAILS(ort()->OpAttr_GetTensorAttributeAsOrtValue(a, &value), ORT_INVALID_ARGUMENT, "tensor");
    type = type == ORT_OP_ATTR_FLOAT ? ORT_OP_ATTR_INT : ORT_OP_ATTR_FLOAT;
    FAILS(ort()->ReadOpAttr(a, type, got, sizeof got, &n), ORT_INVALID_ARGUMENT, "wanted");
    ort()->ReleaseOpAttr(a);
  }
  ort()->ReleaseOpAttr(NULL);
}

static void test_attributes_that_cannot_be_made(void **state) {
  static const int64_t one[] = {1};
  OrtOpAttr *a;
  (void)state;
  FAILS(ort()->CreateOpAttr("a", one, 1, ORT_OP_ATTR_UNDEFINED, &a), ORT_FAIL, "'a'");
  FAILS(ort()->CreateOpAttr("a", one, 1, ORT_OP_ATTR_GRAPH, &a), ORT_FAIL, "'a'");
  FAILS(ort()->CreateOpAttr("a", one, 1, ORT_OP_ATTR_TENSOR, &a), ORT_FAIL, "'a'");
  FAILS(ort()->CreateOpAttr("a", one, 1, (OrtOpAttrType)99, &a), ORT_FAIL, "99");
  if (!ort_is_onyx()) return; /* Microsoft's library crashes */
  FAILS(ort()->CreateOpAttr(NULL, one, 1, ORT_OP_ATTR_INT, &a), ORT_INVALID_ARGUMENT, "'name'");
  FAILS(ort()->CreateOpAttr("a", NULL, 1, ORT_OP_ATTR_INT, &a), ORT_INVALID_ARGUMENT, "'data'");
  FAILS(ort()->CreateOpAttr("a", one, -1, ORT_OP_ATTR_INTS, &a), ORT_INVALID_ARGUMENT, "-1");
  FAILS(ort()->CreateOpAttr("a", one, 1, ORT_OP_ATTR_INT, NULL), ORT_INVALID_ARGUMENT, "'op_attr'");
  FAILS(ort()->ReadOpAttr(NULL, ORT_OP_ATTR_INT, NULL, 0, NULL), ORT_INVALID_ARGUMENT, "'op_attr'");
  FAILS(ort()->OpAttr_GetName(NULL, NULL), ORT_INVALID_ARGUMENT, "'attribute'");
  FAILS(ort()->OpAttr_GetType(NULL, NULL), ORT_INVALID_ARGUMENT, "'attribute'");
  FAILS(ort()->OpAttr_GetTensorAttributeAsOrtValue(NULL, NULL), ORT_INVALID_ARGUMENT, "'attribute'");
}

/* ---- operators ---- */

/* y = 2 x, where the operators that a kernel made are |k->state|. */
typedef struct {
  OrtOp *add, *gather, *top_k, *gather_text, *clip;
} ops;

static bool op_has_indices(const char *name) { return name != NULL && strcmp(name, "Gather") == 0; }

static OrtStatus *make_op(const OrtKernelInfo *info, const char *name, const char *domain, int version,
                          ONNXTensorElementDataType type, const OrtOpAttr *const *attrs, int n_attrs, int n_in,
                          int n_out, OrtOp **out) {
  const char *names[] = {"T", "Tind"};
  const ONNXTensorElementDataType types[] = {type, I64};
  int n_types = op_has_indices(name) ? 2 : 1;
  return ort()->CreateOp(info, name, domain, version, names, types, n_types, attrs, n_attrs, n_in, n_out, out);
}

static OrtOpAttr *int_attr(const char *name, int64_t v) {
  OrtOpAttr *a;
  OK(ort()->CreateOpAttr(name, &v, 1, ORT_OP_ATTR_INT, &a));
  return a;
}

static OrtStatus *create_ops(kernel *k, const OrtKernelInfo *info) {
  static ops made;
  /* Microsoft's library wants what the standard has a default for, too. */
  OrtOpAttr *top[] = {int_attr("axis", 0), int_attr("largest", 1), int_attr("sorted", 1)};
  const OrtOpAttr *const *attrs = (const OrtOpAttr *const *)top;
  OrtOp *none = NULL;
  k->state = &made;
  OK(make_op(info, "Add", "", 14, F32, NULL, 0, 2, 1, &made.add));
  OK(make_op(info, "Gather", "", 13, F32, attrs, 1, 2, 1, &made.gather));
  OK(make_op(info, "TopK", "", 11, F32, attrs, 3, 2, 2, &made.top_k));
  OK(make_op(info, "Gather", "", 13, STR, attrs, 1, 2, 1, &made.gather_text));
  OK(make_op(info, "Clip", "", 13, F32, NULL, 0, 3, 1, &made.clip));
  for (int i = 0; i < 3; i++) ort()->ReleaseOpAttr(top[i]); /* operators have copies */
  FAILS(make_op(info, "NoSuch", "", 14, F32, NULL, 0, 1, 1, &none), ORT_FAIL, "NoSuch");
  FAILS(make_op(info, "Add", "no.such", 14, F32, NULL, 0, 1, 1, &none), ORT_FAIL, "no.such");
  assert_null(none);
  if (ort_is_onyx()) { /* Microsoft's library crashes */
    FAILS(make_op(NULL, "Add", "", 14, F32, NULL, 0, 2, 1, &none), ORT_INVALID_ARGUMENT, "'info'");
    FAILS(make_op(info, NULL, "", 14, F32, NULL, 0, 2, 1, &none), ORT_INVALID_ARGUMENT, "'op_name'");
    FAILS(make_op(info, "Add", NULL, 14, F32, NULL, 0, 2, 1, &none), ORT_INVALID_ARGUMENT, "'domain'");
    FAILS(make_op(info, "Add", "", 14, F32, NULL, 0, -2, 1, &none), ORT_INVALID_ARGUMENT, "-2");
    FAILS(make_op(info, "Add", "", 14, F32, NULL, 0, 2, 1, NULL), ORT_INVALID_ARGUMENT, "'ort_op'");
  }
  return NULL;
}

static void destroy_ops(kernel *k) {
  ops *made = k->state;
  ort()->ReleaseOp(made->add);
  ort()->ReleaseOp(made->gather);
  ort()->ReleaseOp(made->top_k);
  ort()->ReleaseOp(made->gather_text);
  ort()->ReleaseOp(made->clip);
  ort()->ReleaseOp(NULL);
}

static OrtValue *new_tensor(ONNXTensorElementDataType type, int64_t n) {
  OrtValue *v;
  OK(ort()->CreateTensorAsOrtValue(heap(), &n, 1, type, &v));
  return v;
}

/* One output in memory of the client's, attributes, several outputs of several types. */
static void call_others(const ops *made, OrtKernelContext *c, const OrtValue *x) {
  int64_t two[] = {2}, which[] = {3, 3, 0};
  OrtValue *some = new_tensor(F32, 3), *indices = tensor_over(I64, (const int64_t[]){3}, 1, which, sizeof which);
  OrtValue *values = new_tensor(F32, 2), *places = new_tensor(I64, 2);
  OrtValue *n = tensor_over(I64, (const int64_t[]){1}, 1, two, sizeof two);
  const OrtValue *in[] = {x, indices}, *top[] = {x, n};
  OrtValue *out[] = {values, places};
  OK(ort()->InvokeOp(c, made->gather, in, 2, &some, 1));
  assert_true(((float *)data_of(some))[0] == 4 && ((float *)data_of(some))[2] == 1);
  OK(ort()->InvokeOp(c, made->top_k, top, 2, out, 2));
  assert_true(((float *)data_of(values))[0] == 4 && ((float *)data_of(values))[1] == 3);
  assert_true(((int64_t *)data_of(places))[0] == 3);
  ort()->ReleaseValue(some);
  ort()->ReleaseValue(indices);
  ort()->ReleaseValue(values);
  ort()->ReleaseValue(places);
  ort()->ReleaseValue(n);
}

static void call_with_an_input_omitted(const ops *made, OrtKernelContext *c, const OrtValue *x) {
  float three = 3;
  OrtValue *most = tensor_over(F32, NULL, 0, &three, sizeof three), *out = new_tensor(F32, 4);
  const OrtValue *in[] = {x, NULL, most};
  if (ort_is_onyx()) { /* Microsoft's library crashes */
    OK(ort()->InvokeOp(c, made->clip, in, 3, &out, 1));
    assert_true(((float *)data_of(out))[3] == 3);
  }
  ort()->ReleaseValue(most);
  ort()->ReleaseValue(out);
}

static void call_wrongly(const ops *made, OrtKernelContext *c, const OrtValue *x, OrtValue *y) {
  OrtValue *five = new_tensor(F32, 5);
  const OrtValue *in[] = {x, x};
  FAILS(ort()->InvokeOp(c, made->add, in, 1, &y, 1), ORT_INVALID_ARGUMENT, "input count: 1, expect: 2");
  FAILS(ort()->InvokeOp(c, made->add, in, 2, &y, 0), ORT_INVALID_ARGUMENT, "output count: 0, expect: 1");
  if (ort_is_onyx()) { /* Microsoft's library writes into memory of another type or size */
    FAILS(ort()->InvokeOp(c, made->add, in, 2, &five, 1), ORT_INVALID_ARGUMENT, "float32[5]");
    FAILS(ort()->InvokeOp(NULL, made->add, in, 2, &y, 1), ORT_INVALID_ARGUMENT, "'context'");
    FAILS(ort()->InvokeOp(c, NULL, in, 2, &y, 1), ORT_INVALID_ARGUMENT, "'ort_op'");
    FAILS(ort()->InvokeOp(c, made->add, NULL, 2, &y, 1), ORT_INVALID_ARGUMENT, "'input_values'");
    FAILS(ort()->InvokeOp(c, made->add, in, 2, NULL, 1), ORT_INVALID_ARGUMENT, "'output_values'");
  }
  in[1] = five;
  OrtStatus *st = ort()->InvokeOp(c, made->add, in, 2, &y, 1);
  assert_non_null(st); /* shapes that do not broadcast */
  ort()->ReleaseStatus(st);
  ort()->ReleaseValue(five);
}

static OrtStatus *compute_ops(kernel *k, OrtKernelContext *c) {
  const ops *made = k->state;
  const OrtValue *x;
  OrtValue *y;
  OK(ort()->KernelContext_GetInput(c, 0, &x));
  OK(ort()->KernelContext_GetOutput(c, 0, four, 1, &y));
  call_others(made, c, x);
  call_with_an_input_omitted(made, c, x);
  call_wrongly(made, c, x, y);
  const OrtValue *in[] = {x, x};
  return ort()->InvokeOp(c, made->add, in, 2, &y, 1);
}

static void test_operators_of_the_standard(void **state) {
  op_row row = {.version = 18,
                .name = "Op",
                .n_in = 1,
                .n_out = 1,
                .in = {F32},
                .out = {F32},
                .create = create_ops,
                .compute = compute_ops,
                .destroy = destroy_ops};
  OrtValue *x = tensor_over(F32, four, 1, numbers, sizeof numbers), *y;
  world w;
  (void)state;
  message m = one_node("t:Op", F32, 1, "x", "y");
  OK(open_world(&w, &m, &row));
  for (int i = 0; i < 2; i++) {
    OK(run_world(&w, x, NULL, &y));
    assert_true(((float *)data_of(y))[0] == 2 && ((float *)data_of(y))[3] == 8);
    ort()->ReleaseValue(y);
  }
  ort()->ReleaseValue(x);
  close_world(&w);
}

/* The result's text goes into the run's memory. */
static OrtStatus *compute_strings(kernel *k, OrtKernelContext *c) {
  const ops *made = k->state;
  const OrtValue *x;
  OrtValue *y;
  OK(ort()->KernelContext_GetInput(c, 0, &x));
  OK(ort()->KernelContext_GetOutput(c, 0, four, 1, &y));
  int64_t which[] = {1, 0, 0, 1};
  OrtValue *indices = tensor_over(I64, four, 1, which, sizeof which);
  const OrtValue *in[] = {x, indices};
  OrtStatus *st = ort()->InvokeOp(c, made->gather_text, in, 2, &y, 1);
  ort()->ReleaseValue(indices);
  return st;
}

static void test_operators_on_strings(void **state) {
  static const char *const texts[] = {"short", "much longer than a few bytes"};
  op_row row = {.version = 18,
                .name = "Op",
                .n_in = 1,
                .n_out = 1,
                .in = {STR},
                .out = {STR},
                .create = create_ops,
                .compute = compute_strings,
                .destroy = destroy_ops};
  OrtValue *x = strings_of(texts, 2), *y;
  world w;
  (void)state;
  message m = one_node("t:Op", STR, 1, "x", "y");
  OK(open_world(&w, &m, &row));
  for (int i = 0; i < 2; i++) {
    OK(run_world(&w, x, NULL, &y));
    assert_string_equal(text_of(y), "[much longer than a few bytes][short][short][much longer than a few bytes]");
    ort()->ReleaseValue(y);
  }
  ort()->ReleaseValue(x);
  close_world(&w);
}

static OrtStatus *compute_add(kernel *k, OrtKernelContext *c) {
  const ops *made = k->state;
  const OrtValue *x;
  OrtValue *y;
  PASS(k->api->KernelContext_GetInput(c, 0, &x));
  PASS(k->api->KernelContext_GetOutput(c, 0, four, 1, &y));
  const OrtValue *in[] = {x, x};
  return k->api->InvokeOp(c, made->add, in, 2, &y, 1);
}

/* Counts what goes wrong: assertions are for the main thread. */
static void *run_often(void *session) {
  OrtMemoryInfo *cpu;
  intptr_t wrong = 0;
  if (ort()->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &cpu) != NULL) return (void *)1;
  for (int i = 0; i < 300; i++) {
    const char *in = "x", *out = "y";
    float data[] = {(float)i, 2, 3, 4}, *got;
    OrtValue *x, *y = NULL;
    if (ort()->CreateTensorWithDataAsOrtValue(cpu, data, sizeof data, four, 1, F32, &x) != NULL) return (void *)1;
    OrtStatus *st = ort()->Run(session, NULL, &in, (const OrtValue *const *)&x, 1, &out, 1, &y);
    if (st == NULL) st = ort()->GetTensorMutableData(y, (void **)(void *)&got);
    wrong += st != NULL || got[0] != 2 * data[0];
    ort()->ReleaseStatus(st);
    ort()->ReleaseValue(x);
    ort()->ReleaseValue(y);
  }
  ort()->ReleaseMemoryInfo(cpu);
  return (void *)wrong;
}

static void test_runs_at_a_time(void **state) {
  op_row row = {.version = 18,
                .name = "Op",
                .n_in = 1,
                .n_out = 1,
                .in = {F32},
                .out = {F32},
                .create = create_ops,
                .compute = compute_add,
                .destroy = destroy_ops};
  pthread_t threads[4];
  world w;
  void *wrong;
  (void)state;
  message m = one_node("t:Op", F32, 1, "x", "y");
  OK(open_world(&w, &m, &row));
  for (size_t i = 0; i < COUNT(threads); i++)
    assert_int_equal(pthread_create(&threads[i], NULL, run_often, w.session), 0);
  for (size_t i = 0; i < COUNT(threads); i++) {
    pthread_join(threads[i], &wrong);
    assert_null(wrong);
  }
  close_world(&w);
  assert_int_equal(row.computations, 4 * 300);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_attributes),
      cmocka_unit_test(test_attributes_that_cannot_be_made),
      cmocka_unit_test(test_operators_of_the_standard),
      cmocka_unit_test(test_operators_on_strings),
      cmocka_unit_test(test_runs_at_a_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
