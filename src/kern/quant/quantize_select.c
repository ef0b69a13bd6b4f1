/* SPDX-License-Identifier: Apache-2.0
 * kern/quant/quantize_select.c - picks the 8-bit quantization for an instruction set. */
#include "kern/quant/quantize.h"
#include "kern/variants.h"

OX_VARIANTS_SELECT(ox_quantize_table, ox_quantize__, ox_quantize_select)
