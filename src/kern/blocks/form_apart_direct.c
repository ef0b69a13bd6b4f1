/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/form_apart_direct.c - the direct form for groups that are no whole blocks. */
#include "kern/blocks/groups_apart.h"

OX_APART_FORM(apart_direct, "direct, groups apart", direct, false);
