/* SPDX-License-Identifier: Apache-2.0
 * plugins/reason/reason.c - see reason.h. */
#include "plugins/reason/reason.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct node_text {
  const ox_ep_host *h;
  const ox_graph_view *g;
  size_t node, n; /* characters written */
  char *out;
} node_text;

__attribute__((format(printf, 2, 3))) static void say(node_text *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(t->out + t->n, REASON_ROOM - t->n, format, args);
  va_end(args);
  t->n += n < 0 ? 0 : (size_t)n;
  if (t->n >= REASON_ROOM) t->n = REASON_ROOM - 1;
}

/* ---- values ---- */

static const char *type_name(uint32_t dtype) {
  static const char *const names[OX_DTYPE_COUNT] = {
      [OX_F32] = "float32",
      [OX_U8] = "uint8",
      [OX_I8] = "int8",
      [OX_U16] = "uint16",
      [OX_I16] = "int16",
      [OX_I32] = "int32",
      [OX_I64] = "int64",
      [OX_STRING] = "string",
      [OX_BOOL] = "bool",
      [OX_F16] = "float16",
      [OX_F64] = "float64",
      [OX_U32] = "uint32",
      [OX_U64] = "uint64",
      [OX_C64] = "complex64",
      [OX_C128] = "complex128",
      [OX_BF16] = "bfloat16",
      [OX_F8E4M3FN] = "float8e4m3fn",
      [OX_F8E4M3FNUZ] = "float8e4m3fnuz",
      [OX_F8E5M2] = "float8e5m2",
      [OX_F8E5M2FNUZ] = "float8e5m2fnuz",
      [OX_U4] = "uint4",
      [OX_I4] = "int4",
      [OX_F4E2M1] = "float4e2m1",
      [OX_F8E8M0] = "float8e8m0",
      [OX_U2] = "uint2",
      [OX_I2] = "int2",
      [OX_F6E2M3] = "float6e2m3",
      [OX_F6E3M2] = "float6e3m2",
  };
  return dtype < OX_DTYPE_COUNT && names[dtype] ? names[dtype] : "unknown type";
}

static void say_shape(node_text *t, const ox_shape *s) {
  if (s->rank < 0) {
    say(t, " of unknown rank");
    return;
  }
  say(t, "[");
  for (int d = 0; d < s->rank; d++)
    if (s->dim[d] < 0)
      say(t, "%s?", d ? "," : "");
    else
      say(t, "%s%" PRId64, d ? "," : "", s->dim[d]);
  say(t, "]");
}

/* The elements of a short constant. Its data may be unaligned. */
static void say_elements(node_text *t, const ox_tensor *c) {
  enum { MOST = 8 };
  size_t each = c->dtype == OX_F32 || c->dtype == OX_I32 ? 4 : c->dtype == OX_I64 ? 8 : 0;
  if (!each || !c->bytes || c->bytes / each > MOST) return;
  say(t, " of ");
  for (size_t i = 0; i < c->bytes / each; i++) {
    const char *at = (const char *)c->data + i * each, *before = i ? "," : "";
    int64_t wide;
    int32_t narrow;
    float real;
    if (c->dtype == OX_F32)
      memcpy(&real, at, each), say(t, "%s%g", before, (double)real);
    else if (c->dtype == OX_I32)
      memcpy(&narrow, at, each), say(t, "%s%" PRId32, before, narrow);
    else
      memcpy(&wide, at, each), say(t, "%s%" PRId64, before, wide);
  }
}

/* |what|: "input" or "output", for a value that is left out. */
static void say_value(node_text *t, const char *what, size_t i, uint32_t value) {
  uint32_t kind = OX_NONE_VALUE, dtype = OX_UNDEFINED;
  ox_shape shape = {.rank = -1};
  if (value == UINT32_MAX) {
    say(t, "no %s %zu", what, i);
    return;
  }
  t->h->value_type(t->g, value, &kind, &dtype, &shape);
  const char *name = t->h->value_name(t->g, value);
  const ox_tensor *constant = t->h->value_const(t->g, value);
  if (constant) say(t, "constant ");
  if (*name) say(t, "'%.60s' ", name);
  if (kind != OX_TENSOR) {
    say(t, "%s", kind == OX_SEQUENCE ? "sequence" : kind == OX_MAP ? "map" : kind == OX_SPARSE ? "sparse" : "untyped");
    return;
  }
  say(t, "%s", type_name(dtype));
  say_shape(t, &shape);
  if (constant) say_elements(t, constant);
}

