/* SPDX-License-Identifier: Apache-2.0
 * session/value.h - run-time values behind the API, and the recycler that lends released ones to later runs. */
#ifndef OX_SESSION_VALUE_H
#define OX_SESSION_VALUE_H

#include "session/env.h"

/* Keeps the buffers of released outputs. Its session and every value that came from it hold a count. */
typedef struct ox_recycler ox_recycler;
/* Values of at least two runs with |n_outputs| are kept; of more than are, the oldest goes. */
OX_NODISCARD ox_status *ox_recycler_create(ox_alloc alloc, uint32_t n_outputs, ox_recycler **out_recycler);
void ox_recycler_release(ox_recycler *r); /* by the session: kept values are freed, and no more are kept */

void ox_recycler_trim(ox_recycler *r); /* frees what is kept */

/* An uninitialized tensor; its memory comes from |r| if some that fits is kept there. |grows|: it is a little larger from
 * run to run (a cache), so new memory is an eighth more, and what it has grown out of goes. */
OX_NODISCARD ox_status *ox_value_take(ox_recycler *r, uint32_t dtype, const ox_shape *shape, size_t bytes, bool grows,
                                      ox_value **out_value);
/* The same, of numbers, in |m|. */
OX_NODISCARD ox_status *ox_value_take_in(ox_recycler *r, ox_memory *m, uint32_t dtype, const ox_shape *shape,
                                         size_t bytes, ox_value **out_value);
/* A deep copy without an env. */
OX_NODISCARD ox_status *ox_value_clone(ox_alloc alloc, const ox_tensor *from, ox_value **out_value);

#endif
