/* SPDX-License-Identifier: Apache-2.0
 * kern/reduce/reduce_select.c - picks the folds for an instruction set. */
#include "kern/reduce/reduce.h"
#include "kern/variants.h"

OX_VARIANTS_SELECT(ox_reduce_table, ox_reduce__, ox_reduce_select)
