/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/api2024/variants.h - differences between snapshots of the library; CMake detects which the installed one has
 * (cmake/plugin_xnnpack.cmake). */
#ifndef XP_VARIANTS_H
#define XP_VARIANTS_H

#include "../xp_library.h"

/* Until 2025-05: a code cache argument precedes the weight cache argument. We pass neither: an operator packs its own
 * weights. */
#ifdef XP_CODE_CACHE
#define CACHES NULL, NULL
#else
#define CACHES NULL
#endif

/* Until 2025-05: reshape also returns the alignment of the workspace, which never exceeds that of ours. */
#ifdef XP_ALIGNMENTS
#define ROOM(out) \
  out, &(size_t) { 0 }
#else
#define ROOM(out) out
#endif

/* Since 2025-05: a lookup table for bytes may be passed. */
#ifdef XP_LUTS
#define NO_LUT NULL,
#else
#define NO_LUT
#endif

/* Until 2025-02: AveragePool needs a workspace and exists for bytes, too; Resize has a function for each type. */
#ifdef XP_AVERAGE_ROOM
#define AVERAGE_ROOM(out) ROOM(out),
#define AVERAGE_AT(room) room,
#else
#define AVERAGE_ROOM(out)
#define AVERAGE_AT(room)
#endif

#endif
