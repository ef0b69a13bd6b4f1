/* SPDX-License-Identifier: Apache-2.0
 * support/temp_folder.c - see temp_folder.h. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "support/temp_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool temp_folder_make(char path[TEMP_FOLDER_BYTES]) {
  const char *below = getenv("TMPDIR");
  int n = snprintf(path, TEMP_FOLDER_BYTES, "%s/onyx-test-XXXXXX", below && *below ? below : "/tmp");
  return n > 0 && n < TEMP_FOLDER_BYTES && mkdtemp(path);
}

bool temp_folder_remove(const char *path) { return rmdir(path) == 0; }
