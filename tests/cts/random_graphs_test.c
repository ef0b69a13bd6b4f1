/* SPDX-License-Identifier: Apache-2.0
 * cts/random_graphs_test.c - random models: what the optimizer makes of them computes what the nodes say one by one,
 * with the same bits for any number of threads; and so does a provider.
 *
 * ONYX_RANDOM_GRAPHS=N (1500) models from ONYX_RANDOM_GRAPHS_SEED=S (1) on. CTS_PROVIDER_LIB=FILE puts the provider of
 * a shared library first, a second time, with outputs up to CTS_TOLERANCE (1e-4). */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/ep_models.h"
#include "support/random_graph.h"
#include "support/text_session.h"

/* A model is some dozen sums of up to a few hundred products, of values of about 1: roundings of 2^-24 add up to some
 * 1e-5. An output that is small because its terms cancel has those of the terms. */
static const double tolerance = 1e-4, smallest_scale = 0.25;

typedef struct {
  uint32_t seed;
  random_graph graph;
  char problem[512];
} drawn;

typedef struct {
  uint32_t optimize, threads;
  const char *provider; /* NULL: the CPU */
} way;

/* ---- outputs ---- */

static bool same_number(double p, double q, double most) {
  return p == q || fabs(p - q) <= most || (isnan(p) && isnan(q));
}

/* |relative|: 0 for the same bits, else of the largest element, beside what the model's roundings may come to. */
static bool same_tensor_up_to(drawn *d, const char *how, size_t output, const ox_tensor *a, const ox_tensor *b,
                              double relative) {
  double largest = smallest_scale;
  size_t element = ox_type_bits(a->dtype) / 8;
  if (a->dtype != b->dtype || a->shape.rank != b->shape.rank || a->bytes != b->bytes ||
      memcmp(a->shape.dim, b->shape.dim, (size_t)a->shape.rank * sizeof *a->shape.dim) != 0) {
    snprintf(d->problem, sizeof d->problem, "%s: output %zu has another type or shape", how, output);
    return false;
  }
  if (memcmp(a->data, b->data, a->bytes) == 0) return true;
  for (int64_t i = 0; i < ox_tensor_count(a); i++)
    if (isfinite(ox_tensor_element(a, i))) largest = fmax(largest, fabs(ox_tensor_element(a, i)));
  double most = fmax(relative, d->graph.relative) * largest + d->graph.absolute;
  for (int64_t i = 0; i < ox_tensor_count(a); i++) {
    double p = ox_tensor_element(a, i), q = ox_tensor_element(b, i);
    if (relative > 0 && same_number(p, q, most)) continue;
    if (relative == 0 && memcmp((char *)a->data + element * i, (char *)b->data + element * i, element) == 0) continue;
    snprintf(d->problem, sizeof d->problem, "%s: output %zu[%lld] is %.9g, not %.9g; the largest is %.3g", how, output,
             (long long)i, q, p, largest);
    return false;
  }
  return true;
}

static bool same_outputs(drawn *d, const char *how, const ep_outputs *want, const ep_outputs *got, double relative) {
  assert_int_equal(want->n, got->n);
  for (size_t i = 0; i < want->n; i++)
    if (!same_tensor_up_to(d, how, i, ox_value_get(want->value[i]), ox_value_get(got->value[i]), relative))
      return false;
  return true;
}

/* ---- runs ---- */

static bool has_failed(drawn *d, const char *how, ox_status *st) {
  if (st) snprintf(d->problem, sizeof d->problem, "%s: %s", how, ox_status_message(st));
  ox_status_free(st);
  return st != NULL;
}

/* What a session answers: to the batch of the model, and, where that is free, to another. */
typedef struct {
  ep_outputs usual, other; /* of the other none where it fails: it may fit no constant */
  char why[256];
} answers;

static void answers_free(answers *a) { ep_outputs_free(&a->usual), ep_outputs_free(&a->other); }

/* Once more: the same as |out|. Others' libraries may sum in another order each time. */
static bool run_again(drawn *d, const char *how, ox_session *s, const ep_inputs *in, const ep_outputs *out, way w) {
  ep_outputs again = {0};
  bool fine =
      !has_failed(d, how, ep_run(s, in, &again)) && same_outputs(d, how, out, &again, w.provider ? tolerance : 0);
  ep_outputs_free(&again);
  return fine;
}

/* The second run finds memory that the first has used, the third other shapes, the last those of the first. The
 * outputs outlive the session. */
