/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/graph_read.c - GraphProto: one pass per kind of field, in the order that name resolution needs. */
#include "onnx/proto/onnx_fields.h"
#include "onnx/proto/reader.h"

static ox_status *note_sparse(ox_status *st, ox_str name) {
  return ox_status_note(st, "sparse tensor '%.*s'", (int)OX_MIN(name.n, 200), name.p);
}

static ox_status *charge_one(ox_reader *r, const ox_tensor *sparse) {
  size_t bytes;
  OX_TRY(ox_sparse_dense_bytes(sparse, &bytes));
  if (bytes > r->limits.dense_bytes)
    return ox_fail(OX_LIMIT, "wanted %zu bytes as a dense one; %zu are left of the limit for such tensors", bytes,
                   r->limits.dense_bytes);
  r->limits.dense_bytes -= bytes;
  return NULL;
}

/* All sparse initializers from |f| on, before the first of them takes any memory. */
static ox_status *charge_sparse(ox_reader *r, ox_wire w, ox_wire_field f) {
  ox_tensor_reader reader = r->tensors;
  reader.arena = &r->scratch;
  do {
    ox_tensor s;
    ox_str name;
    if (f.tag != OX_WIRE_LEN(OX_GRAPH_PROTO_SPARSE_INITIALIZER)) continue;
    ox_arena_reset(&r->scratch);
    OX_TRY(ox_sparse_read(&reader, f.bytes, &s, &name));
    OX_TRY(note_sparse(charge_one(r, &s), name));
  } while (ox_wire_next(&w, &f));
  return NULL;
}

/* As dense, unless the caller has its content. */
static ox_status *read_sparse(ox_reader *r, ox_graph *g, ox_str bytes, ox_tensor *out, ox_str *out_name) {
  ox_tensor s;
  bool given = false;
  OX_TRY(ox_sparse_read(&r->tensors, bytes, &s, out_name));
  *out = (ox_tensor){.kind = OX_TENSOR, .dtype = s.dtype, .shape = s.shape};
  if (g == r->m->graph) OX_TRY(note_sparse(ox_givens_take(&r->given, *out_name, out, &given), *out_name));
  if (!given) return note_sparse(ox_sparse_densify(&r->tensors, &s, out), *out_name);
  (void)ox_dtype_bytes(out->dtype, ox_shape_count(&out->shape), &out->bytes); /* it does: the content has as many */
  return NULL;
}

static ox_status *add_initializer(ox_reader *r, ox_graph *g, ox_str bytes, bool sparse) {
  ox_tensor t;
  ox_str bytes_name = {"", 0};
  const char *name;
  ox_id v;
  ox_arena_reset(&r->scratch);
  if (sparse) {
    OX_TRY(read_sparse(r, g, bytes, &t, &bytes_name));
  } else {
    ox_tensor_reader reader = r->tensors;
    if (g == r->m->graph) reader.given = &r->given;
    OX_TRY(ox_tensor_read(&reader, bytes, &t, &bytes_name));
  }
  OX_TRY(ox_read_name(&r->scratch, bytes_name, &name));
  v = *name ? ox_graph_find(g, name) : OX_NONE;
  if (v != OX_NONE) return ox_graph_make_const(g, v, &t); /* if an initializer is repeated, the last one counts */
  return ox_graph_add_const(g, name, &t, &v);
}

static ox_status *read_initializers(ox_reader *r, ox_str bytes, ox_graph *g) {
  ox_wire w = ox_wire_sub(bytes);
  bool charged = false;
  ox_wire_field f;
  while (ox_wire_next(&w, &f)) {
    OX_TRY(ox_watch_check(g->model->watch));
    if (f.tag == OX_WIRE_LEN(OX_GRAPH_PROTO_INITIALIZER)) {
      OX_TRY(add_initializer(r, g, f.bytes, false));
    } else if (f.tag == OX_WIRE_LEN(OX_GRAPH_PROTO_SPARSE_INITIALIZER)) {
      if (!charged) OX_TRY(charge_sparse(r, w, f));
      charged = true;
      OX_TRY(add_initializer(r, g, f.bytes, true));
    }
  }
  return ox_wire_end(&w, "GraphProto");
}

/* Before IR version 4 every initializer had to be listed among the inputs, so being listed did not mean that callers
 * may override it: such inputs become constants. */
static ox_status *read_inputs(ox_reader *r, ox_str bytes, ox_graph *g) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  while (ox_wire_next(&w, &f)) {
    if (f.tag != OX_WIRE_LEN(OX_GRAPH_PROTO_INPUT)) continue;
    const char *name;
    ox_type type;
    OX_TRY(ox_read_value_info(r, f.bytes, &name, &type));
    ox_id v = *name ? ox_graph_find(g, name) : OX_NONE;
    bool has_init = v != OX_NONE && ox_graph_value_at(g, v)->init;
    if (has_init && r->m->ir_version < 4) continue;
    if (v == OX_NONE) OX_TRY(ox_graph_add_value(g, name, &v));
    OX_TRY(ox_graph_add_input(g, v));
    if (!has_init || type.dtype != OX_UNDEFINED) ox_graph_value_at(g, v)->type = type;
  }
  return NULL;
}

/* A body may list an enclosing graph's value as its output. */
static ox_status *read_outputs(ox_reader *r, ox_str bytes, ox_graph *g) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  while (ox_wire_next(&w, &f)) {
    if (f.tag != OX_WIRE_LEN(OX_GRAPH_PROTO_OUTPUT)) continue;
    const char *name;
    ox_type type;
    ox_id v = OX_NONE;
    OX_TRY(ox_read_value_info(r, f.bytes, &name, &type));
    if (*name) OX_TRY(ox_graph_resolve(g, name, false, &v));
    if (v == OX_NONE) return ox_fail(OX_INVALID_MODEL, "output '%s' is not defined", name);
    OX_TRY(ox_graph_add_output(g, v));
    OX_TRY(ox_apply_value_info(r, g, f.bytes));
  }
  return NULL;
}

static ox_status *read_value_infos(ox_reader *r, ox_str bytes, ox_graph *g) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  while (ox_wire_next(&w, &f))
    if (f.tag == OX_WIRE_LEN(OX_GRAPH_PROTO_VALUE_INFO)) OX_TRY(ox_apply_value_info(r, g, f.bytes));
  return NULL;
}

static ox_status *read_parts(ox_reader *r, ox_str bytes, ox_graph *g) {
  OX_TRY(read_initializers(r, bytes, g)); /* this pass also checks that the bytes are well formed */
  OX_TRY(read_inputs(r, bytes, g));
  OX_TRY(ox_read_nodes(r, bytes, OX_WIRE_LEN(OX_GRAPH_PROTO_NODE), g));
  OX_TRY(read_outputs(r, bytes, g));
  return read_value_infos(r, bytes, g);
}

ox_status *ox_read_graph(ox_reader *r, ox_str bytes, ox_graph *g) {
  OX_TRY(ox_reader_enter(r));
  OX_TRY(ox_status_note(read_parts(r, bytes, g), "graph '%.200s'", g->name));
  ox_reader_leave(r);
  return NULL;
}
