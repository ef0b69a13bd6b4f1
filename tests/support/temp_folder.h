/* SPDX-License-Identifier: Apache-2.0
 * support/temp_folder.h - a folder for one test, below TMPDIR or /tmp. */
#ifndef OX_TESTS_TEMP_FOLDER_H
#define OX_TESTS_TEMP_FOLDER_H

#include <stdbool.h>

enum { TEMP_FOLDER_BYTES = 256 };

/* Makes an empty folder, and removes one again; false if that fails, as where a test has left a file in it. */
bool temp_folder_make(char path[TEMP_FOLDER_BYTES]);
bool temp_folder_remove(const char *path);

#endif
