/* SPDX-License-Identifier: Apache-2.0
 * session/session.h - the implementation of ox_session: a plan, and idle contexts and calls that runs borrow. */
#ifndef OX_SESSION_SESSION_H
#define OX_SESSION_SESSION_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/quota.h"
#include "exec/context.h"
#include "opt/opt.h"
#include "session/env.h"
#include "session/value.h"

/* Idle contexts kept, over all shape signatures; the longest unused goes first. */
enum { OX_IDLE_CONTEXTS = 16 };

/* Metadata keys that every model has; model->props follow them. */
enum { OX_KNOWN_KEYS = 9 };

/* What one run needs besides a context; borrowed, so that a repeated run allocates nothing. */
typedef struct ox_call {
  struct ox_call *next;
  ox_run_sink sink; /* first, since the sink's functions find the call by it */
  ox_session *session;
  ox_run_env env;
  ox_watch watch;          /* for |env|, if the caller may stop the run */
  ox_run_memory run_memory;
  const ox_tensor **bound; /* per input */
  ox_tensor *aligned;      /* per input: a copy of misaligned data */
  ox_value **out;          /* per output of the graph */
  bool *out_given;         /* the caller's own value */
  size_t *out_bytes;       /* of the run before */
  struct ox_state *grows;  /* whose caches this run may make longer where they are; NULL: none */
  struct ox_call_devices *devices; /* session_devices.h; NULL: no run has needed it */
} ox_call;

struct ox_session {
  ox_env *env;
  ox_alloc alloc;
  ox_arena arena;                /* lives as long as the session */
  const ox_registry *ops;        /* all operators: those below, one over the other */
  ox_registry *provider_ops;     /* what the providers bring; NULL: nothing */
  ox_registry *own_ops;          /* what the session was given; NULL: nothing */
  const ox_registry *custom_ops; /* those given to env and session, for the provider "custom"; NULL: none */
  ox_model *model;
  void *bytes; /* a copy of the model's bytes, or NULL */
  size_t n_bytes;
  ox_memory **memories; /* of the caller's, retained: providers take blocks there */
  size_t n_memories;
  ox_value **given; /* contents for initializers, retained */
  size_t n_given;
  ox_plan *plan;
  ox_provider providers[OX_MOST_PROVIDERS];
  size_t n_providers;
  ox_log log;               /* its own, or the env's */
  ox_pool *pool, *own_pool; /* own: only when more threads are asked for than the given pool has */
  uint32_t max_threads;
  ox_recycler *recycler;
  ox_profile *profile;
  bool profiling;
  size_t max_workspace;
  ox_quota *quota;           /* of |alloc|; the origin's if there is one */
  bool default_limit;        /* the caller set none */
  size_t given_bytes;        /* of the model, its files and initializers */
  atomic_size_t most_inputs; /* bytes that a run brought */
  ox_id *inputs; /* graph inputs without constant content */
  uint32_t n_inputs;
  uint32_t *input_at; /* per value of the graph: its index in |inputs|, or OX_NONE */
  ox_value_info *defaults; /* inputs with an initializer: constants here, inputs in the sibling (overriding.h) */
  uint32_t n_defaults;
  ox_session *origin; /* of a sibling; else NULL */
  struct ox_session_source *source; /* to load it again; NULL: not needed */
  pthread_mutex_t making;           /* the sibling, the backup */
  _Atomic(ox_session *) sibling;
  bool fall_back; /* to the session below, of the same model for the CPU alone (fall_back.h) */
  _Atomic(ox_session *) backup;
  atomic_bool gave_up;    /* its providers: all runs go there */
  size_t n_env_rule_sets; /* those that the env had */
  ox_slabs slabs;       /* of all contexts */
  pthread_mutex_t lock; /* guards the lists below */
  ox_context *idle[OX_IDLE_CONTEXTS]; /* the latest used last */
  uint32_t n_idle;
  ox_call *calls;
  ox_prop known[OX_KNOWN_KEYS]; /* points into the model and the three below */
  ox_placement *placement; /* in the model's arena */
  const ox_node **placed;  /* per row: the node that it is about */
  const char **labels;     /* per row: its name, or that of its first output */
  size_t n_placement;
  ox_opt_count *applied; /* rules and passes, in the model's arena */
  uint32_t n_applied;
  bool *random; /* per output; NULL: none is */
  char ir_version[24], model_version[24], opset[24];
};

/* Describes value |v| as declared. */
void ox_session_describe(const ox_session *s, ox_id v, ox_value_info *out);

/* Frees |c| of |s|, also if it is incomplete. */
void ox_call_free(ox_call *c, const ox_session *s);

/* Frees what no run uses: idle contexts, calls and slabs, and released outputs. Any thread. */
void ox_session_trim(void *session);

/* Fills |known|, once the session has its model. */
void ox_session_fill_metadata(ox_session *s);

#endif
