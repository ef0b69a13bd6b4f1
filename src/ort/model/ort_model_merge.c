/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_model_merge.c - a model in bytes gets what the model editor adds: all fields are kept as they are, but
 * for those that are replaced. */
#include <string.h>

#include "ort/model/ort_model_edit.h"
#include "ort/ort_status.h"

static OrtStatus *broken(void) { return ort_fail(ORT_INVALID_PROTOBUF, "the model's bytes are no ModelProto"); }

static OrtStatus *merge_graph(const ort_field *base, const OrtGraph *g, ort_bytes *out) {
  const uint8_t *at = base->bytes, *end = at + base->n;
  ort_bytes graph = {0};
  ort_field f;
  OrtStatus *st = NULL;
  while (at < end && st == NULL) {
    if (!ort_next_field(&at, end, &f)) {
      st = broken();
      break;
    }
    bool replaced =
        (f.number == ORT_GRAPH_INPUT && g->n_inputs > 0) || (f.number == ORT_GRAPH_OUTPUT && g->n_outputs > 0);
    if (!replaced) ort_put_raw(&graph, f.whole, f.whole_n);
  }
  if (st == NULL) st = ort_graph_write(g, false, &graph);
  if (st == NULL) ort_put_message(out, ORT_MODEL_GRAPH, &graph);
  ort_bytes_deinit(&graph);
  return st;
}

/* The version of |domain| that |base| imports; 0: none. */
static int64_t opset_of(const ort_bytes *base, const char *domain) {
  const uint8_t *at = base->p, *end = at + base->n;
  ort_field f, g;
  while (at < end && ort_next_field(&at, end, &f)) {
    if (f.number != ORT_MODEL_OPSET || f.wire != 2) continue;
    const uint8_t *inner = f.bytes, *inner_end = f.bytes + f.n;
    size_t n = strlen(domain);
    bool same = n == 0;
    int64_t version = 0;
    while (inner < inner_end && ort_next_field(&inner, inner_end, &g)) {
      if (g.number == ORT_OPSET_DOMAIN && g.wire == 2) same = g.n == n && memcmp(g.bytes, domain, n) == 0;
      if (g.number == ORT_OPSET_VERSION) version = (int64_t)g.value;
    }
    if (same) return version;
  }
  return 0;
}

static OrtStatus *merge_opsets(const ort_bytes *base, const OrtModel *model, ort_bytes *out) {
  for (size_t i = 0; i < model->n_opsets; i++) {
    const char *domain = model->opset_domains[i];
    int64_t has = opset_of(base, domain);
    if (has != 0 && has != model->opset_versions[i])
      return ort_fail(ORT_INVALID_ARGUMENT, "Domain version can not be changed for '%s': the model has %lld, wanted %d",
                      domain, (long long)has, model->opset_versions[i]);
    if (has == 0) ort_opset_write(out, domain, model->opset_versions[i]);
  }
  return NULL;
}

OrtStatus *ort_model_merge(const ort_bytes *base, const OrtModel *model, ort_bytes *out) {
  const uint8_t *at = base->p, *end = at + base->n;
  ort_field f;
  while (at < end) {
    if (!ort_next_field(&at, end, &f)) return broken();
    if (f.number == ORT_MODEL_GRAPH && f.wire == 2)
      ORT_TRY(merge_graph(&f, model->graph, out));
    else
      ort_put_raw(out, f.whole, f.whole_n);
  }
  ORT_TRY(merge_opsets(base, model, out));
  return out->failed ? ort_out_of_memory() : NULL;
}