static bool answers_of(ox_env *env, drawn *d, const char *how, way w, answers *out) {
  ox_session *s = NULL;
  ep_inputs in, other;
  ox_provider_spec spec = {.name = w.provider};
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.optimize = w.optimize, so.n_threads = w.threads;
  if (w.provider) so.providers = &spec, so.n_providers = 1;
  *out = (answers){0};
  if (has_failed(d, how, text_session(env, d->graph.text, &so, &s))) return false;
  ep_inputs_make(env, s, d->graph.batch, &in), ep_inputs_make(env, s, d->graph.batch + 1, &other);
  bool fine = !has_failed(d, how, ep_run(s, &in, &out->usual)) && run_again(d, how, s, &in, &out->usual, w);
  if (fine && d->graph.batch_is_free) {
    ox_status *st = ep_run(s, &other, &out->other);
    if (st) ep_outputs_free(&out->other), snprintf(out->why, sizeof out->why, "%s", ox_status_message(st));
    ox_status_free(st);
    fine = run_again(d, how, s, &in, &out->usual, w);
  }
  ep_inputs_free(&in), ep_inputs_free(&other);
  ox_session_release(s);
  return fine;
}

/* What is optimized may do without a step that fits no other batch; it must answer what the steps do. */
static bool same_answers(drawn *d, const char *how, const answers *want, const answers *got, double relative) {
  if (!same_outputs(d, how, &want->usual, &got->usual, relative)) return false;
  if (!want->other.n) return true;
  if (got->other.n) return same_outputs(d, how, &want->other, &got->other, relative);
  snprintf(d->problem, sizeof d->problem, "%s, another batch: %s", how, got->why);
  return false;
}

static bool check_model(ox_env *env, drawn *d, const char *provider, double provider_tolerance) {
  answers want, one = {0}, two = {0};
  bool fine = answers_of(env, d, "as it is", (way){OX_OPTIMIZE_NONE, 1, NULL}, &want);
  if (provider) {
    fine = fine && answers_of(env, d, "with the provider", (way){OX_OPTIMIZE_ALL, 2, provider}, &two) &&
           same_answers(d, "with the provider", &want, &two, provider_tolerance);
  } else {
    fine = fine && answers_of(env, d, "one thread", (way){OX_OPTIMIZE_ALL, 1, NULL}, &one) &&
           same_answers(d, "optimized", &want, &one, tolerance);
    fine = fine && answers_of(env, d, "two threads", (way){OX_OPTIMIZE_ALL, 2, NULL}, &two) &&
           same_answers(d, "two threads after one", &one, &two, 0);
  }
  answers_free(&want), answers_free(&one), answers_free(&two);
  return fine;
}

/* ---- models ---- */

static long number(const char *name, long otherwise) {
  const char *text = getenv(name);
  return text && *text ? atol(text) : otherwise;
}

/* All are tried; the text is that of the first that fails. */
static void check_models(ox_env *env, const char *provider, double provider_tolerance) {
  long count = number("ONYX_RANDOM_GRAPHS", 1500), first = number("ONYX_RANDOM_GRAPHS_SEED", 1), failed = 0;
  static drawn d;
  for (long k = 0; k < count; k++) {
    d.seed = (uint32_t)(first + k);
    random_graph_draw(d.seed, &d.graph);
    if (check_model(env, &d, provider, provider_tolerance)) continue;
    fprintf(stderr, "seed %u: %s\n%s", d.seed, d.problem, failed++ ? "" : d.graph.text);
  }
  if (failed) fail_msg("%ld of %ld models", failed, count);
}

static void test_an_optimized_model_computes_the_same(void **state) {
  ox_env *env;
  (void)state;
  CHECK_OK(ox_env_create(NULL, &env));
  check_models(env, NULL, 0);
  ox_env_release(env);
}

static void test_a_provider_computes_the_same(void **state) {
  const char *lib = getenv("CTS_PROVIDER_LIB"), *most = getenv("CTS_TOLERANCE"), *name = NULL;
  ox_env *env;
  (void)state;
  if (!lib) skip();
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(ox_env_load_plugin(env, lib));
  for (size_t i = 0; ox_env_provider_name(env, i); i++) name = ox_env_provider_name(env, i); /* the last one */
  check_models(env, name, most ? atof(most) : tolerance);
  ox_env_release(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_an_optimized_model_computes_the_same),
                                     cmocka_unit_test(test_a_provider_computes_the_same)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
