/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/fake_compile.c - the fake library's programs: a list of steps over named values. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_parts.h"

enum { MOST = 32 };

typedef struct value {
  char name[64];
  const float *data; /* NULL: not computed yet */
  float *own;        /* allocated here */
  size_t n;
  int64_t dims[8];
  size_t rank;
} value;

typedef struct step {
  char op;
  int in[2], out; /* values; -1: none */
} step;

typedef struct program {
  OrtNodeComputeInfo base;
  value values[MOST]; /* the constants that were dropped have data */
  size_t n_values, n_steps, n_in, n_out;
  step steps[MOST];
  int in[MOST], out[MOST];
} program;

static int value_of(program *p, const OrtValueInfo *info) {
  const char *name = "";
  CHECK(api->GetValueInfoName(info, &name));
  for (size_t i = 0; i < p->n_values; i++)
    if (strcmp(p->values[i].name, name) == 0) return (int)i;
  snprintf(p->values[p->n_values].name, sizeof p->values->name, "%s", name);
  return (int)p->n_values++;
}

static OrtStatus *read_tensor(const OrtValue *v, value *out) {
  OrtTensorTypeAndShapeInfo *info;
  TRY(api->GetTensorTypeAndShape(v, &info));
  CHECK(api->GetDimensionsCount(info, &out->rank));
  CHECK(api->GetDimensions(info, out->dims, out->rank));
  CHECK(api->GetTensorShapeElementCount(info, &out->n));
  api->ReleaseTensorTypeAndShapeInfo(info);
  return api->GetTensorData(v, (const void **)&out->data);
}

/* ---- Compute ---- */

static const value *larger(const value *a, const value *b) { return b != NULL && b->n > a->n ? b : a; }

static void run_step(program *p, value *values, const step *s) {
  const value *a = &values[s->in[0]], *b = s->in[1] >= 0 ? &values[s->in[1]] : NULL, *shape = larger(a, b);
  value *out = &values[s->out];
  (void)p;
  out->n = shape->n, out->rank = shape->rank;
  memcpy(out->dims, shape->dims, sizeof out->dims);
  out->data = out->own = malloc((shape->n + 1) * sizeof(float));
  for (size_t i = 0; i < out->n; i++)
    out->own[i] = fake_op(s->op, a->data[i % a->n], b != NULL ? b->data[i % b->n] : 0);
}

static OrtStatus *compute(OrtNodeComputeInfo *base, void *compute_state, OrtKernelContext *context) {
  program *p = (program *)base;
  value values[MOST];
  size_t n = 0;
  fake_ep_state()->runs++;
  TRY(fake_call("Compute"));
  if (compute_state != p) return api->CreateStatus(ORT_FAIL, "another state");
  memcpy(values, p->values, sizeof values);
  TRY(api->KernelContext_GetInputCount(context, &n));
  if (n != p->n_in) return api->CreateStatus(ORT_FAIL, "another number of inputs");
  for (size_t i = 0; i < n; i++) {
    const OrtValue *v;
    TRY(api->KernelContext_GetInput(context, i, &v));
    TRY(read_tensor(v, &values[p->in[i]]));
  }
  int inside = atomic_fetch_add(&fake_ep_state()->inside, 1) + 1;
  if (inside > fake_ep_state()->most_inside) fake_ep_state()->most_inside = inside;
  for (size_t i = 0; i < p->n_steps; i++) run_step(p, values, &p->steps[i]);
  atomic_fetch_sub(&fake_ep_state()->inside, 1);
  OrtStatus *st = NULL;
  for (size_t i = 0; i < p->n_out && st == NULL; i++) {
    const value *v = &values[p->out[i]];
    OrtValue *out;
    void *data = NULL;
    st = api->KernelContext_GetOutput(context, i, v->dims, v->rank, &out);
    if (st == NULL) st = api->GetTensorMutableData(out, &data);
    if (st == NULL) memcpy(data, v->data, v->n * sizeof(float));
  }
  for (size_t i = 0; i < p->n_values; i++)
    if (values[i].own != p->values[i].own) free(values[i].own);
  return st;
}

static OrtStatus *create_state(OrtNodeComputeInfo *base, OrtNodeComputeContext *context, void **out) {
  TRY(fake_call("CreateState"));
  if (strlen(ep_api->NodeComputeContext_NodeName(context)) == 0) return api->CreateStatus(ORT_FAIL, "no name");
  fake_ep_state()->states++;
  *out = base;
  return NULL;
}

static void release_state(OrtNodeComputeInfo *base, void *compute_state) {
  (void)base, (void)compute_state;
  fake_ep_state()->states--;
}

/* ---- nodes EPContext: the steps as text, "op in in out;", '-' for none ---- */

