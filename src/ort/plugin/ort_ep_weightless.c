/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_weightless.c - see ort_ep_weightless.h. A session asks for one mode; devices tell in their
 * metadata, and providers when they compile, which they have. */
#include "ort/plugin/ort_ep_weightless.h"

#include <stdio.h>
#include <string.h>

#include "ort/ort_parse.h"
#include "ort/ort_status.h"

static const char mode_key[] = "ep.enable_weightless_mode";
static const char old_key[] = "ep.enable_weightless"; /* yes or no, in whatever mode the library has */

/* In the order of OrtWeightlessSupport. */
static const char *const names[] = {"none", "external_only", "all", "all_or_external_only"};
enum { N_NAMES = sizeof names / sizeof *names, UNKNOWN = N_NAMES };

static bool includes(int support, int mode) {
  return support == mode || support == OrtWeightlessSupport_ALL_OR_EXTERNAL_ONLY;
}

/* ---- what is asked for ---- */

/* -1: no mode. */
static int mode_of(const OrtKeyValuePairs *config) {
  const char *value = ort_pairs_get(config, mode_key);
  return value != NULL ? value[0] - '0' : -1; /* checked when the session was made */
}

static bool old_is_on(const OrtKeyValuePairs *config) {
  const char *value = ort_pairs_get(config, old_key);
  bool on = false;
  return value != NULL && ort_parse_bool(value, &on) && on;
}

OrtStatus *ort_weightless_check(const OrtKeyValuePairs *config) {
  const char *value = ort_pairs_get(config, mode_key);
  if (value == NULL || (value[0] >= '0' && value[0] <= '2' && value[1] == '\0')) return NULL;
  return ort_fail(ORT_INVALID_ARGUMENT,
                  "CreateSession: '%s' is '%s', wanted 0 (no weightless mode), 1 (external data only) or 2 (all)",
                  mode_key, value);
}

/* ---- what devices say ---- */

/* Whether |d| has it. The older entry of its metadata knows one name less. */
static int support_of(const OrtEpDevice *d, const char **out_text) {
  const char *text = ort_pairs_get(&d->metadata, "weightless_supported_modes");
  int n = text != NULL ? N_NAMES : N_NAMES - 1;
  if (text == NULL) text = ort_pairs_get(&d->metadata, "weightless_support");
  *out_text = text != NULL ? text : names[0];
  for (int i = 0; i < n; i++)
    if (strcmp(*out_text, names[i]) == 0) return i;
  return UNKNOWN;
}

OrtStatus *ort_weightless_prepare(struct ort_session_eps *eps, const ort_provider_request *r) {
  int mode = mode_of(&eps->options->config);
  if (mode < 0) return NULL;
  const char *has = names[0];
  for (size_t i = 0; i < r->n_devices && mode > 0; i++)
    if (!includes(support_of(r->devices[i], &has), mode))
      return ort_fail(ORT_EP_FAIL, "weightless mode '%s' (%s=%d) is none of provider %s: its device %zu says '%.64s'",
                      names[mode], mode_key, mode, r->name, i, has);
  if (mode > 0) ORT_TRY(ort_pairs_set(&eps->context_info, "weightless_mode", mode == 1 ? "1" : "2"));
  return ort_pairs_set(&eps->options->config, old_key, mode > 0 ? "1" : "0");
}

/* ---- what providers say ---- */

/* Logs if a device says something else than its provider, and keeps that in |text|. */
static void compare(const ox_ep *e, int support, const char *answer, char *text, size_t room) {
  const ort_provider_request *r = e->slot->request;
  for (size_t i = 0; i < r->n_devices && *text == '\0'; i++) {
    const char *has;
    if (support_of(r->devices[i], &has) == support && support != UNKNOWN) continue;
    snprintf(text, room, "; its GetWeightlessSupport gives '%s', the metadata of its device %zu '%.64s'", answer, i,
             has);
    ort_log(e->slot->eps->logger, ORT_LOGGING_LEVEL_WARNING, "onnxruntime", "ort_ep_weightless.c", "provider %s%s",
            r->name, text);
  }
}

OrtStatus *ort_weightless_ask(ox_ep *e) {
  const OrtKeyValuePairs *config = &e->slot->eps->options->config;
  const char *name = e->slot->request->name, *answer = "unknown";
  OrtWeightlessSupport support = OrtWeightlessSupport_NONE;
  char differs[256] = "";
  int mode = mode_of(config);
  if (e->asked_weightless || mode == 0 || (mode < 0 && !old_is_on(config))) return NULL;
  e->asked_weightless = true;
  if (e->ep->ort_version_supported < 29) return NULL; /* it cannot say */
  if (e->ep->GetWeightlessSupport == NULL)
    return ort_fail(ORT_NOT_IMPLEMENTED, "a weightless mode is asked for, but provider %s has no GetWeightlessSupport",
                    name);
  ORT_TRY(e->ep->GetWeightlessSupport(e->ep, &support));
  int known = (unsigned)support < N_NAMES ? (int)support : UNKNOWN;
  if (known < N_NAMES) answer = names[known];
  compare(e, known, answer, differs, sizeof differs);
  if (mode < 0 ? support != OrtWeightlessSupport_NONE : includes(known, mode)) return NULL;
  return ort_fail(ORT_EP_FAIL, "weightless mode '%s' is none of provider %s, it has '%s'%s",
                  mode < 0 ? "any" : names[mode], name, answer, differs);
}
