/* SPDX-License-Identifier: Apache-2.0
 * plan/provider.c - see provider.h. */
#include "plan/provider.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

const char *ox_owner_name(const ox_provider *providers, size_t n, uint16_t owner) {
  if (owner == OX_HOST_OWNER) return "host";
  return owner != OX_NO_OWNER && owner <= n ? providers[owner - 1].api.name : "";
}

ox_digest ox_provider_identity(const ox_ep_api *api, const ox_options *o) {
  ox_digest d = ox_digest_init();
  ox_digest_text(&d, api->name);
  ox_digest_text(&d, api->version);
  for (uint32_t i = 0; o && i < o->n; i++) {
    ox_digest_text(&d, o->keys[i]);
    ox_digest_text(&d, o->values[i]);
  }
  return d;
}

/* ---- memory ---- */

static bool declares(const ox_ep_api *api, const char *key) {
  for (size_t i = 0; i < api->n_options; i++)
    if (strcmp(api->options[i].key, key) == 0) return true;
  return false;
}

static ox_status *read_limit(const ox_ep_api *api, const char *value, size_t *out) {
  char *end;
  errno = 0;
  unsigned long long v = strtoull(value, &end, 10);
  if (end == value || *end || errno || *value == '-')
    return ox_fail(OX_INVALID_ARGUMENT, "provider '%s', option 'gpu_mem_limit': wanted bytes, got '%s'", api->name,
                   value);
  *out = v >= SIZE_MAX ? 0 : (size_t)v; /* SIZE_MAX is ONNX Runtime's for no limit */
  return NULL;
}

/* Reads one option; |*out_ours|: it is one that the host handles. */
static ox_status *read_own(const ox_ep_api *api, const char *key, const char *value, ox_arena_request *r,
                           bool *out_ours) {
  *out_ours = strcmp(key, OX_PARTS_OPTION) == 0;
  if (*out_ours) {
    r->parts = value;
    return NULL;
  }
  *out_ours = api->n_memories && !declares(api, key);
  if (*out_ours && strcmp(key, "gpu_mem_limit") == 0) {
    r->asked = true;
    return read_limit(api, value, &r->opts.limit);
  }
  *out_ours = *out_ours && strcmp(key, "arena_extend_strategy") == 0;
  if (!*out_ours) return NULL;
  r->asked = true, r->opts.extend = OX_ARENA_NEXT_POWER_OF_TWO;
  if (strcmp(value, "kNextPowerOfTwo") == 0 || strcmp(value, "0") == 0) return NULL;
  r->opts.extend = OX_ARENA_SAME_AS_REQUESTED;
  if (strcmp(value, "kSameAsRequested") == 0 || strcmp(value, "1") == 0) return NULL;
  return ox_fail(OX_INVALID_ARGUMENT,
                 "provider '%s', option 'arena_extend_strategy': wanted kNextPowerOfTwo or kSameAsRequested, got '%s'",
                 api->name, value);
}

ox_status *ox_provider_arena_options(ox_arena *a, const ox_ep_api *api, const ox_options *given, ox_options *out_rest,
                                     ox_arena_request *out) {
  uint32_t n = given ? given->n : 0;
  *out = (ox_arena_request){{0}, false, NULL}, *out_rest = (ox_options){0};
  if (!n) return NULL;
  const char **keys = OX_ARENA_ARRAY(a, const char *, n), **values = OX_ARENA_ARRAY(a, const char *, n);
  if (!keys || !values) return ox_oom();
  *out_rest = (ox_options){0, keys, values};
  for (uint32_t i = 0; i < n; i++) {
    bool ours = false;
    if (given->keys && given->values && given->keys[i] && given->values[i])
      OX_TRY(read_own(api, given->keys[i], given->values[i], out, &ours));
    if (ours) continue;
    keys[out_rest->n] = given->keys ? given->keys[i] : NULL;
    values[out_rest->n++] = given->values ? given->values[i] : NULL;
  }
  return NULL;
}

ox_status *ox_provider_add_arenas(ox_provider *p, ox_alloc alloc, const ox_device_arena_opts *opts) {
  size_t n = p->api.n_memories;
  if (!n || p->arenas) return NULL;
  p->arenas = ox_new_zeroed(alloc, n * sizeof *p->arenas);
  if (!p->arenas) return ox_oom();
  for (uint32_t i = 0; i < n; i++) OX_TRY(ox_device_arena_create(alloc, &p->api, p->ep, i + 1, opts, &p->arenas[i]));
  return NULL;
}

void ox_provider_release_arenas(ox_provider *p, ox_alloc alloc) {
  if (!p->arenas) return;
  for (size_t i = 0; i < p->api.n_memories; i++) ox_device_arena_release(p->arenas[i]);
  ox_delete(alloc, p->arenas, p->api.n_memories * sizeof *p->arenas);
  p->arenas = NULL;
}

ox_status *ox_provider_take(const ox_provider *p, uint32_t memory, size_t bytes, void **out_data) {
  ox_device_arena *a = p->arenas ? p->arenas[memory - 1] : NULL;
  *out_data = NULL;
  ox_status *st = a ? ox_device_arena_take(a, bytes, out_data) : p->api.memory_alloc(p->ep, memory, bytes, out_data);
  if (!st && bytes && !*out_data) st = ox_fail(OX_OUT_OF_MEMORY, "no memory");
  if (st) *out_data = NULL; /* whatever a failed call left there is ignored */
  return ox_status_note(st, "provider '%s', %zu bytes of its memory '%s'", p->api.name, bytes,
                        p->api.memories[memory - 1].name);
}

void ox_provider_give(const ox_provider *p, uint32_t memory, void *data, size_t bytes) {
  ox_device_arena *a = p->arenas ? p->arenas[memory - 1] : NULL;
  if (a)
    ox_device_arena_give(a, data);
  else if (data)
    p->api.memory_free(p->ep, memory, data, bytes);
}

static const ox_provider *provider_of(const ox_ep_services *s) {
  return (const ox_provider *)(const void *)((const char *)s - offsetof(ox_provider, services));
}

static ox_status *take_for(const ox_ep_services *s, uint32_t memory, size_t bytes, void **out_data) {
  const ox_provider *p = provider_of(s);
  if (!memory || memory > p->api.n_memories) return ox_fail(OX_INVALID_ARGUMENT, "there is no memory %u", memory);
  return ox_provider_take(p, memory, bytes, out_data);
}

static void give_for(const ox_ep_services *s, uint32_t memory, void *data, size_t bytes) {
  ox_provider_give(provider_of(s), memory, data, bytes);
}

void ox_provider_serve_memory(ox_provider *p) {
  if (p->api.n_memories) p->services.take = take_for, p->services.give = give_for;
}
