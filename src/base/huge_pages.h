/* SPDX-License-Identifier: Apache-2.0
 * base/huge_pages.h - whether memory is backed by huge pages when it is first touched. */
#ifndef OX_BASE_HUGE_PAGES_H
#define OX_BASE_HUGE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

enum { OX_HUGE_PAGE_BYTES = 2 << 20 };

/* Asks Linux to back the whole huge pages of [p, p + bytes) with huge pages, or with small ones where those are
 * cheaper; |p| is aligned to a huge page. Does nothing on other systems. Any thread. */
void ox_huge_pages_advise(void *p, size_t bytes);

/* For new memory [p, p + bytes) that is about to be written entirely: where small pages were asked for, backs it with
 * huge ones now, as long as that is fast. Changes no bytes. Any thread. */
void ox_huge_pages_touch(void *p, size_t bytes);

/* Takes both back for [p, p + bytes), memory that was advised and is about to be freed: a heap writes a few bytes into
 * what is free, which would make a huge page of each. Any thread. */
void ox_huge_pages_unadvise(void *p, size_t bytes);

/* Whether a virtual machine's kernel returns free blocks to its host. |text|: the order of such blocks as sysfs has it;
 * -1 (also as unsigned) or no number: it returns none. */
bool ox_host_takes_free_blocks(const char *text);

#endif
