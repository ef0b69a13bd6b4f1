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

/* Numbers of 16 bits: roundings of 2^-11 add up. How far they bring the nodes one by one from what these give in 32
 * bits says how far they may bring others: that many times, and as far as one of the largest element, or of 2, is off.
 */
static const double half_noise = 3, half_rounding = 1.0 / 2048;

/* Bytes: an element that is another one if sums are a little lower, or higher, where they become bytes, may be off by
 * two steps (one that goes on to bytes of smaller steps is two of theirs). All others are as exact as floats. Where
 * there are ties all over the place, they may be broken in any way; then no element is safe, and some have more
 * than one step that went the other way. A product of few terms makes more of it: one step before it is up to two of
 * smaller bytes, and three of its result. The forms, which break ties in other ways, say how far that goes; twice as
 * far is too far. */
static const double byte_steps = 2, byte_steps_of_ties = 2.5;

typedef struct {
  uint32_t seed;
  random_graph graph;
  char problem[512];
} drawn;

typedef struct {
  uint32_t optimize, threads;
  const char *provider; /* NULL: the CPU */
} way;

/* What a session answers: to the batch of the model, and, where that is free, to another. */
typedef struct {
  ep_outputs usual, other; /* of the other none where it fails: it may fit no constant */
  char why[256];
} answers;

/* Of the nodes one by one, as the model is written, and in other forms; the wide one is the first of them. */
typedef struct {
  answers as_it_is, form[RANDOM_FORMS];
  size_t n_forms;
} reference;

/* How a session is tried. |ref|: what a provider's later runs are near to, as others' libraries may sum in another
 * order each time; NULL: they have the bits of the first. */
typedef struct {
  const char *how, *text;
  way way;
  const reference *ref;
  double relative;
} attempt;

/* ---- outputs ---- */

static bool are_alike(const ox_tensor *a, const ox_tensor *b) {
  return a->shape.rank == b->shape.rank && ox_tensor_count(a) == ox_tensor_count(b) &&
         memcmp(a->shape.dim, b->shape.dim, (size_t)a->shape.rank * sizeof *a->shape.dim) == 0;
}

static double distance(const ox_tensor *a, const ox_tensor *b, int64_t i) {
  double p = ox_tensor_element(a, i), q = ox_tensor_element(b, i);
  return p == q || (isnan(p) && isnan(q)) ? 0 : isnan(p) || isnan(q) ? INFINITY : fabs(p - q);
}

static double largest_of(const ox_tensor *t) {
  double largest = smallest_scale;
  for (int64_t i = 0; i < ox_tensor_count(t); i++)
    if (isfinite(ox_tensor_element(t, i))) largest = fmax(largest, fabs(ox_tensor_element(t, i)));
  return largest;
}

static bool says(drawn *d, const char *how, size_t output, int64_t i, const ox_tensor *want, const ox_tensor *got,
                 double most) {
  snprintf(d->problem, sizeof d->problem, "%s: output %zu[%lld] is %.9g, not %.9g; %.3g is near enough", how, output,
           (long long)i, ox_tensor_element(got, i), ox_tensor_element(want, i), most);
  return false;
}

/* An output of the nodes one by one. */
typedef struct {
  const ox_tensor *as_it_is, *form[RANDOM_FORMS]; /* the rest of them NULL */
  double most;                                    /* that others may be off by */
  double steps, all_steps;                        /* more, where the forms are further apart than that; everywhere */
} wanted;

static wanted wanted_of(const drawn *d, const reference *ref, bool other, size_t output, double relative) {
  const answers *a = &ref->as_it_is;
  wanted w = {.as_it_is = ox_value_get((other ? &a->other : &a->usual)->value[output]),
              .steps = byte_steps * d->graph.quantum};
  for (size_t k = 0; k < ref->n_forms; k++) {
    const ep_outputs *form = other ? &ref->form[k].other : &ref->form[k].usual;
    assert_true(output < form->n);
    w.form[k] = ox_value_get(form->value[output]);
    assert_true(are_alike(w.as_it_is, w.form[k]));
  }
  w.most = relative * largest_of(w.as_it_is) + d->graph.slack;
  if (d->graph.has_halves) {
    double noise = 0;
    for (int64_t i = 0; i < ox_tensor_count(w.as_it_is); i++) noise = fmax(noise, distance(w.as_it_is, w.form[0], i));
    w.most = fmax(w.most, half_noise * noise + half_rounding * fmax(largest_of(w.form[0]), 2));
  }
  return w;
}

