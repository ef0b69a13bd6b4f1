/* SPDX-License-Identifier: Apache-2.0
 * cli/describe.h - what a value is, in a few lines or in JSON: kind, type, shape, extremes and the first elements. */
#ifndef OX_CLI_DESCRIBE_H
#define OX_CLI_DESCRIBE_H

#include "base/json.h"
#include "onyx/onyx.h"

/* On standard output. */
void cli_describe(const char *name, const ox_tensor *t);
/* The pairs of an object that was begun. */
void cli_describe_json(ox_json *j, const ox_tensor *t);

#endif
