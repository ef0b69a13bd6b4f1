/* SPDX-License-Identifier: Apache-2.0
 * exec/placed.h - inputs and outputs of a run that the caller has on a device. A plan copies what enters and leaves the
 * graph (plan/transfers.h); where the caller's value already is in the memory that such a copy reads or writes, the
 * copy is left out, and the step that computes an output writes it there directly. */
#ifndef OX_EXEC_PLACED_H
#define OX_EXEC_PLACED_H

#include "exec/context_state.h"

typedef struct ox_placed_value {
  uint32_t memory; /* plan/transfers.h; 0: the host's, as in any run */
  void *data;      /* its address there; an output's is NULL until the run asks for it */
  bool done;       /* an output lies there */
} ox_placed_value;

typedef struct ox_placed {
  const ox_placed_value *in; /* per bound value of the context */
  ox_placed_value *out;      /* per output of the graph */
  /* Allocates output |index|, once its type is known. */
  ox_status *(*take)(struct ox_placed *p, uint32_t index, uint32_t dtype, const ox_shape *shape, size_t bytes,
                     void **out_data);
} ox_placed;

/* Whether only the caller reads output |index|, so that a run that has it on a device needs it nowhere else. */
bool ox_output_is_last(const ox_graph *g, uint32_t index);
/* Whether all nodes that read input |v|, also in bodies, read it in |memory|, so that it is not needed on the host. */
bool ox_input_is_only_in(const ox_graph *g, ox_id v, uint32_t memory);

/* Before the steps: directs outputs of known shape into the caller's memory. */
OX_NODISCARD ox_status *ox_placed_begin(ox_context *c);
/* After the run, however it ended: restores the context. */
void ox_placed_end(ox_context *c);
/* Sets |in|, per bound value of the body, for what the body reads from the caller's devices. False: nothing. */
bool ox_placed_for_body(const ox_context *c, const ox_graph *body, const ox_id *bound, uint32_t n, ox_placed_value *in);
/* Replaces a copy that the caller's memory makes superfluous; *out_done: nothing is left to copy. */
OX_NODISCARD ox_status *ox_placed_copy(ox_context *c, ox_step *s, bool *out_done);
/* The caller's memory for value |v|, whose shape only the run tells; NULL: the caller wants it elsewhere, or there was
 * an error, in c->sink_status. */
void *ox_placed_output(ox_context *c, ox_id v, const ox_tensor *t);

#endif
