/* SPDX-License-Identifier: Apache-2.0
 * cli/providers.c - providers from the command line, and the environment that they are in. */
#include "providers.h"

#include <string.h>

static bool refuse(const char *option, const char *what, const char *text) {
  fprintf(stderr, "onyx: --%s %s, got '%s'\n", option, what, text);
  return false;
}

/* Adds the provider that |text| begins with; its end is cut off, and *text goes behind. */
static bool add_name(cli_providers *p, char **text) {
  char *name = *text;
  if (p->n == CLI_MOST_PROVIDERS) return false;
  *text += strcspn(name, ",:=");
  if (*text == name || **text == '=') return false;
  p->specs[p->n] = (ox_provider_spec){name, {0, p->keys[p->n], p->values[p->n]}};
  p->n++;
  return true;
}

/* The same with KEY=VALUE, for the provider that came last. */
static bool add_option(cli_providers *p, char **text) {
  ox_options *o = &p->specs[p->n - 1].options;
  const char **keys = p->keys[p->n - 1], **values = p->values[p->n - 1];
  char *eq = *text + strcspn(*text, "=,");
  if (eq == *text || *eq != '=' || o->n == CLI_MOST_PROVIDER_OPTIONS) return false;
  keys[o->n] = *text, values[o->n++] = eq + 1;
  *eq = 0;
  *text = eq + 1 + strcspn(eq + 1, ",");
  return true;
}

/* Whether |text| begins with a name: what comes first of ',', ':' and '=' is no '='. */
static bool begins_with_name(const char *text) { return text[strcspn(text, ",:=")] != '='; }

/* NAME[:KEY=VALUE][,KEY=VALUE]...[,NAME...] is cut into strings where it stands. */
static bool parse_list(cli_providers *p, char *text) {
  for (bool first = true;; first = false) {
    bool name = first || begins_with_name(text);
    if (!(name ? add_name(p, &text) : add_option(p, &text))) return false;
    if (!*text) return true;
    bool options = *text == ':';
    *text++ = 0;
    if (options && !add_option(p, &text)) return false;
    if (options && !*text) return true;
    if (options) *text++ = 0;
  }
}

bool cli_providers_parse(cli_providers *p, const char *option) {
  char asked[256];
  for (size_t i = 0; i < p->asked.n; i++) {
    snprintf(asked, sizeof asked, "%s", p->asked.items[i]);
    if (p->n == CLI_MOST_PROVIDERS) return refuse(option, "is given too often", asked);
    if (!parse_list(p, p->asked.items[i]))
      return refuse(option, "wants NAME[,KEY=VALUE...][,NAME...], not too many", asked);
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
