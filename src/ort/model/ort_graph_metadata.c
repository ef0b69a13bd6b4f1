/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_graph_metadata.c - what the model of a graph says of itself. */
#include <stdlib.h>

#include "ort/model/ort_read.h"
#include "ort/session/ort_metadata.h"

static OrtStatus *fill(const OrtGraph *g, OrtModelMetadata *m) {
  static const ort_model_facts none = {.producer = "", .domain = "", .doc = "", .graph = "", .graph_doc = ""};
  const ort_model_facts *facts = g->facts != NULL ? g->facts : &none;
  m->version = facts->version;
  ORT_TRY(ort_text_copy(facts->graph, &m->graph));
  ORT_TRY(ort_text_copy(facts->producer, &m->producer));
  ORT_TRY(ort_text_copy(facts->domain, &m->domain));
  ORT_TRY(ort_text_copy(facts->doc, &m->description));
  ORT_TRY(ort_text_copy(facts->graph_doc, &m->graph_description));
  return ort_pairs_copy(&facts->props, &m->custom);
}

OrtStatus *ort_Graph_GetModelMetadata(const OrtGraph *graph, OrtModelMetadata **out) {
  ORT_NEED(graph);
  ORT_NEED(out);
  *out = NULL;
  OrtModelMetadata *m = calloc(1, sizeof *m);
  OrtStatus *st = m != NULL ? fill(graph, m) : ort_out_of_memory();
  if (st == NULL) *out = m, m = NULL;
  ort_ReleaseModelMetadata(m);
  return st;
}
