/* SPDX-License-Identifier: Apache-2.0
 * base/quota.h - an allocator with a limit: counts the bytes held, and refuses what would exceed it. */
#ifndef OX_BASE_QUOTA_H
#define OX_BASE_QUOTA_H

#include "base/alloc.h"
#include "base/status.h"

typedef struct ox_quota ox_quota;

/* Makes one that allocates from |under|. |limit| SIZE_MAX: none. NULL: out of memory. */
ox_quota *ox_quota_create(ox_alloc under, size_t limit);
/* Called by the owner; its trim function is not called any more. Blocks may be freed later: the last one frees the
 * quota. */
void ox_quota_release(ox_quota *q);
/* The pages of large blocks go back to the system as soon as they are freed (ox_delete_pages): what is needed again is
 * kept elsewhere, and a heap that packing has cut to pieces would grow from session to session. Any thread. */
ox_alloc ox_quota_alloc(ox_quota *q);
/* Raises the limit to |limit|, unless it is higher already. Any thread. */
void ox_quota_raise(ox_quota *q, size_t limit);
/* Sets |trim|, which frees unused memory; it is called, from any thread, before an allocation is refused or fails. */
void ox_quota_set_trim(ox_quota *q, void (*trim)(void *ctx), void *ctx);

/* The bytes that are left. Any thread. */
size_t ox_quota_left(const ox_quota *q);
/* The number of allocations refused so far, for ox_quota_explain. Any thread. */
size_t ox_quota_refusals(const ox_quota *q);
/* Returns |st|, or if it is OUT_OF_MEMORY and there were refusals after the first |before|, a LIMIT instead that tells
 * the bytes wanted, held and allowed. |option|: the limit's name. Consumes |st|. */
OX_NODISCARD ox_status *ox_quota_explain(ox_quota *q, size_t before, const char *option, ox_status *st);

#endif
