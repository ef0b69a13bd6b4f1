/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_op_schema.c - what libraries ask about operators: a row of the table of signatures, taken apart. A row
 * has inputs and outputs, "NAME:VARIABLE" or "NAME" with a blank between them, and sets, "VARIABLE=SET" with a '|'
 * between them. SET: letters with a mask of element types each (t: tensors, s: sequences, o: optionals, q: optional
 * sequences of tensors), then other types, each behind a ';'. */
#include "ort/plugin/ort_op_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/ort_status.h"
#include "ort/value/ort_value.h"

typedef struct signature {
  const char *domain, *name;
  int since;
  const char *in, *out, *sets;
} signature;

static const signature signatures[] = {
#define ORT_SIGNATURE(domain, name, since, in, out, sets) {domain, name, since, in, out, sets},
#include "ort/plugin/ort_op_signatures.inc"
#undef ORT_SIGNATURE
};

struct OrtOpSchemaTypeConstraint {
  char *name;
  char **types;
  size_t n_types;
  size_t *in, *out;
  size_t n_in, n_out;
};

typedef struct schema_value {
  char *name;
  const OrtOpSchemaTypeConstraint *constraint; /* NULL: one type, no variable */
} schema_value;

struct OrtOpSchema {
  int since;
  schema_value *in, *out;
  size_t n_in, n_out;
  OrtOpSchemaTypeConstraint *constraints;
  size_t n_constraints;
};

/* ---- building ---- */

static size_t count(const char *text, char separator) {
  size_t n = *text != 0;
  for (; *text != 0; text++) n += *text == separator;
  return n;
}

static char *piece(const char *text, size_t n) {
  char *copy = malloc(n + 1);
  if (copy == NULL) return NULL;
  memcpy(copy, text, n);
  copy[n] = 0;
  return copy;
}

static bool add_type(OrtOpSchemaTypeConstraint *c, const char *text, size_t n) {
  char **grown = realloc(c->types, (c->n_types + 1) * sizeof *grown);
  if (grown == NULL) return false;
  c->types = grown;
  grown[c->n_types] = piece(text, n);
  return grown[c->n_types++] != NULL;
}

static bool add_elements(OrtOpSchemaTypeConstraint *c, char form, unsigned long mask) {
  const char *format = form == 't'   ? "tensor(%s)"
                       : form == 's' ? "seq(tensor(%s))"
                       : form == 'o' ? "optional(tensor(%s))"
                                     : "optional(seq(tensor(%s)))";
  const char *element;
  for (size_t i = 1; *(element = ort_element_name((ONNXTensorElementDataType)i)) != 0; i++) {
    char text[64];
    if ((mask >> i & 1) == 0) continue;
    int n = snprintf(text, sizeof text, format, element);
    if (!add_type(c, text, (size_t)n)) return false;
  }
  return true;
}

static bool fill_constraint(OrtOpSchemaTypeConstraint *c, const char *text, const char *end) {
  const char *at = memchr(text, '=', (size_t)(end - text));
  c->name = piece(text, (size_t)(at - text));
  if (c->name == NULL) return false;
  for (at++; at < end && *at != ';';) {
    char form = *at;
    char *next;
    unsigned long mask = strtoul(at + 1, &next, 16);
    if (!add_elements(c, form, mask)) return false;
    at = next;
  }
  while (at < end) {
    const char *stop = memchr(at + 1, ';', (size_t)(end - at - 1));
    if (stop == NULL) stop = end;
    if (!add_type(c, at + 1, (size_t)(stop - at - 1))) return false;
    at = stop;
  }
  return true;
}

static const char *end_of(const char *text, char separator) {
  const char *end = strchr(text, separator);
  return end != NULL ? end : text + strlen(text);
}

static bool fill_constraints(OrtOpSchema *s, const char *sets) {
  size_t n = count(sets, '|');
  s->constraints = calloc(n + 1, sizeof *s->constraints);
  if (s->constraints == NULL) return false;
  for (const char *at = sets, *end; s->n_constraints < n; at = end + 1) {
    end = end_of(at, '|');
    if (!fill_constraint(&s->constraints[s->n_constraints++], at, end)) return false;
  }
  return true;
}

