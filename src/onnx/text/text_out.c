/* SPDX-License-Identifier: Apache-2.0
 * onnx/text/text_out.c - names, numbers, types and tensors of the textual syntax. */
#include "onnx/text/text_out.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/dtype.h"
#include "graph/shape.h"
#include "onnx/proto/onnx_fields.h"
#include "onnx/proto/tensor.h"
#include "onnx/text/text_parse.h"

void ox_text_flush(ox_text_out *o) {
  if (!o->st && o->n) o->st = o->sink.write(o->sink.ctx, o->buf, o->n);
  o->n = 0;
}

void ox_text_puts(ox_text_out *o, const char *s, size_t n) {
  while (n) {
    if (o->n == sizeof o->buf) ox_text_flush(o);
    size_t step = OX_MIN(n, sizeof o->buf - o->n);
    memcpy(o->buf + o->n, s, step);
    o->n += step, s += step, n -= step;
  }
}

void ox_text_put(ox_text_out *o, const char *fmt, ...) {
  char piece[256];
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(piece, sizeof piece, fmt, args);
  va_end(args);
  if (n > 0) ox_text_puts(o, piece, OX_MIN((size_t)n, sizeof piece - 1));
}

void ox_text_line(ox_text_out *o) {
  ox_text_puts(o, "\n", 1);
  for (uint32_t i = 0; i < o->indent; i++) ox_text_puts(o, "  ", 2);
}

/* ---- names and numbers ---- */

void ox_text_put_quoted(ox_text_out *o, ox_str s) {
  ox_text_puts(o, "\"", 1);
  for (size_t i = 0, from = 0; i <= s.n; i++) {
    bool special = i < s.n && (s.p[i] == '"' || s.p[i] == '\\');
    if (i < s.n && !special) continue;
    if (i > from) ox_text_puts(o, s.p + from, i - from);
    if (special) ox_text_puts(o, "\\", 1);
    from = i;
  }
  ox_text_puts(o, "\"", 1);
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool ox_text_is_ident(const char *s, size_t n) {
  if (!n || !is_letter(s[0])) return false;
  for (size_t i = 1; i < n; i++)
    if (!is_letter(s[i]) && (s[i] < '0' || s[i] > '9')) return false;
  return true;
}

/* Identifiers that would be read as a type or a number. */
static bool is_reserved(const char *s) {
  static const char *const words[] = {"seq", "map", "optional", "sparse_tensor", "opaque"};
  ox_lex x = {s, s, s + strlen(s), NULL};
  if (ox_text_dtype_find((ox_str){s, strlen(s)}) || ox_lex_at_special_float(&x)) return true;
  for (size_t i = 0; i < OX_COUNT(words); i++)
    if (strcmp(s, words[i]) == 0) return true;
  return false;
}

void ox_text_put_name(ox_text_out *o, const char *name) {
  size_t n = strlen(name);
  if (ox_text_is_ident(name, n) && !is_reserved(name)) {
    ox_text_puts(o, name, n);
  } else {
    ox_text_put_quoted(o, (ox_str){name, n});
  }
}

/* The fewest digits that read back as |d|; if |is_float|, as the same float. */
static void put_number(ox_text_out *o, double d, bool is_float, bool need_point) {
  char s[40];
  if (isnan(d) || isinf(d)) {
    ox_text_put(o, "%s%s", signbit(d) ? "-" : "", isnan(d) ? "nan" : "inf");
    return;
  }
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(s, sizeof s, "%.*g", digits, d);
    if (is_float ? strtof(s, NULL) == (float)d : strtod(s, NULL) == d) break;
  }
  ox_text_put(o, "%s%s", s, need_point && !strpbrk(s, ".en") ? ".0" : "");
}

void ox_text_put_float(ox_text_out *o, float f) { put_number(o, (double)f, true, true); }

/* ---- types ---- */

bool ox_text_can_type(const ox_type *t) {
  if (t->kind == OX_SEQUENCE || t->kind == OX_MAP)
    return t->elem && ox_text_can_type(t->elem) && (t->kind == OX_SEQUENCE || t->key_dtype);
  return t->dtype != OX_UNDEFINED;
}

static void put_shape(ox_text_out *o, const ox_model *m, const ox_shape *s) {
  if (s->rank < 0) ox_text_put(o, "[]");
  if (s->rank <= 0) return;
  for (int i = 0; i < s->rank; i++) {
    const char *symbol = m ? ox_model_symbol_name(m, s->dim[i]) : NULL;
    ox_text_puts(o, i ? "," : "[", 1);
    if (symbol) {
      ox_text_put_name(o, symbol);
    } else if (s->dim[i] >= 0) {
      ox_text_put(o, "%lld", (long long)s->dim[i]);
    } else {
      ox_text_puts(o, "?", 1);
    }
  }
  ox_text_puts(o, "]", 1);
}

