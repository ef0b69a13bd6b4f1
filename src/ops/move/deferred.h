/* SPDX-License-Identifier: Apache-2.0
 * ops/move/deferred.h - operators that take parameters (axes, pads, lengths ...) as inputs. Their plan is built once,
 * in prepare, if those inputs are known there; otherwise the first stage of every run builds it. */
#ifndef OX_OPS_MOVE_DEFERRED_H
#define OX_OPS_MOVE_DEFERRED_H

#include "base/macros.h"
#include "graph/op_def.h"
#include "kern/move/move.h"

/* The first member of every plan. */
typedef struct ox_deferred_head {
  int64_t units; /* independent pieces of work; |work| must not read it */
  int64_t bytes; /* written by all units together: decides the number of tiles */
} ox_deferred_head;

typedef struct ox_deferred_op {
  uint32_t params; /* bit i: the plan needs the content of input i */
  size_t plan_bytes;
  ox_status *(*infer)(ox_infer_ctx *c);
  /* Fills |plan| (zeroed) from inputs whose shapes and parameters are known. |out|: the outputs' inferred types. */
  ox_status *(*build)(const ox_kernel_ctx *c, const ox_type *out, void *plan);
  ox_status *(*work)(const ox_kernel_ctx *c, const void *plan, int64_t begin, int64_t end); /* units */
} ox_deferred_op;

/* The operator's prepare and run. At most OX_DEFERRED_OUTS outputs and OX_DEFERRED_INS inputs. */
enum { OX_DEFERRED_INS = 8, OX_DEFERRED_OUTS = 4 };
ox_status *ox_deferred_prepare(ox_kernel_ctx *c, const ox_deferred_op *op);
ox_status *ox_deferred_run(const ox_kernel_ctx *c, const ox_deferred_op *op, uint32_t stage, ox_range tiles);

/* The memory of output |i|, whose shape is |s|: planned if the shape was known in prepare, else allocated now (only in
 * stages of one tile). Error: the planned shape differs, or |s| is too large even for a tensor without elements. */
OX_NODISCARD ox_status *ox_output_at_run(const ox_kernel_ctx *c, uint32_t i, const ox_shape *s, void **out_data);
/* Infers the outputs' types from the inputs of this run. |out| has OX_DEFERRED_OUTS entries; those of outputs are set. */
OX_NODISCARD ox_status *ox_infer_at_run(const ox_kernel_ctx *c, ox_status *(*infer)(ox_infer_ctx *), ox_type *out);
/* All elements of a small I32/I64 tensor; at most |max|, else an error naming |what|. */
OX_NODISCARD ox_status *ox_ints_of(const ox_tensor *t, const char *what, int64_t *out, int max, int *out_n);
/* Element |i| of an I32 or I64 tensor. */
static inline int64_t ox_int_at(const ox_tensor *t, int64_t i) {
  return t->dtype == OX_I32 ? ((const ox_i32u *)t->data)[i] : ((const ox_i64u *)t->data)[i];
}
/* The units that |tiles| of |n_tiles| process, when all tiles share |units| evenly. */
static inline ox_range ox_units_of(ox_range tiles, int64_t n_tiles, int64_t units) {
  int64_t q = units / n_tiles, r = units % n_tiles;
  return (ox_range){q * tiles.begin + r * tiles.begin / n_tiles, q * tiles.end + r * tiles.end / n_tiles};
}

/* A plan that is a single ox_move. */
typedef struct ox_move_plan {
  ox_deferred_head head;
  ox_move move;
} ox_move_plan;
void ox_move_plan_init(ox_move_plan *p, uint32_t dtype, const ox_region *r);
/* Its |work|: copies from input 0 to output 0. */
ox_status *ox_move_plan_work(const ox_kernel_ctx *c, const void *plan, int64_t begin, int64_t end);

#endif
