/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_experimental.c - slot 422 hands out functions by name. Here they are those of onyx/onyx.h and onyx/status.h,
 * so that a program that has this library gets at what the ABI lacks, and
 *   ox_session *ort_session_onyx(const OrtSession *session)
 * the engine's session behind one of the ABI, borrowed; NULL if it was released; and
 *   OrtStatus *ort_value_adopt(ox_value *value, OrtValue **out)
 * a new handle that takes |value| over, also on failure; and
 *   const ox_tensor *ort_value_tensor(const OrtValue *value)
 * what a handle shows, borrowed; and
 *   OrtStatus *ort_run_options_state(OrtRunOptions *options, ox_state *state)
 * runs with |options| have that state (ox_run_opts.state), until it is set to NULL; and
 *   OrtStatus *ort_provider_check(const char *name)
 * whether SessionOptionsAppendExecutionProvider would take provider |name|; and
 *   void ort_log_print(OrtLoggingLevel, const char *category, const char *id, const char *where, const char *text)
 * what the library does with its log itself, for logging functions that leave some of it alone. */
#include <string.h>

#include "ort/env/ort_env.h"
#include "ort/env/ort_provider_named.h"
#include "ort/ort_alive.h"
#include "ort/ort_api.h"
#include "ort/session/ort_session.h"
#include "ort/value/ort_value.h"

static ox_session *ort_session_onyx(const OrtSession *session) {
  return session != NULL && session->alive == ORT_ALIVE_SESSION ? session->session : NULL;
}

static const ox_tensor *ort_value_tensor(const OrtValue *value) { return value->tensor; }

static OrtStatus *ort_run_options_state(OrtRunOptions *options, ox_state *state) {
  ORT_ALIVE(options, ORT_ALIVE_RUN_OPTIONS);
  options->state = state;
  return NULL;
}

#define ROW(name) \
  { #name, (OrtExperimentalFnPtr)name }
static const struct {
  const char *name;
  OrtExperimentalFnPtr function;
} rows[] = {
    ROW(ort_session_onyx),
    ROW(ort_value_adopt),
    ROW(ort_value_tensor),
    ROW(ort_run_options_state),
    ROW(ort_provider_check),
    ROW(ort_log_print),
    ROW(ox_status_code),
    ROW(ox_status_message),
    ROW(ox_status_free),
    ROW(ox_code_name),
    ROW(ox_version),
    ROW(ox_env_create),
    ROW(ox_env_release),
    ROW(ox_env_add_provider),
    ROW(ox_env_add_ops),
    ROW(ox_env_add_rules),
    ROW(ox_env_load_plugin),
    ROW(ox_env_provider_name),
    ROW(ox_provider_known),
    ROW(ox_provider_find),
    ROW(ox_env_check_provider),
    ROW(ox_env_provider_option),
    ROW(ox_value_create),
    ROW(ox_value_wrap),
    ROW(ox_value_view),
    ROW(ox_value_room),
    ROW(ox_value_create_copy),
    ROW(ox_value_retain),
    ROW(ox_value_release),
    ROW(ox_value_get),
    ROW(ox_value_data),
    ROW(ox_memory_open),
    ROW(ox_memory_retain),
    ROW(ox_memory_release),
    ROW(ox_memory_name),
    ROW(ox_memory_provider),
    ROW(ox_memory_host_accessible),
    ROW(ox_memory_take),
    ROW(ox_memory_give),
    ROW(ox_memory_get_stats),
    ROW(ox_memory_shrink),
    ROW(ox_session_shrink),
    ROW(ox_session_memory_stats),
    ROW(ox_value_create_in),
    ROW(ox_value_wrap_in),
    ROW(ox_value_memory),
    ROW(ox_value_set_memory),
    ROW(ox_value_copy_to),
    ROW(ox_value_serialize),
    ROW(ox_value_parse),
    ROW(ox_session_opts_init),
    ROW(ox_session_create_file),
    ROW(ox_session_create),
    ROW(ox_session_release),
    ROW(ox_session_input_count),
    ROW(ox_session_output_count),
    ROW(ox_session_input),
    ROW(ox_session_output),
    ROW(ox_session_default_count),
    ROW(ox_session_default),
    ROW(ox_session_metadata),
    ROW(ox_session_opset),
    ROW(ox_session_run),
    ROW(ox_state_create),
    ROW(ox_state_release),
    ROW(ox_state_pair_at),
    ROW(ox_state_get),
    ROW(ox_state_length),
    ROW(ox_state_truncate),
    ROW(ox_state_reserve),
    ROW(ox_session_plan),
    ROW(ox_session_profile_start),
    ROW(ox_session_profile_stop),
    ROW(ox_session_profile_event),
    ROW(ox_session_profile_form),
    ROW(ox_session_profile_write),
    ROW(ox_session_placement),
    ROW(ox_session_output_node),
    ROW(ox_session_write),
    ROW(ox_session_is_random),
    ROW(ox_session_output_is_random),
    ROW(ox_random_seed),
    ROW(ox_session_applied),
    ROW(ox_session_size),
    ROW(ox_type_name),
    ROW(ox_type_bits),
    ROW(ox_tensor_element),
    ROW(ox_tensor_count),
};

OrtExperimentalFnPtr ort_GetExperimentalFunction(const char *name) {
  for (size_t i = 0; name != NULL && i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].name, name) == 0) return rows[i].function;
  return NULL;
}