/* Of bytes: a form differs, if only by a part of what is near enough, as several such parts may come together. */
static bool is_unsure(const drawn *d, const wanted *w, int64_t i) {
  bool unsure = false;
  for (int k = 0; k < RANDOM_FORMS && d->graph.has_bytes && w->form[k]; k++)
    unsure |= distance(w->as_it_is, w->form[k], i) > w->most / 4;
  return unsure;
}

static bool is_near(drawn *d, const char *how, size_t output, const wanted *w, const ox_tensor *got) {
  const ox_tensor *want = d->graph.has_halves ? w->form[0] : w->as_it_is;
  if (got->dtype != w->as_it_is->dtype || !are_alike(w->as_it_is, got)) {
    snprintf(d->problem, sizeof d->problem, "%s: output %zu has another type or shape", how, output);
    return false;
  }
  for (int64_t i = 0; i < ox_tensor_count(got); i++) {
    double most = w->most + fmax(w->all_steps, is_unsure(d, w, i) ? w->steps : 0);
    if (!(distance(want, got, i) <= most)) return says(d, how, output, i, want, got, most);
  }
  return true;
}

static bool is_same(drawn *d, const char *how, size_t output, const ox_tensor *want, const ox_tensor *got) {
  size_t element = ox_type_bits(want->dtype) / 8;
  if (want->dtype != got->dtype || !are_alike(want, got)) {
    snprintf(d->problem, sizeof d->problem, "%s: output %zu has another type or shape", how, output);
    return false;
  }
  for (int64_t i = 0; i < ox_tensor_count(want); i++)
    if (memcmp((char *)want->data + element * i, (char *)got->data + element * i, element) != 0)
      return says(d, how, output, i, want, got, 0);
  return true;
}

static bool same_outputs(drawn *d, const char *how, const ep_outputs *want, const ep_outputs *got) {
  assert_int_equal(want->n, got->n);
  for (size_t i = 0; i < want->n; i++)
    if (!is_same(d, how, i, ox_value_get(want->value[i]), ox_value_get(got->value[i]))) return false;
  return true;
}

/* How far the forms are from the nodes one by one, in any element. */
static double spread_of(const wanted *w) {
  double most = 0;
  for (int k = 0; k < RANDOM_FORMS && w->form[k]; k++)
    for (int64_t i = 0; i < ox_tensor_count(w->as_it_is); i++) most = fmax(most, distance(w->as_it_is, w->form[k], i));
  return most;
}

static bool near_outputs(drawn *d, const attempt *a, const reference *ref, bool other, const ep_outputs *got) {
  assert_int_equal((other ? &ref->as_it_is.other : &ref->as_it_is.usual)->n, got->n);
  for (size_t i = 0; i < got->n; i++) {
    wanted w = wanted_of(d, ref, other, i, a->relative);
    if (d->graph.has_ties) {
      double base = byte_steps_of_ties * d->graph.quantum;
      w.all_steps = fmin(fmax(base, spread_of(&w)), 2 * base);
    }
    if (!is_near(d, a->how, i, &w, ox_value_get(got->value[i]))) return false;
  }
  return true;
}

/* ---- runs ---- */

static bool has_failed(drawn *d, const char *how, ox_status *st) {
  if (st) snprintf(d->problem, sizeof d->problem, "%s: %s", how, ox_status_message(st));
  ox_status_free(st);
  return st != NULL;
}

static void answers_free(answers *a) { ep_outputs_free(&a->usual), ep_outputs_free(&a->other); }

static bool run_again(drawn *d, const attempt *a, ox_session *s, const ep_inputs *in, const ep_outputs *out) {
  ep_outputs again = {0};
  bool fine = !has_failed(d, a->how, ep_run(s, in, &again)) &&
              (a->ref ? near_outputs(d, a, a->ref, false, &again) : same_outputs(d, a->how, out, &again));
  ep_outputs_free(&again);
  return fine;
}

/* The second run finds memory that the first has used, the third other shapes, the last those of the first. The
 * outputs outlive the session. */
