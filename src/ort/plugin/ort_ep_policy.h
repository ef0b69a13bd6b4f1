/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_policy.h - which devices a session uses: those that the client names, or that a policy chooses. */
#ifndef OX_ORT_EP_POLICY_H
#define OX_ORT_EP_POLICY_H

#include "ort/session/ort_session_options.h"

/* Adds the provider of |devices|, all of one factory, with options. */
OX_NODISCARD OrtStatus *ort_ep_append(OrtSessionOptions *o, const OrtEpDevice *const *devices, size_t n,
                                      const char *const *keys, const char *const *values, size_t n_keys);
/* If |options| have a policy and no providers, asks it, and appends what it chooses. */
OX_NODISCARD OrtStatus *ort_ep_policy_apply(OrtEnv *env, OrtSessionOptions *options, const OrtLogger *logger);

#endif
