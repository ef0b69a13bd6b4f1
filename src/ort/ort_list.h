/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_list.h - arrays that grow by one. */
#ifndef OX_ORT_LIST_H
#define OX_ORT_LIST_H

#include "ort/ort_status.h"

/* Room for one more, zeroed, in the array of |n| elements of |bytes| each that |list| points to (its address:
 * &a->items). NULL, or out of memory; the array then is as it was. */
OX_NODISCARD OrtStatus *ort_list_grow(void *list, size_t n, size_t bytes);

#endif
