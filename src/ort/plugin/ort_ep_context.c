/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_context.c - see ort_ep_context.h. */
#include "ort/plugin/ort_ep_context.h"

#include "ort/ort_api.h"

OrtStatus *ort_ep_context_keep(ox_ep *ep, const OrtGraph *part, OrtNode *node) {
  (void)ep, (void)part;
  ort_ReleaseNode(node);
  return NULL;
}
