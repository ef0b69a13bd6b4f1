/* SPDX-License-Identifier: Apache-2.0
 * graph/tape.h - the calls that derivatives of operators (ox_schema.gradient) are written with: emit nodes, and credit
 * shares to inputs. The walk over a graph is opt/gradient.c. */
#ifndef OX_GRAPH_TAPE_H
#define OX_GRAPH_TAPE_H

#include "graph/graph.h"

/* ox_schema.gradient gets the tape, its node, which computes output 0 from inputs whose shapes are known, and the
 * adjoint of output 0: a value that is d y / d (output 0). It adds each input's share of the derivative. */
typedef struct ox_tape {
  ox_graph *g;
  ox_status *(*infer)(ox_graph *g, ox_id node); /* types of the outputs of a node that was just made or changed */
  ox_id *adjoint;                               /* per value: d y / d value so far, or OX_NONE */
  uint32_t room;                                /* for this many values; those made later have no adjoint */
} ox_tape;

/* The output of a new ai.onnx node |op| on |a| and, unless it is OX_NONE, |b|. */
OX_NODISCARD ox_status *ox_tape_emit(ox_tape *t, const char *op, ox_id a, ox_id b, ox_id *out);
/* A constant scalar of the element type of |like|. Error: NOT_IMPLEMENTED if that is no type of floats. */
OX_NODISCARD ox_status *ox_tape_scalar(ox_tape *t, ox_id like, float v, ox_id *out);
/* A tensor of |like|'s shape filled with |v|; right also if elements of |like| are infinite or NaN. */
OX_NODISCARD ox_status *ox_tape_fill(ox_tape *t, ox_id like, float v, ox_id *out);
/* Adds |share| to the adjoint of |v|, summed over the axes along which |v| was broadcast. */
OX_NODISCARD ox_status *ox_tape_credit(ox_tape *t, ox_id v, ox_id share);
/* The same for |op|(a, b) as the share, b OX_NONE: |op|(a). */
OX_NODISCARD ox_status *ox_tape_credit_op(ox_tape *t, ox_id v, const char *op, ox_id a, ox_id b);

#endif
