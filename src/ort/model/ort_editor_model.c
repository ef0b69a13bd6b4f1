/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_editor_model.c - the model editor's models, and sessions of them. */
#include "ort/model/ort_editor_model.h"

#include <stdlib.h>
#include <string.h>

#include "ort/model/ort_model_write.h"
#include "ort/model/ort_names.h"
#include "ort/model/ort_read.h"
#include "ort/ort_alive.h"

/* ---- models ---- */

void ort_ReleaseModel(OrtModel *model) {
  if (model == NULL) return;
  for (size_t i = 0; i < model->n_opsets; i++) free(model->opset_domains[i]);
  free(model->opset_domains);
  free(model->opset_versions);
  ort_graph_release(model->graph);
  free(model);
}

static OrtStatus *copy_opsets(OrtModel *m, const char *const *domains, const int *versions, size_t n) {
  m->opset_domains = calloc(n + 1, sizeof *m->opset_domains);
  m->opset_versions = calloc(n + 1, sizeof *m->opset_versions);
  if (m->opset_domains == NULL || m->opset_versions == NULL) return ort_out_of_memory();
  for (; m->n_opsets < n; m->n_opsets++) {
    if (domains[m->n_opsets] == NULL) return ort_null_argument("CreateModel", "domain_names[i]");
    ORT_TRY(ort_text_copy(domains[m->n_opsets], &m->opset_domains[m->n_opsets]));
    m->opset_versions[m->n_opsets] = versions[m->n_opsets];
  }
  return NULL;
}

OrtStatus *ort_editor_CreateModel(const char *const *domain_names, const int *opset_versions, size_t opset_entries_len,
                                  OrtModel **model) {
  if (opset_entries_len > 0) ORT_NEED(domain_names);
  if (opset_entries_len > 0) ORT_NEED(opset_versions);
  ORT_NEED(model);
  *model = NULL;
  OrtModel *m = calloc(1, sizeof *m);
  OrtStatus *st = m != NULL ? copy_opsets(m, domain_names, opset_versions, opset_entries_len) : ort_out_of_memory();
  if (st == NULL) *model = m, m = NULL;
  ort_ReleaseModel(m);
  return st;
}

OrtStatus *ort_editor_AddGraphToModel(OrtModel *model, OrtGraph *graph) {
  ORT_NEED(model);
  ORT_NEED(graph);
  if (model->graph != NULL) return ort_fail(ORT_INVALID_ARGUMENT, "AddGraphToModel: the model has a graph already");
  if (!graph->editor || graph->owned)
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "AddGraphToModel: the graph '%s' was not made by the model editor, or is a "
                    "model's already",
                    graph->name);
  graph->owned = true;
  model->graph = graph;
  return NULL;
}

/* ---- checks ---- */

static bool imports(const OrtModel *model, const char *domain) {
  size_t i = 0;
  while (i < model->n_opsets && strcmp(model->opset_domains[i], domain) != 0) i++;
  return i < model->n_opsets;
}

static bool add_defined(const OrtGraph *g, ort_names *names) {
  bool ok = true;
  for (size_t i = 0; i < g->n_inputs; i++) ok = ok && ort_names_add(names, g->inputs[i]->name);
  for (size_t i = 0; i < g->n_initializers; i++) ok = ok && ort_names_add(names, g->initializers[i]->name);
  for (size_t i = 0; i < g->n_nodes; i++)
    for (size_t k = 0; k < g->nodes[i]->n_out; k++) ok = ok && ort_names_add(names, g->nodes[i]->out_names[k]);
  return ok;
}

/* Every name that a node reads is something's. */
static OrtStatus *check_reads(const OrtGraph *g) {
  ort_names names = {0};
  OrtStatus *st = NULL;
  if (!add_defined(g, &names)) st = ort_out_of_memory();
  ort_names_sort(&names);
  for (size_t i = 0; i < g->n_nodes && st == NULL; i++)
    for (size_t k = 0; k < g->nodes[i]->n_in && st == NULL; k++) {
      const char *name = g->nodes[i]->in_names[k];
      if (*name != '\0' && !ort_names_have(&names, name))
        st = ort_fail(ORT_INVALID_ARGUMENT,
                      "Invalid model. Input '%s' of node '%s' (%s) is no input of the graph, no initializer and no "
                      "node's output",
                      name, g->nodes[i]->name, g->nodes[i]->op);
    }
  ort_names_deinit(&names);
  return st;
}

OrtStatus *ort_model_check(const OrtModel *model) {
  if (model->graph == NULL) return ort_fail(ORT_INVALID_ARGUMENT, "the model has no graph (AddGraphToModel)");
  if (!imports(model, ""))
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "the model does not say which version of ONNX's operators it uses (domain '')");
  return check_reads(model->graph);
}

/* ---- sessions ---- */

OrtStatus *ort_options_for(const OrtSessionOptions *options, OrtSessionOptions **out) {
  return options != NULL ? ort_CloneSessionOptions(options, out) : ort_CreateSessionOptions(out);
}

OrtStatus *ort_session_create_from_model(const OrtEnv *env, const OrtModel *model, const OrtSessionOptions *options,
                                         OrtSession **out) {
  ort_bytes bytes = {0};
  OrtSessionOptions *own = NULL;
  *out = NULL;
  OrtStatus *st = ort_model_check(model);
  if (st == NULL) st = ort_model_write(model, false, &bytes);
  if (st == NULL) st = ort_options_for(options, &own);
  if (st == NULL) st = ort_model_give(model, own);
  if (st == NULL) st = ort_session_create(env, NULL, bytes.p, bytes.n, own, out);
  ort_ReleaseSessionOptions(own);
  ort_bytes_deinit(&bytes);
  return st;
}

OrtStatus *ort_editor_CreateSessionFromModel(const OrtEnv *env, const OrtModel *model, const OrtSessionOptions *options,
                                             OrtSession **out) {
  ORT_ALIVE(env, ORT_ALIVE_ENV);
  ORT_NEED(model);
  ORT_NEED(out);
  return ort_session_create_from_model(env, model, options, out);
}