static OrtOpSchemaTypeConstraint *find_constraint(OrtOpSchema *s, const char *name, size_t n) {
  for (size_t i = 0; i < s->n_constraints; i++)
    if (strlen(s->constraints[i].name) == n && strncmp(s->constraints[i].name, name, n) == 0) return &s->constraints[i];
  return NULL;
}

/* Takes "A:T B" apart; |outputs|: which list of a constraint gets the indices. */
static bool fill_values(OrtOpSchema *s, const char *text, bool outputs, schema_value **out, size_t *out_n) {
  size_t n = count(text, ' ');
  schema_value *values = *out = calloc(n + 1, sizeof *values);
  if (values == NULL) return false;
  for (const char *at = text, *end; *out_n < n; at = end + 1) {
    end = end_of(at, ' ');
    const char *colon = memchr(at, ':', (size_t)(end - at));
    schema_value *v = &values[*out_n];
    v->name = piece(at, (size_t)((colon != NULL ? colon : end) - at));
    if (v->name == NULL) return false;
    OrtOpSchemaTypeConstraint *c = colon != NULL ? find_constraint(s, colon + 1, (size_t)(end - colon - 1)) : NULL;
    v->constraint = c;
    if (c != NULL) {
      size_t **list = outputs ? &c->out : &c->in, *n_list = outputs ? &c->n_out : &c->n_in;
      size_t *grown = realloc(*list, (*n_list + 1) * sizeof *grown);
      if (grown == NULL) return false;
      *list = grown, grown[(*n_list)++] = *out_n;
    }
    ++*out_n;
  }
  return true;
}

static const signature *find(const char *domain, const char *name, int version) {
  const signature *best = NULL;
  if (strcmp(domain, "ai.onnx") == 0) domain = "";
  for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
    const signature *s = &signatures[i];
    if (s->since > version || strcmp(s->name, name) != 0 || strcmp(s->domain, domain) != 0) continue;
    if (best == NULL || s->since > best->since) best = s;
  }
  return best;
}

OrtStatus *ort_op_schema_find(const char *domain, const char *name, int version, OrtOpSchema **out) {
  const signature *best = find(domain, name, version);
  *out = NULL;
  if (best == NULL) return NULL;
  OrtOpSchema *s = calloc(1, sizeof *s);
  if (s == NULL) return ort_out_of_memory();
  s->since = best->since;
  if (!fill_constraints(s, best->sets) || !fill_values(s, best->in, false, &s->in, &s->n_in) ||
      !fill_values(s, best->out, true, &s->out, &s->n_out)) {
    ort_ep_ReleaseOpSchema(s);
    return ort_out_of_memory();
  }
  *out = s;
  return NULL;
}

static void free_values(schema_value *values, size_t n) {
  for (size_t i = 0; values != NULL && i < n; i++) free(values[i].name);
  free(values);
}

void ort_ep_ReleaseOpSchema(OrtOpSchema *op_schema) {
  if (op_schema == NULL) return;
  free_values(op_schema->in, op_schema->n_in);
  free_values(op_schema->out, op_schema->n_out);
  for (size_t i = 0; i < op_schema->n_constraints; i++) {
    OrtOpSchemaTypeConstraint *c = &op_schema->constraints[i];
    for (size_t k = 0; k < c->n_types; k++) free(c->types[k]);
    free(c->types), free(c->name), free(c->in), free(c->out);
  }
  free(op_schema->constraints);
  free(op_schema);
}

/* ---- for the registry of kernels ---- */

static uint64_t matching(const schema_value *values, size_t n, const char *constraint) {
  uint64_t set = 0;
  for (size_t i = 0; i < n && i < 64; i++)
    if (strcmp(values[i].name, constraint) == 0 ||
        (values[i].constraint != NULL && strcmp(values[i].constraint->name, constraint) == 0))
      set |= (uint64_t)1 << i;
  return set;
}

