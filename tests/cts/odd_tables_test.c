/* SPDX-License-Identifier: Apache-2.0
 * cts/odd_tables_test.c - provider tables that are too short, too long, half filled or contradict themselves. */
#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/device_ep.h"
#include "support/echo_ep.h"
#include "support/ep_models.h"
#include "support/ep_watch.h"
#include "support/text_session.h"

/* ---- refused ---- */

static const ox_memory_def no_name[] = {{NULL, 0, 0}}, no_power[] = {{"odd", 0, 48}};
static const ox_option_def no_key[] = {{NULL, OX_OPTION_INT, NULL, NULL, NULL}},
                           no_type[] = {{"k", 4, NULL, NULL, NULL}};

static void set_major(ox_ep_api *t) { t->abi_major = OX_EP_ABI_MAJOR + 1; }
static void set_major_0(ox_ep_api *t) { t->abi_major = 0; }
static void set_size_0(ox_ep_api *t) { t->struct_size = 0; }
static void set_size_short(ox_ep_api *t) { t->struct_size = offsetof(ox_ep_api, version) - 1; }
static void no_name_at_all(ox_ep_api *t) { t->name = NULL; }
static void empty_name(ox_ep_api *t) { t->name = ""; }
static void name_cpu(ox_ep_api *t) { t->name = "cpu"; }
static void name_host(ox_ep_api *t) { t->name = "host"; }
static void name_custom(ox_ep_api *t) { t->name = "custom"; }
static void no_create(ox_ep_api *t) { t->create = NULL; }
static void no_destroy(ox_ep_api *t) { t->destroy = NULL; }
static void no_claim(ox_ep_api *t) { t->claim = NULL; }
static void no_run(ox_ep_api *t) { t->run = NULL; }
static void no_compile(ox_ep_api *t) { t->compile = NULL; }
static void no_program_release(ox_ep_api *t) { t->program_release = NULL; }
static void nothing_to_run(ox_ep_api *t) {
  t->kernel_create = NULL, t->compile = NULL, t->run = NULL, t->program_release = NULL, t->save = NULL, t->load = NULL;
}
static void save_alone(ox_ep_api *t) { t->load = NULL; }
static void load_alone(ox_ep_api *t) { t->save = NULL; }
static void options_missing(ox_ep_api *t) { t->options = NULL, t->n_options = 1; }
static void options_many(ox_ep_api *t) { t->n_options = 1000; }
static void option_without_key(ox_ep_api *t) { t->options = no_key, t->n_options = 1; }
static void option_without_type(ox_ep_api *t) { t->options = no_type, t->n_options = 1; }
static void ops_missing(ox_ep_api *t) { t->n_ops = 3; }
static void rules_missing(ox_ep_api *t) { t->n_rule_sets = 3; }
static void memories_missing(ox_ep_api *t) { t->memories = NULL, t->n_memories = 1; }
static void memories_many(ox_ep_api *t) { t->n_memories = 17; }
static void memory_without_name(ox_ep_api *t) { t->memories = no_name, t->n_memories = 1; }
static void memory_align(ox_ep_api *t) { t->memories = no_power, t->n_memories = 1; }
static void memory_without_alloc(ox_ep_api *t) { t->memory_alloc = NULL; }
static void memory_without_free(ox_ep_api *t) { t->memory_free = NULL; }
static void memory_without_copy(ox_ep_api *t) { t->copy = NULL; }
static void no_stream_create(ox_ep_api *t) { t->stream_create = NULL; }
static void no_stream_release(ox_ep_api *t) { t->stream_release = NULL; }
static void no_stream_sync(ox_ep_api *t) { t->stream_sync = NULL; }
static void no_event_create(ox_ep_api *t) { t->event_create = NULL; }
static void no_event_release(ox_ep_api *t) { t->event_release = NULL; }
static void no_event_record(ox_ep_api *t) { t->event_record = NULL; }
static void no_event_sync(ox_ep_api *t) { t->event_sync = NULL; }

