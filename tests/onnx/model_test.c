/* SPDX-License-Identifier: Apache-2.0
 * onnx/model_test.c - whole models: contents, order, damage at every byte, limits, failing allocations. */
#include "onnx/model.h"

#include <stdio.h>

#include "onnx/byte_buf.h"
#include "onnx/proto/onnx_fields.h"
#include "onnx/proto/tensor.h"

static ox_status *read_bytes(byte_buf b, const ox_read_opts *opts, ox_model **m) {
  return ox_model_read(ox_alloc_heap(), b.p, b.n, opts, m);
}

static void test_a_rich_model(void **state) {
  (void)state;
  byte_buf b = bytes_of_text(RICH_MODEL);
  ox_model *m;
  CHECK_OK(read_bytes(b, NULL, &m));
  CHECK_OK(ox_graph_verify(m->graph));
  const ox_graph *g = m->graph;
  assert_int_equal(m->ir_version, 8), assert_int_equal(ox_model_opset(m, ""), 17);
  assert_string_equal(m->producer_name, "p"), assert_string_equal(m->props[0].value, "v");
  assert_int_equal(g->n_inputs, 3), assert_int_equal(g->n_outputs, 3), assert_int_equal(g->n_nodes, 6);
  const ox_graph_value *d = ox_graph_value_at(g, ox_graph_find(g, "d"));
  assert_true(d->is_input && d->init); /* overridable: not a constant */
  assert_null(ox_graph_const(g, ox_graph_find(g, "d")));
  assert_non_null(ox_graph_const(g, ox_graph_find(g, "w")));
  const ox_type *t = &ox_graph_value_at(g, ox_graph_find(g, "t"))->type;
  assert_int_equal(t->dtype, OX_F32), assert_int_equal(t->shape.dim[1], 3);
  assert_string_equal(ox_model_symbol_name(m, t->shape.dim[0]), "N");
  const ox_type *q = &ox_graph_value_at(g, ox_graph_find(g, "q"))->type;
  assert_int_equal(q->kind, OX_SEQUENCE), assert_int_equal(q->elem->dtype, OX_F32);
  assert_true(ox_graph_value_at(g, ox_graph_find(g, "o"))->type.optional);
  assert_int_equal(m->n_functions, 1);
  assert_string_equal(m->functions[0].body->nodes[0].attrs[0].ref, "alpha");
  const ox_node *sink = ox_graph_node(g, 5);
  assert_int_equal(ox_node_attr(sink, "ii")->v.kind, OX_ATTR_INTS_KIND);
  assert_int_equal(ox_node_attr(sink, "sp")->v.tensor->kind, OX_SPARSE);
  ox_model_destroy(m);
  byte_buf_free(&b);
}

static void test_nodes_in_any_order(void **state) {
  (void)state;
  ox_model *m = model_of_text(
      "g (float x, bool c) => (float y) { y = If (c) <then_branch = t () => (u) { u = Neg (a) },"
      " else_branch = e () => (v) { v = Abs (w) w = Neg (a) }> a = Abs (x) }");
  CHECK_OK(ox_graph_verify(m->graph));
  CHECK_OK(ox_graph_compact(m->graph));
  assert_string_equal(m->graph->nodes[0].op, "Abs");
  ox_model_destroy(m);
}

/* A small model; |body| writes the fields of its graph. */
static byte_buf small_model(int64_t ir, void (*body)(ox_wire_out *o)) {
  ox_wire_out o = ox_wire_out_of(ox_alloc_heap());
  ox_out_varint(&o, OX_MODEL_PROTO_IR_VERSION, (uint64_t)ir);
  if (ir >= 3) {
    ox_wire_mark opset = ox_out_begin(&o, OX_MODEL_PROTO_OPSET_IMPORT);
    ox_out_varint(&o, OX_OPERATOR_SET_ID_PROTO_VERSION, 7);
    ox_out_end(&o, opset);
  }
  ox_wire_mark graph = ox_out_begin(&o, OX_MODEL_PROTO_GRAPH);
  body(&o);
  ox_out_end(&o, graph);
  return byte_buf_of(&o);
}

static void value_info(ox_wire_out *o, uint32_t number, const char *name) {
  ox_wire_mark m = ox_out_begin(o, number);
  ox_out_str(o, OX_VALUE_INFO_PROTO_NAME, name);
  ox_out_end(o, m);
}

