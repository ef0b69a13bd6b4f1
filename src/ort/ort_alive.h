/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_alive.h - handles that were released. Each begins with a word of its kind, which goes when it is released, so
 * that a client who uses it later, or passes a handle of another kind, mostly gets a status. */
#ifndef OX_ORT_ALIVE_H
#define OX_ORT_ALIVE_H

#include "ort/ort_status.h"

enum {
  ORT_ALIVE_ENV = 0x4f6e4576,
  ORT_ALIVE_SESSION = 0x4f6e5365,
  ORT_ALIVE_SESSION_OPTIONS = 0x4f6e534f,
  ORT_ALIVE_RUN_OPTIONS = 0x4f6e524f,
  ORT_ALIVE_BINDING = 0x4f6e4942
};

/* Out of line, as it hardly ever runs. */
OX_NODISCARD OrtStatus *ort_bad_handle(const char *function, const char *argument, const void *handle);

/* At the head of an API function: |argument| is a handle that is alive. */
#define ORT_ALIVE(argument, word)                                               \
  do {                                                                          \
    if (__builtin_expect((argument) == NULL || (argument)->alive != (word), 0)) \
      return ort_bad_handle(__func__ + sizeof "ort", #argument, (argument));    \
  } while (0)

#endif
