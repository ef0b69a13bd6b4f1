/* SPDX-License-Identifier: Apache-2.0
 * cli/bench_compare.h - onyx bench --compare: one model on several providers, in turns. */
#ifndef OX_CLI_BENCH_COMPARE_H
#define OX_CLI_BENCH_COMPARE_H

#include "cli_model.h"

/* |list|: as --provider has it. Measures each for |seconds| and prints a table. The exit code. */
int cli_bench_compare(cli_model *m, char *list, double seconds, const char *path);

#endif