static void initializer(ox_wire_out *o, const char *name, float value) {
  ox_wire_mark m = ox_out_begin(o, OX_GRAPH_PROTO_INITIALIZER);
  ox_out_varint(o, OX_TENSOR_PROTO_DATA_TYPE, OX_F32);
  if (name) ox_out_str(o, OX_TENSOR_PROTO_NAME, name);
  ox_out_f32(o, OX_TENSOR_PROTO_FLOAT_DATA, value);
  ox_out_end(o, m);
}

static void node(ox_wire_out *o, const char *op, const char *in, const char *out) {
  ox_wire_mark m = ox_out_begin(o, OX_GRAPH_PROTO_NODE);
  if (in) ox_out_str(o, OX_NODE_PROTO_INPUT, in);
  if (out) ox_out_str(o, OX_NODE_PROTO_OUTPUT, out);
  if (op) ox_out_str(o, OX_NODE_PROTO_OP_TYPE, op);
  ox_out_end(o, m);
}

static void initializer_listed_as_input(ox_wire_out *o) {
  value_info(o, OX_GRAPH_PROTO_INPUT, "x"), value_info(o, OX_GRAPH_PROTO_INPUT, "w"), initializer(o, "w", 1),
      initializer(o, "w", 2);
  initializer(o, NULL, 3);
  node(o, "Add", "w", "y"), value_info(o, OX_GRAPH_PROTO_OUTPUT, "y");
}

static void test_initializers_before_ir_4_are_constant(void **state) {
  (void)state;
  for (int64_t ir = 1; ir <= 4; ir++) {
    byte_buf b = small_model(ir, initializer_listed_as_input);
    ox_model *m;
    CHECK_OK(read_bytes(b, NULL, &m));
    ox_id w = ox_graph_find(m->graph, "w");
    assert_int_equal(m->graph->n_inputs, ir < 4 ? 1 : 2);
    assert_int_equal(ox_graph_const(m->graph, w) != NULL, ir < 4);
    assert_true(*(ox_f32u *)ox_graph_value_at(m->graph, w)->init->data == 2); /* the last one counts */
    assert_int_equal(ox_model_opset(m, ""), ir < 3 ? 1 : 7);
    ox_model_destroy(m);
    byte_buf_free(&b);
  }
}

static void undefined_input(ox_wire_out *o) {
  node(o, "Neg", "nowhere", "y"), value_info(o, OX_GRAPH_PROTO_OUTPUT, "y");
}
static void undefined_output(ox_wire_out *o) { value_info(o, OX_GRAPH_PROTO_OUTPUT, "y"); }
static void no_op(ox_wire_out *o) { node(o, NULL, NULL, "y"); }
static void two_producers(ox_wire_out *o) { node(o, "A", NULL, "y"), node(o, "B", NULL, "y"); }
static void cycle(ox_wire_out *o) { node(o, "A", "z", "y"), node(o, "B", "y", "z"); }
static void produces_input(ox_wire_out *o) { value_info(o, OX_GRAPH_PROTO_INPUT, "y"), node(o, "A", NULL, "y"); }
static void produces_initializer(ox_wire_out *o) { initializer(o, "y", 1), node(o, "A", NULL, "y"); }
static void same_input_twice(ox_wire_out *o) {
  value_info(o, OX_GRAPH_PROTO_INPUT, "x"), value_info(o, OX_GRAPH_PROTO_INPUT, "x");
}
static void name_with_nul(ox_wire_out *o) {
  ox_wire_mark m = ox_out_begin(o, OX_GRAPH_PROTO_INPUT);
  ox_out_bytes(o, OX_VALUE_INFO_PROTO_NAME, "a\0b", 3);
  ox_out_end(o, m);
}
static void attr_ref_outside(ox_wire_out *o) {
  ox_wire_mark n = ox_out_begin(o, OX_GRAPH_PROTO_NODE);
  ox_out_str(o, OX_NODE_PROTO_OP_TYPE, "Elu");
  ox_wire_mark a = ox_out_begin(o, OX_NODE_PROTO_ATTRIBUTE);
  ox_out_str(o, OX_ATTRIBUTE_PROTO_NAME, "alpha"), ox_out_str(o, OX_ATTRIBUTE_PROTO_REF_ATTR_NAME, "beta");
  ox_out_varint(o, OX_ATTRIBUTE_PROTO_TYPE, OX_ATTR_FLOAT_KIND);
  ox_out_end(o, a);
  ox_out_end(o, n);
}
static void attr_kind(ox_wire_out *o) {
  ox_wire_mark n = ox_out_begin(o, OX_GRAPH_PROTO_NODE);
  ox_out_str(o, OX_NODE_PROTO_OP_TYPE, "Elu");
  ox_wire_mark a = ox_out_begin(o, OX_NODE_PROTO_ATTRIBUTE);
  ox_out_str(o, OX_ATTRIBUTE_PROTO_NAME, "alpha"), ox_out_varint(o, OX_ATTRIBUTE_PROTO_TYPE, 77);
  ox_out_end(o, a);
  ox_out_end(o, n);
}

