/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_assignment.h - which provider runs which nodes of a session, as clients see it. */
#ifndef OX_ORT_EP_ASSIGNMENT_H
#define OX_ORT_EP_ASSIGNMENT_H

#include "onyx/onyx.h"
#include "onyx/ort_abi.h"

typedef struct ort_ep_assignment ort_ep_assignment;

/* Strings are those of |session|, which outlives it. */
OX_NODISCARD OrtStatus *ort_ep_assignment_create(const ox_session *session, ort_ep_assignment **out);
/* As Session_GetEpGraphAssignmentInfo shows them. */
const OrtEpAssignedSubgraph *const *ort_ep_assignment_groups(const ort_ep_assignment *assignment, size_t *out_n);
void ort_ep_assignment_release(ort_ep_assignment *assignment);

#endif
