/* SPDX-License-Identifier: Apache-2.0
 * ops/einsum/equation.h - an Einsum equation taken apart: labels of each operand and of the result. */
#ifndef OX_OPS_EINSUM_EQUATION_H
#define OX_OPS_EINSUM_EQUATION_H

#include "graph/op_def.h"

/* Letters are labels 0 to 51; dimension i from the right of the ellipsis is label EIN_DOTS + i. */
enum { EIN_DOTS = 52, EIN_LABELS = EIN_DOTS + OX_MAX_RANK, EIN_TERMS = 32 };

typedef struct ein_term {
  int rank;
  uint8_t label[OX_MAX_RANK];
} ein_term;

typedef struct ein_equation {
  int n_terms;
  ein_term term[EIN_TERMS], out;
} ein_equation;

/* |ranks| of the operands, none unknown. Errors: INVALID_MODEL naming what is wrong with the equation. */
OX_NODISCARD ox_status *ein_parse(const char *equation, int n_terms, const int *ranks, ein_equation *out);

#endif
