/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/form_winograd_line3s2.c - lines of 3 taps and stride 2, 5 outputs at a time, by Winograd's transform. */
#include "kern/blocks/winograd.h"

OX_WINO_FORM(winograd_line3s2, "winograd line 3 of stride 2", OX_WINO_LINE3_STRIDE2);
