/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/form_winograd2.c - 3x3 windows of stride 1, 2 x 2 outputs at a time, by Winograd's transform. */
#include "kern/blocks/winograd.h"

OX_WINO_FORM(winograd2, "winograd2", OX_WINO_F2);
