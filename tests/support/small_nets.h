/* SPDX-License-Identifier: Apache-2.0
 * support/small_nets.h - graphs of many small steps side by side, and sessions on them that count what they allocate.
 */
#ifndef SUPPORT_SMALL_NETS_H
#define SUPPORT_SMALL_NETS_H

#include "session/session.h"
#include "support/check.h"
#include "support/counting_alloc.h"

#define NET_HEAD "<ir_version: 10, opset_import: [\"\" : 21]> g "

typedef struct {
  char text[1 << 16];
  size_t n;
} writer;

/* Appends, as printf. */
void say(writer *w, const char *fmt, ...);

/* Writes one step of a branch, which computes |to| from |from|. */
typedef void (*step_kind)(writer *w, int branch, int level, const char *to, const char *from);

/* |width| branches of |depth| steps each, all from x [rows, columns]. */
typedef struct {
  const char *name;
  step_kind step;
  int width, depth, rows, columns;
  bool apart; /* it is worth it */
} net;

extern const net nets[];
extern const size_t n_nets;
/* By what it is about; fails the test if there is none. */
const net *net_named(const char *name);
/* All branches are outputs; the first also as a view. */
const char *net_text(const net *n, writer *w);

enum { MOST_OUT = 16 };

typedef struct {
  counting_alloc count;
  ox_env *env;
  ox_session *s;
  ox_value *x;
} opened;

/* |limit|: max_workspace. */
void open_text(opened *o, const char *text, uint32_t threads, size_t limit);
/* Nothing may be left. */
void close_text(opened *o);
/* |out|: MOST_OUT values, which release_outputs gives back. */
ox_status *run_opened(opened *o, const ox_run_opts *opts, ox_value **out);
void release_outputs(ox_value **out);
/* The context that the last run left. */
ox_context *context_of(opened *o);
/* The next run comes soon and goes apart, or late, whatever the clock says. */
void set_pause(opened *o, bool soon);
bool same_tensor(const ox_tensor *a, const ox_tensor *b);

#endif
