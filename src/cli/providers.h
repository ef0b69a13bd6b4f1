/* SPDX-License-Identifier: Apache-2.0
 * cli/providers.h - --provider and --plugin. */
#ifndef OX_CLI_PROVIDERS_H
#define OX_CLI_PROVIDERS_H

#include "cli.h"

enum { CLI_MOST_PROVIDERS = 32, CLI_MOST_PROVIDER_OPTIONS = 16 };

typedef struct cli_providers {
  cli_list asked, libs; /* as given */
  /* cli_providers_parse: |asked| in the same order, for ox_session_opts; parts of argv */
  ox_provider_spec specs[CLI_MOST_PROVIDERS];
  const char *keys[CLI_MOST_PROVIDERS][CLI_MOST_PROVIDER_OPTIONS];
  const char *values[CLI_MOST_PROVIDERS][CLI_MOST_PROVIDER_OPTIONS];
  size_t n;
} cli_providers;

#define CLI_PROVIDER_OPTIONS(p)                                                                  \
  CLI_LIST("provider", "NAME[,KEY=VALUE...]", &(p).asked,                                        \
           "use this provider, with these options, before the CPU; also several, in the order\n" \
           "of preference: xnnpack,onednn:num_threads=1"),                                       \
      CLI_LIST("plugin", "PATH", &(p).libs, "load the providers, operators and rules of this shared library")

/* False after printing what is wrong with |option|. */
bool cli_providers_parse(cli_providers *p, const char *option);
/* An environment with the plug-ins of |p->libs|; its warnings go to standard error, unless |quiet|. */
ox_status *cli_env_create(const cli_providers *p, bool quiet, ox_env **out_env);

#endif
