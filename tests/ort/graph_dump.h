/* SPDX-License-Identifier: Apache-2.0
 * ort/graph_dump.h - all that a library of providers can read of a graph, as text: a line for the graph, one for each
 * value and each node, bodies indented. What differs from library to library is left out or sorted: ids, addresses, the
 * order of initializers. */
#ifndef OX_TESTS_ORT_GRAPH_DUMP_H
#define OX_TESTS_ORT_GRAPH_DUMP_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onyx/ort_ep.h"

typedef struct graph_dump {
  const OrtApi *api;
  FILE *to;
  int depth;
  bool unnamed; /* the graph's name is the library's own */
} graph_dump;

/* A reader that fails ends the program: providers have nobody to tell. */
static void dump_check(const graph_dump *d, OrtStatus *st, const char *what) {
  if (st == NULL) return;
  fflush(d->to);
  fprintf(stderr, "%s: %s\n", what, d->api->GetErrorMessage(st));
  abort();
}
#define DUMP(call) dump_check(d, d->api->call, #call)

static void dump_indent(const graph_dump *d) { fprintf(d->to, "%*s", 2 * d->depth, ""); }

static void *dump_room(size_t n) {
  void *p = calloc(n + 1, sizeof(void *));
  if (p == NULL) abort();
  return p;
}

/* ---- values ---- */

static void dump_type(const graph_dump *d, const OrtTypeInfo *type) {
  static const char *const kinds[] = {"?", "tensor", "seq", "map", "opaque", "sparse", "optional"};
  ONNXType kind;
  const OrtTensorTypeAndShapeInfo *tensor;
  if (type == NULL) {
    fprintf(d->to, "none");
    return;
  }
  DUMP(GetOnnxTypeFromTypeInfo(type, &kind));
  fprintf(d->to, "%s", kinds[kind]);
  if (kind != ONNX_TYPE_TENSOR) return;
  DUMP(CastTypeInfoToTensorInfo(type, &tensor));
  ONNXTensorElementDataType elem;
  size_t rank;
  int64_t dims[16];
  const char *names[16];
  DUMP(GetTensorElementType(tensor, &elem));
  DUMP(GetDimensionsCount(tensor, &rank));
  DUMP(GetDimensions(tensor, dims, rank));
  DUMP(GetSymbolicDimensions(tensor, names, rank));
  fprintf(d->to, ":%d[", (int)elem);
  for (size_t i = 0; i < rank; i++) {
    if (i > 0) fprintf(d->to, ",");
    if (dims[i] >= 0)
      fprintf(d->to, "%" PRId64, dims[i]);
    else
      fprintf(d->to, "%s", names[i]);
  }
  fprintf(d->to, "]%s", d->api->TensorTypeAndShape_HasShape(tensor) ? "" : "?");
}

static const char *dump_name(const graph_dump *d, const OrtValueInfo *v) {
  const char *name = "-";
  if (v != NULL) DUMP(GetValueInfoName(v, &name));
  return name;
}

