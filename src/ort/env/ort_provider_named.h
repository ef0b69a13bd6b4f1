/* SPDX-License-Identifier: Apache-2.0
 * ort/env/ort_provider_named.h - providers that clients name. The engine's own are built in or plug-ins of its
 * (onyx/onyx.h, ox_provider_spec); those of other makers are there once their library is registered. */
#ifndef OX_ORT_PROVIDER_NAMED_H
#define OX_ORT_PROVIDER_NAMED_H

#include "ort/session/ort_session_options.h"

/* Adds a provider under any of its names, if it is there: one of the engine's, or that of a library that was
 * registered. Options of ONNX Runtime's that mean nothing here are left out. */
OX_NODISCARD OrtStatus *ort_provider_append_named(OrtSessionOptions *options, const char *name, const char *const *keys,
                                                  const char *const *values, size_t n);
/* NULL: |name| can be appended. */
OX_NODISCARD OrtStatus *ort_provider_check(const char *name);

#endif
