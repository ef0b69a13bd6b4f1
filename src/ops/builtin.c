/* SPDX-License-Identifier: Apache-2.0
 * ops/builtin.c - the only reader of the generated list of operator files. A file may hold rows of both tables: the
 * domain tells them apart. */
#include "ops/builtin.h"

#include <pthread.h>
#include <string.h>

#include "base/macros.h"
#include "graph/op_def.h"

#define OX_OPS(stem) extern const ox_op_set ox_ops_##stem;
#include "op_list.inc" /* the build writes OX_OPS(stem) for each src/ops/<stem>.c but this one, sorted */
#undef OX_OPS

static const ox_op_set *const sets[] = {
#define OX_OPS(stem) &ox_ops_##stem,
#include "op_list.inc"
#undef OX_OPS
};

static bool is_own(const ox_op *op) { return op->schema->domain && strcmp(op->schema->domain, "ai.onyx") == 0; }

static ox_status *add_rows(ox_registry *r, bool own) {
  for (size_t i = 0; i < OX_COUNT(sets); i++) {
    const ox_op *rows = sets[i]->ops;
    for (size_t begin = 0, end; begin < sets[i]->n; begin = end) { /* a run of rows of one table */
      for (end = begin + 1; end < sets[i]->n && is_own(&rows[end]) == is_own(&rows[begin]);) end++;
      if (is_own(&rows[begin]) == own) OX_TRY(ox_registry_add(r, &rows[begin], end - begin));
    }
  }
  return NULL;
}

ox_status *ox_ops_builtin_add(ox_registry *r) { return add_rows(r, false); }
ox_status *ox_ops_cpu_add(ox_registry *r) { return add_rows(r, true); }

/* ---- the shared tables: they stay until the process ends ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ox_registry *builtin, *cpu; /* under |lock| */

/* Makes |*table|, if it is not there yet. */
static void make(ox_registry **table, const ox_registry *base, ox_status *(*add)(ox_registry *r)) {
  ox_registry *made = NULL;
  if (*table) return;
  ox_status *st = ox_registry_create(ox_alloc_heap(), base, &made);
  if (!st) st = add(made);
  if (!st)
    *table = made;
  else
    ox_registry_destroy(made);
  ox_status_free(st); /* out of memory: rows that are linked in are valid (tests/ops/builtin_test.c) */
}

const ox_registry *ox_ops_builtin(void) {
  pthread_mutex_lock(&lock);
  make(&builtin, NULL, ox_ops_builtin_add);
  const ox_registry *r = builtin;
  pthread_mutex_unlock(&lock);
  return r;
}

const ox_registry *ox_ops_cpu(void) {
  const ox_registry *base = ox_ops_builtin();
  pthread_mutex_lock(&lock);
  if (base) make(&cpu, base, ox_ops_cpu_add);
  const ox_registry *r = cpu;
  pthread_mutex_unlock(&lock);
  return r;
}
