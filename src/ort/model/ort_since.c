/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_since.c - see ort_since.h. */
#include "ort/model/ort_since.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct ort_since {
  const char *domain, *op;
  uint8_t versions[12]; /* ends with 0 */
} ort_since;

#define ORT_OP(domain, name, ...) {domain, name, {__VA_ARGS__}},
static const ort_since table[] = {
#include "ort/model/ort_since.inc"
};
#undef ORT_OP

static int compare(const void *key, const void *row) {
  const ort_since *a = key, *b = row;
  int order = strcmp(a->domain, b->domain);
  return order != 0 ? order : strcmp(a->op, b->op);
}

int ort_op_since(const char *domain, const char *op, int version) {
  const ort_since key = {.domain = strcmp(domain, "ai.onnx") == 0 ? "" : domain, .op = op};
  const ort_since *row = bsearch(&key, table, sizeof table / sizeof *table, sizeof *table, compare);
  int since = 1;
  for (size_t i = 0; row != NULL && row->versions[i] != 0 && row->versions[i] <= version; i++) since = row->versions[i];
  return since;
}