static const struct {
  const char *name;
  void (*change)(ox_ep_api *t);
  ox_code code;
  const char *part;
} refused[] = {{"another major version", set_major, OX_INCOMPATIBLE, "ABI 2"},
               {"major version 0", set_major_0, OX_INCOMPATIBLE, "ABI 0"},
               {"no size", set_size_0, OX_INCOMPATIBLE, " 0 bytes"},
               {"a byte too short for 1.0", set_size_short, OX_INCOMPATIBLE, "71 bytes"},
               {"no name", no_name_at_all, OX_INCOMPATIBLE, "required"},
               {"an empty name", empty_name, OX_INCOMPATIBLE, "required"},
               {"the CPU provider's name", name_cpu, OX_INVALID_ARGUMENT, "'cpu'"},
               {"the host's name", name_host, OX_INVALID_ARGUMENT, "'host'"},
               {"the name of custom operators", name_custom, OX_INVALID_ARGUMENT, "'custom'"},
               {"no create", no_create, OX_INCOMPATIBLE, "required"},
               {"no destroy", no_destroy, OX_INCOMPATIBLE, "required"},
               {"no claim", no_claim, OX_INCOMPATIBLE, "required"},
               {"no run", no_run, OX_INCOMPATIBLE, "come together"},
               {"no compile", no_compile, OX_INCOMPATIBLE, "come together"},
               {"no program_release", no_program_release, OX_INCOMPATIBLE, "come together"},
               {"nothing that runs", nothing_to_run, OX_INCOMPATIBLE, "neither kernels"},
               {"save alone", save_alone, OX_INCOMPATIBLE, "save and load"},
               {"load alone", load_alone, OX_INCOMPATIBLE, "save and load"},
               {"options counted, not there", options_missing, OX_INCOMPATIBLE, "options"},
               {"too many options", options_many, OX_INCOMPATIBLE, "options"},
               {"an option without a key", option_without_key, OX_INCOMPATIBLE, "option"},
               {"an option of no type", option_without_type, OX_INCOMPATIBLE, "option"},
               {"operators counted, not there", ops_missing, OX_INCOMPATIBLE, "operators"},
               {"rules counted, not there", rules_missing, OX_INCOMPATIBLE, "rules"},
               {"memories counted, not there", memories_missing, OX_INCOMPATIBLE, "memories"},
               {"too many memories", memories_many, OX_INCOMPATIBLE, "memories"},
               {"a memory without a name", memory_without_name, OX_INCOMPATIBLE, "memory"},
               {"an alignment of 48", memory_align, OX_INCOMPATIBLE, "power of two"},
               {"memory without memory_alloc", memory_without_alloc, OX_INCOMPATIBLE, "memory_alloc"},
               {"memory without memory_free", memory_without_free, OX_INCOMPATIBLE, "memory_alloc"},
               {"memory without copy", memory_without_copy, OX_INCOMPATIBLE, "copy"},
               {"no stream_create", no_stream_create, OX_INCOMPATIBLE, "streams"},
               {"no stream_release", no_stream_release, OX_INCOMPATIBLE, "streams"},
               {"no stream_sync", no_stream_sync, OX_INCOMPATIBLE, "streams"},
               {"no event_create", no_event_create, OX_INCOMPATIBLE, "streams"},
               {"no event_release", no_event_release, OX_INCOMPATIBLE, "streams"},
               {"no event_record", no_event_record, OX_INCOMPATIBLE, "streams"},
               {"no event_sync", no_event_sync, OX_INCOMPATIBLE, "streams"}};

/* The echo provider's table with what the device's has. */
static ox_ep_api full_table(void) {
  ox_ep_api t = *echo_ep(), d = *device_ep();
  t.name = "odd";
  t.memories = d.memories, t.n_memories = d.n_memories, t.memory_alloc = d.memory_alloc, t.memory_free = d.memory_free;
  t.copy = d.copy, t.stream_create = d.stream_create, t.stream_release = d.stream_release,
  t.stream_sync = d.stream_sync;
  t.event_create = d.event_create, t.event_release = d.event_release;
  t.event_record = d.event_record, t.event_sync = d.event_sync;
  return t;
}

static void test_odd_tables_are_refused(void **state) {
  ox_env *env;
  size_t before = 0, after = 0;
  (void)state;
  CHECK_OK(ox_env_create(NULL, &env));
  while (ox_env_provider_name(env, before)) before++;
  for (size_t i = 0; i < OX_COUNT(refused); i++) {
    ox_ep_api t = full_table();
    refused[i].change(&t);
    ox_status *st = ox_env_add_provider(env, &t);
    if (ox_status_code(st) != refused[i].code || !strstr(ox_status_message(st), refused[i].part))
      fail_msg("%s: %s \"%s\"", refused[i].name, ox_code_name(ox_status_code(st)), ox_status_message(st));
    ox_status_free(st);
  }
  CHECK_FAILS(ox_env_add_provider(env, NULL), OX_INVALID_ARGUMENT, "NULL");
  while (ox_env_provider_name(env, after)) after++;
  assert_int_equal(before, after);
  ox_ep_api whole = full_table();
  CHECK_OK(ox_env_add_provider(env, &whole));
  CHECK_FAILS(ox_env_add_provider(env, &whole), OX_INVALID_ARGUMENT, "already");
  ox_env_release(env);
}

/* ---- sizes that are fine ---- */

typedef union {
  ox_ep_api api;
  unsigned char bytes[sizeof(ox_ep_api) + 128];
} sized;

static const struct {
  const char *name;
  size_t size;
} sizes[] = {{"as small as 1.0", offsetof(ox_ep_api, version)},
             {"1.0 and four bytes", offsetof(ox_ep_api, version) + 4},
             {"with options", offsetof(ox_ep_api, n_options) + sizeof(size_t)},
             {"up to the middle of save", offsetof(ox_ep_api, save) + 3},
             {"without memories", offsetof(ox_ep_api, memories)},
             {"whole", sizeof(ox_ep_api)},
             {"of a later version", sizeof(ox_ep_api) + 128}};

