/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_session_profile.c - the profile of a session, until it is ended. */
#include "ort/ort_alive.h"
#include "ort/ort_api.h"
#include "ort/value/ort_memory.h"
#include "ort/session/ort_session.h"
#include "ort/plugin/ort_ep_profile.h"

OrtStatus *ort_SessionEndProfiling(OrtSession *session, OrtAllocator *allocator, char **out) {
  ORT_ALIVE(session, ORT_ALIVE_SESSION);
  ORT_NEED(allocator);
  ORT_NEED(out);
  *out = NULL;
  ort_profile *p = session->profile;
  if (p == NULL) return ort_copy_text(allocator, "", out); /* it has ended, or has never begun */
  ox_session_profile_stop(session->session);
  ort_eps_profile_end(session->eps, p);
  OrtStatus *st = ort_profile_write(p, session->session);
  if (st == NULL) st = ort_copy_text(allocator, p->path, out);
  session->profile = NULL;
  ort_profile_destroy(p);
  return st;
}

OrtStatus *ort_SessionGetProfilingStartTimeNs(const OrtSession *session, uint64_t *out) {
  ORT_ALIVE(session, ORT_ALIVE_SESSION);
  ORT_NEED(out);
  *out = session->profile_start_ns;
  return NULL;
}
