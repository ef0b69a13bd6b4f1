/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_pairs.h - keys with values, in the order in which they came: config entries, provider options, metadata. */
#ifndef OX_ORT_PAIRS_H
#define OX_ORT_PAIRS_H

#include "onyx/ort_abi.h"
#include "onyx/status.h"

struct OrtKeyValuePairs {
  size_t n, room;
  char **keys; /* owned, as the values are */
  char **values;
};

/* For clients: ReleaseKeyValuePairs frees it. */
OX_NODISCARD OrtStatus *ort_pairs_create(OrtKeyValuePairs **out);
/* Sets |key|, replacing what it had. */
OX_NODISCARD OrtStatus *ort_pairs_set(OrtKeyValuePairs *pairs, const char *key, const char *value);
const char *ort_pairs_get(const OrtKeyValuePairs *pairs, const char *key); /* NULL: not there */
/* |to| need not be anything before; on failure it is empty. */
OX_NODISCARD OrtStatus *ort_pairs_copy(const OrtKeyValuePairs *from, OrtKeyValuePairs *to);
void ort_pairs_remove(OrtKeyValuePairs *pairs, const char *key);
void ort_pairs_deinit(OrtKeyValuePairs *pairs); /* also fine on a zeroed one */

#endif