static int dump_compare(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* "node.index" of each use, sorted. */
static void dump_uses(const graph_dump *d, const OrtValueInfo *v) {
  size_t n;
  DUMP(ValueInfo_GetValueNumConsumers(v, &n));
  const OrtNode **nodes = dump_room(n);
  int64_t *indices = dump_room(n);
  char **lines = dump_room(n);
  DUMP(ValueInfo_GetValueConsumers(v, nodes, indices, n));
  for (size_t i = 0; i < n; i++) {
    const char *name;
    lines[i] = malloc(100);
    DUMP(Node_GetName(nodes[i], &name));
    snprintf(lines[i], 100, " %.80s.%" PRId64, name, indices[i]);
  }
  qsort(lines, n, sizeof *lines, dump_compare);
  fprintf(d->to, " uses");
  for (size_t i = 0; i < n; i++) {
    fprintf(d->to, "%s", lines[i]);
    free(lines[i]);
  }
  free(nodes), free(indices), free(lines);
}

static void dump_initializer(const graph_dump *d, const OrtValueInfo *v) {
  const OrtValue *value = NULL;
  OrtExternalInitializerInfo *file = NULL;
  DUMP(ValueInfo_GetInitializerValue(v, &value));
  DUMP(ValueInfo_GetExternalInitializerInfo(v, &file));
  if (value != NULL) {
    size_t bytes;
    const void *data;
    DUMP(GetTensorSizeInBytes(value, &bytes));
    DUMP(GetTensorData(value, &data));
    fprintf(d->to, " data %zu", bytes);
    for (size_t i = 0; i < bytes && i < 8; i++)
      fprintf(d->to, "%s%02x", i ? "" : " ", ((const unsigned char *)data)[i]);
    fprintf(d->to, bytes >= 4 && (uintptr_t)data % 4 != 0 ? " unaligned" : "");
  }
  if (file != NULL)
    fprintf(d->to, " file %s %" PRId64 " %zu", d->api->ExternalInitializerInfo_GetFilePath(file),
            d->api->ExternalInitializerInfo_GetFileOffset(file), d->api->ExternalInitializerInfo_GetByteSize(file));
  d->api->ReleaseExternalInitializerInfo(file);
}

static void dump_value(const graph_dump *d, const char *role, const OrtValueInfo *v) {
  const OrtNode *producer = NULL;
  const OrtTypeInfo *type = NULL;
  size_t output = 0;
  bool required, optional, out, constant, outer;
  dump_indent(d);
  fprintf(d->to, "%s %s", role, dump_name(d, v));
  if (v != NULL) {
    DUMP(GetValueInfoTypeInfo(v, &type));
    fprintf(d->to, " ");
    dump_type(d, type);
    DUMP(ValueInfo_IsRequiredGraphInput(v, &required));
    DUMP(ValueInfo_IsOptionalGraphInput(v, &optional));
    DUMP(ValueInfo_IsGraphOutput(v, &out));
    DUMP(ValueInfo_IsConstantInitializer(v, &constant));
    DUMP(ValueInfo_IsFromOuterScope(v, &outer));
    fprintf(d->to, "%s%s%s%s%s", required ? " required" : "", optional ? " optional" : "", out ? " output" : "",
            constant ? " constant" : "", outer ? " outer" : "");
    DUMP(ValueInfo_GetValueProducer(v, &producer, &output));
    if (producer != NULL) {
      const char *name;
      DUMP(Node_GetName(producer, &name));
      fprintf(d->to, " from %s.%zu", name, output);
    }
    dump_uses(d, v);
    dump_initializer(d, v);
  }
  fprintf(d->to, "\n");
}

/* ---- nodes ---- */

static void dump_graph(const graph_dump *d, const OrtGraph *g);

static void dump_attr(const graph_dump *d, const OrtOpAttr *attr) {
  OrtOpAttrType type;
  OrtValue *tensor = NULL;
  const char *name;
  char data[256];
  size_t bytes = 0;
  DUMP(OpAttr_GetName(attr, &name));
  DUMP(OpAttr_GetType(attr, &type));
  dump_indent(d);
  fprintf(d->to, " @%s %d", name, (int)type);
  switch (type) {
    case ORT_OP_ATTR_INT:
    case ORT_OP_ATTR_FLOAT:
    case ORT_OP_ATTR_STRING:
    case ORT_OP_ATTR_INTS:
    case ORT_OP_ATTR_FLOATS:
      DUMP(ReadOpAttr(attr, type, data, sizeof data, &bytes));
      for (size_t i = 0; i < bytes; i++) fprintf(d->to, "%s%02x", i ? "" : " ", (unsigned char)data[i]);
      break;
    case ORT_OP_ATTR_TENSOR: {
      size_t n;
      const void *p;
      DUMP(OpAttr_GetTensorAttributeAsOrtValue(attr, &tensor));
      DUMP(GetTensorSizeInBytes(tensor, &n));
      DUMP(GetTensorData(tensor, &p));
      for (size_t i = 0; i < n; i++) fprintf(d->to, "%s%02x", i ? "" : " ", ((const unsigned char *)p)[i]);
      d->api->ReleaseValue(tensor);
      break;
    }
    default:
      break;
  }
  fprintf(d->to, "\n");
}

static void dump_attrs(const graph_dump *d, const OrtNode *node) {
  size_t n;
  DUMP(Node_GetNumAttributes(node, &n));
  const OrtOpAttr **attrs = dump_room(n);
  const char **names = dump_room(n);
  DUMP(Node_GetAttributes(node, attrs, n));
  for (size_t i = 0; i < n; i++) DUMP(OpAttr_GetName(attrs[i], &names[i]));
  qsort(names, n, sizeof *names, dump_compare);
  for (size_t i = 0; i < n; i++) {
    const OrtOpAttr *attr;
    DUMP(Node_GetAttributeByName(node, names[i], &attr));
    dump_attr(d, attr);
  }
  free(attrs), free(names);
}

/* By name. */
static void dump_sort(const graph_dump *d, const OrtValueInfo **values, size_t n) {
  for (size_t i = 1; i < n; i++)
    for (size_t k = i; k > 0 && strcmp(dump_name(d, values[k - 1]), dump_name(d, values[k])) > 0; k--) {
      const OrtValueInfo *v = values[k];
      values[k] = values[k - 1], values[k - 1] = v;
    }
}

static void dump_list(const graph_dump *d, const char *role, const OrtValueInfo **values, size_t n) {
  for (size_t i = 0; i < n; i++) dump_value(d, role, values[i]);
  free(values);
}

/* In the order of their attributes' names. */
static void dump_bodies(const graph_dump *d, const OrtNode *node) {
  size_t n;
  DUMP(Node_GetNumSubgraphs(node, &n));
  const OrtGraph **bodies = dump_room(n);
  const char **names = dump_room(n), **sorted = dump_room(n), *name, *parent_name;
  DUMP(Node_GetSubgraphs(node, bodies, n, names));
  for (size_t i = 0; i < n; i++) sorted[i] = names[i];
  qsort(sorted, n, sizeof *sorted, dump_compare);
  DUMP(Node_GetName(node, &name));
  for (size_t i = 0; i < n * n; i++) {
    graph_dump inner = {d->api, d->to, d->depth + 1, false};
    const OrtNode *parent = NULL;
    if (strcmp(names[i % n], sorted[i / n]) != 0) continue;
    DUMP(Graph_GetParentNode(bodies[i % n], &parent));
    DUMP(Node_GetName(parent, &parent_name));
    dump_indent(d);
    fprintf(d->to, " body %s of %s\n", names[i % n], parent_name);
    dump_graph(&inner, bodies[i % n]);
  }
  free(bodies), free(names), free(sorted);
}

/* Without its bodies. */
static void dump_node_alone(const graph_dump *d, const OrtNode *node) {
  const char *name, *op, *domain, *ep = NULL;
  int since;
  size_t n;
  const OrtValueInfo **values;
  DUMP(Node_GetName(node, &name));
  DUMP(Node_GetOperatorType(node, &op));
  DUMP(Node_GetDomain(node, &domain));
  DUMP(Node_GetSinceVersion(node, &since));
  DUMP(Node_GetEpName(node, &ep));
  dump_indent(d);
  fprintf(d->to, "node %s: '%s' %s %d%s%s\n", name, domain, op, since, ep != NULL && *ep ? " on " : "", ep ? ep : "");
  DUMP(Node_GetNumInputs(node, &n));
  values = dump_room(n);
  DUMP(Node_GetInputs(node, values, n));
  dump_list(d, " in", values, n);
  DUMP(Node_GetNumImplicitInputs(node, &n));
  values = dump_room(n);
  DUMP(Node_GetImplicitInputs(node, values, n));
  dump_sort(d, values, n);
  dump_list(d, " implicit", values, n);
  DUMP(Node_GetNumOutputs(node, &n));
  values = dump_room(n);
  DUMP(Node_GetOutputs(node, values, n));
  dump_list(d, " out", values, n);
  dump_attrs(d, node);
}

static void dump_node(const graph_dump *d, const OrtNode *node) {
  dump_node_alone(d, node);
  dump_bodies(d, node);
}

static void dump_names(const graph_dump *d, const char *role, const OrtValueInfo **values, size_t n) {
  fprintf(d->to, " %s(", role);
  for (size_t i = 0; i < n; i++) fprintf(d->to, "%s%s", i ? " " : "", dump_name(d, values[i]));
  fprintf(d->to, ")");
  free(values);
}

/* The node that a body or a program belongs to: its values need not be in a graph. */
static void dump_owner(const graph_dump *d, const OrtNode *node) {
  const char *op;
  size_t n;
  const OrtValueInfo **values;
  DUMP(Node_GetOperatorType(node, &op));
  fprintf(d->to, "%s", d->unnamed ? "" : op);
  DUMP(Node_GetNumInputs(node, &n));
  values = dump_room(n);
  DUMP(Node_GetInputs(node, values, n));
  dump_names(d, "in", values, n);
  DUMP(Node_GetNumImplicitInputs(node, &n));
  values = dump_room(n);
  DUMP(Node_GetImplicitInputs(node, values, n));
  dump_sort(d, values, n);
  dump_names(d, "implicit", values, n);
  DUMP(Node_GetNumOutputs(node, &n));
  values = dump_room(n);
  DUMP(Node_GetOutputs(node, values, n));
  dump_names(d, "out", values, n);
  fprintf(d->to, "\n");
}

/* ---- graphs ---- */

/* In the order of their names: libraries have different orders that all fit. */
static void dump_nodes(const graph_dump *d, const OrtGraph *g) {
  size_t n;
  DUMP(Graph_GetNumNodes(g, &n));
  const OrtNode **nodes = dump_room(n);
  const char **names = dump_room(n), *name;
  DUMP(Graph_GetNodes(g, nodes, n));
  for (size_t i = 0; i < n; i++) DUMP(Node_GetName(nodes[i], &names[i]));
  qsort(names, n, sizeof *names, dump_compare);
  for (size_t i = 0; i < n * n; i++) {
    const OrtGraph *home = NULL;
    DUMP(Node_GetName(nodes[i % n], &name));
    if (strcmp(name, names[i / n]) != 0) continue;
    DUMP(Node_GetGraph(nodes[i % n], &home));
    if (home != g) fprintf(d->to, "of another graph: ");
    dump_node(d, nodes[i % n]);
  }
  free(nodes), free(names);
}

static void dump_initializers(const graph_dump *d, const OrtGraph *g) {
  size_t n;
  DUMP(Graph_GetNumInitializers(g, &n));
  const OrtValueInfo **values = dump_room(n);
  DUMP(Graph_GetInitializers(g, values, n));
  dump_sort(d, values, n);
  dump_list(d, "initializer", values, n);
}

static void dump_graph(const graph_dump *d, const OrtGraph *g) {
  const char *name;
  const OrtValueInfo **values;
  size_t n;
  DUMP(Graph_GetName(g, &name));
  dump_indent(d);
  fprintf(d->to, "graph %s\n", d->unnamed ? "" : name);
  DUMP(Graph_GetNumInputs(g, &n));
  values = dump_room(n);
  DUMP(Graph_GetInputs(g, values, n));
  dump_list(d, "input", values, n);
  DUMP(Graph_GetNumOutputs(g, &n));
  values = dump_room(n);
  DUMP(Graph_GetOutputs(g, values, n));
  dump_list(d, "output", values, n);
  dump_initializers(d, g);
  dump_nodes(d, g);
}

static void dump_metadata(const graph_dump *d, const OrtGraph *g) {
  OrtModelMetadata *m;
  OrtAllocator *allocator;
  char *texts[7] = {NULL}, **keys = NULL;
  int64_t version, n;
  DUMP(GetAllocatorWithDefaultOptions(&allocator));
  DUMP(Graph_GetModelMetadata(g, &m));
  DUMP(ModelMetadataGetProducerName(m, allocator, &texts[0]));
  DUMP(ModelMetadataGetGraphName(m, allocator, &texts[1]));
  DUMP(ModelMetadataGetDomain(m, allocator, &texts[2]));
  DUMP(ModelMetadataGetDescription(m, allocator, &texts[3]));
  DUMP(ModelMetadataGetGraphDescription(m, allocator, &texts[4]));
  DUMP(ModelMetadataGetVersion(m, &version));
  DUMP(ModelMetadataGetCustomMetadataMapKeys(m, allocator, &keys, &n));
  if (n > 0) DUMP(ModelMetadataLookupCustomMetadataMap(m, allocator, keys[0], &texts[5]));
  fprintf(d->to, "metadata '%s' '%s' '%s' '%s' '%s' %" PRId64 " %" PRId64 " '%s'\n", texts[0], texts[1], texts[2],
          texts[3], texts[4], version, n, texts[5] != NULL ? texts[5] : "");
  for (size_t i = 0; i < 7; i++) allocator->Free(allocator, texts[i]);
  for (int64_t i = 0; i < n; i++) allocator->Free(allocator, keys[i]);
  allocator->Free(allocator, keys);
  d->api->ReleaseModelMetadata(m);
}

/* What is the model's and not a graph's. */
static void dump_model(const graph_dump *d, const OrtGraph *g) {
  int64_t ir, versions[32];
  size_t n;
  const char *path, *domains[32];
  DUMP(Graph_GetOnnxIRVersion(g, &ir));
  DUMP(Graph_GetModelPath(g, &path));
  DUMP(Graph_GetNumOperatorSets(g, &n));
  DUMP(Graph_GetOperatorSets(g, domains, versions, 32));
  const char *base = strrchr(path, '/');
  fprintf(d->to, "ir %" PRId64 " path '%s'", ir, base != NULL ? base + 1 : path);
  for (size_t i = 0; i < n; i++)
    if (strcmp(domains[i], "") == 0 || strstr(domains[i], "example") != NULL)
      fprintf(d->to, " '%s' %" PRId64, domains[i], versions[i]);
  fprintf(d->to, "\n");
}

#endif
