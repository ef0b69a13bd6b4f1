/* SPDX-License-Identifier: Apache-2.0
 * support/device_memory.h - memory that the host cannot touch. It is mapped twice: the host gets addresses where every
 * access crashes, the pretend device reads and writes the same bytes elsewhere. Any thread. */
#ifndef OX_TESTS_DEVICE_MEMORY_H
#define OX_TESTS_DEVICE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* The host's address of |bytes|, which begin as junk; NULL if the device is full. */
void *device_memory_take(size_t bytes, size_t align);
/* They become junk again. |bytes| as taken: ends the process if they are not. */
void device_memory_give(void *p, size_t bytes);
bool device_memory_holds(const void *p);
/* Where the device finds what the host calls |p|; other addresses are the same for both. */
void *device_memory_open(const void *p);

#endif
