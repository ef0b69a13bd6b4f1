/* SPDX-License-Identifier: Apache-2.0
 * cts/partitions_test.c - random partitions: one or two providers take random nodes, as kernels, programs or parts that
 * they name; the outputs are those of the CPU provider alone, bit for bit where no rule fuses nodes.
 *
 * PARTITIONS=N (1000) partitions from PARTITIONS_SEED=S (1) on; one of twenty is of a model in SHARED (../shared). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/echo_ep.h"
#include "support/ep_models.h"
#include "support/ep_watch.h"
#include "support/levels.h"
#include "support/text_session.h"

static const char *const files[] = {"models/mnist_cntk/model.onnx",          "models/bert_toy/model.onnx",
                                    "models/silero_vad/model.onnx",          "models/gtcrn_simple/model.onnx",
                                    "models/magika_v3_3/model.onnx",         "models/sklearn_randomforest/model.onnx",
                                    "models/gpt2_past/model.onnx",           "onnx-tests/light/light_squeezenet.onnx",
                                    "onnx-tests/light/light_shufflenet.onnx"};
static const char *const picks[] = {"random", "random", "parts", "parts", "second", "but_one", "all"};
static const char *const kinds[] = {"programs", "either", "kernels"};
static const uint32_t levels[] = {OX_OPTIMIZE_NONE, OX_OPTIMIZE_BASIC, OX_OPTIMIZE_ALL};
static const int64_t batches[] = {1, 3, 0};

enum { N_OPTIONS = 4 };

typedef struct {
  uint32_t seed;
  const ep_model *model; /* or: */
  char path[512];
  uint32_t optimize;
  int64_t batch;
  size_t n_providers;
  char seeds[2][16];
  const char *values[2][N_OPTIONS];
  char label[400];
} drawn;

static void draw(uint32_t seed, const char *shared, drawn *d) {
  uint32_t random = seed * 2654435761u;
  *d = (drawn){.seed = seed};
  test_random(&random);
#define DRAW(n) ((test_random(&random) >> 8) % (uint32_t)(n))
  if (seed % 20 == 19) snprintf(d->path, sizeof d->path, "%s/%s", shared, files[DRAW(OX_COUNT(files))]);
  d->model = &ep_models[seed % n_ep_models];
  d->optimize = levels[DRAW(OX_COUNT(levels))];
  d->batch = d->path[0] ? 1 : batches[DRAW(OX_COUNT(batches))];
  d->n_providers = 1 + DRAW(2);
  for (size_t i = 0; i < d->n_providers; i++) {
    snprintf(d->seeds[i], sizeof d->seeds[i], "%u", DRAW(1 << 20));
    d->values[i][0] = picks[DRAW(OX_COUNT(picks))], d->values[i][1] = kinds[DRAW(OX_COUNT(kinds))];
    d->values[i][2] = d->seeds[i], d->values[i][3] = DRAW(3) ? "0" : "1";
    if (strcmp(d->values[i][0], "parts") == 0) d->values[i][1] = "programs";
  }
#undef DRAW
  int at = snprintf(d->label, sizeof d->label, "seed %u: %.120s, level %u, batch %d", seed,
                    d->path[0] ? d->path : d->model->name, d->optimize, (int)d->batch);
  for (size_t i = 0; i < d->n_providers; i++)
    at += snprintf(d->label + at, sizeof d->label - (size_t)at, "; %s as %s, %s, bodies %s", d->values[i][0],
                   d->values[i][1], d->values[i][2], d->values[i][3]);
}

static ox_status *open_drawn(ox_env *env, const drawn *d, size_t n_providers, ox_session **out) {
  static const char *const names[] = {"echo", "second"};
  static const char *const keys[N_OPTIONS] = {"claims", "as", "seed", "no_bodies"};
  ox_provider_spec specs[2];
  ox_session_opts so;
  ox_session_opts_init(&so);
  for (size_t i = 0; i < n_providers; i++) specs[i] = (ox_provider_spec){names[i], {N_OPTIONS, keys, d->values[i]}};
  so.optimize = d->optimize, so.n_threads = 2, so.providers = specs, so.n_providers = n_providers;
  if (d->path[0]) return ox_session_create_file(env, d->path, &so, out);
  return text_session(env, d->model->text, &so, out);
}

