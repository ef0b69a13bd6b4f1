/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_attr_view.c - see ort_attr_view.h. */
#include "ort/model/ort_attr_view.h"

#include <stdlib.h>
#include <string.h>

#include "onyx/op.h"
#include "ort/ort_status.h"

static const OrtOpAttrType types[] = {
    [OX_ATTR_FLOAT_KIND] = ORT_OP_ATTR_FLOAT,   [OX_ATTR_INT_KIND] = ORT_OP_ATTR_INT,
    [OX_ATTR_STRING_KIND] = ORT_OP_ATTR_STRING, [OX_ATTR_TENSOR_KIND] = ORT_OP_ATTR_TENSOR,
    [OX_ATTR_GRAPH_KIND] = ORT_OP_ATTR_GRAPH,   [OX_ATTR_FLOATS_KIND] = ORT_OP_ATTR_FLOATS,
    [OX_ATTR_INTS_KIND] = ORT_OP_ATTR_INTS,     [OX_ATTR_STRINGS_KIND] = ORT_OP_ATTR_STRINGS};

/* An array never is NULL, also where it has no elements. */
static OrtStatus *copy(const void *from, size_t n, size_t bytes, void *out) {
  void *p = calloc(n + 1, bytes);
  if (p == NULL) return ort_out_of_memory();
  if (n > 0) memcpy(p, from, n * bytes);
  memcpy(out, &p, sizeof p);
  return NULL;
}

static OrtStatus *copy_strings(const ox_str *from, size_t n, OrtOpAttr *a) {
  a->strings = calloc(n + 1, sizeof *a->strings), a->string_bytes = calloc(n + 1, sizeof *a->string_bytes);
  if (a->strings == NULL || a->string_bytes == NULL) return ort_out_of_memory();
  for (a->n = 0; a->n < n; a->n++) {
    ORT_TRY(copy(from[a->n].p, from[a->n].n, 1, &a->strings[a->n]));
    a->string_bytes[a->n] = from[a->n].n;
  }
  return NULL;
}

static OrtStatus *fill(const ox_attr_view *v, OrtOpAttr *a) {
  a->n = 1;
  switch (a->type) {
    case ORT_OP_ATTR_INT:
      return copy(&v->i, 1, sizeof v->i, &a->ints);
    case ORT_OP_ATTR_FLOAT:
      return copy(&v->f, 1, sizeof v->f, &a->floats);
    case ORT_OP_ATTR_STRING:
      return copy_strings(&v->s, 1, a);
    case ORT_OP_ATTR_INTS:
      a->n = v->n;
      return copy(v->ints, v->n, sizeof *v->ints, &a->ints);
    case ORT_OP_ATTR_FLOATS:
      a->n = v->n;
      return copy(v->floats, v->n, sizeof *v->floats, &a->floats);
    case ORT_OP_ATTR_STRINGS:
      return copy_strings(v->strings, v->n, a);
    case ORT_OP_ATTR_TENSOR:
      a->lent.tensor = v->tensor, a->tensor = &a->lent;
      return NULL;
    default:
      return NULL;
  }
}

OrtStatus *ort_op_attr_from_view(const char *name, const ox_attr_view *view, OrtOpAttr **out) {
  OrtOpAttr *a = calloc(1, sizeof *a);
  *out = NULL;
  OrtStatus *st = a != NULL ? ort_text_copy(name, &a->name) : ort_out_of_memory();
  if (st == NULL) {
    a->type = view->kind < sizeof types / sizeof *types ? types[view->kind] : ORT_OP_ATTR_UNDEFINED;
    st = fill(view, a);
  }
  if (st == NULL) *out = a, a = NULL;
  ort_op_attr_release(a);
  return st;
}
