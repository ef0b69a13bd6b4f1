/* SPDX-License-Identifier: Apache-2.0
 * exec/placed.h - inputs and outputs of a run that the caller has on a device. A plan copies what enters and leaves the
 * graph (plan/transfers.h); where the caller has the value in just the memory that a copy leads to or comes from, the
 * copy is left out, and who makes an output writes it in its place. */
#ifndef OX_EXEC_PLACED_H
#define OX_EXEC_PLACED_H

#include "exec/state.h"

typedef struct ox_placed_value {
  uint32_t memory; /* plan/transfers.h; 0: the host's, as in any run */
  void *data;      /* there; an output's: NULL until the run has asked for it */
  bool done;       /* an output lies there */
} ox_placed_value;

typedef struct ox_placed {
  const ox_placed_value *in; /* per bound value of the context */
  ox_placed_value *out;      /* per output of the graph */
  /* Memory for output |index|, of which the type is known now. */
  ox_status *(*take)(struct ox_placed *p, uint32_t index, uint32_t dtype, const ox_shape *shape, size_t bytes,
                     void **out_data);
} ox_placed;

/* Whether nobody but the caller reads output |index|, so that a run that has it on a device needs it nowhere else. */
bool ox_output_is_last(const ox_graph *g, uint32_t index);
/* Whether nodes that read input |v|, also those of bodies, all read it in |memory|: nobody needs it on the host. */
bool ox_input_is_only_in(const ox_graph *g, ox_id v, uint32_t memory);

/* Before the steps: who makes an output of known shape does so in the caller's memory. */
OX_NODISCARD ox_status *ox_placed_begin(ox_context *c);
/* After the run, however it ended: the context is as it was. */
void ox_placed_end(ox_context *c);
/* What a body reads of what the caller has on devices: |in|, per bound value of the body. false: nothing. */
bool ox_placed_for_body(const ox_context *c, const ox_graph *body, const ox_id *bound, uint32_t n, ox_placed_value *in);
/* In place of a copy, if the caller's memory makes one superfluous; |*out_done|: nothing is left to do. */
OX_NODISCARD ox_status *ox_placed_copy(ox_context *c, ox_step *s, bool *out_done);
/* The caller's memory for value |v|, which only the run knows the shape of; NULL: it wants it elsewhere, or there was
 * an error, which c->sink_status has. */
void *ox_placed_output(ox_context *c, ox_id v, const ox_tensor *t);

#endif
