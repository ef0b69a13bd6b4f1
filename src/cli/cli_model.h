/* SPDX-License-Identifier: Apache-2.0
 * cli/cli_model.h - the options that every command with a model has, and opening it. */
#ifndef OX_CLI_CLI_MODEL_H
#define OX_CLI_CLI_MODEL_H

#include "inputs.h"
#include "providers.h"

/* Options of commands that make a session. */
typedef struct cli_session_args {
  long long threads, level, max_memory; /* in MiB */
  bool level_given;
  cli_list require, no_rules;
  char *cache_dir, *tune_cache, *dump_before, *dump_after;
  bool tune, all_values;
  cli_providers providers;
} cli_session_args;

#define CLI_SESSION_OPTIONS(s)                                                                        \
  CLI_INT("threads", "N", &(s).threads, 0, OX_POOL_MAX, "threads; 0: as many as the machine allows"), \
      {.name = "level",                                                                               \
       .arg = "L",                                                                                    \
       .help = "optimizations: 0 none, 1 basic, 2 extended, 3 all",                                   \
       .flag = &(s).level_given,                                                                      \
       .integer = &(s).level,                                                                         \
       .most = OX_OPTIMIZE_ALL},                                                                      \
      CLI_LIST("no-rule", "RULE", &(s).no_rules, "leave out this rule or pass of the optimizer"),     \
      CLI_LIST("require", "WHAT", &(s).require,                                                       \
               "fail unless \"no NODES on PROVIDER\" or \"all NODES on PROVIDER\" holds, where\n"     \
               "NODES is \"nodes\", or operators: Conv|Gemm"),                                        \
      CLI_INT("max-memory", "MIB", &(s).max_memory, 0, INT64_MAX,                                     \
              "most memory for load and runs; 0: 2 GiB plus 256 times model and inputs, but at\n"     \
              "most 80 % of the machine's"),                                                          \
      CLI_TEXT("cache-dir", "DIR", &(s).cache_dir, "where providers keep compiled programs"),         \
      CLI_TEXT("tune-cache", "FILE", &(s).tune_cache, "measurements of onyx tune on this machine"),   \
      CLI_PROVIDER_OPTIONS((s).providers)

/* Those of commands with one MODEL or DIR, and what comes of them. */
typedef struct cli_model {
  cli_session_args args;
  cli_list dim_texts;
  bool json;
  /* filled by cli_model_open */
  const char *path; /* as given */
  cli_dims dims;
  ox_session_opts opts; /* of |session| */
  ox_env *env;
  ox_session *session;
  cli_inputs in;  /* empty */
  ox_value **out; /* per output; NULL */
  size_t n_out;
  double load_ms;
  bool is_dir;
} cli_model;

#define CLI_MODEL_OPTIONS(m)                                                                                        \
  CLI_SESSION_OPTIONS((m).args), CLI_LIST("dim", "NAME=N", &(m).dim_texts, "size of a symbolic dimension, else 1"), \
      CLI_FLAG("json", &(m).json, "machine-readable output")

/* What the options say; false after printing what is wrong with them. */
bool cli_session_opts(cli_session_args *a, ox_session_opts *out);
/* Opens the model; |fix_dims|: --dim also fixes the model's own dimensions. EXIT_OK, or the exit code after
 * printing. */
int cli_model_open(cli_model *m, const cli_operands *operands, bool fix_dims);
/* The model's file. */
void cli_model_path(const cli_model *m, char *out, size_t n);
/* Fills |m->in| from the folder's first data set, or with random numbers. */
ox_status *cli_model_fill(cli_model *m);
/* Bytes of workspace that a run with |m->in| needs; -1: an optional input that is left out has no shape to
 * plan with. */
ox_status *cli_model_workspace(const cli_model *m, int64_t *out_bytes);
/* Runs with |m->in| into |m->out|, which is empty. */
ox_status *cli_model_run(cli_model *m);
void cli_model_drop_outputs(cli_model *m);
void cli_model_close(cli_model *m);

#endif
