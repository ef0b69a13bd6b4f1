/* SPDX-License-Identifier: Apache-2.0
 * session/all_values.h - makes values of the model outputs of the session, after all rewriting of the graph:
 * ox_session_opts.all_values. */
#ifndef OX_SESSION_ALL_VALUES_H
#define OX_SESSION_ALL_VALUES_H

#include "session/session.h"

/* Names of values, in the model's arena. */
typedef struct ox_value_names {
  const char **names;
  size_t n;
} ox_value_names;

/* Lists the names of the values that nodes of |g| compute, in topological order. */
OX_NODISCARD ox_status *ox_value_names_list(ox_arena *a, const ox_graph *g, ox_value_names *out);
/* Appends to |g|'s outputs every value that still has one of these names and is computed by a node, or constant. */
OX_NODISCARD ox_status *ox_value_names_output(const ox_value_names *names, ox_graph *g);

#endif
