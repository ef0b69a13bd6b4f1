/* SPDX-License-Identifier: Apache-2.0
 * cli/inputs.h - values to feed a session with: from a test folder, from files, or random. */
#ifndef OX_CLI_INPUTS_H
#define OX_CLI_INPUTS_H

#include "cli.h"

/* At most one value per input of a session. */
typedef struct cli_inputs {
  const char **names; /* borrowed from the session */
  ox_value **values;
  size_t n, most;
} cli_inputs;

/* Sizes of symbolic dimensions. */
typedef struct cli_dims {
  const char *names[CLI_MOST];
  int64_t sizes[CLI_MOST];
  size_t n;
} cli_dims;

/* Room for the inputs of |s|. */
ox_status *cli_inputs_init(const ox_session *s, cli_inputs *out);
/* SET/input_N.pb for each input of |s|. */
ox_status *cli_inputs_from_set(ox_env *env, const ox_session *s, const char *set, cli_inputs *out);
/* Seeded random content for every input that |out| lacks; symbolic dimensions that are not in |dims| are 1. */
ox_status *cli_inputs_random(ox_env *env, const ox_session *s, unsigned seed, const cli_dims *dims, cli_inputs *out);
bool cli_inputs_have(const cli_inputs *in, const char *name);
void cli_inputs_release(cli_inputs *in);

#endif
