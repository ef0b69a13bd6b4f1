/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_metadata.h - what a model says of itself. */
#ifndef OX_ORT_METADATA_H
#define OX_ORT_METADATA_H

#include "onyx/onyx.h"
#include "ort/ort_pairs.h"

struct OrtModelMetadata {
  char *producer, *graph, *domain, *description, *graph_description;
  int64_t version;
  OrtKeyValuePairs custom;
};

OX_NODISCARD OrtStatus *ort_metadata_create(const ox_session *s, OrtModelMetadata **out);

#endif