static void test_invalid_graphs(void **state) {
  (void)state;
  static const struct {
    void (*body)(ox_wire_out *o);
    const char *error;
  } rows[] = {
      {undefined_input, "'nowhere', is not defined"},
      {undefined_output, "'y' is not defined"},
      {no_op, "no op_type"},
      {two_producers, "already defined by another node"},
      {cycle, "has a cycle"},
      {produces_input, "already defined by a graph input"},
      {produces_initializer, "already defined by an initializer"},
      {same_input_twice, "defined twice"},
      {name_with_nul, "NUL"},
      {attr_ref_outside, "is not in a function"},
      {attr_kind, "77 is not an attribute type"},
  };
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    byte_buf b = small_model(8, rows[i].body);
    ox_model *m;
    CHECK_FAILS(read_bytes(b, NULL, &m), OX_INVALID_MODEL, rows[i].error);
    assert_null(m);
    byte_buf_free(&b);
  }
}

static void test_what_is_no_model(void **state) {
  (void)state;
  ox_model *m;
  byte_buf empty = {(unsigned char *)"", 0},
           lfs = {(unsigned char *)"version https://git-lfs.github.com/spec/v1\n", 43};
  byte_buf text = {(unsigned char *)"hello, world\n", 13};
  CHECK_FAILS(read_bytes(empty, NULL, &m), OX_INVALID_MODEL, "empty");
  CHECK_FAILS(read_bytes(lfs, NULL, &m), OX_INVALID_MODEL, "Git LFS");
  CHECK_FAILS(read_bytes(text, NULL, &m), OX_INVALID_MODEL, "");
  byte_buf head = {(unsigned char *)"\x08\x08", 2};
  CHECK_FAILS(read_bytes(head, NULL, &m), OX_INVALID_MODEL, "no graph");
  byte_buf no_ir = {(unsigned char *)"\x3a\x00", 2};
  CHECK_FAILS(read_bytes(no_ir, NULL, &m), OX_INVALID_MODEL, "no ir_version");
  byte_buf no_opset = {(unsigned char *)"\x08\x08\x3a\x00", 4};
  CHECK_FAILS(read_bytes(no_opset, NULL, &m), OX_INVALID_MODEL, "no opset_import");
}

/* Reads damaged bytes from a block of exactly their size, so that sanitizers see every read beyond it. */
static void read_damaged(const unsigned char *bytes, size_t n) {
  unsigned char *copy = malloc(n ? n : 1);
  memcpy(copy, bytes, n);
  ox_model *m;
  ox_read_opts opts = {.max_dense_bytes = 1 << 20};
  ox_status *st = ox_model_read(ox_alloc_heap(), copy, n, &opts, &m);
  if (!st) CHECK_OK(ox_graph_verify(m->graph));
  assert_true((st == NULL) == (m != NULL));
  ox_status_free(st);
  ox_model_destroy(m);
  free(copy);
}

static void test_truncation_at_every_byte(void **state) {
  (void)state;
  byte_buf b = bytes_of_text(RICH_MODEL);
  for (size_t n = 0; n < b.n; n++) read_damaged(b.p, n);
  byte_buf_free(&b);
}

