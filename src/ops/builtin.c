/* SPDX-License-Identifier: Apache-2.0
 * ops/builtin.c - the only reader of the generated list of operator files. */
#include "ops/builtin.h"

#include <pthread.h>

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

ox_status *ox_ops_builtin_add(ox_registry *r) {
  for (size_t i = 0; i < OX_COUNT(sets); i++) OX_TRY(ox_registry_add(r, sets[i]->ops, sets[i]->n));
  return NULL;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ox_registry *builtin; /* under |lock|; stays until the process ends */

const ox_registry *ox_ops_builtin(void) {
  pthread_mutex_lock(&lock);
  ox_registry *made = NULL;
  ox_status *st = builtin ? NULL : ox_registry_create(ox_alloc_heap(), NULL, &made);
  if (made) st = ox_ops_builtin_add(made);
  if (!st && made)
    builtin = made;
  else
    ox_registry_destroy(made);
  ox_status_free(st);
  const ox_registry *r = builtin;
  pthread_mutex_unlock(&lock);
  return r;
}
