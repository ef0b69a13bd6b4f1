/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_providers.c - onyx providers: who can run nodes here. */
#include "cli.h"

static int run(int argc, char **argv) {
  bool json = false;
  cli_list none = {.n = 0}, plugins = {.n = 0};
  const cli_option options[] = {{"--json", &json, NULL, NULL}, {"--plugin", NULL, NULL, &plugins}};
  if (!cli_parse(argc, argv, options, sizeof options / sizeof *options, &none) || none.n) return EXIT_USAGE;
  ox_env *env = NULL;
  ox_status *st = ox_env_create(NULL, &env);
  for (size_t i = 0; !st && i < plugins.n; i++) st = ox_env_load_provider(env, plugins.items[i]);
  if (st) {
    ox_env_release(env);
    return cli_fail(st);
  }
  if (json) printf("[");
  for (size_t i = 0; ox_env_provider_name(env, i); i++) {
    if (json) printf("%s\"%s\"", i ? ", " : "", ox_env_provider_name(env, i));
    else printf("%s\n", ox_env_provider_name(env, i));
  }
  if (json) printf("]\n");
  ox_env_release(env);
  return EXIT_OK;
}

const cli_command cmd_providers = {"providers", "lists execution providers",
                                   "usage: onyx providers [--plugin FILE]... [--json]\n\n"
                                   "Lists the execution providers that are built in and those of the plug-ins given.\n",
                                   run};
