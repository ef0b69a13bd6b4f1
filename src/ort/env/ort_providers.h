/* SPDX-License-Identifier: Apache-2.0
 * ort/env/ort_providers.h - providers that session options name. */
#ifndef OX_ORT_PROVIDERS_H
#define OX_ORT_PROVIDERS_H

#include "ort/session/ort_session_options.h"

/* Adds provider |name| with its options, which are not checked. */
OX_NODISCARD OrtStatus *ort_provider_append(OrtSessionOptions *options, const char *name, const char *const *keys,
                                            const char *const *values, size_t n);

#endif
