/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_externalize.h - moves the data of initializers out of a serialized model. */
#ifndef OX_ORT_EXTERNALIZE_H
#define OX_ORT_EXTERNALIZE_H

#include <stdio.h>

#include "onyx/ort_abi.h"
#include "onyx/status.h"
#include "ort/model/ort_proto.h"

/* Where data goes: to |file| or |buffer|, if it has |threshold| bytes or more, or wherever |locate| says. */
typedef struct ort_external_place {
  FILE *file;
  ort_bytes *buffer;    /* unless |file| */
  const char *location; /* as the model is to call it */
  size_t threshold, offset;
  size_t align, align_from;             /* of data of |align_from| bytes and more; 0: as data in files is anyway */
  OrtGetInitializerLocationFunc locate; /* NULL: to |file| or |buffer| */
  void *locate_state;
} ort_external_place;

/* |model|, a ModelProto, is replaced by one whose main graph refers to |place| where its initializers had data. */
OX_NODISCARD OrtStatus *ort_externalize(ort_bytes *model, ort_external_place *place);

#endif
