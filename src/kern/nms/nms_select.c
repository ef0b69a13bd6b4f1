/* SPDX-License-Identifier: Apache-2.0
 * kern/nms/nms_select.c - picks the variant for an instruction set. */
#include "kern/nms/nms.h"
#include "kern/variants.h"

OX_VARIANTS_SELECT(ox_nms_variant, ox_nms__, ox_nms_select)
OX_VARIANTS_LIST(ox_nms_variant, ox_nms__, ox_nms_variants)
