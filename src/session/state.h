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
  uint32_t in, out;           /* among the session's inputs, and its graph's outputs */
  ox_value *held;             /* NULL: empty */
  int64_t room;   /* of [batch, heads, rows, size]: heads of |held| lie so many rows apart; 0: it is plain */
  bool grows;     /* in the run under way: the output is written there */
  ox_shape after; /* of that output */
  bool begins;    /* it was empty before the run under way */
  int32_t axis;   /* along which the last run made it longer; -1: none */
} ox_state_slot;

/* A unit that can make keys and values longer where they are (exec/growing.h). */
typedef struct ox_state_cache {
  uint32_t unit;
  ox_state_slot *slot[2]; /* of keys, of values */
  bool grows;             /* in the run under way */
} ox_state_cache;

struct ox_state {
  ox_session *session;
  ox_alloc alloc;
  ox_arena arena; /* lives as long as the state */
  ox_state_slot *slots;
  uint32_t n;
  ox_state_cache *caches;
  uint32_t n_caches;
  int64_t reserved;  /* rows that caches get room for at least */
  const char **rest; /* outputs that no pair names */
  uint32_t n_rest;
  atomic_bool busy; /* in a run */
  void *lists;      /* room for the values of a run: the caller's, then those of the pairs */
  size_t lists_bytes;
};

/* What ox_session_run is given. */
typedef struct ox_run_values {
  const char *const *input_names;
  const ox_value *const *inputs;
  size_t n_inputs;
  const char *const *output_names;
  ox_value **outputs;
  size_t n_outputs;
} ox_run_values;

/* As ox_session_run; |o| is complete. */
typedef ox_status *ox_state_run_fn(ox_session *s, const ox_run_opts *o, const ox_run_values *v);
ox_state_run_fn ox_state_run;         /* with |o->state| */
ox_state_run_fn ox_session_run_given; /* with the values it is given: session_run.c */

/* ---- caches that grow where they are: state_grow.c ---- */

/* Finds them among the pairs. */
OX_NODISCARD ox_status *ox_state_find_caches(ox_state *st);
/* Before a run of |s| in |cx|: which of them grow where they are, and room for that; what does not becomes plain. */
OX_NODISCARD ox_status *ox_state_begin(ox_state *st, ox_session *s, ox_call *call, ox_context *cx, bool devices);
/* After it. */
void ox_state_end(ox_state *st, ox_context *cx);
/* The memory for output |index| of the graph if it grows there. */
OX_NODISCARD ox_status *ox_state_lend(ox_state *st, uint32_t index, const ox_shape *shape, bool *out_lent,
                                      void **out_data);
/* Copies the first |n| rows along |axis|, to where there is room for |to_room| each time. */
void ox_state_copy(const ox_state_slot *x, int axis, int64_t n, void *to, int64_t to_room);

#endif
