/* SPDX-License-Identifier: Apache-2.0
 * plan/compile.h - a part's program: from the cache on disk, or compiled by its provider. */
#ifndef OX_PLAN_COMPILE_H
#define OX_PLAN_COMPILE_H

#include "plan/provider.h"

typedef struct ox_program_opts {
  const ox_provider *provider;
  const char *cache_dir; /* NULL: no cache */
  const ox_log *log;
  ox_alloc alloc;
} ox_program_opts;

/* The program for |view|, which must outlive it. Each cached program is a file, named by a digest of the part and of
 * the provider with its version and options. A cache that cannot be read or written is a warning, not an error. Errors:
 * the provider's; FAIL if it returns no program. */
OX_NODISCARD ox_status *ox_program_make(const ox_program_opts *o, const ox_graph_view *view, ox_program **out_program);

#endif
