/* SPDX-License-Identifier: Apache-2.0
 * ops/builtin.h - the operators of src/ops as two tables: those that a model may contain, and over them those that
 * only rules of the CPU provider create. Both are made on first use, from any thread. */
#ifndef OX_OPS_BUILTIN_H
#define OX_OPS_BUILTIN_H

#include "graph/registry.h"

/* ONNX's operators and those of com.microsoft. NULL: out of memory; the next call tries again. */
const ox_registry *ox_ops_builtin(void);
/* The same and, over it, the domain "ai.onyx": operators that the CPU provider's fusions create. */
const ox_registry *ox_ops_cpu(void);

/* Adds the rows of either table to |r|. */
OX_NODISCARD ox_status *ox_ops_builtin_add(ox_registry *r);
OX_NODISCARD ox_status *ox_ops_cpu_add(ox_registry *r);

#endif
