/* SPDX-License-Identifier: Apache-2.0
 * base/quota.h - an allocator with a limit: it counts what its user has, and refuses what would be more. */
#ifndef OX_BASE_QUOTA_H
#define OX_BASE_QUOTA_H

#include "base/alloc.h"
#include "base/status.h"

typedef struct ox_quota ox_quota;

/* Passes on to |under|. |limit| SIZE_MAX: none. NULL: out of memory. */
ox_quota *ox_quota_create(ox_alloc under, size_t limit);
/* By the owner, whom nobody asks to trim any more. Blocks may be freed later: the last one frees the quota. */
void ox_quota_release(ox_quota *q);
/* Any thread. */
ox_alloc ox_quota_alloc(ox_quota *q);
/* The limit becomes |limit| unless it is more already. Any thread. */
void ox_quota_raise(ox_quota *q, size_t limit);
/* |trim| is called before an allocation is refused or fails, by any thread, and frees what nobody uses. */
void ox_quota_set_trim(ox_quota *q, void (*trim)(void *ctx), void *ctx);

/* Bytes that are still allowed. Any thread. */
size_t ox_quota_left(const ox_quota *q);
/* How many allocations were refused so far, for ox_quota_explain. Any thread. */
size_t ox_quota_refusals(const ox_quota *q);
/* |st|; if it is OUT_OF_MEMORY and something was refused since there were |before| refusals, the LIMIT that it comes
 * from, with the bytes wanted, held and allowed. |option|: the limit's name. Consumes |st|. */
OX_NODISCARD ox_status *ox_quota_explain(ox_quota *q, size_t before, const char *option, ox_status *st);

#endif
