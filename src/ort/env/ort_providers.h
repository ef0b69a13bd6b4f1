/* SPDX-License-Identifier: Apache-2.0
 * ort/env/ort_providers.h - providers that session options name. */
#ifndef OX_ORT_PROVIDERS_H
#define OX_ORT_PROVIDERS_H

#include "onyx/onyx.h"
#include "ort/session/ort_session_options.h"

/* Adds provider |name| with its options, which are not checked. */
OX_NODISCARD OrtStatus *ort_provider_append(OrtSessionOptions *options, const char *name, const char *const *keys,
                                            const char *const *values, size_t n);
/* What clients call the engine's provider, or owner, |name|: "CPUExecutionProvider". */
const char *ort_provider_name(const char *name);

/* The names and options of |options|' providers for the engine; |specs| has n_providers places, |texts| two for each
 * option. Returns how many there are. */
size_t ort_provider_specs(const OrtSessionOptions *options, ox_provider_spec *specs, const char **texts);
/* How many options there are in all. */
size_t ort_provider_option_count(const OrtSessionOptions *options);

#endif
