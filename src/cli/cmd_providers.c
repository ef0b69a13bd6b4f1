/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_providers.c - onyx providers: which ones can run nodes here, and why others cannot. */
#include <string.h>

#include "providers.h"

static struct {
  cli_providers providers;
  bool json, all;
} args;

static const cli_option options[] = {
    CLI_PROVIDER_OPTIONS(args.providers),
    CLI_FLAG("all", &args.all, "also those of other vendors, which libonnxruntime.so.1 loads"),
    CLI_FLAG("json", &args.json, "machine-readable output"),
};

/* Prints a row, or puts it into |j|. */
static void show(ox_json *j, ox_env *env, const char *name, const ox_provider_info *info) {
  ox_status *st = ox_env_check_provider(env, name);
  const char *why = st ? ox_status_message(st) : "";
  if (args.json) {
    ox_json_begin_object(j);
    ox_json_key(j, "name"), ox_json_string(j, name);
    ox_json_key(j, "ort_name"), ox_json_string(j, info ? info->ort_name : "");
    ox_json_key(j, "available"), ox_json_bool(j, !st);
    ox_json_key(j, "why"), ox_json_string(j, why);
    ox_json_end_object(j);
  } else if (st) {
    printf("%-12s not here: %s\n", name, why);
  } else {
    printf("%s\n", name);
  }
  ox_status_free(st);
}

/* The name that the env has, or is to load. */
static const char *own_name(const char *asked, ox_provider_info *info, const ox_env *env) {
  const char *name;
  for (size_t i = 0; (name = ox_env_provider_name(env, i)); i++)
    if (strcmp(name, asked) == 0) return name;
  return ox_provider_find(asked, info) ? info->name : asked;
}

static bool is_asked(const cli_providers *p, const ox_env *env, const char *name) {
  ox_provider_info info;
  for (size_t i = 0; i < p->n; i++)
    if (strcmp(own_name(p->specs[i].name, &info, env), name) == 0) return true;
  return false;
}

/* Those asked for, those of the list, and what else the env has. */
static void list(const cli_providers *p, ox_env *env, ox_json *j) {
  ox_provider_info info;
  const char *name;
  for (size_t i = 0; i < p->n; i++) {
    name = own_name(p->specs[i].name, &info, env);
    show(j, env, name, ox_provider_find(name, &info) ? &info : NULL);
  }
  for (size_t i = 0; ox_provider_known(i, &info); i++)
    if (!is_asked(p, env, info.name) && (args.all || !info.foreign)) show(j, env, info.name, &info);
  for (size_t i = 0; (name = ox_env_provider_name(env, i)); i++)
    if (!is_asked(p, env, name) && !ox_provider_find(name, &info)) show(j, env, name, NULL);
}

/* Whoever asks for a provider wants to know whether it works. */
static ox_status *check_asked(const cli_providers *p, ox_env *env) {
  for (size_t i = 0; i < p->n; i++) {
    ox_status *st = ox_env_check_provider(env, p->specs[i].name);
    if (st) return st;
  }
  return NULL;
}

static int run(const cli_operands *operands) {
  cli_providers *p = &args.providers;
  ox_env *env = NULL;
  (void)operands;
  if (!cli_providers_parse(p, "provider")) return EXIT_USAGE;
  ox_status *st = cli_env_create(p, false, &env);
  if (!st) st = check_asked(p, env);
  ox_json j = cli_json();
  if (!st && args.json) ox_json_begin_array(&j);
  if (!st) list(p, env, &j);
  if (!st && args.json) ox_json_end_array(&j), ox_json_end(&j);
  ox_env_release(env);
  return st ? cli_fail(st) : EXIT_OK;
}

const cli_command cmd_providers = {
    .name = "providers",
    .summary = "lists execution providers",
    .about =
        "Lists the execution providers that are built in, found by name (onyx/onyx.h, ox_provider_spec) or in the\n"
        "given libraries, one on each line; those of --provider come first. Each is tried, and one that cannot be\n"
        "used here is listed with the reason.",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .run = run,
};
