/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/given.h - contents that a caller gives for initializers of the main graph, instead of the model's own. */
#ifndef OX_ONNX_PROTO_GIVEN_H
#define OX_ONNX_PROTO_GIVEN_H

#include "base/arena.h"
#include "base/map.h"
#include "base/status.h"
#include "onyx/op.h"

typedef struct ox_given_tensor {
  const char *name;
  const ox_tensor *content; /* its data must outlive the model */
} ox_given_tensor;

/* Those of one model that is being read. */
typedef struct ox_givens {
  ox_alloc alloc;
  const ox_given_tensor *items;
  size_t n, n_optional; /* the last so many may stay unused */
  bool *used;
  ox_map by_name;
  ox_arena scratch;
} ox_givens;

/* |items| is borrowed. INVALID_ARGUMENT: an item without name or content, or a name that is there twice. */
OX_NODISCARD ox_status *ox_givens_init(ox_givens *g, ox_alloc alloc, const ox_given_tensor *items, size_t n,
                                       size_t n_optional);
void ox_givens_deinit(ox_givens *g); /* also fine on a zeroed struct */
/* If there is content for |name|, sets the data of |t|, whose type and shape are known. Error: SHAPE_MISMATCH if the
 * content has others. */
OX_NODISCARD ox_status *ox_givens_take(ox_givens *g, ox_str name, ox_tensor *t, bool *out_taken);
/* Error: INVALID_ARGUMENT naming one that was not taken. */
OX_NODISCARD ox_status *ox_givens_check_used(const ox_givens *g);

#endif
