/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_providers.c - onyx providers: who can run nodes here. */
#include <string.h>

#include "providers.h"

static struct {
  cli_providers providers;
  bool json;
} args;

static const cli_option options[] = {
    CLI_PROVIDER_OPTIONS(args.providers),
    CLI_FLAG("json", &args.json, "machine-readable output"),
};

static bool is_asked(const cli_providers *p, const char *name) {
  for (size_t i = 0; i < p->n; i++)
    if (strcmp(p->specs[i].name, name) == 0) return true;
  return false;
}

static ox_status *check_all_known(const cli_providers *p, const ox_env *env) {
  char why[256];
  for (size_t i = 0; i < p->n; i++) {
    const char *name = p->specs[i].name, *known;
    size_t k = 0;
    while ((known = ox_env_provider_name(env, k)) && strcmp(known, name) != 0) k++;
    snprintf(why, sizeof why, "there is no provider '%s'", name);
    if (!known) return ox_task_error(OX_INVALID_ARGUMENT, why);
  }
  return NULL;
}

static void show(ox_json *j, const char *name) {
  if (args.json)
    ox_json_string(j, name);
  else
    printf("%s\n", name);
}

static void list(const cli_providers *p, const ox_env *env) {
  const char *name;
  ox_json j = cli_json();
  if (args.json) ox_json_begin_array(&j);
  for (size_t i = 0; i < p->n; i++) show(&j, p->specs[i].name);
  for (size_t i = 0; (name = ox_env_provider_name(env, i)); i++)
    if (!is_asked(p, name)) show(&j, name);
  if (!args.json) return;
  ox_json_end_array(&j);
  ox_json_end(&j);
}

static int run(const cli_operands *operands) {
  cli_providers *p = &args.providers;
  ox_env *env = NULL;
  (void)operands;
  if (!cli_providers_parse(p)) return EXIT_USAGE;
  ox_status *st = cli_env_create(p, false, &env);
  if (!st) st = check_all_known(p, env);
  if (!st) list(p, env);
  ox_env_release(env);
  return st ? cli_fail(st) : EXIT_OK;
}

const cli_command cmd_providers = {
    .name = "providers",
    .summary = "lists execution providers",
    .about =
        "Lists the execution providers that are built in and those of the libraries given, one a line; first those\n"
        "asked for, in that order.",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .run = run,
};
