/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/form_winograd_line7.c - lines of 6 or 7 taps, 4 outputs at a time, by Winograd's transform. */
#include "kern/blocks/winograd.h"

OX_WINO_FORM(winograd_line7, "winograd line 7", OX_WINO_LINE7);
