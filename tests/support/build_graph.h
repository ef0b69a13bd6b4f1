/* SPDX-License-Identifier: Apache-2.0
 * support/build_graph.h - short calls to build a graph in a test; every failure ends the test. */
#ifndef OX_TESTS_BUILD_GRAPH_H
#define OX_TESTS_BUILD_GRAPH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "ops/builtin.h"
#include "support/check.h"

static inline ox_model *bg_model(int64_t opset) {
  ox_model *m;
  CHECK_OK(ox_model_create(ox_alloc_heap(), ox_ops_cpu(), &m));
  CHECK_OK(ox_model_set_opset(m, "", opset));
  return m;
}

static inline ox_id bg_value(ox_graph *g, const char *name) {
  ox_id v = OX_NONE;
  if (*name) CHECK_OK(ox_graph_resolve(g, name, true, &v));
  return v;
}

/* Dimensions by name: a number, "?" or a symbol, e.g. "batch,3,?"; NULL: not even the rank. */
static inline ox_type bg_type(ox_graph *g, uint32_t dtype, const char *dims) {
  ox_shape s = {.rank = dims ? 0 : -1};
  while (dims && *dims) {
    char word[64];
    size_t n = strcspn(dims, ",");
    snprintf(word, sizeof word, "%.*s", (int)n, dims);
    int64_t d = -1;
    if (word[0] >= '0' && word[0] <= '9')
      d = atoll(word);
    else if (word[0] != '?')
      CHECK_OK(ox_model_symbol(g->model, word, &d));
    s.dim[s.rank++] = d;
    dims += n + (dims[n] == ',');
  }
  return ox_type_tensor(dtype, &s);
}

static inline ox_id bg_input(ox_graph *g, const char *name, uint32_t dtype, const char *dims) {
  ox_id v = bg_value(g, name);
  g->values[v].type = bg_type(g, dtype, dims);
  CHECK_OK(ox_graph_add_input(g, v));
  return v;
}

static inline void bg_output(ox_graph *g, const char *name) {
  CHECK_OK(ox_graph_add_output(g, ox_graph_find(g, name)));
}

/* "a b = Op(x, y)" with "com.microsoft.Op" for other domains; "_" is an omitted input. The node's name is its output.
 */
static inline ox_id bg_node(ox_graph *g, const char *text) {
  char copy[512], op[128], domain[64] = "";
  ox_id in[16], out[16], id;
  uint32_t n_in = 0, n_out = 0;
  snprintf(copy, sizeof copy, "%s", text);
  char *eq = strstr(copy, " = "), *open = strchr(copy, '('), *save = NULL;
  assert_non_null(eq);
  assert_non_null(open);
  snprintf(op, sizeof op, "%.*s", (int)(open - eq - 3), eq + 3);
  *eq = 0, *strchr(open, ')') = 0;
  char *dot = strrchr(op, '.');
  if (dot) snprintf(domain, sizeof domain, "%.*s", (int)(dot - op), op);
  for (char *w = strtok_r(open + 1, ", ", &save); w; w = strtok_r(NULL, ", ", &save))
    in[n_in++] = strcmp(w, "_") == 0 ? OX_NONE : bg_value(g, w);
  for (char *w = strtok_r(copy, ", ", &save); w; w = strtok_r(NULL, ", ", &save))
    out[n_out++] = strcmp(w, "_") == 0 ? OX_NONE : bg_value(g, w);
  const char *name = out[0] != OX_NONE ? g->values[out[0]].name : "";
  CHECK_OK(ox_graph_add_node(g, dot ? dot + 1 : op, domain, name, in, n_in, out, n_out, &id));
  return id;
}

static inline ox_id bg_const(ox_graph *g, const char *name, uint32_t dtype, const char *dims, const void *data) {
  ox_type t = bg_type(g, dtype, dims);
  ox_id v;
  CHECK_OK(ox_graph_add_const_copy(g, name, dtype, t.shape.rank, t.shape.dim, data, &v));
  return v;
}

static inline void bg_i64(ox_graph *g, const char *name, int64_t v) { bg_const(g, name, OX_I64, "", &v); }
static inline void bg_i64s(ox_graph *g, const char *name, int n, const int64_t *v) {
  char dims[24];
  snprintf(dims, sizeof dims, "%d", n);
  bg_const(g, name, OX_I64, dims, v);
}
static inline void bg_f32(ox_graph *g, const char *name, float v) { bg_const(g, name, OX_F32, "", &v); }

/* All zeros but for a ramp, enough for weights. */
static inline void bg_weight(ox_graph *g, const char *name, const char *dims) {
  static float data[1 << 16];
  for (size_t i = 0; i < sizeof data / sizeof *data; i++) data[i] = (float)(i % 13) - 6;
  bg_const(g, name, OX_F32, dims, data);
}

/* The shape of a value as text, e.g. "[s0,3]". */
static inline const char *bg_shape(const ox_graph *g, const char *name, char *buf) {
  ox_id v = ox_graph_find(g, name);
  if (v == OX_NONE) fail_msg("no value '%s'", name);
  return ox_shape_text(&g->values[v].type.shape, buf);
}

static inline void bg_put(void *ctx, const char *line) {
  char *text = ctx;
  if (strlen(text) + strlen(line) + 2 < 16384) strcat(strcat(text, line), "\n");
}

/* The live nodes in order, e.g. "Conv Relu"; other domains than ONNX's are left out. */
static inline const char *bg_ops(const ox_graph *g, char *buf) {
  char *p = buf;
  *p = 0;
  for (ox_id i = 0; i < g->n_nodes; i++)
    if (!g->nodes[i].dead) p += sprintf(p, "%s%s", p == buf ? "" : " ", g->nodes[i].op);
  return buf;
}

/* The producer of value |name|. */
static inline const ox_node *bg_producer(const ox_graph *g, const char *name) {
  ox_id v = ox_graph_find(g, name);
  if (v == OX_NONE || g->values[v].producer == OX_NONE) fail_msg("nothing produces '%s'", name);
  return &g->nodes[g->values[v].producer];
}

#endif
