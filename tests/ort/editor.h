/* SPDX-License-Identifier: Apache-2.0
 * ort/editor.h - short ways to make what the model editor makes, for its tests. */
#ifndef OX_TESTS_ORT_EDITOR_H
#define OX_TESTS_ORT_EDITOR_H

#include "ort/models.h"

static inline const OrtModelEditorApi *editor(void) { return ort()->GetModelEditorApi(); }

static inline OrtTypeInfo *tensor_type_info(ONNXTensorElementDataType elem, const int64_t *dims, size_t rank) {
  OrtTensorTypeAndShapeInfo *shape;
  OrtTypeInfo *type;
  OK(ort()->CreateTensorTypeAndShapeInfo(&shape));
  OK(ort()->SetTensorElementType(shape, elem));
  OK(ort()->SetDimensions(shape, dims, rank));
  OK(editor()->CreateTensorTypeInfo(shape, &type));
  ort()->ReleaseTensorTypeAndShapeInfo(shape);
  return type;
}

static inline OrtValueInfo *value_info(const char *name, ONNXTensorElementDataType elem, int64_t first,
                                       int64_t second) {
  OrtTypeInfo *type = tensor_type_info(elem, (const int64_t[]){first, second}, 2);
  OrtValueInfo *v;
  OK(editor()->CreateValueInfo(name, type, &v));
  ort()->ReleaseTypeInfo(type);
  return v;
}

static inline OrtNode *new_node(const char *op, const char *name, const char *a, const char *b, const char *out) {
  const char *in[] = {a, b};
  OrtNode *n;
  OK(editor()->CreateNode(op, "", name, in, b != NULL ? 2 : 1, &out, 1, NULL, 0, &n));
  return n;
}

static inline void add_node(OrtGraph *g, const char *op, const char *name, const char *a, const char *b,
                            const char *out) {
  OK(editor()->AddNodeToGraph(g, new_node(op, name, a, b, out)));
}

static inline void set_inputs(OrtGraph *g, OrtValueInfo *a, OrtValueInfo *b) {
  OrtValueInfo *values[] = {a, b};
  OK(editor()->SetGraphInputs(g, values, b != NULL ? 2 : 1));
  assert_null(values[0]);
}

static inline void set_output(OrtGraph *g, OrtValueInfo *v) {
  OK(editor()->SetGraphOutputs(g, &v, 1));
  assert_null(v);
}

static inline OrtGraph *new_graph(void) {
  OrtGraph *g;
  OK(editor()->CreateGraph(&g));
  return g;
}

static inline OrtModel *new_model(OrtGraph *g, const char *domain, int version) {
  OrtModel *m;
  OK(editor()->CreateModel(&domain, &version, 1, &m));
  if (g != NULL) OK(editor()->AddGraphToModel(m, g));
  return m;
}

static inline OrtSessionOptions *new_options(void) {
  OrtSessionOptions *o;
  OK(ort()->CreateSessionOptions(&o));
  return o;
}

static inline void check_run(OrtSession *s, const char *input, OrtValue *x, const char *output, const float *want,
                             size_t n) {
  OrtValue *y = NULL;
  OK(ort()->Run(s, NULL, &input, (const OrtValue *const *)&x, 1, &output, 1, &y));
  check_floats(y, want, n);
  ort()->ReleaseValue(y);
}

#endif
