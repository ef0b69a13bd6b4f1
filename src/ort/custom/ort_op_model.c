/* SPDX-License-Identifier: Apache-2.0
 * ort/custom/ort_op_model.c - see ort_op_model.h. Messages of onnx.proto; a message is written into a buffer of its own
 * and then put into the one around it. */
#include "ort/custom/ort_op_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort/model/ort_graph.h"
#include "ort/ort_status.h"

enum { IR_VERSION = 8 };

/* |failed| stays set: one look at the end is enough. */
typedef struct {
  uint8_t *p;
  size_t n, room;
  bool failed;
} buffer;

static void put(buffer *b, const void *p, size_t n) {
  if (b->failed || n == 0) return;
  if (n > b->room - b->n) {
    size_t room = 2 * b->room + n + 64;
    uint8_t *grown = room > b->room ? realloc(b->p, room) : NULL;
    if (grown == NULL) {
      b->failed = true;
      return;
    }
    b->p = grown, b->room = room;
  }
  memcpy(b->p + b->n, p, n);
  b->n += n;
}

static void put_varint(buffer *b, uint64_t v) {
  uint8_t bytes[10];
  size_t n = 0;
  for (; v > 127; v >>= 7) bytes[n++] = (uint8_t)(v | 128);
  bytes[n++] = (uint8_t)v;
  put(b, bytes, n);
}

/* Kinds of fields on the wire. */
enum { VARINT = 0, BYTES = 2, FOUR_BYTES = 5 };

static void put_int(buffer *b, uint32_t field, int64_t v) {
  put_varint(b, field << 3 | VARINT);
  put_varint(b, (uint64_t)v);
}

static void put_float(buffer *b, uint32_t field, float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  const uint8_t bytes[4] = {(uint8_t)bits, (uint8_t)(bits >> 8), (uint8_t)(bits >> 16), (uint8_t)(bits >> 24)};
  put_varint(b, field << 3 | FOUR_BYTES);
  put(b, bytes, sizeof bytes);
}

static void put_bytes(buffer *b, uint32_t field, const void *p, size_t n) {
  put_varint(b, field << 3 | BYTES);
  put_varint(b, n);
  put(b, p, n);
}

static void put_text(buffer *b, uint32_t field, const char *text) { put_bytes(b, field, text, strlen(text)); }

/* Takes |sub|. */
static void put_message(buffer *b, uint32_t field, buffer *sub) {
  put_bytes(b, field, sub->p, sub->n);
  b->failed |= sub->failed;
  free(sub->p);
}

/* AttributeProto: by type, the field of its content and the number of its type. */
static const struct {
  uint32_t field, type;
} attr_fields[] = {
    [ORT_OP_ATTR_INT] = {3, 2},    [ORT_OP_ATTR_INTS] = {8, 7},   [ORT_OP_ATTR_FLOAT] = {2, 1},
    [ORT_OP_ATTR_FLOATS] = {7, 6}, [ORT_OP_ATTR_STRING] = {4, 3}, [ORT_OP_ATTR_STRINGS] = {9, 8},
};

static void put_attr(buffer *node, const OrtOpAttr *a) {
  buffer b = {0};
  uint32_t field = attr_fields[a->type].field;
  put_text(&b, 1, a->name);
  for (size_t i = 0; i < a->n; i++) {
    if (a->ints != NULL) put_int(&b, field, a->ints[i]);
    if (a->floats != NULL) put_float(&b, field, a->floats[i]);
    if (a->strings != NULL) put_bytes(&b, field, a->strings[i], a->string_bytes[i]);
  }
  put_int(&b, 20, attr_fields[a->type].type);
  put_message(node, 5, &b);
}

void ort_op_input_name(size_t i, ort_op_value_name out) {
  snprintf(out, sizeof(ort_op_value_name), "i%u", (unsigned)i);
}
void ort_op_output_name(size_t i, ort_op_value_name out) {
  snprintf(out, sizeof(ort_op_value_name), "o%u", (unsigned)i);
}

static void put_node(buffer *graph, const ort_op_node *n) {
  buffer b = {0};
  ort_op_value_name name;
  for (size_t i = 0; i < n->n_in; i++) {
    ort_op_input_name(i, name);
    put_text(&b, 1, n->in[i] != OX_UNDEFINED ? name : "");
  }
  for (size_t i = 0; i < n->n_out; i++) {
    ort_op_output_name(i, name);
    put_text(&b, 2, name);
  }
  put_text(&b, 3, n->op);
  put_text(&b, 4, n->op);
  for (size_t i = 0; i < n->n_attrs; i++) put_attr(&b, n->attrs[i]);
  put_text(&b, 7, n->domain);
  put_message(graph, 1, &b);
}

/* ValueInfoProto of a tensor. */
static void put_value(buffer *graph, uint32_t field, const char *name, uint32_t dtype) {
  buffer value = {0}, type = {0}, tensor = {0};
  put_text(&value, 1, name);
  if (dtype != OX_UNDEFINED) {
    put_int(&tensor, 1, dtype);
    put_message(&type, 1, &tensor);
    put_message(&value, 2, &type);
  }
  put_message(graph, field, &value);
}

static void put_graph(buffer *model, const ort_op_node *n) {
  buffer b = {0};
  ort_op_value_name name;
  put_node(&b, n);
  put_text(&b, 2, n->op);
  for (size_t i = 0; i < n->n_in; i++) {
    ort_op_input_name(i, name);
    if (n->in[i] != OX_UNDEFINED) put_value(&b, 11, name, n->in[i]);
  }
  for (size_t i = 0; i < n->n_out; i++) {
    ort_op_output_name(i, name);
    put_value(&b, 12, name, OX_UNDEFINED);
  }
  put_message(model, 7, &b);
}

OrtStatus *ort_op_model_write(const ort_op_node *node, void **out_bytes, size_t *out_n) {
  buffer model = {0}, opset = {0};
  *out_bytes = NULL, *out_n = 0;
  for (size_t i = 0; i < node->n_attrs; i++)
    if (node->attrs[i]->type < ORT_OP_ATTR_INT || node->attrs[i]->type > ORT_OP_ATTR_STRINGS)
      return ort_fail(ORT_INVALID_ARGUMENT, "attribute '%s' of %s is of type %d: wanted numbers or strings",
                      node->attrs[i]->name, node->op, (int)node->attrs[i]->type);
  put_int(&model, 1, IR_VERSION);
  put_text(&opset, 1, node->domain);
  put_int(&opset, 2, node->version);
  put_message(&model, 8, &opset);
  put_graph(&model, node);
  if (model.failed) {
    free(model.p);
    return ort_out_of_memory();
  }
  *out_bytes = model.p, *out_n = model.n;
  return NULL;
}