static void test_flipped_bits(void **state) {
  (void)state;
  byte_buf b = bytes_of_text(RICH_MODEL);
  uint64_t seed = 1;
  for (int round = 0; round < 20000; round++) {
    size_t at[3];
    unsigned char bit[3];
    for (int k = 0; k < 3; k++) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      at[k] = (size_t)(seed >> 33) % b.n, bit[k] = (unsigned char)(1u << (seed >> 30 & 7));
      b.p[at[k]] ^= bit[k];
    }
    read_damaged(b.p, b.n);
    for (int k = 3; k-- > 0;) b.p[at[k]] ^= bit[k];
  }
  byte_buf_free(&b);
}

static void test_every_failed_allocation_is_clean(void **state) {
  (void)state;
  byte_buf b = bytes_of_text(RICH_MODEL);
  for (long n = 0;; n++) {
    counting_alloc c = {.fail_at = n};
    ox_model *m;
    ox_status *st = ox_model_read(counting_alloc_of(&c), b.p, b.n, NULL, &m);
    ox_model_destroy(m);
    assert_int_equal(c.live, 0);
    if (!st) break;
    assert_int_equal(ox_status_code(st), OX_OUT_OF_MEMORY);
    ox_status_free(st);
  }
  byte_buf_free(&b);
}

/* Wraps the graph in |levels| bodies: n = If <then_branch = (graph)>. */
static byte_buf nested_graphs(int levels) {
  ox_wire_out o = ox_wire_out_of(ox_alloc_heap());
  ox_wire_mark marks[3 * 4096];
  int n = 0;
  ox_out_varint(&o, OX_MODEL_PROTO_IR_VERSION, 8);
  ox_wire_mark opset = ox_out_begin(&o, OX_MODEL_PROTO_OPSET_IMPORT);
  ox_out_varint(&o, OX_OPERATOR_SET_ID_PROTO_VERSION, 7);
  ox_out_end(&o, opset);
  marks[n++] = ox_out_begin(&o, OX_MODEL_PROTO_GRAPH);
  for (int i = 0; i < levels; i++) {
    marks[n++] = ox_out_begin(&o, OX_GRAPH_PROTO_NODE);
    ox_out_str(&o, OX_NODE_PROTO_OP_TYPE, "If");
    marks[n++] = ox_out_begin(&o, OX_NODE_PROTO_ATTRIBUTE);
    ox_out_str(&o, OX_ATTRIBUTE_PROTO_NAME, "then_branch"),
        ox_out_varint(&o, OX_ATTRIBUTE_PROTO_TYPE, OX_ATTR_GRAPH_KIND);
    marks[n++] = ox_out_begin(&o, OX_ATTRIBUTE_PROTO_G);
  }
  while (n) ox_out_end(&o, marks[--n]);
  return byte_buf_of(&o);
}

static void test_limits(void **state) {
  (void)state;
  ox_model *m;
  byte_buf b = nested_graphs(50);
  CHECK_OK(read_bytes(b, NULL, &m));
  ox_model_destroy(m);
  CHECK_FAILS(read_bytes(b, &(ox_read_opts){.max_depth = 50}, &m), OX_LIMIT, "deeper than 50");
  CHECK_FAILS(read_bytes(b, &(ox_read_opts){.max_nodes = 49}, &m), OX_LIMIT, "more than 49 nodes");
  byte_buf_free(&b);
  b = nested_graphs(4000);
  CHECK_FAILS(read_bytes(b, NULL, &m), OX_LIMIT, "deeper than 64");
  byte_buf_free(&b);
}

static void huge_sparse(ox_wire_out *o) {
  ox_wire_mark s = ox_out_begin(o, OX_GRAPH_PROTO_SPARSE_INITIALIZER);
  ox_wire_mark v = ox_out_begin(o, OX_SPARSE_TENSOR_PROTO_VALUES);
  ox_out_varint(o, OX_TENSOR_PROTO_DIMS, 0), ox_out_varint(o, OX_TENSOR_PROTO_DATA_TYPE, OX_F32),
      ox_out_str(o, OX_TENSOR_PROTO_NAME, "s");
  ox_out_end(o, v);
  v = ox_out_begin(o, OX_SPARSE_TENSOR_PROTO_INDICES);
  ox_out_varint(o, OX_TENSOR_PROTO_DIMS, 0), ox_out_varint(o, OX_TENSOR_PROTO_DATA_TYPE, OX_I64);
  ox_out_end(o, v);
  ox_out_varint(o, OX_SPARSE_TENSOR_PROTO_DIMS, (uint64_t)1 << 40);
  ox_out_end(o, s);
}

