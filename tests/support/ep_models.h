/* SPDX-License-Identifier: Apache-2.0
 * support/ep_models.h - models with the structures that matter to providers, inputs for them, and outputs compared. */
#ifndef OX_TESTS_EP_MODELS_H
#define OX_TESTS_EP_MODELS_H

#include "onyx/onyx.h"

typedef struct ep_model {
  const char *name, *text; /* the dimension N is free */
} ep_model;
extern const ep_model ep_models[];
extern const size_t n_ep_models;
/* By name; ends the test if there is none. */
const ep_model *ep_model_named(const char *name);

enum { EP_MOST_VALUES = 32 };

/* Inputs made up for a session, the same each time: free dimensions are |batch|. */
typedef struct ep_inputs {
  ox_value *value[EP_MOST_VALUES];
  const char *name[EP_MOST_VALUES]; /* the session's */
  size_t n;
} ep_inputs;
void ep_inputs_make(ox_env *env, const ox_session *s, int64_t batch, ep_inputs *out);
/* The recorded inputs of the model file |path|: input_0.pb and so on in test_data_set_0 beside it; made up where there
 * are none. */
void ep_inputs_read(ox_env *env, const ox_session *s, const char *path, ep_inputs *out);
void ep_inputs_free(ep_inputs *in);

/* All outputs of a session. */
typedef struct ep_outputs {
  ox_value *value[EP_MOST_VALUES];
  size_t n;
} ep_outputs;
OX_NODISCARD ox_status *ep_run(ox_session *s, const ep_inputs *in, ep_outputs *out);
void ep_outputs_free(ep_outputs *out);
/* Fails the test unless both are equal: bit for bit, or floats up to |tolerance| relative to the largest finite one of
 * a tensor. 16-bit floats may be neighbours. */
void ep_outputs_compare(const char *what, const ep_outputs *want, const ep_outputs *got, double tolerance);

/* The outputs of the CPU provider alone. */
void ep_cpu_outputs(const char *text, uint32_t optimize, int64_t batch, ep_outputs *out);

#endif
