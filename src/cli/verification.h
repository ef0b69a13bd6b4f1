/* SPDX-License-Identifier: Apache-2.0
 * cli/verification.h - the optimized model against the model as it is, value by value. */
#ifndef OX_CLI_VERIFICATION_H
#define OX_CLI_VERIFICATION_H

#include "cli_model.h"

/* A session with all values, and what a run of it gave. */
typedef struct cli_values {
  ox_session *session;
  ox_value **out;
  size_t n;
} cli_values;

/* An output of the model's session. */
typedef struct cli_output {
  const char *name;
  size_t at, node; /* its index; that of the node that makes it (ox_session_output_node) */
} cli_output;

/* What a comparison found. */
typedef struct cli_finding {
  bool agrees;
  size_t n_compared, n_random; /* random values, which are not compared */
  bool failed;                 /* there is nothing to compare: it cannot be loaded or run */
  char why[1024];              /* as cli_equal says it, or the error */
  size_t wanted, got;          /* outputs of the two sessions: the first difference in the order of execution */
} cli_finding;

typedef struct cli_verification {
  cli_model *m;
  const cli_tolerance *tol;
  ox_env *env; /* of its own: what the model's sessions warn of has been said */
  cli_values model;
  cli_output *by_execution, *by_name; /* outputs of |model| */
  cli_values optimized;
  cli_finding found;
  const char *rules[2 * CLI_MOST]; /* if it does not agree: without them it would. None: no rule is to blame */
  size_t n_rules;
} cli_verification;

/* Runs both with |m|'s inputs, which are filled, and finds what differs and why. An error says that the model itself
 * cannot be run. */
ox_status *cli_verify(cli_model *m, const cli_tolerance *tol, cli_verification *out);
void cli_verification_release(cli_verification *v);

/* What was found (verification_report.c). */
void cli_verification_print(const cli_verification *v);
void cli_verification_json(const cli_verification *v, ox_json *j); /* one object */

#endif
