/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/form_winograd2s2.c - 3x3 windows of stride 2, 2 x 2 outputs at a time, by Winograd's transform. */
#include "kern/blocks/winograd.h"

OX_WINO_FORM(winograd2s2, "winograd2 of stride 2", OX_WINO_F2_STRIDE2);