void ox_text_put_type(ox_text_out *o, const ox_model *m, const ox_type *t) {
  static const char *const open[] = {[OX_TENSOR] = "",
                                     [OX_SEQUENCE] = "seq(",
                                     [OX_MAP] = "map(",
                                     [OX_NONE_VALUE] = "",
                                     [OX_SPARSE] = "sparse_tensor("};
  if (t->optional) ox_text_put(o, "optional(");
  ox_text_put(o, "%s", open[t->kind]);
  if (t->kind == OX_MAP) ox_text_put(o, "%s, ", ox_text_dtype_name(t->key_dtype));
  if (t->kind == OX_SEQUENCE || t->kind == OX_MAP) {
    ox_text_put_type(o, m, t->elem);
  } else {
    ox_text_put(o, "%s", ox_text_dtype_name(t->dtype));
    put_shape(o, m, &t->shape);
  }
  if (*open[t->kind]) ox_text_puts(o, ")", 1);
  if (t->optional) ox_text_puts(o, ")", 1);
}

/* ---- tensors ---- */

static void put_int(ox_text_out *o, const ox_tensor *t, size_t i) {
  unsigned bits = OX_MAX(ox_dtype_bits(t->dtype), 8); /* types of 4 and 2 bits: a byte of several elements */
  if (ox_dtype_bits(t->dtype) == 6) {
    ox_text_put(o, "%u", ox_bits_get(t->data, i, 6));
    return;
  }
  uint64_t v = 0;
  memcpy(&v, (const char *)t->data + i * (bits / 8), bits / 8);
  bool is_int = OX_BIT(t->dtype) & OX_T_SINT;
  if (is_int) {
    ox_text_put(o, "%lld", (long long)((int64_t)(v << (64 - bits)) >> (64 - bits)));
  } else {
    ox_text_put(o, "%llu", (unsigned long long)v);
  }
}

static void put_entry(ox_text_out *o, const ox_tensor *t, size_t i) {
  float f;
  double d;
  ox_str s;
  switch (ox_tensor_field(t->dtype)) {
    case OX_TENSOR_PROTO_FLOAT_DATA:
      memcpy(&f, (const char *)t->data + i * sizeof f, sizeof f);
      put_number(o, (double)f, true, false);
      break;
    case OX_TENSOR_PROTO_DOUBLE_DATA:
      memcpy(&d, (const char *)t->data + i * sizeof d, sizeof d);
      put_number(o, d, false, false);
      break;
    case OX_TENSOR_PROTO_STRING_DATA:
      memcpy(&s, (const char *)t->data + i * sizeof s, sizeof s);
      ox_text_put_quoted(o, s);
      break;
    default:
      put_int(o, t, i);
  }
}

/* How many numbers or strings |t| is written as. */
static size_t count_entries(const ox_tensor *t) {
  unsigned bits = ox_dtype_bits(t->dtype);
  switch (ox_tensor_field(t->dtype)) {
    case OX_TENSOR_PROTO_FLOAT_DATA:
      return t->bytes / sizeof(float);
    case OX_TENSOR_PROTO_DOUBLE_DATA:
      return t->bytes / sizeof(double);
    default:
      return bits == 6 ? (size_t)ox_shape_count(&t->shape) : t->bytes / (OX_MAX(bits, 8) / 8);
  }
}

static void put_dense(ox_text_out *o, const ox_tensor *t, const char *name) {
  ox_type type = ox_type_tensor(t->dtype, &t->shape);
  ox_text_put_type(o, NULL, &type);
  ox_text_puts(o, " ", 1);
  if (name) {
    ox_text_put_name(o, name);
    ox_text_put(o, " = ");
  }
  size_t n = count_entries(t), shown = o->max_elements && n > o->max_elements ? o->max_elements : n;
  for (size_t i = 0; i < shown; i++) {
    ox_text_put(o, "%s", i ? ", " : "{");
    put_entry(o, t, i);
  }
  ox_text_put(o, "%s", shown < n ? ", ...}" : n ? "}" : "{}");
}

void ox_text_put_tensor(ox_text_out *o, const ox_tensor *t, const char *name) {
  if (t->kind != OX_SPARSE) {
    put_dense(o, t, name);
    return;
  }
  const ox_tensor *part = t->data;
  ox_type type = ox_type_tensor(t->dtype, &t->shape);
  type.kind = OX_SPARSE;
  ox_text_put_type(o, NULL, &type);
  ox_text_put(o, " {");
  put_dense(o, &part[0], NULL);
  ox_text_put(o, ", ");
  put_dense(o, &part[1], NULL);
  ox_text_put(o, "}");
}
