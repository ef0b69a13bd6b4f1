/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_profile.h - profilers of libraries' providers. */
#ifndef OX_ORT_EP_PROFILE_H
#define OX_ORT_EP_PROFILE_H

#include "ort/session/ort_profile.h"

struct ort_session_eps;

/* NULL is nothing. The events are in |profile| when |end| returns. */
void ort_eps_profile_begin(struct ort_session_eps *eps);
void ort_eps_profile_end(struct ort_session_eps *eps, ort_profile *profile);

#endif
