/* SPDX-License-Identifier: Apache-2.0
 * support/pool_backend.h - pools as the build and the environment want them tested: with ONYX_TEST_EXECUTOR set, pools
 * that ask for no threads of their own run on the executor below. */
#ifndef OX_TESTS_POOL_BACKEND_H
#define OX_TESTS_POOL_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "onyx/task.h"

/* Fail the test on errors. struct_size is set here. */
ox_pool *test_pool(uint32_t n_threads);
ox_pool *test_pool_with(ox_pool_opts opts);

/* What ox_pool_size() should say of a pool made with so many threads. */
uint32_t test_pool_size(uint32_t n_threads);

/* Can the size be changed? An executor's cannot. */
bool test_pool_resizes(void);

/* Do the loops of |pool| run on its own workers? */
bool test_pool_has_workers(const ox_pool *pool);

/* Do threads beside the caller come to the loops of |pool|? OpenMP may be allowed none. */
bool test_pool_has_company(const ox_pool *pool);

/* Does |pool| have a policy? Not where ONYX_POOL_POLICY turns it off. */
bool test_pool_has_policy(const ox_pool *pool);

/* A queue and a few threads, which never end; a forked child gets new ones. */
const ox_executor *test_executor(void);

#endif
