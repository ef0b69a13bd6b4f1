/* SPDX-License-Identifier: Apache-2.0
 * support/one_node.h - one operator through check, inference, load, prepare and run: a step (exec/step.h) of a model of
 * one node, on the CPU provider's kernel, with memory that is poisoned and tiles in pieces.
 *   one_node n;
 *   one_node_init(&n, "ai.onnx.ml", "Scaler", 1, 1);
 *   one_node_floats(&n, "scale", 2, scale);
 *   one_node_input(&n, OX_F32, 2, (int64_t[]){3, 2}, x);
 *   CHECK_OK(one_node_run(&n));     -> n.out[0]
 *   one_node_deinit(&n);
 * Lists, strings and data are borrowed until deinit. */
#ifndef OX_TESTS_ONE_NODE_H
#define OX_TESTS_ONE_NODE_H

#include "graph/op_def.h"
#include "ops/builtin.h"

enum { ONE_NODE_MOST = 20 };

typedef struct one_node {
  ox_node node;
  int version;
  uint32_t isa;      /* preset to all this CPU has */
  int64_t run_tiles; /* tiles per call of run; 0: all at once. The result must not depend on it */
  ox_attr attrs[2 * ONE_NODE_MOST];
  ox_tensor in[ONE_NODE_MOST];
  bool present[ONE_NODE_MOST], constant[ONE_NODE_MOST];
  uint32_t n_in, n_out;
  ox_tensor out[ONE_NODE_MOST];
  ox_type out_type[ONE_NODE_MOST];
  ox_type value_type[ONE_NODE_MOST]; /* of inputs that are maps */
  ox_arena arena; /* of everything, outputs too */
} one_node;

void one_node_init(one_node *n, const char *domain, const char *op, int version, uint32_t n_out);
void one_node_int(one_node *n, const char *name, int64_t v);
void one_node_float(one_node *n, const char *name, float v);
void one_node_str(one_node *n, const char *name, const char *v);
void one_node_ints(one_node *n, const char *name, size_t count, const int64_t *v);
void one_node_floats(one_node *n, const char *name, size_t count, const float *v);
void one_node_strs(one_node *n, const char *name, size_t count, const ox_str *v);
void one_node_tensor(one_node *n, const char *name, const ox_tensor *v);
/* Appends an input; data NULL with rank -1: omitted. */
void one_node_input(one_node *n, uint32_t dtype, int rank, const int64_t *dims, const void *data);
/* Appends an input that is a constant at load. */
void one_node_const(one_node *n, uint32_t dtype, int rank, const int64_t *dims, const void *data);
void one_node_value(one_node *n, const ox_tensor *v); /* any kind */
OX_NODISCARD ox_status *one_node_run(one_node *n);
void one_node_deinit(one_node *n);

#endif
