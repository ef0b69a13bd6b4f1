/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_weights.c - see xp_weights.h. */
#include "xp_weights.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "xp_digest.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static xp_shared *all;
static uint64_t key[2];
static bool has_key;

static void get_key(uint64_t out[2]) {
  pthread_mutex_lock(&lock);
  /* Without random numbers a stack address must do as the key; the digest still has 128 bits. */
  if (!has_key && getrandom(key, sizeof key, GRND_NONBLOCK) != (ssize_t)sizeof key) key[0] = (uintptr_t)out;
  has_key = true;
  memcpy(out, key, sizeof key);
  pthread_mutex_unlock(&lock);
}

static void digest(const xp_recipe *r, uint64_t out[2]) {
  uint64_t k[2];
  size_t channels = (size_t)r->groups * r->channels_out;
  xp_digest d;
  get_key(k);
  xp_digest_begin(&d, k);
  xp_digest_add(&d, r, offsetof(xp_recipe, kernel));
  xp_digest_add(&d, r->kernel, r->kernel_bytes);
  if (r->bias) xp_digest_add(&d, r->bias, channels * 4);
  if (r->w_scales) xp_digest_add(&d, r->w_scales, channels * sizeof(float));
  xp_digest_end(&d, out);
}

/* The caller holds |lock|. */
static xp_shared *find(const uint64_t d[2]) {
  xp_shared *s = all;
  while (s && (s->digest[0] != d[0] || s->digest[1] != d[1])) s = s->next;
  if (s) s->refs++;
  return s;
}

static void destroy(xp_shared *s) {
  xnn_delete_operator(s->op);
  pthread_mutex_destroy(&s->busy);
  free(s->room);
  free(s);
}

/* Weights of a column block: a part of a core's L2 cache, as the rows that stream past them need the rest. */
enum { BLOCK_BYTES = 256 << 10 };

/* The width of equal column blocks of at most BLOCK_BYTES, in whole panels; 0: one block is enough. */
static uint32_t block_columns(const xp_recipe *r) {
  size_t bytes = r->kernel_bytes / r->groups, panel = xp_lib_panel(r);
  if (!panel || bytes <= BLOCK_BYTES) return 0;
  size_t blocks = (bytes - 1) / BLOCK_BYTES + 1;
  return (uint32_t)(((r->channels_out - 1) / blocks / panel + 1) * panel);
}

enum xnn_status xp_shared_get(const xp_recipe *r, xp_shared **out) {
  uint64_t d[2];
  digest(r, d);
  pthread_mutex_lock(&lock);
  *out = find(d);
  pthread_mutex_unlock(&lock);
  if (*out) return xnn_status_success;
  xp_shared *s = calloc(1, sizeof *s);
  if (!s) return xnn_status_out_of_memory;
  enum xnn_status st = xp_lib_make(r, &s->op); /* not under the lock, as packing takes long */
  if (st != xnn_status_success) return free(s), st;
  pthread_mutex_init(&s->busy, NULL);
  memcpy(s->digest, d, sizeof d);
  s->columns = block_columns(r);
  s->refs = 1;
  pthread_mutex_lock(&lock);
  *out = find(d); /* another thread may have added it meanwhile */
  if (!*out) s->next = all, all = *out = s;
  pthread_mutex_unlock(&lock);
  if (*out != s) destroy(s);
  return xnn_status_success;
}

void xp_shared_release(xp_shared *s) {
  if (!s) return;
  pthread_mutex_lock(&lock);
  bool last = --s->refs == 0;
  if (last)
    for (xp_shared **at = &all; *at; at = &(*at)->next)
      if (*at == s) {
        *at = s->next;
        break;
      }
  pthread_mutex_unlock(&lock);
  if (last) destroy(s);
}
