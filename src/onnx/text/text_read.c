/* SPDX-License-Identifier: Apache-2.0
 * onnx/text/text_read.c - models, functions, graphs and nodes of the textual syntax. */
#include <string.h>

#include "onnx/proto/onnx_fields.h"
#include "onnx/proto/reader.h"
#include "onnx/text.h"
#include "onnx/text/c_locale.h"
#include "onnx/text/text_parse.h"

enum { DEFAULT_IR = 10, DEFAULT_OPSET = 21 };

/* ---- nodes ---- */

/* Names separated by commas. "" or nothing before a comma is an omitted input or output. */
static ox_status *read_names(ox_text *t, uint32_t number) {
  ox_lex *x = &t->lex;
  do {
    ox_str name;
    bool found;
    OX_TRY(ox_lex_try_name(x, &name, &found));
    if (!found && ox_lex_peek(x) != ',') return NULL;
    ox_out_bytes(&t->out, number, name.p, name.n);
  } while (ox_lex_try(x, ','));
  return NULL;
}

static ox_status *read_attrs(ox_text *t, bool *out_any) {
  ox_lex *x = &t->lex;
  *out_any = ox_lex_try(x, '<');
  if (!*out_any) return NULL;
  do {
    ox_str name;
    OX_TRY(ox_lex_name(x, &name));
    OX_TRY(ox_text_attr(t, OX_NODE_PROTO_ATTRIBUTE, name));
  } while (ox_lex_try(x, ','));
  return ox_lex_expect(x, '>');
}

/* |a|.|b| in the arena. */
static ox_status *join(ox_text *t, ox_str a, ox_str b, ox_str *out) {
  char *p = ox_arena_alloc(t->lex.arena, a.n + 1 + b.n);
  if (!p) return ox_oom();
  if (a.n) memcpy(p, a.p, a.n);
  p[a.n] = '.';
  if (b.n) memcpy(p + a.n + 1, b.p, b.n);
  *out = (ox_str){p, a.n + 1 + b.n};
  return NULL;
}

/* domain.parts.Op:overload; each part may be quoted. */
static ox_status *read_op(ox_text *t) {
  ox_lex *x = &t->lex;
  ox_str op, domain = {NULL, 0};
  OX_TRY(ox_lex_name(x, &op));
  while (ox_lex_try(x, '.')) {
    if (domain.p) OX_TRY(join(t, domain, op, &op));
    domain = op;
    OX_TRY(ox_lex_name(x, &op));
  }
  if (domain.n) ox_out_bytes(&t->out, OX_NODE_PROTO_DOMAIN, domain.p, domain.n);
  ox_out_bytes(&t->out, OX_NODE_PROTO_OP_TYPE, op.p, op.n);
  if (!ox_lex_try(x, ':')) return NULL;
  OX_TRY(ox_lex_name(x, &op));
  ox_out_bytes(&t->out, OX_NODE_PROTO_OVERLOAD, op.p, op.n);
  return NULL;
}

static ox_status *read_node(ox_text *t, uint32_t number) {
  ox_lex *x = &t->lex;
  ox_wire_mark node = ox_out_begin(&t->out, number);
  bool any;
  if (ox_lex_try(x, '[')) {
    ox_str name;
    OX_TRY(ox_lex_try_name(x, &name, &any));
    ox_out_bytes(&t->out, OX_NODE_PROTO_NAME, name.p, name.n);
    OX_TRY(ox_lex_expect(x, ']'));
  }
  OX_TRY(read_names(t, OX_NODE_PROTO_OUTPUT));
  OX_TRY(ox_lex_expect(x, '='));
  OX_TRY(read_op(t));
  OX_TRY(read_attrs(t, &any));
  OX_TRY(ox_lex_expect(x, '('));
  OX_TRY(read_names(t, OX_NODE_PROTO_INPUT));
  OX_TRY(ox_lex_expect(x, ')'));
  if (!any) OX_TRY(read_attrs(t, &any)); /* attributes may also follow the inputs */
  ox_out_end(&t->out, node);
  return NULL;
}

