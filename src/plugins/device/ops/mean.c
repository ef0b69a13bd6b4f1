/* SPDX-License-Identifier: Apache-2.0
 * device/ops/mean.c - Mean; see variadic.c. */
#include "plugins/device/variadic.h"

static const char *const names[] = {"Mean", NULL};
DEV_OP(mean) = {"", names, dev_variadic_takes, dev_variadic_emit};
