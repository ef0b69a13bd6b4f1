/* SPDX-License-Identifier: Apache-2.0
 * session/all_values.h - values of the model as outputs of the session, once nothing rewrites the graph any more:
 * ox_session_opts.all_values. */
#ifndef OX_SESSION_ALL_VALUES_H
#define OX_SESSION_ALL_VALUES_H

#include "session/session.h"

/* Names of values, in the model's arena. */
typedef struct ox_value_names {
  const char **names;
  size_t n;
} ox_value_names;

/* The names of what the nodes of |g| make, in topological order. */
OX_NODISCARD ox_status *ox_value_names_list(ox_arena *a, const ox_graph *g, ox_value_names *out);
/* What still goes by one of these names, and is made by a node or constant, becomes an output behind those that there
 * are. */
OX_NODISCARD ox_status *ox_value_names_output(const ox_value_names *names, ox_graph *g);

#endif
