/* SPDX-License-Identifier: Apache-2.0
 * ort/custom/ort_guard.h - calls of clients' code that may throw: operators and providers are mostly C++, and their
 * exceptions are not to leave through C. */
#ifndef OX_ORT_GUARD_H
#define OX_ORT_GUARD_H

#include "onyx/ort_abi.h"
#include "onyx/status.h"

/* Calls |fn| with |ctx|. An exception that leaves it is RUNTIME_EXCEPTION with its text. Calls may be nested; some
 * nanoseconds each. What lies between here and the client's code is left without a word to it, so nothing of ours that
 * holds something may: guard the client's function itself. */
OX_NODISCARD OrtStatus *ort_guard(void (*fn)(void *ctx), void *ctx);

#endif
