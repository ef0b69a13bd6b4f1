/* SPDX-License-Identifier: Apache-2.0
 * support/packing_session.c - see packing_session.h. */
#include "support/packing_session.h"

#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/text_session.h"

static ox_status *infer(ox_infer_ctx *c) {
  ox_infer_out(c, 0, OX_F32, &c->in[PACKING_X]->shape);
  return NULL;
}

static ox_status *load(ox_load_ctx *c) {
  c->state = c->user, c->consumed = 1u << PACKING_W;
  return NULL;
}

void packing_session_open(packing_session *p, const char *text, packing_kernel kernel, const ox_rule_set *rules) {
  *p = (packing_session){.count.fail_at = -1};
  p->schema = (ox_schema){.struct_size = sizeof(ox_schema),
                          .name = "Packs",
                          .domain = "me",
                          .since = 1,
                          .min_in = 2,
                          .max_in = 2,
                          .types = {OX_BIT(OX_F32)},
                          .infer = infer,
                          .user = kernel.state};
  p->kernel = (ox_kernel_def){.struct_size = sizeof(ox_kernel_def),
                              .load = load,
                              .prepare = kernel.prepare,
                              .run = kernel.run,
                              .packs_in = 1u << PACKING_W};
  p->op = (ox_op){&p->schema, &p->kernel};
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&p->count)};
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.ops = &p->op, so.n_ops = 1, so.n_threads = 3, so.rule_sets = &rules, so.n_rule_sets = rules != NULL;
  CHECK_OK(ox_env_create(&eo, &p->env));
  CHECK_OK(text_session(p->env, text, &so, &p->s));
}

void packing_session_close(packing_session *p) {
  ox_session_release(p->s);
  ox_env_release(p->env);
  assert_int_equal(p->count.live, 0);
}

ox_status *packing_session_run(packing_session *p, int64_t n, const int *cancel, ox_value **out_y) {
  const ox_run_opts ro = {.struct_size = sizeof ro, .cancel = cancel};
  const char *name = "x";
  ox_value *x = ramp_value(NULL, 1, 0, 1, &n);
  *out_y = NULL;
  ox_status *st = ox_session_run(p->s, &ro, &name, (const ox_value *const *)&x, 1, NULL, out_y, 1);
  ox_value_release(x);
  return st;
}
