/* SPDX-License-Identifier: Apache-2.0
 * examples/write_mobilenet.c - writes a network of MobileNetV2's shape (Sandler et al. 2018, table 2) with seeded random
 * weights, through the project's own graph and writer. usage: write_mobilenet OUT.onnx */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/graph.h"
#include "onnx/write.h"

typedef struct {
  ox_graph *g;
  uint64_t seed;
  ox_status *st; /* the first failure; later calls do nothing */
} net;

static double uniform(net *n) { /* SplitMix64 */
  uint64_t z = n->seed += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* Uniform in (-limit, limit), He's variance for |fan_in|. */
static ox_id weight(net *n, int rank, const int64_t *dims, int64_t fan_in) {
  int64_t count = 1;
  ox_id v = OX_NONE;
  for (int i = 0; i < rank; i++) count *= dims[i];
  float *data = n->st ? NULL : ox_arena_array(&n->g->model->arena, (size_t)count, sizeof *data);
  if (!data) {
    if (!n->st) n->st = ox_oom();
    return v;
  }
  float limit = (float)sqrt(6.0 / (double)fan_in);
  for (int64_t i = 0; i < count; i++) data[i] = (float)(2 * uniform(n) - 1) * limit;
  ox_tensor t = {.kind = OX_TENSOR, .dtype = OX_F32, .data = data, .bytes = (size_t)count * 4, .shape = ox_shape_of(rank, dims)};
  n->st = ox_graph_add_const(n->g, "weight", &t, &v);
  return v;
}

static ox_id node(net *n, const char *op, const ox_id *in, uint32_t n_in, ox_id *out_node) {
  ox_id v = OX_NONE;
  if (!n->st) n->st = ox_graph_add_value(n->g, op, &v);
  if (!n->st) n->st = ox_graph_add_node(n->g, op, "", NULL, in, n_in, &v, 1, out_node);
  return v;
}

static ox_id conv(net *n, ox_id x, int64_t cin, int64_t cout, int64_t k, int64_t stride, int64_t group, bool relu6) {
  const int64_t w[] = {cout, cin / group, k, k}, kernel[] = {k, k}, strides[] = {stride, stride};
  const int64_t pads[] = {k / 2, k / 2, k / 2, k / 2};
  const float zero = 0, six = 6;
  ox_id id, in[] = {x, weight(n, 4, w, cin / group * k * k), weight(n, 1, &cout, 600)};
  ox_id y = node(n, "Conv", in, 3, &id);
  if (!n->st) n->st = ox_node_set_ints(n->g, id, "kernel_shape", kernel, 2);
  if (!n->st) n->st = ox_node_set_ints(n->g, id, "strides", strides, 2);
  if (!n->st) n->st = ox_node_set_ints(n->g, id, "pads", pads, 4);
  if (!n->st) n->st = ox_node_set_int(n->g, id, "group", group);
  if (!relu6) return y;
  ox_id clip[3] = {y, OX_NONE, OX_NONE};
  if (!n->st) n->st = ox_graph_add_const_copy(n->g, "zero", OX_F32, 0, NULL, &zero, &clip[1]);
  if (!n->st) n->st = ox_graph_add_const_copy(n->g, "six", OX_F32, 0, NULL, &six, &clip[2]);
  return node(n, "Clip", clip, 3, &id);
}

static ox_id blocks(net *n, ox_id x) {
  static const struct {
    int64_t expand, channels, repeat, stride;
  } rows[] = {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  int64_t cin = 32;
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
    for (int64_t i = 0; i < rows[r].repeat; i++) {
      int64_t stride = i ? 1 : rows[r].stride, mid = cin * rows[r].expand;
      ox_id id, y = rows[r].expand == 1 ? x : conv(n, x, cin, mid, 1, 1, 1, true);
      y = conv(n, y, mid, mid, 3, stride, mid, true);
      y = conv(n, y, mid, rows[r].channels, 1, 1, 1, false);
      const ox_id both[] = {x, y};
      x = stride == 1 && cin == rows[r].channels ? node(n, "Add", both, 2, &id) : y;
      cin = rows[r].channels;
    }
  return conv(n, x, cin, 1280, 1, 1, 1, true);
}

static ox_status *build(ox_model *m) {
  net n = {.g = m->graph, .seed = 1};
  ox_id x = OX_NONE, id;
  const int64_t image[] = {1, 3, 224, 224}, classes[] = {1280, 1000};
  ox_shape in = ox_shape_of(4, image), out = ox_shape_of(2, (const int64_t[]){1, 1000});
  n.st = ox_model_set_opset(m, "", 17);
  m->ir_version = 8;
  if (!n.st) n.st = ox_graph_add_value(n.g, "input", &x);
  if (n.st) return n.st;
  n.g->values[x].type = ox_type_tensor(OX_F32, &in);
  n.st = ox_graph_add_input(n.g, x);
  ox_id y = blocks(&n, conv(&n, x, 3, 32, 3, 2, 1, true));
  y = node(&n, "GlobalAveragePool", &y, 1, &id);
  y = node(&n, "Flatten", &y, 1, &id);
  const ox_id last[] = {y, weight(&n, 2, classes, 1280)};
  y = node(&n, "MatMul", last, 2, &id);
  if (n.st) return n.st;
  n.g->values[y].type = ox_type_tensor(OX_F32, &out);
  return ox_graph_add_output(n.g, y);
}

int main(int argc, char **argv) {
  ox_model *m = NULL;
  if (argc != 2) {
    fprintf(stderr, "usage: write_mobilenet OUT.onnx\n");
    return 2;
  }
  ox_status *st = ox_model_create(ox_alloc_heap(), NULL, &m);
  if (!st) st = build(m);
  if (!st) st = ox_model_write_file(m, argv[1]);
  if (st) fprintf(stderr, "write_mobilenet: %s\n", ox_status_message(st));
  int failed = st != NULL;
  ox_status_free(st);
  ox_model_destroy(m);
  return failed;
}