static void test_a_sparse_bomb(void **state) {
  (void)state;
  ox_model *m;
  byte_buf b = small_model(8, huge_sparse);
  CHECK_FAILS(read_bytes(b, NULL, &m), OX_LIMIT, "as a dense one");
  byte_buf_free(&b);
}

/* Each value of a few bits goes to its place and leaves its neighbours alone. */
static void test_sparse_of_small_elements(void **state) {
  (void)state;
  static const uint32_t dtypes[] = {OX_U2, OX_I4, OX_F6E2M3, OX_U8};
  for (size_t i = 0; i < OX_COUNT(dtypes); i++) {
    unsigned bits = dtypes[i] == OX_U2 ? 2 : dtypes[i] == OX_I4 ? 4 : dtypes[i] == OX_F6E2M3 ? 6 : 8;
    unsigned char values[4] = {0}, dense[32] = {0};
    static const int64_t at[4] = {0, 1, 3, 18};
    for (size_t k = 0; k < 4; k++) {
      if (bits < 8)
        ox_bits_set(values, k, bits, (unsigned)k + 5), ox_bits_set(dense, (size_t)at[k], bits, (unsigned)k + 5);
      if (bits == 8) values[k] = dense[at[k]] = (unsigned char)(k + 5);
    }
    ox_arena arena;
    ox_arena_init(&arena, ox_alloc_heap());
    ox_wire_out o = ox_wire_out_of(ox_alloc_heap());
    ox_wire_mark part = ox_out_begin(&o, OX_SPARSE_TENSOR_PROTO_VALUES);
    ox_out_varint(&o, OX_TENSOR_PROTO_DIMS, 4), ox_out_varint(&o, OX_TENSOR_PROTO_DATA_TYPE, dtypes[i]);
    ox_out_bytes(&o, OX_TENSOR_PROTO_RAW_DATA, values, (4 * bits + 7) / 8);
    ox_out_end(&o, part);
    part = ox_out_begin(&o, OX_SPARSE_TENSOR_PROTO_INDICES);
    ox_out_varint(&o, OX_TENSOR_PROTO_DIMS, 4), ox_out_varint(&o, OX_TENSOR_PROTO_DATA_TYPE, OX_I64);
    ox_out_bytes(&o, OX_TENSOR_PROTO_RAW_DATA, at, sizeof at);
    ox_out_end(&o, part);
    ox_out_varint(&o, OX_SPARSE_TENSOR_PROTO_DIMS, 19);
    byte_buf b = byte_buf_of(&o);
    ox_tensor_reader r = {.arena = &arena};
    ox_tensor sparse, t;
    CHECK_OK(ox_sparse_read(&r, (ox_str){(char *)b.p, b.n}, &sparse, NULL));
    CHECK_OK(ox_sparse_densify(&r, &sparse, &t));
    assert_int_equal(t.bytes, (19 * bits + 7) / 8);
    assert_memory_equal(t.data, dense, t.bytes);
    byte_buf_free(&b);
    ox_arena_deinit(&arena);
  }
}

static void test_files(void **state) {
  (void)state;
  ox_model *m;
  CHECK_FAILS(ox_model_read_file(ox_alloc_heap(), "no/such/file.onnx", NULL, &m), OX_NO_SUCH_FILE, "no/such/file.onnx");
  CHECK_FAILS(ox_model_read_file(ox_alloc_heap(), "/", NULL, &m), OX_NO_SUCH_FILE, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_rich_model),
      cmocka_unit_test(test_nodes_in_any_order),
      cmocka_unit_test(test_initializers_before_ir_4_are_constant),
      cmocka_unit_test(test_invalid_graphs),
      cmocka_unit_test(test_what_is_no_model),
      cmocka_unit_test(test_truncation_at_every_byte),
      cmocka_unit_test(test_flipped_bits),
      cmocka_unit_test(test_every_failed_allocation_is_clean),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_a_sparse_bomb),
      cmocka_unit_test(test_sparse_of_small_elements),
      cmocka_unit_test(test_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