static void say_in(node_text *t, size_t i) {
  bool given = i < t->h->node_in_count(t->g, t->node);
  say_value(t, "input", i, given ? t->h->node_in(t->g, t->node, i) : UINT32_MAX);
}

static void say_out(node_text *t, size_t i) {
  bool given = i < t->h->node_out_count(t->g, t->node);
  say_value(t, "output", i, given ? t->h->node_out(t->g, t->node, i) : UINT32_MAX);
}

static void say_inputs(node_text *t) {
  size_t n = t->h->node_in_count(t->g, t->node);
  if (!n) say(t, "no inputs");
  for (size_t i = 0; i < n; i++) {
    if (i) say(t, ", ");
    say_in(t, i);
  }
}

/* ---- attributes ---- */

static void say_list(node_text *t, const ox_attr_view *a) {
  enum { MOST = 8 };
  say(t, "[");
  for (size_t i = 0; i < a->n && i < MOST; i++) {
    const char *before = i ? "," : "";
    if (a->kind == 7)
      say(t, "%s%" PRId64, before, a->ints[i]);
    else if (a->kind == 6)
      say(t, "%s%g", before, (double)a->floats[i]);
    else
      say(t, "%s'%.*s'", before, (int)(a->strings[i].n < 40 ? a->strings[i].n : 40), a->strings[i].p);
  }
  say(t, a->n > MOST ? ",...]" : "]");
}

/* |name| up to "=", after which its default may follow. */
static void say_attr(node_text *t, char *name) {
  ox_attr_view a;
  char *otherwise = strchr(name, '=');
  if (otherwise) *otherwise++ = 0;
  if (!t->h->node_attr(t->g, t->node, name, &a)) {
    if (otherwise)
      say(t, "%s %s (the default)", name, otherwise);
    else
      say(t, "no %s", name);
    return;
  }
  say(t, "%s ", name);
  if (a.kind == 1)
    say(t, "%g", (double)a.f);
  else if (a.kind == 2)
    say(t, "%" PRId64, a.i);
  else if (a.kind == 3)
    say(t, "'%.*s'", (int)(a.s.n < 60 ? a.s.n : 60), a.s.p);
  else if (a.kind >= 6 && a.kind <= 8)
    say_list(t, &a);
  else
    say(t, "of another kind");
}

/* ---- the text ---- */

static void say_named(node_text *t, char *name) {
  const char *domain = t->h->node_domain(t->g, t->node);
  if (*name >= '0' && *name <= '9')
    say_in(t, strtoul(name, NULL, 10));
  else if (*name == '>')
    say_out(t, strtoul(name + 1, NULL, 10));
  else if (strcmp(name, "inputs") == 0)
    say_inputs(t);
  else if (strcmp(name, "op") == 0)
    say(t, "%s%s%s of opset %u", domain, *domain ? "." : "", t->h->node_op(t->g, t->node),
        t->h->node_version(t->g, t->node));
  else
    say_attr(t, name);
}

const char *reason_of(const ox_ep_host *h, const ox_graph_view *g, size_t node, const char *text,
                      char out[REASON_ROOM]) {
  node_text t = {h, g, node, 0, out};
  char name[64];
  *out = 0;
  while (*text) {
    size_t plain = strcspn(text, "{");
    say(&t, "%.*s", (int)plain, text);
    text += plain;
    if (!*text) break;
    size_t length = strcspn(++text, "}");
    size_t kept = length < sizeof name - 1 ? length : sizeof name - 1;
    memcpy(name, text, kept), name[kept] = 0;
    say_named(&t, name);
    text += length + (text[length] == '}');
  }
  return out;
}
