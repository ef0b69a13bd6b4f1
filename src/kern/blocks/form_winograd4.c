/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/form_winograd4.c - 3x3 windows of stride 1, 4 x 4 outputs at a time, by Winograd's transform. */
#include "kern/blocks/winograd.h"

OX_WINO_FORM(winograd4, "winograd4", OX_WINO_F4);
