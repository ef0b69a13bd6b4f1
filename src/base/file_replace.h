/* SPDX-License-Identifier: Apache-2.0
 * base/file_replace.h - writes a file beside its target and renames it over that at the end. A reader of the target
 * sees the old content or the new one, and the target may be a file that is mapped, such as the model that is written.
 */
#ifndef OX_BASE_FILE_REPLACE_H
#define OX_BASE_FILE_REPLACE_H

#include <stdbool.h>
#include <stdio.h>

enum { OX_REPLACE_PATH = 4096 };

typedef struct ox_file_replace {
  FILE *file;                       /* to write to, between open and close */
  char target[OX_REPLACE_PATH];     /* links are followed */
  char draft[OX_REPLACE_PATH + 48]; /* the target itself if that is no regular file: a pipe, /dev/stdout */
} ox_file_replace;

/* Opens a draft for |path|, with the permissions of the file that is there. False: errno says why. */
bool ox_file_replace_open(ox_file_replace *r, const char *path);
/* Closes the draft, which becomes the target if |keep| and all was written; else it is removed and the target stays as
 * it was. False: errno says why. */
bool ox_file_replace_close(ox_file_replace *r, bool keep);

#endif
