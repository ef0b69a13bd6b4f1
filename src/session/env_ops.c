/* SPDX-License-Identifier: Apache-2.0
 * session/env_ops.c - operators and rules that an env's owner adds. */
#include "ops/builtin.h"
#include "opt/opt.h"
#include "session/env.h"

ox_status *ox_env_add_ops(ox_env *env, const ox_op *rows, size_t n) {
  if (n && !rows) return ox_fail(OX_INVALID_ARGUMENT, "the table of operators is NULL");
  if (!env->own_ops) OX_TRY(ox_registry_create(env->alloc, ox_ops_builtin(), &env->own_ops));
  env->ops = env->own_ops;
  return ox_registry_add(env->own_ops, rows, n);
}

ox_status *ox_env_add_rules(ox_env *env, const ox_rule_set *set) {
  if (!set) return ox_fail(OX_INVALID_ARGUMENT, "the set of rules is NULL");
  if (env->n_rule_sets == OX_MOST_RULE_SETS) return ox_fail(OX_LIMIT, "more than %d sets of rules", OX_MOST_RULE_SETS);
  OX_TRY(ox_rule_set_check(set));
  env->rule_sets[env->n_rule_sets++] = set;
  return NULL;
}
