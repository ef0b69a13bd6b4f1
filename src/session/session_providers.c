/* SPDX-License-Identifier: Apache-2.0
 * session/session_providers.c - see session_providers.h. */
#include "session/session_providers.h"

#include <string.h>

#include "base/macros.h"
#include "ep/rows/rows_ep.h"
#include "ops/builtin.h"
#include "session/device_memory.h"

/* ---- custom operators ---- */

/* Operators of no built-in table have a provider of their own, which finds them in its services. */
static ox_status *create_custom(const ox_ep_host *host, const ox_options *opts, ox_ep **out_ep) {
  (void)opts;
  const ox_ep_services *s = host->host_data;
  return ox_rows_ep_create(host, s->custom_ops, ox_ops_builtin(), ox_isa_allowed(), out_ep);
}

static const ox_ep_api custom = {.struct_size = sizeof custom,
                                 .abi_major = OX_EP_ABI_MAJOR,
                                 .name = "custom",
                                 .create = create_custom,
                                 .destroy = ox_rows_ep_destroy,
                                 .claim = ox_rows_ep_claim,
                                 .kernel_create = ox_rows_ep_kernel_create};

/* ---- any ---- */

/* |options| and those that the session has for the CPU provider. */
static ox_status *with_tuning(ox_session *s, const ox_session_opts *o, const ox_ep_api *api, const ox_options *options,
                              ox_options *out) {
  *out = options ? *options : (ox_options){0};
  if (strcmp(api->name, "cpu") != 0 || (!o->tune_cache && !o->tune)) return NULL;
  const char **keys = OX_ARENA_ARRAY(&s->arena, const char *, out->n + 2);
  const char **values = OX_ARENA_ARRAY(&s->arena, const char *, out->n + 2);
  if (!keys || !values) return ox_oom();
  for (uint32_t i = 0; i < out->n; i++) keys[i] = out->keys[i], values[i] = out->values[i];
  if (o->tune_cache) keys[out->n] = "tune_cache", values[out->n++] = o->tune_cache;
  if (o->tune) keys[out->n] = "tune", values[out->n++] = "first_run";
  out->keys = keys, out->values = values;
  return NULL;
}

/* Sets where the provider's blocks come from: the caller's shared memories, then arenas of its own, if it gets any. */
static ox_status *add_arenas(ox_session *s, const ox_session_opts *o, ox_provider *p, const ox_arena_request *r) {
  if (r->asked || p->api.slow_alloc) OX_TRY(ox_provider_add_arenas(p, s->alloc, &r->opts));
  for (size_t i = 0; i < o->n_memories; i++) OX_TRY(ox_memory_lend(o->memories[i], p, s->alloc));
  return NULL;
}

static ox_status *add(ox_session *s, const ox_session_opts *o, const ox_ep_api *api, void *user,
                      const ox_options *given) {
  ox_options all, rest, *options = &rest;
  ox_arena_request arenas;
  OX_TRY(with_tuning(s, o, api, given, &all));
  OX_TRY(ox_provider_arena_options(&s->arena, api, &all, &rest, &arenas));
  if (s->n_providers == OX_MOST_PROVIDERS) return ox_fail(OX_LIMIT, "more than %d providers", OX_MOST_PROVIDERS);
  ox_provider *p = &s->providers[s->n_providers];
  *p = (ox_provider){.api = *api,
                     .services = {s->alloc, &s->log, s->pool, s->max_threads, api->name, s->custom_ops, user}};
  ox_provider_serve_memory(p);
  OX_TRY(ox_ep_check_options(api, options));
  p->identity = ox_provider_identity(api, options);
  ox_ep_host host = ox_ep_host_make(&p->services, api);
  OX_TRY(ox_status_note(api->create(&host, options, &p->ep), "provider '%s'", api->name));
  if (!p->ep) return ox_fail(OX_FAIL, "provider '%s': create returned nothing", api->name);
  s->n_providers++;
  p->parts = arenas.parts ? ox_arena_str(&s->arena, arenas.parts, strlen(arenas.parts)) : NULL;
  if (arenas.parts && !p->parts) return ox_oom();
  return add_arenas(s, o, p, &arenas);
}

