/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/api2024/variants.h - what changed from one snapshot of the library to the next; CMake finds out which has
 * what (cmake/plugin_xnnpack.cmake). */
#ifndef XP_VARIANTS_H
#define XP_VARIANTS_H

#include "../xp_library.h"

/* Until 2025-05: a cache of code before that of weights. We have neither: an operator packs what it is given. */
#ifdef XP_CODE_CACHE
#define CACHES NULL, NULL
#else
#define CACHES NULL
#endif

/* Until 2025-05: with the room that is wanted comes its alignment, which is never above that of ours. */
#ifdef XP_ALIGNMENTS
#define ROOM(out) \
  out, &(size_t) { 0 }
#else
#define ROOM(out) out
#endif

/* Since 2025-05: a table for bytes may be given. */
#ifdef XP_LUTS
#define NO_LUT NULL,
#else
#define NO_LUT
#endif

/* Until 2025-02: an average wants room; there is one of bytes, and a Resize for each type. */
#ifdef XP_AVERAGE_ROOM
#define AVERAGE_ROOM(out) ROOM(out),
#define AVERAGE_AT(room) room,
#else
#define AVERAGE_ROOM(out)
#define AVERAGE_AT(room)
#endif

#endif
