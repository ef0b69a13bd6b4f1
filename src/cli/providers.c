/* SPDX-License-Identifier: Apache-2.0
 * cli/providers.c - providers from the command line, and the environment that they are in. */
#include "providers.h"

#include <string.h>

static bool refuse(const char *what, const char *text) {
  fprintf(stderr, "onyx: --provider %s, got '%s'\n", what, text);
  return false;
}

/* NAME[,KEY=VALUE]... is cut into strings where it stands. A colon may come after NAME, too. */
static bool parse_one(cli_providers *p, char *text) {
  ox_provider_spec *spec = &p->specs[p->n];
  const char **keys = p->keys[p->n], **values = p->values[p->n];
  uint32_t n = 0;
  char *at = text + strcspn(text, ",:");
  if (at == text) return refuse("wants a name", text);
  for (const char *c = at; *c; c += strcspn(c, ",")) {
    size_t len = strcspn(++c, ",");
    const char *eq = memchr(c, '=', len);
    if (!eq || eq == c) return refuse("wants NAME[,KEY=VALUE...]", text);
    if (++n > CLI_MOST_PROVIDER_OPTIONS) return refuse("has too many options", text);
  }
  for (n = 0; *at; n++) {
    *at++ = 0;
    keys[n] = at;
    at += strcspn(at, "=");
    *at++ = 0;
    values[n] = at;
    at += strcspn(at, ",");
  }
  *spec = (ox_provider_spec){text, {n, keys, values}};
  p->n++;
  return true;
}

bool cli_providers_parse(cli_providers *p) {
  for (size_t i = 0; i < p->asked.n; i++) {
    if (p->n == CLI_MOST_PROVIDERS) return refuse("is given too often", p->asked.items[i]);
    if (!parse_one(p, p->asked.items[i])) return false;
  }
  return true;
}

static void warn(void *ctx, int level, const char *text) {
  (void)ctx, (void)level;
  fprintf(stderr, "onyx: warning: %s\n", text);
}

ox_status *cli_env_create(const cli_providers *p, bool quiet, ox_env **out_env) {
  int level = quiet ? OX_LOG_LEVEL_OFF : OX_LOG_LEVEL_WARNING;
  const ox_env_opts opts = {.struct_size = sizeof opts, .log = warn, .log_level = level};
  ox_status *st = ox_env_create(&opts, out_env);
  for (size_t i = 0; i < p->libs.n && !st; i++) st = ox_env_load_plugin(*out_env, p->libs.items[i]);
  return st;
}
