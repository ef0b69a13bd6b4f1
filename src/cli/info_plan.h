/* SPDX-License-Identifier: Apache-2.0
 * cli/info_plan.h - what onyx info --plan tells: which provider runs each node, and why the others do not. */
#ifndef OX_CLI_INFO_PLAN_H
#define OX_CLI_INFO_PLAN_H

#include "cli.h"

/* A line for each node, then one for each owner; on standard output. */
void cli_plan_print(const ox_session *s);
void cli_plan_print_json(const ox_session *s);

#endif
