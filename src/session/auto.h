/* SPDX-License-Identifier: Apache-2.0
 * session/auto.h - the provider "auto": the fastest of those that are here, as it was measured with this model
 * (docs/tuning.md).
 *
 * Each provider that works here is tried beside the CPU on made-up inputs, in turns. One whose outputs differ from the
 * CPU's by more than 1e-3 of their largest magnitude is out. Where it has some programs faster than the CPU and others
 * slower, by the times of the nodes that they are made of, it is tried with the former alone, too. What is fastest by 3
 * % or more is chosen, else the CPU. */
#ifndef OX_SESSION_AUTO_H
#define OX_SESSION_AUTO_H

#include "session/overriding.h"

/* Replaces "auto" in |o| by its choice for this model; does nothing if |o| does not name it. What is allocated for that
 * lies in |a|. Measurements are kept in o->tune_cache, or else for the life of the env. Errors of running on the CPU
 * alone are left to the load; OUT_OF_MEMORY. */
OX_NODISCARD ox_status *ox_auto_resolve(ox_env *env, const ox_model_source *from, ox_arena *a, ox_session_opts *o);

/* auto_trial.c. Candidates besides the CPU. */
enum { OX_MOST_TRIALS = 12, OX_TRIAL_NAME = 240 };
typedef struct ox_trial_result {
  char way[OX_TRIAL_NAME]; /* "cpu", "onednn", "onednn -0123abcd,89ab0123": without these programs */
  double ns;               /* of a run; the CPU's scaled to one clock for all */
} ox_trial_result;
/* Measures the candidates. Sets |*n| results, the CPU's first; none if the model cannot be measured. */
OX_NODISCARD ox_status *ox_auto_measure(ox_env *env, const ox_model_source *from, const ox_session_opts *o,
                                        const char *const *providers, size_t n_providers, ox_trial_result *results,
                                        size_t *n);

#endif
