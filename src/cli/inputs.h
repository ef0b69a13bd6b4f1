/* SPDX-License-Identifier: Apache-2.0
 * cli/inputs.h - values to feed a session with: from a test folder, from files, or random. */
#ifndef OX_CLI_INPUTS_H
#define OX_CLI_INPUTS_H

#include "cli.h"

typedef struct cli_inputs {
  const char *names[CLI_MOST];
  ox_value *values[CLI_MOST];
  size_t n;
} cli_inputs;

/* DIR/test_data_set_0/input_N.pb for each input of |s|. */
ox_status *cli_inputs_from_dir(ox_env *env, ox_session *s, const char *dir, cli_inputs *out);
/* Seeded random content for every input that |out| lacks; |dims| ("name=value") fix symbolic dimensions, others are 1. */
ox_status *cli_inputs_random(ox_env *env, ox_session *s, unsigned seed, const cli_list *dims, cli_inputs *out);
void cli_inputs_release(cli_inputs *in);

#endif
