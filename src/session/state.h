/* SPDX-License-Identifier: Apache-2.0
 * session/state.h - outputs of a run that are inputs of the next one, kept between the two. A run with a state is a run
 * whose list of inputs and outputs is longer than the caller's. */
#ifndef OX_SESSION_STATE_H
#define OX_SESSION_STATE_H

#include <stdatomic.h>

#include "session/session.h"

/* One pair. */
typedef struct ox_state_slot {
  const char *output, *input; /* names that the session has */
  uint32_t in;                /* among the session's inputs */
  ox_value *held;             /* NULL: empty */
  bool begins;                /* it was empty before the run under way */
  int32_t axis;               /* along which the last run made it longer; -1: none */
} ox_state_slot;

struct ox_state {
  ox_session *session;
  ox_alloc alloc;
  ox_arena arena; /* lives as long as the state */
  ox_state_slot *slots;
  uint32_t n;
  const char **rest; /* outputs that no pair names */
  uint32_t n_rest;
  atomic_bool busy; /* in a run */
  void *lists;      /* room for the values of a run: the caller's, then those of the pairs */
  size_t lists_bytes;
};

/* As ox_session_run; |o| is complete. */
typedef ox_status *ox_state_run_fn(ox_session *s, const ox_run_opts *o, const char *const *input_names,
                                   const ox_value *const *inputs, size_t n_inputs, const char *const *output_names,
                                   ox_value **outputs, size_t n_outputs);
ox_state_run_fn ox_state_run;         /* with |o->state| */
ox_state_run_fn ox_session_run_given; /* with the values it is given: session_run.c */

#endif
