/* SPDX-License-Identifier: Apache-2.0
 * kern/softmax/softmax_select.c - picks the versions for an instruction set. */
#include "kern/softmax/softmax.h"
#include "kern/variants.h"

OX_VARIANTS_SELECT(ox_softmax_table, ox_softmax__, ox_softmax_select)
OX_VARIANTS_SELECT(ox_softmax_f64, ox_softmax_f64__, ox_softmax_f64_select)
