/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_session_eps.c - see ort_session_eps.h. */
#include "ort/plugin/ort_session_eps.h"

#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/ort_status.h"
#include "ort/plugin/ort_ep_context.h"
#include "ort/plugin/ort_ep_instance.h"
#include "ort/plugin/ort_ep_policy.h"
#include "ort/plugin/ort_ep_weightless.h"

/* ---- made and released ---- */

static OrtDataTransferImpl *transfer_of(const ort_ep_library *l, const OrtEpFactory *f) {
  for (size_t i = 0; i < l->n_factories; i++)
    if (l->factories[i].factory == f) return l->factories[i].transfer;
  return NULL;
}

/* Operators that the library knows, for models that have them: their domains are the factory's. */
static OrtStatus *add_domains(OrtSessionOptions *o, OrtEpFactory *f) {
  size_t n = 0;
  if (!ORT_HAS(f, 24, GetNumCustomOpDomains) || !ORT_HAS(f, 24, GetCustomOpDomains)) return NULL;
  ORT_TRY(f->GetNumCustomOpDomains(f, &n));
  if (n == 0) return NULL;
  OrtCustomOpDomain **domains = calloc(n, sizeof *domains);
  if (domains == NULL) return ort_out_of_memory();
  OrtStatus *st = f->GetCustomOpDomains(f, domains, n);
  for (size_t i = 0; i < n && st == NULL; i++)
    if (domains[i] != NULL) st = ort_AddCustomOpDomain(o, domains[i]);
  free(domains);
  return st;
}

static OrtStatus *fill_slot(ort_session_eps *eps, const ort_provider_request *r) {
  ort_ep_slot *slot = &eps->slots[eps->n_slots];
  for (size_t i = 0; i < r->n_devices; i++)
    if (!ort_ep_device_known(eps->env, r->devices[i]))
      return ort_fail(ORT_INVALID_ARGUMENT, "device %zu of a provider is not there: its library was unregistered", i);
  ORT_TRY(ort_weightless_prepare(eps, r));
  const OrtEpDevice *d = r->devices[0];
  *slot = (ort_ep_slot){.eps = eps, .request = r, .device = d, .library = d->library, .factory = d->factory};
  slot->transfer = transfer_of(d->library, d->factory);
  ort_ep_library_retain(eps->env, d->library);
  ort_ep_table_fill(slot);
  eps->own[eps->n_slots++] = (ox_own_provider){&slot->api, slot};
  return add_domains(eps->options, d->factory);
}

static bool is_ours(const ort_provider_request *r) { return r->n_devices > 0 && r->devices[0]->factory != NULL; }

static OrtStatus *fill(ort_session_eps *eps) {
  const OrtSessionOptions *o = eps->options;
  for (size_t i = 0; i < o->n_providers; i++)
    if (is_ours(&o->providers[i])) ORT_TRY(fill_slot(eps, &o->providers[i]));
  return NULL;
}

OrtStatus *ort_session_eps_create(OrtEnv *env, OrtSessionOptions *options, const OrtLogger *logger,
                                  ort_session_eps **out) {
  size_t n = 0;
  *out = NULL;
  ORT_TRY(ort_ep_policy_apply(env, options, logger));
  for (size_t i = 0; i < options->n_providers; i++) n += is_ours(&options->providers[i]);
  if (n == 0) return NULL;
  ort_session_eps *eps = calloc(1, sizeof *eps);
  if (eps == NULL) return ort_out_of_memory();
  *eps = (ort_session_eps){.env = env, .options = options, .logger = logger};
  pthread_mutex_init(&eps->lock, NULL);
  pthread_mutex_init(&eps->one_run, NULL);
  eps->slots = calloc(n, sizeof *eps->slots), eps->own = calloc(n, sizeof *eps->own);
  OrtStatus *st = eps->slots != NULL && eps->own != NULL ? fill(eps) : ort_out_of_memory();
  if (st == NULL)
    *out = eps;
  else
    ort_session_eps_release(eps);
  return st;
}

void ort_session_eps_release(ort_session_eps *eps) {
  if (eps == NULL) return;
  for (size_t i = 0; i < eps->n_slots; i++) ort_ep_library_release(eps->env, eps->slots[i].library);
  ort_context_nodes_release(eps->contexts);
  ort_pairs_deinit(&eps->context_info);
  pthread_mutex_destroy(&eps->lock);
  pthread_mutex_destroy(&eps->one_run);
  free(eps->slots), free(eps->own);
  free(eps);
}

