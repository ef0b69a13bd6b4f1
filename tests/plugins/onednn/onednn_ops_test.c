/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/onednn_ops_test.c - operators of the oneDNN provider beside the CPU provider, which shares no code
 * with it: each model runs with other nodes' constants and inputs, at two levels, for free dimensions of 1, 3 and 0. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "onednn_numbers.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/ep_models.h"
#include "support/text_session.h"

#ifndef ONEDNN_PLUGIN /* it was not built */
#define ONEDNN_PLUGIN NULL
#endif
#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> "
#define X4 "g (float[N,4,9,7] x) => (float[A,B,C,D] y) "

typedef struct {
  const char *name, *text; /* #n stands for n numbers */
  int theirs;              /* nodes that the provider has to run, before optimization */
  double tolerance;        /* of the largest number */
} row;

#define BF16(n) (-(n)) /* where the CPU has it */
#define INT8(n) (-(n)) /* likewise: VNNI */

static const row rows[] = {
#include "onednn_ops.inc"
};

/* ---- runs ---- */

static int count_theirs(const ox_session *s) {
  int n = 0;
  ox_placement p;
  for (size_t i = 0; ox_session_placement(s, i, &p); i++) n += strcmp(p.owner, "onednn") == 0;
  return n;
}

static void run(const row *r, const char *text, ox_session *s, ox_env *env, uint32_t level, int64_t batch) {
  char what[128];
  ep_inputs in;
  ep_outputs want, got;
  snprintf(what, sizeof what, "%s, level %u, batch %d", r->name, level, (int)batch);
  ep_cpu_outputs(text, OX_OPTIMIZE_NONE, batch, &want);
  ep_inputs_make(env, s, batch, &in);
  for (int again = 0; again < 2; again++) {
    ox_status *st = ep_run(s, &in, &got);
    if (st) fail_msg("%s: %s", what, ox_status_message(st));
    ep_outputs_compare(what, &want, &got, r->tolerance);
    ep_outputs_free(&got);
  }
  ep_outputs_free(&want);
  ep_inputs_free(&in);
}

static void check(void **state) {
  const row *r = *state;
  static const uint32_t levels[] = {OX_OPTIMIZE_NONE, OX_OPTIMIZE_ALL};
  if (!ONEDNN_PLUGIN) skip();
  char *text = onednn_numbers(r->text);
  for (size_t l = 0; l < OX_COUNT(levels); l++) {
    counting_alloc count = {.fail_at = -1};
    ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&count)};
    ox_provider_spec spec = {"onednn", {0}};
    ox_session_opts so;
    ox_env *env;
    ox_session *s;
    ox_session_opts_init(&so);
    so.providers = &spec, so.n_providers = 1, so.optimize = levels[l], so.n_threads = 2;
    CHECK_OK(ox_env_create(&eo, &env));
    CHECK_OK(ox_env_load_plugin(env, ONEDNN_PLUGIN));
    CHECK_OK(text_session(env, text, &so, &s));
    bool fits = count_theirs(s) == abs(r->theirs) || (r->theirs < 0 && count_theirs(s) == 0);
    if (levels[l] == OX_OPTIMIZE_NONE && !fits)
      fail_msg("%s: the provider runs %d nodes, not %d", r->name, count_theirs(s), r->theirs);
    for (int64_t batch = 3; batch >= 0; batch -= batch == 3 ? 2 : 1) run(r, text, s, env, levels[l], batch);
    ox_session_release(s);
    ox_env_release(env);
    assert_int_equal(atomic_load(&count.live), 0);
  }
  free(text);
}

int main(void) {
  struct CMUnitTest tests[OX_COUNT(rows)];
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    tests[i] = (struct CMUnitTest){rows[i].name, check, NULL, NULL, (void *)&rows[i]};
  return _cmocka_run_group_tests("plugins.onednn.onednn_ops", tests, OX_COUNT(tests), NULL, NULL);
}
