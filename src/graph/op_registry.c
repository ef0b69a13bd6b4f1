/* SPDX-License-Identifier: Apache-2.0
 * graph/op_registry.c - the only reader of the generated list of operator files. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "graph/op_def.h"

#define OX_OPS(stem) extern const ox_op_set ox_ops_##stem;
#include "op_list.inc" /* the build writes OX_OPS(stem) for each src/ops/<stem>.c, sorted */
#undef OX_OPS

static const ox_op_set *const sets[] = {
#define OX_OPS(stem) &ox_ops_##stem,
#include "op_list.inc"
#undef OX_OPS
};

/* Sorted once, on first use, by (domain, name, since). */
enum { MAX_ROWS = 2048 };
static const ox_op_def *rows[MAX_ROWS];
static size_t n_rows;
static pthread_once_t sorted = PTHREAD_ONCE_INIT;

static const char *domain_of(const char *domain) { return domain && strcmp(domain, "ai.onnx") != 0 ? domain : ""; }

static int compare_key(const char *domain, const char *name, const ox_op_def *row) {
  int c = strcmp(domain, domain_of(row->domain));
  return c ? c : strcmp(name, row->name);
}

static int compare_rows(const void *a, const void *b) {
  const ox_op_def *x = *(const ox_op_def *const *)a, *y = *(const ox_op_def *const *)b;
  int c = compare_key(domain_of(x->domain), x->name, y);
  return c ? c : (x->since > y->since) - (x->since < y->since);
}

static void sort_rows(void) {
  for (size_t i = 0; i < OX_COUNT(sets); i++)
    for (size_t k = 0; k < sets[i]->n && n_rows < MAX_ROWS; k++) rows[n_rows++] = &sets[i]->defs[k];
  qsort(rows, n_rows, sizeof rows[0], compare_rows);
}

const ox_op_def *const *ox_op_all(size_t *out_n) {
  pthread_once(&sorted, sort_rows);
  *out_n = n_rows;
  return rows;
}

const ox_op_def *ox_op_find(const char *domain, const char *op, int64_t version) {
  pthread_once(&sorted, sort_rows);
  domain = domain_of(domain);
  size_t lo = 0, hi = n_rows; /* the first row beyond (domain, op, version) */
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    int c = compare_key(domain, op, rows[mid]);
    if (c > 0 || (c == 0 && rows[mid]->since <= version)) lo = mid + 1;
    else hi = mid;
  }
  return lo && compare_key(domain, op, rows[lo - 1]) == 0 ? rows[lo - 1] : NULL;
}