static ox_status *read_nodes(ox_text *t, uint32_t number) {
  OX_TRY(ox_lex_expect(&t->lex, '{'));
  while (!ox_lex_try(&t->lex, '}')) OX_TRY(read_node(t, number));
  return NULL;
}

/* ---- graphs ---- */

/* An optional type and a name, as ValueInfoProto in field |number|. */
static ox_status *read_value_info(ox_text *t, uint32_t number, ox_str *out_name, ox_text_type *out_type) {
  *out_type = (ox_text_type){0};
  ox_wire_mark info = ox_out_begin(&t->out, number);
  if (ox_text_at_type(t)) OX_TRY(ox_text_type_read(t, OX_VALUE_INFO_PROTO_TYPE, out_type));
  OX_TRY(ox_lex_name(&t->lex, out_name));
  ox_out_bytes(&t->out, OX_VALUE_INFO_PROTO_NAME, out_name->p, out_name->n);
  ox_out_end(&t->out, info);
  return NULL;
}

/* Value infos up to |close|. If |allow_init|, a tensor behind "=" becomes an initializer; |keep_info| tells whether its
 * value info is written too (inputs) or not. */
static ox_status *read_value_infos(ox_text *t, uint32_t number, char close, bool allow_init, bool keep_info) {
  ox_lex *x = &t->lex;
  if (ox_lex_try(x, close)) return NULL;
  do {
    ox_str name;
    ox_text_type type;
    ox_wire_mark before = ox_out_mark(&t->out);
    OX_TRY(read_value_info(t, number, &name, &type));
    if (!allow_init || !ox_lex_try(x, '=')) continue;
    if (!keep_info) ox_out_take_back(&t->out, before);
    OX_TRY(ox_text_tensor(t, OX_GRAPH_PROTO_INITIALIZER, name, &type));
  } while (ox_lex_try(x, ','));
  return ox_lex_expect(x, close);
}

static ox_status *expect_arrow(ox_lex *x) {
  OX_TRY(ox_lex_expect(x, '='));
  if (x->p == x->end || *x->p != '>') return ox_lex_fail(x, "'=>' expected");
  x->p++;
  return NULL;
}

ox_status *ox_text_graph(ox_text *t, uint32_t number, ox_str name) {
  ox_lex *x = &t->lex;
  OX_TRY(ox_text_enter(t));
  ox_wire_mark graph = ox_out_begin(&t->out, number);
  ox_out_bytes(&t->out, OX_GRAPH_PROTO_NAME, name.p, name.n);
  if (ox_lex_try(x, '(')) OX_TRY(read_value_infos(t, OX_GRAPH_PROTO_INPUT, ')', true, true));
  OX_TRY(expect_arrow(x));
  OX_TRY(ox_lex_expect(x, '('));
  OX_TRY(read_value_infos(t, OX_GRAPH_PROTO_OUTPUT, ')', false, true));
  if (ox_lex_try(x, '<')) OX_TRY(read_value_infos(t, OX_GRAPH_PROTO_VALUE_INFO, '>', true, false));
  OX_TRY(read_nodes(t, OX_GRAPH_PROTO_NODE));
  ox_out_end(&t->out, graph);
  ox_text_leave(t);
  return NULL;
}

/* ---- functions ---- */

/* Inputs or outputs, as |number| says: names with optional types, which become value infos. */
static ox_status *read_params(ox_text *t, uint32_t number) {
  ox_lex *x = &t->lex;
  OX_TRY(ox_lex_expect(x, '('));
  if (ox_lex_try(x, ')')) return NULL;
  do {
    ox_str name;
    ox_text_type type;
    ox_wire_mark before = ox_out_mark(&t->out);
    bool typed = ox_text_at_type(t);
    OX_TRY(read_value_info(t, OX_FUNCTION_PROTO_VALUE_INFO, &name, &type));
    if (!typed) ox_out_take_back(&t->out, before);
    ox_out_bytes(&t->out, number, name.p, name.n);
  } while (ox_lex_try(x, ','));
  return ox_lex_expect(x, ')');
}