static bool answers_of(ox_env *env, drawn *d, const attempt *a, answers *out) {
  ox_session *s = NULL;
  ep_inputs in, other;
  ox_provider_spec spec = {.name = a->way.provider};
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.optimize = a->way.optimize, so.n_threads = a->way.threads;
  if (a->way.provider) so.providers = &spec, so.n_providers = 1;
  *out = (answers){0};
  if (has_failed(d, a->how, text_session(env, a->text, &so, &s))) return false;
  ep_inputs_make(env, s, d->graph.batch, &in), ep_inputs_make(env, s, d->graph.batch + 1, &other);
  bool fine = !has_failed(d, a->how, ep_run(s, &in, &out->usual)) && run_again(d, a, s, &in, &out->usual);
  if (fine && d->graph.batch_is_free) {
    ox_status *st = ep_run(s, &other, &out->other);
    if (st) ep_outputs_free(&out->other), snprintf(out->why, sizeof out->why, "%s", ox_status_message(st));
    ox_status_free(st);
    fine = run_again(d, a, s, &in, &out->usual);
  }
  ep_inputs_free(&in), ep_inputs_free(&other);
  ox_session_release(s);
  return fine;
}

/* What is optimized may do without a step that fits no other batch; it must answer what the steps do. */
static bool lacks_other(drawn *d, const char *how, const answers *want, const answers *got) {
  if (!want->other.n || got->other.n) return false;
  snprintf(d->problem, sizeof d->problem, "%s, another batch: %s", how, got->why);
  return true;
}

static bool near_answers(drawn *d, const attempt *a, const reference *ref, const answers *got) {
  if (!near_outputs(d, a, ref, false, &got->usual)) return false;
  if (lacks_other(d, a->how, &ref->as_it_is, got)) return false;
  return !ref->as_it_is.other.n || near_outputs(d, a, ref, true, &got->other);
}

static bool same_answers(drawn *d, const char *how, const answers *want, const answers *got) {
  if (!same_outputs(d, how, &want->usual, &got->usual) || lacks_other(d, how, want, got)) return false;
  return !want->other.n || same_outputs(d, how, &want->other, &got->other);
}

static bool reference_of(ox_env *env, drawn *d, reference *out) {
  static const struct {
    random_graph_form form;
    const char *how;
  } forms[] = {{RANDOM_WIDE, "in 32 bits"},
               {RANDOM_LOWER, "a little lower"},
               {RANDOM_HIGHER, "a little higher"},
               {RANDOM_NEARER, "a little nearer to 0"},
               {RANDOM_FARTHER, "a little farther from 0"}};
  static random_graph other; /* too large for a stack */
  attempt a = {"as it is", d->graph.text, {OX_OPTIMIZE_NONE, 1, NULL}, NULL, 0};
  *out = (reference){0};
  bool fine = answers_of(env, d, &a, &out->as_it_is);
  for (size_t i = 0; fine && i < OX_COUNT(forms); i++) {
    if (!(i == 0 ? d->graph.has_halves : d->graph.has_bytes)) continue;
    random_graph_draw(d->seed, forms[i].form, &other);
    a.how = forms[i].how, a.text = other.text;
    fine = answers_of(env, d, &a, &out->form[out->n_forms++]);
  }
  return fine;
}

static void reference_free(reference *r) {
  answers_free(&r->as_it_is);
  for (size_t i = 0; i < r->n_forms; i++) answers_free(&r->form[i]);
}

static bool check_model(ox_env *env, drawn *d, const char *provider, double provider_tolerance) {
  reference ref;
  answers one = {0}, two = {0};
  attempt a = {"one thread", d->graph.text, {OX_OPTIMIZE_ALL, 1, NULL}, NULL, tolerance};
  bool fine = reference_of(env, d, &ref);
  if (provider) {
    a.how = "with the provider", a.way.threads = 2, a.way.provider = provider;
    a.ref = &ref, a.relative = provider_tolerance;
    fine = fine && answers_of(env, d, &a, &two) && near_answers(d, &a, &ref, &two);
  } else {
    fine = fine && answers_of(env, d, &a, &one);
    a.how = "optimized";
    fine = fine && near_answers(d, &a, &ref, &one);
    a.how = "two threads", a.way.threads = 2;
    fine = fine && answers_of(env, d, &a, &two) && same_answers(d, "two threads after one", &one, &two);
  }
  reference_free(&ref), answers_free(&one), answers_free(&two);
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
    random_graph_draw(d.seed, RANDOM_AS_IT_IS, &d.graph);
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
