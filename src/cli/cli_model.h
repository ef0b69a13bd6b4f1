/* SPDX-License-Identifier: Apache-2.0
 * cli/cli_model.h - the options that every command with a model has, and opening it. */
#ifndef OX_CLI_CLI_MODEL_H
#define OX_CLI_CLI_MODEL_H

#include "inputs.h"

/* --threads, --level, --provider, --dim, --json and one MODEL or DIR. */
typedef struct cli_model {
  const char *threads, *level;
  cli_list providers, dims, paths;
  bool json;
  /* filled by cli_model_open */
  cli_providers specs;
  ox_env *env;
  ox_session *session;
  double load_ms;
  bool is_dir;
} cli_model;

enum { CLI_MODEL_OPTIONS = 5 };
/* The rows for cli_parse. */
#define CLI_MODEL_ROWS(m)                                                                              \
  {"--threads", NULL, &(m)->threads, NULL}, {"--level", NULL, &(m)->level, NULL},                       \
      {"--provider", NULL, NULL, &(m)->providers}, {"--dim", NULL, NULL, &(m)->dims}, {"--json", &(m)->json, NULL, NULL}

#define CLI_MODEL_HELP                                                            \
  "  --threads N         threads (0: as many as the machine allows)\n"            \
  "  --level L           0 none, 1 basic, 2 extended, 3 all optimizations (3)\n"  \
  "  --provider NAME[:k=v,...]  ask this provider first; may be repeated\n"       \
  "  --dim NAME=N        size of a symbolic dimension (1); may be repeated\n"     \
  "  --json              machine-readable output\n"

/* Opens the model; |fix_dims|: --dim also fixes the model's own dimensions. EXIT_OK, or the exit code after printing. */
int cli_model_open(cli_model *m, const char *command, bool fix_dims);
/* Inputs from the folder's data set, or random ones. */
ox_status *cli_model_inputs(cli_model *m, cli_inputs *out);
void cli_model_close(cli_model *m);

#endif
