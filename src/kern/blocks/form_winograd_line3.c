/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/form_winograd_line3.c - lines of up to 3 taps, 6 outputs at a time, by Winograd's transform. */
#include "kern/blocks/winograd.h"

OX_WINO_FORM(winograd_line3, "winograd line 3", OX_WINO_LINE3);
