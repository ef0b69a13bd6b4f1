/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_profile.h - profiles of sessions and of single runs, in the JSON form that tools for Microsoft's
 * read. */
#ifndef OX_ORT_PROFILE_H
#define OX_ORT_PROFILE_H

#include <pthread.h>

#include "onyx/onyx.h"
#include "onyx/ort_abi.h"
#include "ort/ort_pairs.h"

/* A span of time that is not a node's. */
typedef struct ort_profile_span {
  const char *name; /* static */
  int64_t start_ns, duration_ns;
} ort_profile_span;

typedef struct ort_profile {
  char *path;             /* of the file that will be written; owned */
  int64_t start_ns;       /* on the clock of the engine's profiles */
  uint64_t start_real_ns; /* since 1970 */
  pthread_mutex_t lock;   /* over what follows */
  ort_profile_span *spans;
  size_t n_spans;
  char **events; /* of providers, as they will be written; owned */
  size_t n_events;
} ort_profile;

/* |prefix| is followed by date and time. */
OX_NODISCARD OrtStatus *ort_profile_create(const char *prefix, ort_profile **out);
void ort_profile_destroy(ort_profile *p);
int64_t ort_profile_now(void);
/* From |start_ns| to now. Dropped when memory runs out: profiling never fails a run. */
void ort_profile_add(ort_profile *p, const char *name, int64_t start_ns);
/* An event of a provider's own, in microseconds since the profile began; also dropped when memory runs out. */
void ort_profile_add_event(ort_profile *p, const char *category, const char *name, int64_t start_us,
                           int64_t duration_us, const OrtKeyValuePairs *args);
/* Writes the file: the spans, and the events of |s|. */
OX_NODISCARD OrtStatus *ort_profile_write(ort_profile *p, const ox_session *s);

#endif