static void test_tables_of_any_version_run(void **state) {
  const ep_model *m = ep_model_named("diamond");
  (void)state;
  for (size_t i = 0; i < OX_COUNT(sizes); i++) {
    sized t;
    ox_env *env;
    ox_session *s;
    ep_inputs in;
    ep_outputs want, got;
    ox_session_opts so;
    const ox_provider_spec spec = {"echo", {0}};
    memset(t.bytes, 0xa5, sizeof t.bytes); /* junk behind the end */
    memcpy(t.bytes, echo_ep(), OX_MIN(sizes[i].size, sizeof(ox_ep_api)));
    t.api.struct_size = (uint32_t)sizes[i].size;
    ox_session_opts_init(&so);
    so.providers = &spec, so.n_providers = 1, so.optimize = OX_OPTIMIZE_NONE;
    CHECK_OK(ox_env_create(NULL, &env));
    ox_status *st = ox_env_add_provider(env, &t.api);
    if (st) fail_msg("%s: %s", sizes[i].name, ox_status_message(st));
    ep_watch_reset();
    CHECK_OK(text_session(env, m->text, &so, &s));
    ep_inputs_make(env, s, 1, &in);
    CHECK_OK(ep_run(s, &in, &got));
    assert_int_equal(ep_watch_count(EP_KERNEL_CREATE), 5);
    ep_cpu_outputs(m->text, OX_OPTIMIZE_NONE, 1, &want);
    ep_outputs_compare(sizes[i].name, &want, &got, 0);
    ep_outputs_free(&want), ep_outputs_free(&got);
    ep_inputs_free(&in);
    ox_session_release(s);
    ox_env_release(env);
    assert_int_equal(atomic_load(&ep_watch.live), 0);
  }
}

/* ---- options ---- */

static const struct {
  const char *name, *key, *value, *part; /* NULL: fine */
} options[] = {{"a known key", "seed", "-3", NULL},
               {"an allowed word", "claims", "all", NULL},
               {"a bool", "no_bodies", "true", NULL},
               {"an unknown key", "sed", "3", "has no option 'sed' (it has: claims, as, seed, ops, no_bodies)"},
               {"no integer", "seed", "3x", "option 'seed': wanted an integer, got '3x'"},
               {"an empty integer", "seed", "", "wanted an integer, got ''"},
               {"an integer too large", "seed", "99999999999999999999", "wanted an integer"},
               {"a word that is not allowed", "claims", "al", "wanted all|none|but_one|second|random|parts, got 'al'"},
               {"no word", "claims", "", "got ''"},
               {"two words", "claims", "all|none", "got 'all|none'"},
               {"no bool", "no_bodies", "yes", "wanted 0, 1, false or true, got 'yes'"},
               {"no key", NULL, "1", "option 0 is NULL"},
               {"no value", "seed", NULL, "option 0 is NULL"}};

static void test_options_are_checked(void **state) {
  ox_env *env;
  (void)state;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(ox_env_add_provider(env, echo_ep()));
  for (size_t i = 0; i < OX_COUNT(options); i++) {
    const ox_provider_spec spec = {"echo", {1, &options[i].key, &options[i].value}};
    ox_session *s = NULL;
    ox_session_opts so;
    ox_session_opts_init(&so);
    so.providers = &spec, so.n_providers = 1;
    ox_status *st = text_session(env, ep_model_named("diamond")->text, &so, &s);
    bool fine = options[i].part
                    ? ox_status_code(st) == OX_INVALID_ARGUMENT && strstr(ox_status_message(st), options[i].part) &&
                          strstr(ox_status_message(st), "provider 'echo'")
                    : !st;
    if (!fine) fail_msg("%s: \"%s\"", options[i].name, ox_status_message(st));
    ox_status_free(st);
    ox_session_release(s);
  }
  ox_env_release(env);
}

static void test_files_that_are_no_plugins(void **state) {
  ox_env *env;
  (void)state;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_FAILS(ox_env_load_plugin(env, "no/such/file.so"), OX_NO_SUCH_FILE, "file.so");
  CHECK_FAILS(ox_env_load_plugin(env, "CMakeLists.txt"), OX_NO_SUCH_FILE, "CMakeLists.txt");
  CHECK_FAILS(ox_env_load_plugin(env, NULL), OX_INVALID_ARGUMENT, "NULL");
  CHECK_FAILS(ox_env_load_plugin(env, "libm.so.6"), OX_INCOMPATIBLE, "ox_ep_query");
  ox_env_release(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_odd_tables_are_refused), cmocka_unit_test(test_tables_of_any_version_run),
      cmocka_unit_test(test_options_are_checked), cmocka_unit_test(test_files_that_are_no_plugins)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