static const char *name_of(const program *p, int i) { return i >= 0 ? p->values[i].name : "-"; }

static OrtStatus *add_text_attr(OrtOpAttr **attrs, size_t *n, const char *name, const char *text) {
  return api->CreateOpAttr(name, text, (int)strlen(text), ORT_OP_ATTR_STRING, &attrs[(*n)++]);
}

/* The client keeps |text|. */
static OrtStatus *store(const OrtEpContextConfig *config, const char *name, const char *text) {
  OrtWriteNamedBufferFunc write;
  void *state;
  TRY(ep_api->EpContextConfigGetEpContextDataWriteFunc(config, &write, &state));
  return write != NULL ? write(state, name, text, strlen(text))
                       : api->CreateStatus(ORT_EP_FAIL, "nobody keeps the data");
}

static OrtStatus *find(const OrtEpContextConfig *config, const char *name, char *text, size_t room, size_t *out_n) {
  OrtReadNamedBufferFunc read;
  OrtAllocator *allocator;
  void *state, *bytes = NULL;
  TRY(ep_api->EpContextConfigGetEpContextDataReadFunc(config, &read, &state));
  if (read == NULL) return api->CreateStatus(ORT_EP_FAIL, "nobody has the data");
  TRY(api->GetAllocatorWithDefaultOptions(&allocator));
  TRY(read(state, name, allocator, &bytes, out_n));
  if (*out_n >= room) *out_n = room - 1;
  memcpy(text, bytes, *out_n);
  allocator->Free(allocator, bytes);
  return NULL;
}

static OrtStatus *make_context(const program *p, const OrtNode *fused, const OrtEpContextConfig *config,
                               OrtNode **out) {
  const OrtModelEditorApi *editor = api->GetModelEditorApi();
  const char *in[MOST], *outs[MOST], *name = "";
  char text[2048] = "";
  OrtOpAttr *attrs[8];
  const int64_t one = 1, embed = config == NULL;
  size_t n = 0;
  for (size_t i = 0; i < p->n_steps; i++) {
    const step *s = &p->steps[i];
    size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "%c %s %s %s;", s->op, name_of(p, s->in[0]), name_of(p, s->in[1]),
             name_of(p, s->out));
  }
  for (size_t i = 0; i < p->n_in; i++) in[i] = name_of(p, p->in[i]);
  for (size_t i = 0; i < p->n_out; i++) outs[i] = name_of(p, p->out[i]);
  TRY(api->Node_GetName(fused, &name));
  TRY(api->CreateOpAttr("main_context", &one, 1, ORT_OP_ATTR_INT, &attrs[n++]));
  TRY(api->CreateOpAttr("embed_mode", &embed, 1, ORT_OP_ATTR_INT, &attrs[n++]));
  if (config != NULL) TRY(store(config, name, text));
  TRY(add_text_attr(attrs, &n, "ep_cache_context", config != NULL ? name : text));
  TRY(add_text_attr(attrs, &n, "source", "FakeCompile"));
  TRY(add_text_attr(attrs, &n, "partition_name", name));
  return editor->CreateNode("EPContext", "com.microsoft", name, in, p->n_in, outs, p->n_out, attrs, n, out);
}

static int value_named(program *p, const char *name) {
  for (size_t i = 0; i < p->n_values; i++)
    if (strcmp(p->values[i].name, name) == 0) return (int)i;
  snprintf(p->values[p->n_values].name, sizeof p->values->name, "%s", name);
  return (int)p->n_values++;
}

static OrtStatus *read_context(program *p, const OrtNode *node, const OrtEpContextConfig *config) {
  const OrtOpAttr *attr = NULL;
  int64_t embed = 1;
  char text[2048] = "", name[256], a[64], b[64], out[64], op;
  size_t n = 0;
  int used;
  TRY(api->Node_GetAttributeByName(node, "ep_cache_context", &attr));
  TRY(api->ReadOpAttr(attr, ORT_OP_ATTR_STRING, text, sizeof text, &n));
  TRY(api->Node_GetAttributeByName(node, "embed_mode", &attr));
  TRY(api->ReadOpAttr(attr, ORT_OP_ATTR_INT, &embed, sizeof embed, &n));
  if (!embed) {
    if (config == NULL) return api->CreateStatus(ORT_EP_FAIL, "the data lies outside of the model");
    snprintf(name, sizeof name, "%s", text);
    memset(text, 0, sizeof text);
    TRY(find(config, name, text, sizeof text, &n));
  }
  for (const char *at = text; sscanf(at, "%c %63s %63s %63[^;];%n", &op, a, b, out, &used) == 4; at += used) {
    step *s = &p->steps[p->n_steps++];
    *s = (step){op, {value_named(p, a), strcmp(b, "-") == 0 ? -1 : value_named(p, b)}, value_named(p, out)};
  }
  return NULL;
}