uint64_t ort_op_schema_inputs(const OrtOpSchema *schema, const char *constraint) {
  return matching(schema->in, schema->n_in, constraint);
}
uint64_t ort_op_schema_outputs(const OrtOpSchema *schema, const char *constraint) {
  return matching(schema->out, schema->n_out, constraint);
}
size_t ort_op_schema_n_inputs(const OrtOpSchema *schema) { return schema->n_in; }
size_t ort_op_schema_n_outputs(const OrtOpSchema *schema) { return schema->n_out; }

/* ---- for libraries ---- */

OrtStatus *ort_ep_GetOpSchema(const char *name, int max_inclusive_version, const char *domain,
                              OrtOpSchema **out_op_schema) {
  ORT_NEED(name);
  ORT_NEED(domain);
  ORT_NEED(out_op_schema);
  return ort_op_schema_find(domain, name, max_inclusive_version, out_op_schema);
}

OrtStatus *ort_ep_OpSchema_GetSinceVersion(const OrtOpSchema *op_schema, int *out) {
  ORT_NEED(op_schema);
  ORT_NEED(out);
  *out = op_schema->since;
  return NULL;
}

#define COUNT_OF(Slot, field)                                                    \
  OrtStatus *ort_ep_OpSchema_##Slot(const OrtOpSchema *op_schema, size_t *out) { \
    ORT_NEED(op_schema);                                                         \
    ORT_NEED(out);                                                               \
    *out = op_schema->field;                                                     \
    return NULL;                                                                 \
  }
COUNT_OF(GetNumInputs, n_in)
COUNT_OF(GetNumOutputs, n_out)
COUNT_OF(GetTypeConstraintCount, n_constraints)

static OrtStatus *check_index(const char *what, size_t index, size_t n) {
  return index < n ? NULL
                   : ort_fail(ORT_INVALID_ARGUMENT, "%s index %zu out of range. Schema has %zu.", what, index, n);
}

#define VALUE_OF(Slot, what, type, list, n_list, member)                                     \
  OrtStatus *ort_ep_OpSchema_##Slot(const OrtOpSchema *op_schema, size_t index, type *out) { \
    ORT_NEED(op_schema);                                                                     \
    ORT_NEED(out);                                                                           \
    ORT_TRY(check_index(what, index, op_schema->n_list));                                    \
    *out = op_schema->list[index].member;                                                    \
    return NULL;                                                                             \
  }
VALUE_OF(GetInputName, "Input", const char *, in, n_in, name)
VALUE_OF(GetOutputName, "Output", const char *, out, n_out, name)
VALUE_OF(GetInputTypeConstraint, "Input", const OrtOpSchemaTypeConstraint *, in, n_in, constraint)
VALUE_OF(GetOutputTypeConstraint, "Output", const OrtOpSchemaTypeConstraint *, out, n_out, constraint)

OrtStatus *ort_ep_OpSchema_GetTypeConstraint(const OrtOpSchema *op_schema, size_t index,
                                             const OrtOpSchemaTypeConstraint **out) {
  ORT_NEED(op_schema);
  ORT_NEED(out);
  ORT_TRY(check_index("Type constraint", index, op_schema->n_constraints));
  *out = &op_schema->constraints[index];
  return NULL;
}

OrtStatus *ort_ep_OpSchemaTypeConstraint_GetTypeParamName(const OrtOpSchemaTypeConstraint *type_constraint,
                                                          const char **out) {
  ORT_NEED(type_constraint);
  ORT_NEED(out);
  *out = type_constraint->name;
  return NULL;
}

#define LIST_OF(Slot, type, list, n_list)                                                                       \
  OrtStatus *ort_ep_OpSchemaTypeConstraint_##Slot(const OrtOpSchemaTypeConstraint *type_constraint, type **out, \
                                                  size_t *count_out) {                                          \
    ORT_NEED(type_constraint);                                                                                  \
    ORT_NEED(out);                                                                                              \
    ORT_NEED(count_out);                                                                                        \
    *out = (type *)type_constraint->list, *count_out = type_constraint->n_list;                                 \
    return NULL;                                                                                                \
  }
LIST_OF(GetAllowedTypes, const char *const, types, n_types)
LIST_OF(GetInputIndices, const size_t, in, n_in)
LIST_OF(GetOutputIndices, const size_t, out, n_out)
