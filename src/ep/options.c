/* SPDX-License-Identifier: Apache-2.0
 * ep/options.c - a provider's options against those that it declares. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ep/host.h"

static const ox_option_def *find(const ox_ep_api *api, const char *key) {
  for (size_t i = 0; i < api->n_options; i++)
    if (strcmp(api->options[i].key, key) == 0) return &api->options[i];
  return NULL;
}

static ox_status *unknown(const ox_ep_api *api, const char *key) {
  char list[512] = "none";
  size_t at = 0;
  for (size_t i = 0; i < api->n_options && at < sizeof list; i++)
    at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "", api->options[i].key);
  return ox_fail(OX_INVALID_ARGUMENT, "provider '%s' has no option '%s' (it has: %s)", api->name, key, list);
}

static bool one_of(const char *value, const char *list) {
  size_t n = strlen(value);
  for (const char *p = list; *p; p += *p == '|') {
    size_t len = strcspn(p, "|");
    if (len == n && memcmp(p, value, n) == 0) return true;
    p += len;
  }
  return false;
}

static bool parses(const ox_option_def *d, const char *value) {
  char *end;
  errno = 0;
  switch (d->type) {
    case OX_OPTION_INT:
      (void)strtoll(value, &end, 10);
      return *value && !*end && !errno;
    case OX_OPTION_FLOAT:
      (void)strtod(value, &end);
      return *value && !*end && !errno;
    case OX_OPTION_BOOL:
      return one_of(value, "0|1|false|true");
    default:
      return !d->values || one_of(value, d->values);
  }
}

ox_status *ox_ep_check_options(const ox_ep_api *api, const ox_options *o) {
  static const char *const names[] = {"a string", "an integer", "a number", "0, 1, false or true"};
  for (uint32_t i = 0; o && i < o->n; i++) {
    if (!o->keys || !o->values || !o->keys[i] || !o->values[i])
      return ox_fail(OX_INVALID_ARGUMENT, "provider '%s': option %u is NULL", api->name, i);
    if (!api->options) continue;
    const ox_option_def *d = find(api, o->keys[i]);
    if (!d) return unknown(api, o->keys[i]);
    if (!parses(d, o->values[i]))
      return ox_fail(OX_INVALID_ARGUMENT, "provider '%s', option '%s': wanted %s, got '%s'", api->name, d->key,
                     d->values ? d->values : names[d->type], o->values[i]);
  }
  return NULL;
}