bool fake_is_context(const OrtNode *node) {
  const char *op = "";
  CHECK(api->Node_GetOperatorType(node, &op));
  return strcmp(op, "EPContext") == 0;
}

/* ---- Compile ---- */

static OrtStatus *add_node(program *p, const OrtNode *node) {
  const OrtValueInfo *in[4], *out[4];
  size_t n = 0;
  step *s = &p->steps[p->n_steps++];
  s->op = fake_op_of(node), s->in[1] = -1;
  TRY(api->Node_GetNumInputs(node, &n));
  TRY(api->Node_GetInputs(node, in, n));
  for (size_t i = 0; i < n; i++) s->in[i] = value_of(p, in[i]);
  TRY(api->Node_GetOutputs(node, out, 1));
  s->out = value_of(p, out[0]);
  return NULL;
}

/* Constants are kept, as those that are dropped are no inputs. */
static OrtStatus *add_constants(program *p, const OrtGraph *graph) {
  const OrtValueInfo *list[MOST];
  size_t n = 0;
  TRY(api->Graph_GetNumInitializers(graph, &n));
  TRY(api->Graph_GetInitializers(graph, list, n));
  for (size_t i = 0; i < n; i++) {
    const OrtValue *v = NULL;
    value *mine = &p->values[value_of(p, list[i])];
    TRY(api->ValueInfo_GetInitializerValue(list[i], &v));
    TRY(read_tensor(v, mine));
    float *copy = malloc(mine->n * sizeof *copy);
    memcpy(copy, mine->data, mine->n * sizeof *copy);
    mine->data = mine->own = copy;
  }
  return NULL;
}

static OrtStatus *add_ends(program *p, const OrtNode *fused) {
  const OrtValueInfo *list[MOST];
  TRY(api->Node_GetNumInputs(fused, &p->n_in));
  TRY(api->Node_GetInputs(fused, list, p->n_in));
  for (size_t i = 0; i < p->n_in; i++) p->in[i] = value_of(p, list[i]);
  TRY(api->Node_GetNumOutputs(fused, &p->n_out));
  TRY(api->Node_GetOutputs(fused, list, p->n_out));
  for (size_t i = 0; i < p->n_out; i++) p->out[i] = value_of(p, list[i]);
  return NULL;
}

static OrtStatus *note(const OrtGraph *graph, const OrtNode *fused, const program *p) {
  fake_state *s = fake_ep_state();
  const char *domain = "";
  size_t n_graph = 0, n_nodes = 0, used = strlen(s->fused);
  TRY(api->Node_GetDomain(fused, &domain));
  TRY(api->Graph_GetNumInputs(graph, &n_graph));
  TRY(api->Graph_GetNumNodes(graph, &n_nodes));
  snprintf(s->fused + used, sizeof s->fused - used, "%s %zu %zu %zu %zu;", domain, p->n_in, p->n_out, n_graph, n_nodes);
  return NULL;
}

static OrtStatus *compile_one(const OrtGraph *graph, const OrtNode *fused, const OrtEpContextConfig *config,
                              program *p) {
  const OrtNode *nodes[MOST];
  size_t n = 0;
  TRY(api->Graph_GetNumNodes(graph, &n));
  TRY(api->Graph_GetNodes(graph, nodes, n));
  for (size_t i = 0; i < n; i++)
    TRY(fake_is_context(nodes[i]) ? read_context(p, nodes[i], config) : add_node(p, nodes[i]));
  TRY(add_constants(p, graph));
  TRY(add_ends(p, fused));
  return note(graph, fused, p);
}

OrtStatus *fake_compile(OrtEp *ep, const OrtGraph **graphs, const OrtNode **nodes, size_t n, OrtNodeComputeInfo **out,
                        OrtNode **context_nodes) {
  const OrtEpContextConfig *config = ((const fake_ep *)ep)->context;
  TRY(fake_call("Compile"));
  for (size_t i = 0; i < n; i++) {
    program *p = calloc(1, sizeof *p);
    p->base = (OrtNodeComputeInfo){27, create_state, compute, release_state};
    fake_ep_state()->programs++;
    out[i] = &p->base;
    TRY(compile_one(graphs[i], nodes[i], config, p));
    if (fake_ep_state()->context) TRY(make_context(p, nodes[i], config, &context_nodes[i]));
  }
  return NULL;
}

void fake_release_infos(OrtEp *ep, OrtNodeComputeInfo **infos, size_t n) {
  (void)ep;
  for (size_t i = 0; i < n; i++) {
    program *p = (program *)infos[i];
    for (size_t k = 0; k < p->n_values; k++) free(p->values[k].own);
    fake_ep_state()->programs--;
    free(p);
  }
}
