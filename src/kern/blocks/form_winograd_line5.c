/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/form_winograd_line5.c - lines of 4 or 5 taps, 6 outputs at a time, by Winograd's transform. */
#include "kern/blocks/winograd.h"

OX_WINO_FORM(winograd_line5, "winograd line 5", OX_WINO_LINE5);
