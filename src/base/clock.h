/* SPDX-License-Identifier: Apache-2.0
 * base/clock.h - the engine's one clock. */
#ifndef OX_BASE_CLOCK_H
#define OX_BASE_CLOCK_H

#include <stdint.h>

int64_t ox_clock_ns(void); /* CLOCK_MONOTONIC */

#endif