static ox_status *read_function_attrs(ox_text *t) {
  ox_lex *x = &t->lex;
  if (!ox_lex_try(x, '<')) return NULL;
  do {
    ox_str name;
    OX_TRY(ox_lex_name(x, &name));
    int next = ox_lex_peek(x);
    if (next == ':' || next == '=') {
      OX_TRY(ox_text_attr(t, OX_FUNCTION_PROTO_ATTRIBUTE_PROTO, name));
    } else {
      ox_out_bytes(&t->out, OX_FUNCTION_PROTO_ATTRIBUTE, name.p, name.n);
    }
  } while (ox_lex_try(x, ','));
  return ox_lex_expect(x, '>');
}

/* ---- headers ---- */

static ox_status *read_opsets(ox_text *t, uint32_t number) {
  ox_lex *x = &t->lex;
  OX_TRY(ox_lex_expect(x, '['));
  if (ox_lex_try(x, ']')) return NULL;
  do {
    ox_str domain;
    int64_t version;
    OX_TRY(ox_lex_string(x, &domain));
    OX_TRY(ox_lex_expect(x, ':'));
    OX_TRY(ox_lex_int(x, &version));
    ox_wire_mark opset = ox_out_begin(&t->out, number);
    ox_out_bytes(&t->out, OX_OPERATOR_SET_ID_PROTO_DOMAIN, domain.p, domain.n);
    ox_out_varint(&t->out, OX_OPERATOR_SET_ID_PROTO_VERSION, (uint64_t)version);
    ox_out_end(&t->out, opset);
  } while (ox_lex_try(x, ','));
  return ox_lex_expect(x, ']');
}

typedef enum value_kind { INTEGER, STRING, OPSETS, PROPS } value_kind;
typedef struct header_row {
  const char *key;
  value_kind kind;
  uint8_t in_model, in_function; /* field numbers; 0: not allowed there */
} header_row;
static const header_row header_rows[] = {
    {"ir_version", INTEGER, OX_MODEL_PROTO_IR_VERSION, 0},
    {"opset_import", OPSETS, OX_MODEL_PROTO_OPSET_IMPORT, OX_FUNCTION_PROTO_OPSET_IMPORT},
    {"producer_name", STRING, OX_MODEL_PROTO_PRODUCER_NAME, 0},
    {"producer_version", STRING, OX_MODEL_PROTO_PRODUCER_VERSION, 0},
    {"domain", STRING, OX_MODEL_PROTO_DOMAIN, OX_FUNCTION_PROTO_DOMAIN},
    {"model_version", INTEGER, OX_MODEL_PROTO_MODEL_VERSION, 0},
    {"doc_string", STRING, OX_MODEL_PROTO_DOC_STRING, OX_FUNCTION_PROTO_DOC_STRING},
    {"metadata_props", PROPS, OX_MODEL_PROTO_METADATA_PROPS, OX_FUNCTION_PROTO_METADATA_PROPS},
    {"overload", STRING, 0, OX_FUNCTION_PROTO_OVERLOAD},
};

static ox_status *read_header_value(ox_text *t, value_kind kind, uint32_t number) {
  ox_lex *x = &t->lex;
  if (kind == OPSETS) return read_opsets(t, number);
  if (kind == PROPS) {
    OX_TRY(ox_lex_expect(x, '['));
    return ox_text_props(t, number);
  }
  ox_str s;
  int64_t v;
  if (kind == STRING) {
    OX_TRY(ox_lex_string(x, &s));
    ox_out_bytes(&t->out, number, s.p, s.n);
  } else {
    OX_TRY(ox_lex_int(x, &v));
    ox_out_varint(&t->out, number, (uint64_t)v);
  }
  return NULL;
}

/* <key: value, ...>; |*out_seen|: bit i for header_rows[i]. */
static ox_status *read_header(ox_text *t, bool in_function, unsigned *out_seen) {
  ox_lex *x = &t->lex;
  *out_seen = 0;
  if (!ox_lex_try(x, '<')) return NULL;
  do {
    ox_str key;
    uint32_t number = 0;
    size_t i = 0;
    OX_TRY(ox_lex_ident(x, &key));
    while (i < OX_COUNT(header_rows) && !ox_str_is(key, header_rows[i].key)) i++;
    if (i < OX_COUNT(header_rows)) number = in_function ? header_rows[i].in_function : header_rows[i].in_model;
    if (!number) return ox_lex_fail(x, "unknown key '%.*s'", (int)OX_MIN(key.n, 60), key.p);
    OX_TRY(ox_lex_expect(x, ':'));
    OX_TRY(read_header_value(t, header_rows[i].kind, number));
    *out_seen |= 1u << i;
  } while (ox_lex_try(x, ','));
  return ox_lex_expect(x, '>');
}

