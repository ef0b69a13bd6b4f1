/* SPDX-License-Identifier: Apache-2.0
 * session/random_seed.c - programs that want the same random numbers again. */
#include "base/random_key.h"
#include "onyx/onyx.h"

void ox_random_seed(uint64_t seed) { ox_random_restart(seed); }
