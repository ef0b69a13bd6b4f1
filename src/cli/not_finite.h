/* SPDX-License-Identifier: Apache-2.0
 * cli/not_finite.h - where the first NaN and the first infinity of a run come from. */
#ifndef OX_CLI_NOT_FINITE_H
#define OX_CLI_NOT_FINITE_H

#include "cli_model.h"

/* Looks through the model's inputs and all of its values after a run: |m|'s session was made with all_values. Prints
 * what it finds; true: there is a NaN. */
bool cli_tell_not_finite(const cli_model *m);

#endif
