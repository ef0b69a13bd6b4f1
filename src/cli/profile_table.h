/* SPDX-License-Identifier: Apache-2.0
 * cli/profile_table.h - the events of a profile summed up per node, per operator and per form, beside what the machine
 * would need at its best. */
#ifndef OX_CLI_PROFILE_TABLE_H
#define OX_CLI_PROFILE_TABLE_H

#include "cli.h"
#include "limits.h"

typedef struct cli_profile_row {
  const char *name, *op, *provider, *form; /* "": of several, or nothing to tell */
  double us, flops, bytes;                 /* of all calls; bytes: read and written */
  double limit_us;                         /* what the machine needs at least */
  double lost_us;                          /* the rest; calls that are faster than that count as 0 */
  size_t calls, place;                     /* place: when it was first seen */
  uint32_t n_in, n_out;
  const ox_tensor *in, *out; /* of the first call, if rows are nodes */
} cli_profile_row;

typedef struct cli_profile_rows {
  cli_profile_row *rows;
  size_t n, capacity, last;
} cli_profile_rows;

typedef struct cli_profile {
  cli_profile_rows nodes, ops, forms;
  cli_limits limits;
  double us, limit_us, lost_us;
  size_t runs;
} cli_profile;

/* What rows are sorted by. */
typedef enum cli_profile_order { CLI_BY_LOST, CLI_BY_TIME, CLI_BY_PLACE } cli_profile_order;

/* Sums up what |s| has collected in |runs| runs; p->limits is set, the rest zero. False: no memory. */
bool cli_profile_fill(cli_profile *p, const ox_session *s, size_t runs, cli_profile_order order);
void cli_profile_free(cli_profile *p);

/* On standard output; |most| nodes. */
void cli_profile_print(const cli_profile *p, size_t most);
void cli_profile_print_json(const cli_profile *p);

#endif
