/* SPDX-License-Identifier: Apache-2.0
 * task/backend_none.c - a build that makes no threads: loops run in their callers, tasks in threads that
 * wait for them. */
#include "task/backend.h"

const ox_backend ox_backend_of_build = {"none", 1, NULL};
