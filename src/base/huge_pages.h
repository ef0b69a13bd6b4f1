/* SPDX-License-Identifier: Apache-2.0
 * base/huge_pages.h - whether first touches of memory are to be of huge pages. */
#ifndef OX_BASE_HUGE_PAGES_H
#define OX_BASE_HUGE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

enum { OX_HUGE_PAGE_BYTES = 2 << 20 };

/* Asks Linux for huge pages where [p, p + bytes), |p| aligned to one, has whole ones, or for small ones where those are
 * cheaper; nothing elsewhere. Any thread. */
void ox_huge_pages_advise(void *p, size_t bytes);

/* [p, p + bytes), which is new memory and about to be written, all of it: where small pages were asked for, huge ones
 * instead, here and now, as long as they come fast. Changes no bytes. Any thread. */
void ox_huge_pages_touch(void *p, size_t bytes);

/* |text|: the order of free blocks that the kernel of a guest gives back to its host, as in sysfs; -1 (as unsigned,
 * too) or no number: none are. */
bool ox_host_takes_free_blocks(const char *text);

#endif
