/* SPDX-License-Identifier: Apache-2.0
 * ort/model_writer.h - models for tests of the ABI, written as protobuf by hand: messages are byte strings that are put
 * into others. The numbers are those of onnx.proto. */
#ifndef OX_TESTS_ORT_MODEL_WRITER_H
#define OX_TESTS_ORT_MODEL_WRITER_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct message {
  size_t n;
  uint8_t bytes[16384];
} message;

static inline void put_byte(message *m, uint8_t b) {
  if (m->n == sizeof m->bytes) abort(); /* a test's model is larger than it should be */
  m->bytes[m->n++] = b;
}

static inline void put_varint(message *m, uint64_t v) {
  for (; v > 127; v >>= 7) put_byte(m, (uint8_t)(v | 128));
  put_byte(m, (uint8_t)v);
}

static inline void put_int(message *m, uint32_t field, int64_t v) {
  put_varint(m, field << 3);
  put_varint(m, (uint64_t)v);
}

static inline void put_bytes(message *m, uint32_t field, const void *p, size_t n) {
  put_varint(m, field << 3 | 2);
  put_varint(m, n);
  for (size_t i = 0; i < n; i++) put_byte(m, ((const uint8_t *)p)[i]);
}

static inline void put_text(message *m, uint32_t field, const char *text) { put_bytes(m, field, text, strlen(text)); }
static inline void put_message(message *m, uint32_t field, const message *sub) {
  put_bytes(m, field, sub->bytes, sub->n);
}

static inline void put_float(message *m, uint32_t field, float v) {
  uint8_t b[4];
  memcpy(b, &v, 4);
  put_varint(m, field << 3 | 5);
  for (int i = 0; i < 4; i++) put_byte(m, b[i]);
}

/* The pieces of |list|, which ',' separates, one field each; "-" is an empty one, "" is no piece. */
static inline void put_names(message *m, uint32_t field, const char *list) {
  while (*list) {
    size_t n = strcspn(list, ",");
    put_bytes(m, field, list, n == 1 && *list == '-' ? 0 : n);
    list += n + (list[n] == ',');
  }
}

/* A TypeProto of a tensor; |dims| as put_names, numbers or symbols; NULL: no shape. */
static inline message tensor_type(int elem, const char *dims) {
  message type = {0}, tensor = {0}, shape = {0};
  put_int(&tensor, 1, elem);
  while (dims && *dims) {
    message dim = {0};
    size_t n = strcspn(dims, ",");
    if (*dims >= '0' && *dims <= '9')
      put_int(&dim, 1, atoll(dims));
    else if (*dims != '?')
      put_bytes(&dim, 2, dims, n);
    put_message(&shape, 1, &dim);
    dims += n + (dims[n] == ',');
  }
  if (dims) put_message(&tensor, 2, &shape);
  put_message(&type, 1, &tensor);
  return type;
}

static inline message sequence_type(const message *elem) {
  message type = {0}, sequence = {0};
  put_message(&sequence, 1, elem);
  put_message(&type, 4, &sequence);
  return type;
}

static inline void put_value(message *graph, uint32_t field, const char *name, const message *type) {
  message value = {0};
  put_text(&value, 1, name);
  if (type) put_message(&value, 2, type);
  put_message(graph, field, &value);
}

static inline void graph_input(message *graph, const char *name, int elem, const char *dims) {
  message type = tensor_type(elem, dims);
  put_value(graph, 11, name, &type);
}

static inline void graph_output(message *graph, const char *name, int elem, const char *dims) {
  message type = tensor_type(elem, dims);
  put_value(graph, 12, name, &type);
}

/* A TensorProto with raw data. */
static inline message tensor(const char *name, int elem, const int64_t *dims, size_t rank, const void *data,
                             size_t bytes) {
  message t = {0};
  for (size_t i = 0; i < rank; i++) put_int(&t, 1, dims[i]);
  put_int(&t, 2, elem);
  if (name) put_text(&t, 8, name);
  put_bytes(&t, 9, data, bytes);
  return t;
}

enum { A_FLOAT = 1, A_INT, A_STRING, A_TENSOR, A_GRAPH, A_FLOATS, A_INTS, A_STRINGS };

/* An AttributeProto without its content, which goes into the returned message. */
static inline message attribute(const char *name, int kind) {
  message a = {0};
  put_text(&a, 1, name);
  put_int(&a, 20, kind);
  return a;
}

static inline message int_attribute(const char *name, int64_t v) {
  message a = attribute(name, A_INT);
  put_int(&a, 3, v);
  return a;
}

static inline message float_attribute(const char *name, float v) {
  message a = attribute(name, A_FLOAT);
  put_float(&a, 2, v);
  return a;
}

static inline message text_attribute(const char *name, const char *v) {
  message a = attribute(name, A_STRING);
  put_text(&a, 4, v);
  return a;
}

/* A NodeProto; attributes are put into field 5 of it. |op| may be "domain:Name". */
static inline message node(const char *name, const char *op, const char *inputs, const char *outputs) {
  message n = {0};
  const char *colon = strchr(op, ':');
  put_names(&n, 1, inputs);
  put_names(&n, 2, outputs);
  put_text(&n, 3, name);
  put_text(&n, 4, colon ? colon + 1 : op);
  if (colon) put_bytes(&n, 7, op, (size_t)(colon - op));
  return n;
}

static inline void graph_node(message *graph, const char *name, const char *op, const char *inputs,
                              const char *outputs) {
  message n = node(name, op, inputs, outputs);
  put_message(graph, 1, &n);
}

static inline void put_opset(message *model, const char *domain, int64_t version) {
  message opset = {0};
  put_text(&opset, 1, domain);
  put_int(&opset, 2, version);
  put_message(model, 8, &opset);
}

/* The whole: |graph| (without a name yet) with the standard's operators at version 17 and |domain|'s at |version|. */
static inline message model_of(const message *graph, const char *domain, int64_t version) {
  message m = {0}, g = *graph;
  put_text(&g, 2, "g");
  put_int(&m, 1, 8);
  put_opset(&m, "", 17);
  if (domain) put_opset(&m, domain, version);
  put_message(&m, 7, &g);
  return m;
}

#endif
