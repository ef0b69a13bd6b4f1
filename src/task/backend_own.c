/* SPDX-License-Identifier: Apache-2.0
 * task/backend_own.c - the usual build: loops run on the pool's workers. */
#include "task/backend.h"

const ox_backend ox_backend_of_build = {"own", OX_POOL_MAX, NULL};
