/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/model_read.c - ModelProto: metadata, functions, then the main graph. */
#include <string.h>

#include "onnx/proto/onnx_fields.h"
#include "onnx/proto/reader.h"

enum { DEFAULT_DEPTH = 64, DEFAULT_NODES = 16 << 20, DEFAULT_DENSE = 1 << 30 };

typedef struct model_parts {
  ox_str graph;
  uint32_t n_functions, n_props, n_opsets;
} model_parts;

static ox_status *read_text(ox_reader *r, ox_str s, const char **out) {
  *out = ox_arena_str(&r->m->arena, s.p, s.n);
  return *out ? NULL : ox_oom();
}

/* Everything but the graph and the functions. */
static ox_status *read_head(ox_reader *r, ox_str bytes, model_parts *p) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  ox_model *m = r->m;
  while (ox_wire_next(&w, &f)) switch (f.tag) {
      case OX_WIRE_VARINT(OX_MODEL_PROTO_IR_VERSION):
        m->ir_version = (int64_t)f.value;
        break;
      case OX_WIRE_LEN(OX_MODEL_PROTO_PRODUCER_NAME):
        OX_TRY(read_text(r, f.bytes, &m->producer_name));
        break;
      case OX_WIRE_LEN(OX_MODEL_PROTO_PRODUCER_VERSION):
        OX_TRY(read_text(r, f.bytes, &m->producer_version));
        break;
      case OX_WIRE_LEN(OX_MODEL_PROTO_DOMAIN):
        OX_TRY(read_text(r, f.bytes, &m->domain));
        break;
      case OX_WIRE_VARINT(OX_MODEL_PROTO_MODEL_VERSION):
        m->model_version = (int64_t)f.value, m->has_model_version = true;
        break;
      case OX_WIRE_LEN(OX_MODEL_PROTO_DOC_STRING):
        OX_TRY(read_text(r, f.bytes, &m->doc));
        break;
      case OX_WIRE_LEN(OX_MODEL_PROTO_GRAPH):
        p->graph = f.bytes;
        break;
      case OX_WIRE_LEN(OX_MODEL_PROTO_OPSET_IMPORT): {
        ox_opset o;
        OX_TRY(ox_read_opset(r, f.bytes, &o));
        OX_TRY(ox_model_set_opset(m, o.domain, o.version));
        break;
      }
      case OX_WIRE_LEN(OX_MODEL_PROTO_METADATA_PROPS):
        p->n_props++;
        break;
      case OX_WIRE_LEN(OX_MODEL_PROTO_FUNCTIONS):
        p->n_functions++;
        break;
      default:
        break;
    }
  return ox_wire_end(&w, "ModelProto");
}

static ox_status *check_head(ox_reader *r, const model_parts *p) {
  ox_model *m = r->m;
  if (!p->graph.p) return ox_fail(OX_INVALID_MODEL, "the bytes are not an ONNX model: there is no graph");
  if (m->ir_version < 1) return ox_fail(OX_INVALID_MODEL, "the model has no ir_version");
  if (m->n_opsets) return NULL;
  if (m->ir_version >= 3) return ox_fail(OX_INVALID_MODEL, "the model has no opset_import");
  return ox_model_set_opset(m, "", 1);
}

/* The name is read first: errors in the graph mention it. */
static ox_status *read_main(ox_reader *r, ox_str bytes) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  while (ox_wire_next(&w, &f)) {
    if (f.tag == OX_WIRE_LEN(OX_GRAPH_PROTO_NAME)) OX_TRY(ox_read_name(&r->m->arena, f.bytes, &r->m->graph->name));
    if (f.tag == OX_WIRE_LEN(OX_GRAPH_PROTO_DOC_STRING)) OX_TRY(read_text(r, f.bytes, &r->m->graph_doc));
  }
  return ox_read_graph(r, bytes, r->m->graph);
}

static ox_status *read_bytes(ox_reader *r, const unsigned char *bytes, size_t n) {
  static const char lfs[] = "version https://git-lfs";
  ox_str all = {(const char *)bytes, n};
  model_parts p = {0};
  if (!n) return ox_fail(OX_INVALID_MODEL, "the model is empty (0 bytes)");
  if (n >= sizeof lfs - 1 && memcmp(bytes, lfs, sizeof lfs - 1) == 0)
    return ox_fail(OX_INVALID_MODEL, "this is a Git LFS pointer, not the model; `git lfs pull` fetches that");
  OX_TRY(read_head(r, all, &p));
  OX_TRY(check_head(r, &p));
  ox_model *m = r->m;
  m->props = OX_ARENA_ARRAY(&m->arena, ox_prop, p.n_props);
  m->functions = OX_ARENA_ARRAY(&m->arena, ox_function, p.n_functions);
  if (!m->props || !m->functions) return ox_oom();
  ox_wire w = ox_wire_sub(all);
  ox_wire_field f;
  while (ox_wire_next(&w, &f)) {
    if (f.tag == OX_WIRE_LEN(OX_MODEL_PROTO_METADATA_PROPS)) OX_TRY(ox_read_prop(r, f.bytes, &m->props[m->n_props++]));
    if (f.tag == OX_WIRE_LEN(OX_MODEL_PROTO_FUNCTIONS))
      OX_TRY(ox_read_function(r, f.bytes, &m->functions[m->n_functions++]));
  }
  OX_TRY(read_main(r, p.graph));
  return ox_givens_check_used(&r->given);
}

ox_status *ox_model_fill(ox_model *m, const unsigned char *bytes, size_t n, const ox_read_limits *limits,
                         const ox_read_source *from) {
  static const ox_read_source nothing = {0};
  ox_reader r = {.m = m, .limits = limits ? *limits : (ox_read_limits){0}};
  if (!r.limits.depth) r.limits.depth = DEFAULT_DEPTH;
  if (!r.limits.nodes) r.limits.nodes = DEFAULT_NODES;
  if (!r.limits.dense_bytes) r.limits.dense_bytes = DEFAULT_DENSE;
  ox_arena_init(&r.scratch, m->alloc);
  if (!from) from = &nothing;
  ox_external_init(&r.external, m, from->dir, from->path, from->files);
  r.external.given = from->memory_files, r.external.n_given = from->n_memory_files;
  r.denotations = from->denotations;
  r.tensors = (ox_tensor_reader){&m->arena, &r.external, NULL};
  ox_status *st = ox_givens_init(&r.given, m->alloc, from->given, from->n_given, from->n_optional);
  if (!st) st = read_bytes(&r, bytes, n);
  ox_givens_deinit(&r.given);
  ox_external_deinit(&r.external);
  ox_arena_deinit(&r.scratch);
  return st;
}