void ort_session_eps_fill(const ort_session_eps *eps, ox_session_opts *opts) {
  if (eps == NULL) return;
  opts->own_providers = eps->own, opts->n_own_providers = eps->n_slots;
}

OrtStatus *ort_session_eps_explain(ort_session_eps *eps, OrtStatus *st) {
  if (st == NULL || eps == NULL || eps->failed == ORT_OK) return st;
  OrtStatus *out = ort_fail(eps->failed, "%s", ort_GetErrorMessage(st));
  ort_ReleaseStatus(st);
  return out;
}

OrtStatus *ort_session_eps_ready(ort_session_eps *eps) {
  for (ox_ep *e = eps != NULL ? eps->first : NULL; e != NULL; e = e->next) {
    bool concurrent = true;
    if (ORT_HAS(e->ep, 24, IsConcurrentRunSupported)) ORT_TRY(e->ep->IsConcurrentRunSupported(e->ep, &concurrent));
    if (!concurrent) eps->serial = true;
    if (ORT_HAS(e->ep, 27, OnSessionInitializationEnd)) ORT_TRY(e->ep->OnSessionInitializationEnd(e->ep));
  }
  return NULL;
}

bool ort_session_eps_compiled(const ort_session_eps *eps) { return eps != NULL && eps->contexts != NULL; }

OrtStatus *ort_session_eps_context_model(ort_session_eps *eps, const void *model, size_t n, ort_bytes *out) {
  return ort_context_model_write(model, n, eps->contexts, &eps->context_info, out);
}

/* ---- runs ---- */

/* The next one of the list, which a run may lengthen at its head. */
static ox_ep *first_of(ort_session_eps *eps) {
  pthread_mutex_lock(&eps->lock);
  ox_ep *e = eps->first;
  pthread_mutex_unlock(&eps->lock);
  return e;
}

OrtStatus *ort_session_eps_begin(ort_session_eps *eps, const OrtRunOptions *options) {
  OrtStatus *st = NULL;
  if (eps == NULL) return NULL;
  if (eps->serial) pthread_mutex_lock(&eps->one_run);
  for (ox_ep *e = first_of(eps); e != NULL && st == NULL; e = e->next)
    if (ORT_HAS(e->ep, 23, OnRunStart)) st = e->ep->OnRunStart(e->ep, options);
  if (st != NULL && eps->serial) pthread_mutex_unlock(&eps->one_run);
  return st;
}

OrtStatus *ort_session_eps_end(ort_session_eps *eps, const OrtRunOptions *options, bool ran) {
  OrtStatus *first = NULL;
  if (eps == NULL) return NULL;
  for (ox_ep *e = first_of(eps); e != NULL; e = e->next) {
    OrtStatus *st = ORT_HAS(e->ep, 23, OnRunEnd) ? e->ep->OnRunEnd(e->ep, options, ran) : NULL;
    if (first == NULL)
      first = st;
    else
      ort_ReleaseStatus(st);
  }
  if (eps->serial) pthread_mutex_unlock(&eps->one_run);
  return first;
}

OrtStatus *ort_session_eps_sync(ort_session_eps *eps) {
  for (ox_ep *e = eps != NULL ? first_of(eps) : NULL; e != NULL; e = e->next)
    if (ORT_HAS(e->ep, 25, Sync)) ORT_TRY(e->ep->Sync(e->ep));
  return NULL;
}

OrtStatus *ort_session_eps_set(ort_session_eps *eps, const char *const *keys, const char *const *values, size_t n) {
  for (ox_ep *e = eps != NULL ? first_of(eps) : NULL; e != NULL; e = e->next)
    if (ORT_HAS(e->ep, 23, SetDynamicOptions)) ORT_TRY(e->ep->SetDynamicOptions(e->ep, keys, values, n));
  return NULL;
}

OrtStatus *ort_session_eps_drop_graph(ort_session_eps *eps, int id) {
  for (ox_ep *e = eps != NULL ? first_of(eps) : NULL; e != NULL; e = e->next)
    if (ORT_HAS(e->ep, 27, ReleaseCapturedGraph)) ORT_TRY(e->ep->ReleaseCapturedGraph(e->ep, id));
  return NULL;
}
