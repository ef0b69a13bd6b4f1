/* SPDX-License-Identifier: Apache-2.0
 * session/find_plugin.h - finds the library of a provider. */
#ifndef OX_SESSION_FIND_PLUGIN_H
#define OX_SESSION_FIND_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>

enum { OX_MOST_PATH = 4096 };

/* What a search found, and where it looked. */
typedef struct ox_plugin_search {
  char path[OX_MOST_PATH];       /* of the file, if it was found */
  char looked[2 * OX_MOST_PATH]; /* for messages: "ONYX_PLUGINS, /usr/lib/onyx, ..." */
} ox_plugin_search;

/* Looks for libonyx-<name>.so (onyx/onyx.h, ox_provider_spec, says where). Finds nothing for a name with characters
 * other than a plain word's. */
bool ox_plugin_find(const char *name, ox_plugin_search *out);

#endif