/* Asked again about nodes with channels last, for which it has nothing: they are turned back. */
static uint32_t channels_last(ox_ep *ep, const char *domain, const char *op) {
  (void)ep, (void)domain, (void)op;
  return OX_LAYOUT_NHWC;
}

/* Runs it twice, with the drawn providers or without any. */
static void outputs_of(const drawn *d, size_t n_providers, ep_outputs *out) {
  counting_alloc count = {.fail_at = -1};
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&count)};
  ox_ep_api second = *echo_ep();
  ox_env *env;
  ox_session *s;
  ep_inputs in;
  second.name = "second", second.layout = d->seed % 3 ? NULL : channels_last;
  CHECK_OK(ox_env_create(n_providers ? &eo : NULL, &env)); /* the wanted outputs outlive their env */
  CHECK_OK(ox_env_add_provider(env, echo_ep()));
  CHECK_OK(ox_env_add_provider(env, &second));
  ox_status *st = open_drawn(env, d, n_providers, &s);
  if (st) fail_msg("%s: %s", d->label, ox_status_message(st));
  if (d->path[0])
    ep_inputs_read(env, s, d->path, &in);
  else
    ep_inputs_make(env, s, d->batch, &in);
  for (size_t again = 0; again <= (n_providers > 0) && !st; again++) {
    if (again) ep_outputs_free(out);
    st = ep_run(s, &in, out);
  }
  if (st) fail_msg("%s: %s", d->label, ox_status_message(st));
  ep_inputs_free(&in);
  ox_session_release(s);
  ox_env_release(env);
}

/* What every partition of a model has to give; made once. */
typedef struct {
  char key[640];
  ep_outputs out;
} wanted;

static wanted cache[512];
static size_t n_cache;

static const ep_outputs *wanted_of(const drawn *d) {
  char key[640];
  snprintf(key, sizeof key, "%s %u %d", d->path[0] ? d->path : d->model->name, d->optimize, (int)d->batch);
  for (size_t i = 0; i < n_cache; i++)
    if (strcmp(cache[i].key, key) == 0) return &cache[i].out;
  assert_true(n_cache < OX_COUNT(cache));
  memcpy(cache[n_cache].key, key, sizeof key);
  outputs_of(d, 0, &cache[n_cache].out);
  return &cache[n_cache++].out;
}

static long number(const char *name, long otherwise) {
  const char *text = getenv(name);
  return text && *text ? atol(text) : otherwise;
}

static void test_any_partition_gives_the_same_outputs(void **state) {
  long count = number("PARTITIONS", 1000), first = number("PARTITIONS_SEED", 1), skipped = 0;
  const char *shared = getenv("SHARED") ? getenv("SHARED") : "../shared";
  (void)state;
  for (long k = 0; k < count; k++) {
    drawn d;
    ep_outputs got;
    draw((uint32_t)(first + k), shared, &d);
    if (d.path[0] && access(d.path, R_OK)) {
      skipped++;
      continue;
    }
    const ep_outputs *want = wanted_of(&d);
    outputs_of(&d, d.n_providers, &got);
    /* above BASIC, nodes are fused or not, depending on who owns them: a fused one rounds less often */
    ep_outputs_compare(d.label, want, &got, d.optimize > OX_OPTIMIZE_BASIC ? 1e-5 : 0);
    ep_outputs_free(&got);
    if (atomic_load(&ep_watch.live)) fail_msg("%s: %ld objects are alive", d.label, atomic_load(&ep_watch.live));
  }
  for (size_t i = 0; i < n_cache; i++) ep_outputs_free(&cache[i].out);
  print_message("%ld partitions, %ld skipped because their model is not there\n", count - skipped, skipped);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_any_partition_gives_the_same_outputs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
