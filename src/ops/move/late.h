/* SPDX-License-Identifier: Apache-2.0
 * ops/move/late.h - operators whose parameters (axes, pads, lengths ...) are inputs. A plan is built once in prepare if
 * those inputs are known there, else by the first stage of each run. */
#ifndef OX_OPS_MOVE_LATE_H
#define OX_OPS_MOVE_LATE_H

#include "base/macros.h"
#include "graph/op_def.h"
#include "kern/move/move.h"

/* How a plan begins. */
typedef struct ox_late_plan {
  int64_t units; /* independent pieces of work; not for |work| to read */
  int64_t bytes; /* they write, all together: decides about tiles */
} ox_late_plan;

typedef struct ox_late_op {
  uint32_t params; /* bit i: the plan needs the content of input i */
  size_t plan_bytes;
  ox_status *(*infer)(ox_infer_ctx *c);
  /* Fills |plan| (zeroed) from inputs whose shapes and parameters are known. |out|: the outputs' inferred types. */
  ox_status *(*build)(const ox_kernel_ctx *c, const ox_type *out, void *plan);
  ox_status *(*work)(const ox_kernel_ctx *c, const void *plan, int64_t begin, int64_t end); /* units */
} ox_late_op;

/* prepare and run of such an operator. At most OX_LATE_OUTS outputs and OX_LATE_INS inputs. */
enum { OX_LATE_INS = 8, OX_LATE_OUTS = 4 };
ox_status *ox_late_prepare(ox_kernel_ctx *c, const ox_late_op *op);
ox_status *ox_late_run(const ox_kernel_ctx *c, const ox_late_op *op, uint32_t stage, ox_range tiles);

/* Output |i| has |s|: its memory, from the plan if the shape was known there, else allocated now (single-tile stages
 * only). Error if the planned shape is another one. */
OX_NODISCARD ox_status *ox_late_output(const ox_kernel_ctx *c, uint32_t i, const ox_shape *s, void **out_data);
/* Infers the outputs' types from what the run knows. |out| has OX_LATE_OUTS entries. */
OX_NODISCARD ox_status *ox_late_infer(const ox_kernel_ctx *c, ox_status *(*infer)(ox_infer_ctx *), ox_type *out);
/* All elements of a small I32/I64 tensor; at most |max|, else an error naming |what|. */
OX_NODISCARD ox_status *ox_ints_of(const ox_tensor *t, const char *what, int64_t *out, int max, int *out_n);
/* Element |i| of an I32 or I64 tensor. */
static inline int64_t ox_int_at(const ox_tensor *t, int64_t i) {
  return t->dtype == OX_I32 ? ((const ox_i32u *)t->data)[i] : ((const ox_i64u *)t->data)[i];
}
/* The share of |units| that falls to |tiles| of |n_tiles|. */
static inline ox_range ox_units_of(ox_range tiles, int64_t n_tiles, int64_t units) {
  int64_t q = units / n_tiles, r = units % n_tiles;
  return (ox_range){q * tiles.begin + r * tiles.begin / n_tiles, q * tiles.end + r * tiles.end / n_tiles};
}

/* Plans that are one ox_move. */
typedef struct ox_move_plan {
  ox_late_plan late;
  ox_move move;
} ox_move_plan;
void ox_move_plan_init(ox_move_plan *p, uint32_t dtype, const ox_region *r);
/* work of such a plan: copies from input 0 to output 0. */
ox_status *ox_move_plan_work(const ox_kernel_ctx *c, const void *plan, int64_t begin, int64_t end);

#endif
