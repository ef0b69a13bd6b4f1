/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_lora.h - adapters: values for inputs that a model has defaults for, from a file. */
#ifndef OX_ORT_LORA_H
#define OX_ORT_LORA_H

#include "ort/value/ort_value.h"

struct OrtLoraAdapter {
  void *bytes; /* the file; owned */
  size_t n;    /* parameters */
  char **names;
  OrtValue **values; /* over |bytes| */
};

#endif
