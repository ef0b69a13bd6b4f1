/* SPDX-License-Identifier: Apache-2.0
 * session/value.h - run-time values behind the API, and the recycler that lends released ones to later runs. */
#ifndef OX_SESSION_VALUE_H
#define OX_SESSION_VALUE_H

#include "session/env.h"

/* Keeps the buffers of released outputs. Reference-counted by its session and by every value that came from it. */
typedef struct ox_recycler ox_recycler;
/* Keeps the values of two runs with |n_outputs| outputs, 256 at most; when it is full, the oldest is freed. */
OX_NODISCARD ox_status *ox_recycler_create(ox_alloc alloc, uint32_t n_outputs, ox_recycler **out_recycler);
void ox_recycler_release(ox_recycler *r); /* called by the session: frees what is kept, and keeps no more */

void ox_recycler_trim(ox_recycler *r); /* frees what is kept */

/* Makes an uninitialized tensor, from memory that |r| keeps if some fits. |grows|: the output grows a little from run to
 * run, as a cache does; new memory is an eighth larger than asked for, and kept memory it has outgrown is freed. */
OX_NODISCARD ox_status *ox_value_take(ox_recycler *r, uint32_t dtype, const ox_shape *shape, size_t bytes, bool grows,
                                      ox_value **out_value);
/* The same for a tensor of numbers in |m|. */
OX_NODISCARD ox_status *ox_value_take_in(ox_recycler *r, ox_memory *m, uint32_t dtype, const ox_shape *shape,
                                         size_t bytes, ox_value **out_value);
/* Makes an uninitialized tensor of |alloc|'s memory. Its maker may change the shape, and |bytes|, within that. */
OX_NODISCARD ox_status *ox_value_make(ox_alloc alloc, uint32_t dtype, const ox_shape *shape, size_t bytes,
                                      ox_value **out_value);
ox_tensor *ox_value_tensor(ox_value *v);
/* Two tensors of one allocator trade type, shape and memory. */
void ox_value_swap(ox_value *a, ox_value *b);
/* Makes a deep copy, without an env. */
OX_NODISCARD ox_status *ox_value_clone(ox_alloc alloc, const ox_tensor *from, ox_value **out_value);
/* The same from memory that |r| keeps: for strings, sequences and maps. */
OX_NODISCARD ox_status *ox_value_take_copy(ox_recycler *r, const ox_tensor *from, ox_value **out_value);

#endif
