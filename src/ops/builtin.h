/* SPDX-License-Identifier: Apache-2.0
 * ops/builtin.h - the operators that come with Onyx, as a table. */
#ifndef OX_OPS_BUILTIN_H
#define OX_OPS_BUILTIN_H

#include "graph/registry.h"

/* The one table of all rows in src/ops, made on first use. NULL: out of memory; the next call tries again. Any thread. */
const ox_registry *ox_ops_builtin(void);
/* Adds all of them to |r|. */
OX_NODISCARD ox_status *ox_ops_builtin_add(ox_registry *r);

#endif
