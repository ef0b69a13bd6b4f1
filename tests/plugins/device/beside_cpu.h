/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/beside_cpu.h - models on the stand-in for a GPU beside the CPU provider: the device has all of their
 * nodes, and its outputs are those of the CPU, also once its launches are recorded. */
#ifndef OX_TESTS_BESIDE_CPU_H
#define OX_TESTS_BESIDE_CPU_H

#ifdef GPU_PLUGIN
#include <string.h>

#include "plugins/device/use_standin.h"
#include "support/check.h"
#include "support/ep_models.h"
#include "support/text_session.h"

typedef struct beside_row {
  const char *name, *text;
} beside_row;

static void beside_cpu_owners(const char *name, const ox_session *s) {
  ox_placement at;
  for (size_t i = 0; ox_session_placement(s, i, &at); i++)
    if (strcmp(at.owner, "cuda") != 0 && strcmp(at.owner, "host") != 0)
      fail_msg("%s: %s has node '%s' (%s)", name, at.owner, at.name, at.op);
}

static void beside_cpu_check(const beside_row *row) {
  const ox_provider_spec spec = {"cuda", {0}};
  ox_session_opts so;
  ep_outputs want, got;
  ox_env *env;
  ox_session *s;
  ox_session_opts_init(&so);
  so.n_threads = 1, so.providers = &spec, so.n_providers = 1;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(ox_env_load_plugin(env, GPU_PLUGIN));
  ox_status *st = text_session(env, row->text, &so, &s);
  if (st) fail_msg("%s: %s", row->name, ox_status_message(st));
  beside_cpu_owners(row->name, s);
  ep_cpu_outputs(row->text, OX_OPTIMIZE_NONE, 2, &want);
  for (int run = 0; run < 3; run++) { /* the third is a record */
    ep_inputs in;
    ep_inputs_make(env, s, 2, &in);
    st = ep_run(s, &in, &got);
    if (st) fail_msg("%s: %s", row->name, ox_status_message(st));
    ep_outputs_compare(row->name, &want, &got, 1e-5);
    ep_outputs_free(&got), ep_inputs_free(&in);
  }
  ep_outputs_free(&want);
  ox_session_release(s);
  ox_env_release(env);
}

static void beside_cpu_check_all(const beside_row *rows, size_t n) {
  use_standin();
  for (size_t i = 0; i < n; i++) beside_cpu_check(&rows[i]);
}
#endif

#endif
