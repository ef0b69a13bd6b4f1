/* SPDX-License-Identifier: Apache-2.0
 * session/fall_back.c - see fall_back.h. */
#include "session/fall_back.h"

#include "session/overriding.h"

ox_session *ox_session_fallen(const ox_session *s) {
  if (!atomic_load_explicit(&s->gave_up, memory_order_relaxed)) return NULL;
  return atomic_load_explicit(&s->backup, memory_order_acquire);
}

static bool lacks_memory(ox_code code) { return code == OX_LIMIT || code == OX_OUT_OF_MEMORY; }

bool ox_may_be_the_providers(const ox_status *st) {
  ox_code code = ox_status_code(st);
  return lacks_memory(code) || code == OX_FAIL || code == OX_NOT_IMPLEMENTED;
}

bool ox_session_may_fall_back(const ox_session *s, const ox_status *st) {
  return s->fall_back && s->n_providers > 1 && ox_may_be_the_providers(st);
}

/* Acquire pairs with the release below: a thread that sees the session sees all of it. */
ox_status *ox_session_backup(ox_session *s, ox_session **out_session) {
  ox_status *st = NULL;
  *out_session = atomic_load_explicit(&s->backup, memory_order_acquire);
  if (*out_session) return NULL;
  pthread_mutex_lock(&s->making);
  *out_session = atomic_load_explicit(&s->backup, memory_order_relaxed);
  if (!*out_session) st = ox_session_load_on_cpu(s, out_session);
  if (!st) atomic_store_explicit(&s->backup, *out_session, memory_order_release);
  pthread_mutex_unlock(&s->making);
  return st;
}

ox_status *ox_session_fell_back(ox_session *s, ox_status *first, ox_status *second) {
  bool for_good = !lacks_memory(ox_status_code(first));
  if (second) {
    ox_code code = ox_status_code(ox_status_code(second) == OX_CANCELLED ? second : first);
    ox_status *both = ox_fail(code, "%s; then, on the CPU, %s", ox_status_message(first), ox_status_message(second));
    ox_status_free(first);
    ox_status_free(second);
    return both;
  }
  if (for_good) atomic_store_explicit(&s->gave_up, true, memory_order_relaxed);
  ox_log_write(&s->log, OX_LOG_WARNING, "%s on the CPU: %s", for_good ? "this and later runs are" : "a run was made",
               ox_status_message(first));
  ox_status_free(first);
  return NULL;
}
