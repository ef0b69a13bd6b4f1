/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/form_winograd_long_line.c - lines of 6 taps and more, 5 outputs at a time, by Winograd's transform. */
#include "kern/blocks/winograd.h"

OX_WINO_FORM(winograd_long_line, "winograd long line", OX_WINO_LONG_LINE);
