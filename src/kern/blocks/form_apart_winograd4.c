/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/form_apart_winograd4.c - Winograd's F(4 x 4, 3 x 3) for groups that are no whole blocks. */
#include "kern/blocks/groups_apart.h"

OX_APART_FORM(apart_winograd4, "winograd4, groups apart", winograd4, true);