static bool has(const ox_session *s, const char *name) {
  for (size_t i = 0; i < s->n_providers; i++)
    if (strcmp(s->providers[i].api.name, name) == 0) return true;
  return false;
}

ox_status *ox_session_provider_table(const ox_session *s, const ox_session_opts *o, const char *name,
                                     ox_ep_api *out_api, void **out_user) {
  *out_api = (ox_ep_api){0}, *out_user = NULL;
  for (size_t i = 0; i < o->n_own_providers; i++) {
    const ox_own_provider *own = &o->own_providers[i];
    if (!own->api) return ox_fail(OX_INVALID_ARGUMENT, "own provider %zu has no table", i);
    if (!own->api->name || strcmp(own->api->name, name) != 0) continue;
    if (strcmp(name, "host") == 0 || strcmp(name, "custom") == 0)
      return ox_fail(OX_INVALID_ARGUMENT, "a provider cannot be called '%s'", name);
    *out_user = own->user;
    return ox_ep_adopt(own->api, out_api);
  }
  const ox_ep_api *api = &custom;
  if (strcmp(name, "custom") != 0) OX_TRY(ox_env_get_provider(s->env, name, &api));
  *out_api = *api;
  return NULL;
}

/* Everything after this asks for the names that tables have. */
ox_status *ox_session_name_providers(ox_session *s, ox_session_opts *o) {
  if (!o->n_providers) return NULL;
  ox_provider_spec *specs = ox_arena_copy(&s->arena, o->providers, o->n_providers * sizeof *specs);
  if (!specs) return ox_oom();
  for (size_t i = 0; i < o->n_providers; i++) {
    ox_ep_api api;
    void *user;
    if (!specs[i].name) return ox_fail(OX_INVALID_ARGUMENT, "provider %zu has no name", i);
    OX_TRY(ox_session_provider_table(s, o, specs[i].name, &api, &user));
    specs[i].name = api.name;
  }
  o->providers = specs;
  return NULL;
}

static ox_status *add_by_name(ox_session *s, const ox_session_opts *o, const ox_provider_spec *spec) {
  ox_ep_api api = {0};
  void *user;
  OX_TRY(ox_session_provider_table(s, o, spec->name, &api, &user));
  if (has(s, api.name)) return ox_fail(OX_INVALID_ARGUMENT, "provider '%s' is named twice", api.name);
  return add(s, o, &api, user, &spec->options);
}

/* Those of the origin, whatever was added to the env since. */
static ox_status *add_same(ox_session *s, const ox_session_opts *o) {
  for (size_t i = 0; i < s->origin->n_providers; i++) {
    const ox_ep_api *api = &s->origin->providers[i].api;
    const ox_options *options = NULL;
    for (size_t k = 0; k < o->n_providers; k++)
      if (strcmp(o->providers[k].name, api->name) == 0) options = &o->providers[k].options;
    OX_TRY(add(s, o, api, s->origin->providers[i].services.user, options));
  }
  return NULL;
}

ox_status *ox_session_add_providers(ox_session *s, const ox_session_opts *o) {
  if (s->origin) return add_same(s, o);
  bool customs = s->custom_ops != NULL;
  for (size_t i = 0; i < o->n_providers; i++) {
    const char *name = o->providers[i].name;
    if (customs && strcmp(name, "cpu") == 0 && !has(s, "custom")) OX_TRY(add(s, o, &custom, NULL, NULL));
    OX_TRY(add_by_name(s, o, &o->providers[i]));
  }
  if (customs && !has(s, "custom")) OX_TRY(add(s, o, &custom, NULL, NULL));
  const ox_ep_api *cpu = ox_env_find_provider(s->env, "cpu");
  return cpu && !has(s, "cpu") ? add(s, o, cpu, NULL, NULL) : NULL;
}

ox_provider *ox_session_evaluator(ox_session *s) {
  for (size_t i = 0; i < s->n_providers; i++)
    if (strcmp(s->providers[i].api.name, "cpu") == 0) return &s->providers[i];
  return NULL;
}