static ox_status *read_function(ox_text *t) {
  ox_lex *x = &t->lex;
  ox_str name;
  unsigned seen;
  ox_wire_mark function = ox_out_begin(&t->out, OX_MODEL_PROTO_FUNCTIONS);
  OX_TRY(read_header(t, true, &seen));
  OX_TRY(ox_lex_name(x, &name));
  ox_out_bytes(&t->out, OX_FUNCTION_PROTO_NAME, name.p, name.n);
  OX_TRY(read_function_attrs(t));
  OX_TRY(read_params(t, OX_FUNCTION_PROTO_INPUT));
  OX_TRY(expect_arrow(x));
  OX_TRY(read_params(t, OX_FUNCTION_PROTO_OUTPUT));
  if (ox_lex_try(x, '<')) OX_TRY(read_value_infos(t, OX_FUNCTION_PROTO_VALUE_INFO, '>', false, true));
  OX_TRY(read_nodes(t, OX_FUNCTION_PROTO_NODE));
  ox_out_end(&t->out, function);
  return NULL;
}

static ox_status *read_model(ox_text *t) {
  ox_str name;
  unsigned seen;
  OX_TRY(read_header(t, false, &seen));
  if (!(seen & 1)) ox_out_varint(&t->out, OX_MODEL_PROTO_IR_VERSION, DEFAULT_IR);
  if (!(seen & 2)) {
    ox_wire_mark opset = ox_out_begin(&t->out, OX_MODEL_PROTO_OPSET_IMPORT);
    ox_out_varint(&t->out, OX_OPERATOR_SET_ID_PROTO_VERSION, DEFAULT_OPSET);
    ox_out_end(&t->out, opset);
  }
  OX_TRY(ox_lex_name(&t->lex, &name));
  OX_TRY(ox_text_graph(t, OX_MODEL_PROTO_GRAPH, name));
  while (ox_lex_peek(&t->lex)) OX_TRY(read_function(t));
  return NULL;
}

/* ---- from text to model ---- */

static ox_status *append(void *ctx, const void *bytes, size_t n) {
  char **at = ctx;
  memcpy(*at, bytes, n);
  *at += n;
  return NULL;
}

/* Numbers are read in the C locale, whatever locale the process has set. */
static ox_status *read_in_c_locale(ox_text *t) {
  ox_c_locale c;
  if (!ox_c_locale_enter(&c)) return ox_oom();
  ox_status *st = read_model(t);
  ox_c_locale_leave(&c);
  return st;
}

ox_status *ox_text_read(ox_alloc alloc, const ox_registry *registry, const char *text, size_t n, ox_model **out_model) {
  ox_status *st = NULL;
  ox_model *m = NULL;
  ox_text t = {.lex = {text, text, text + n, NULL}, .out = ox_wire_out_of(alloc)};
  char *bytes, *at;
  *out_model = NULL;
  OX_TRY_TO(done, st, ox_model_create(alloc, registry, &m));
  t.lex.arena = &m->arena;
  OX_TRY_TO(done, st, read_in_c_locale(&t));
  at = bytes = ox_arena_alloc(&m->arena, t.out.n + t.out.borrowed);
  if (!bytes) {
    st = ox_oom();
    goto done;
  }
  OX_TRY_TO(done, st, ox_wire_out_flush(&t.out, (ox_sink){append, &at}));
  OX_TRY_TO(done, st, ox_model_fill(m, (unsigned char *)bytes, (size_t)(at - bytes), NULL, NULL));
  *out_model = m, m = NULL;
done:
  ox_wire_out_deinit(&t.out);
  ox_model_destroy(m);
  return st;
}
