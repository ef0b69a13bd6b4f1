/* SPDX-License-Identifier: Apache-2.0
 * base/file_map.h - a whole file mapped read-only. Reference-counted: models whose weights borrow from it hold a count.
 */
#ifndef OX_BASE_FILE_MAP_H
#define OX_BASE_FILE_MAP_H

#include <pthread.h>

#include "base/alloc.h"
#include "base/status.h"

typedef struct ox_file_map ox_file_map;

/* The open maps, so that they can be shared. Must outlive them. */
typedef struct ox_file_maps {
  pthread_mutex_t lock;
  ox_file_map *first;
} ox_file_maps;

void ox_file_maps_init(ox_file_maps *maps);
void ox_file_maps_deinit(ox_file_maps *maps);

/* Maps |path|, a regular file or a link to one. If |maps| (may be NULL) has the same file, its map is retained and
 * returned. Any thread. Errors: NO_SUCH_FILE (with the system's reason), OUT_OF_MEMORY. The file must not shrink while
 * mapped. */
OX_NODISCARD ox_status *ox_file_map_open(ox_alloc alloc, ox_file_maps *maps, const char *path, ox_file_map **out_map);
/* The same for the file |path| within the folder |root|, none of whose parts may be a link, "." or "..". */
OX_NODISCARD ox_status *ox_file_map_open_beneath(ox_alloc alloc, ox_file_maps *maps, const char *root, const char *path,
                                                 ox_file_map **out_map);
const unsigned char *ox_file_map_data(const ox_file_map *m);
size_t ox_file_map_bytes(const ox_file_map *m);
ox_file_map *ox_file_map_retain(ox_file_map *m);
void ox_file_map_release(ox_file_map *m); /* NULL is fine */
/* Tells the system that [p, p + bytes) inside the map is not needed soon: its pages leave our resident set
 * (they come back from the file when touched). Any thread. */
void ox_file_map_drop(const ox_file_map *m, const void *p, size_t bytes);

#endif
