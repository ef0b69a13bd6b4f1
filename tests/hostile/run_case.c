/* SPDX-License-Identifier: Apache-2.0
 * hostile/run_case.c - see run_case.h. */
#include "hostile/run_case.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/macros.h"
#include "onnx/text.h"
#include "onnx/write.h"
#include "ops/builtin.h"

/* ---- memory: some is there, all of it comes back ---- */

enum { MOST_BYTES = 256 << 20 };
static atomic_size_t in_use;

static void *limited_alloc(void *ctx, size_t bytes, size_t align) {
  (void)ctx;
  if (bytes > MOST_BYTES || in_use + bytes > MOST_BYTES) return NULL;
  void *p = align <= 16 ? malloc(bytes ? bytes : 1) : aligned_alloc(align, (bytes + align) & ~(align - 1));
  if (p) in_use += bytes;
  return p;
}

static void limited_free(void *ctx, void *p, size_t bytes) {
  (void)ctx;
  if (p) in_use -= bytes;
  free(p);
}

/* ---- values ---- */

static int64_t whole(double v, double least, double most) {
  return isnan(v) ? 0 : v <= least ? (int64_t)least : v >= most ? (int64_t)most : (int64_t)v;
}

static void put(uint32_t dtype, void *data, int64_t i, double v, uint64_t bits) {
  static const uint16_t halves[] = {0x3c00, 0xbc00, 0, 0x4000, 0x7c00, 0x7e00, 0x3800, 1};
  switch (dtype) {
    case OX_F32:
      ((float *)data)[i] = (float)v;
      break;
    case OX_F64:
      ((double *)data)[i] = v;
      break;
    case OX_C64:
      ((float *)data)[2 * i] = (float)v, ((float *)data)[2 * i + 1] = 0.5f;
      break;
    case OX_C128:
      ((double *)data)[2 * i] = v, ((double *)data)[2 * i + 1] = 0.5;
      break;
    case OX_U8:
      ((uint8_t *)data)[i] = (uint8_t)whole(v, 0, 255);
      break;
    case OX_BOOL:
      ((uint8_t *)data)[i] = v != 0;
      break;
    case OX_I8:
      ((int8_t *)data)[i] = (int8_t)whole(v, -128, 127);
      break;
    case OX_U16:
      ((uint16_t *)data)[i] = (uint16_t)whole(v, 0, 65535);
      break;
    case OX_I16:
      ((int16_t *)data)[i] = (int16_t)whole(v, -32768, 32767);
      break;
    case OX_I32:
      ((int32_t *)data)[i] = (int32_t)whole(v, INT32_MIN, INT32_MAX);
      break;
    case OX_U32:
      ((uint32_t *)data)[i] = (uint32_t)whole(v, 0, UINT32_MAX);
      break;
    case OX_I64:
      ((int64_t *)data)[i] = v >= 0x1p63 ? INT64_MAX : whole(v, -0x1p63, 0x1.fffffffffffffp62);
      break;
    case OX_U64:
      ((uint64_t *)data)[i] = v >= 0x1p63 ? UINT64_MAX : (uint64_t)whole(v, 0, 0x1.fffffffffffffp62);
      break;
    case OX_F16:
    case OX_BF16:
      ((uint16_t *)data)[i] = halves[bits % OX_COUNT(halves)];
      break;
    default:
      ((uint8_t *)data)[i] = (uint8_t)bits; /* one byte or less: see fill */
  }
}

static void fill(ox_value *value, const hostile_value *v, rng *r) {
  const ox_tensor *t = ox_value_get(value);
  uint32_t bits = ox_type_bits(v->dtype);
  int64_t n = bits < 8 ? (int64_t)t->bytes : ox_tensor_count(t);
  for (int64_t i = 0; i < n; i++) {
    uint64_t random = rng_next(r);
    double made_up =
        v->dtype == OX_F32 || v->dtype == OX_F64 ? (double)(random % 4001) / 1000 - 2 : (double)(random % 3);
    put(v->dtype, ox_value_data(value), i, v->n_values ? v->values[i % v->n_values] : made_up, random);
  }
}

static ox_value *make_strings(ox_env *env, const hostile_value *v, rng *r) {
  static const char *const words[] = {"a", "bc", "", "the cat", "2", "\xff\xfe", "1.5e3", "caf\xc3\xa9"};
  int64_t n = hostile_count(v);
  ox_tensor t = {.kind = OX_TENSOR, .dtype = OX_STRING, .shape = {.rank = v->rank}};
  ox_value *out = NULL;
  ox_str *strs = n < 0 || n > 100000 ? NULL : calloc((size_t)n + 1, sizeof *strs);
  if (!strs) return NULL;
  memcpy(t.shape.dim, v->dim, sizeof v->dim);
  for (int64_t i = 0; i < n; i++) {
    const char *word = words[rng_below(r, OX_COUNT(words))];
    strs[i] = (ox_str){word, strlen(word)};
  }
  t.data = strs, t.bytes = (size_t)n * sizeof *strs;
  ox_status_free(ox_value_create_copy(env, &t, &out));
  free(strs);
  return out;
}

static ox_value *make_tensor(ox_env *env, const hostile_value *v, rng *r) {
  ox_value *out = NULL;
  if (v->dtype == OX_STRING) return make_strings(env, v, r);
  ox_status_free(ox_value_create(env, v->dtype, v->dim, (size_t)v->rank, &out));
  if (out) fill(out, v, r);
  return out;
}

/* Two of |item|. */
static ox_value *make_sequence(ox_env *env, const ox_value *item) {
  const ox_tensor *items[] = {ox_value_get(item), ox_value_get(item)};
  ox_tensor t = {.kind = OX_SEQUENCE,
                 .dtype = items[0]->dtype,
                 .data = items,
                 .bytes = sizeof items,
                 .shape = {.rank = 1, .dim = {2}}};
  ox_value *out = NULL;
  ox_status_free(ox_value_create_copy(env, &t, &out));
  return out;
}

/* |dense| as if its elements were the values at the first places. */
static ox_value *make_sparse(ox_env *env, const ox_value *dense) {
  const ox_tensor *d = ox_value_get(dense);
  int64_t n = OX_MIN(ox_tensor_count(d), 8), index[8];
  for (int64_t i = 0; i < n; i++) index[i] = i;
  ox_tensor parts[2] = {*d, {.kind = OX_TENSOR, .dtype = OX_I64, .data = index, .bytes = (size_t)n * 8}};
  parts[0].shape = parts[1].shape = (ox_shape){.rank = 1, .dim = {n}};
  parts[0].bytes = ((size_t)n * ox_type_bits(d->dtype) + 7) / 8;
  ox_tensor t = {.kind = OX_SPARSE, .dtype = d->dtype, .data = parts, .bytes = sizeof parts, .shape = d->shape};
  ox_value *out = NULL;
  if (d->dtype != OX_STRING) ox_status_free(ox_value_create_copy(env, &t, &out));
  return out;
}

static ox_value *make(ox_env *env, const hostile_value *v, rng *r) {
  static const ox_tensor none = {.kind = OX_NONE_VALUE};
  ox_value *tensor = make_tensor(env, v, r), *out = NULL;
  if (!tensor || v->wrapped == OX_TENSOR) return tensor;
  if (v->wrapped == OX_SEQUENCE) out = make_sequence(env, tensor);
  if (v->wrapped == OX_SPARSE) out = make_sparse(env, tensor);
  if (v->wrapped == OX_NONE_VALUE) {
    if (rng_below(r, 2)) return tensor; /* a full optional is its content */
    ox_status_free(ox_value_create_copy(env, &none, &out));
  }
  ox_value_release(tensor);
  return out;
}

/* ---- the session ---- */

typedef struct {
  unsigned char *p;
  size_t n, room;
} bytes_out;

static ox_status *append(void *ctx, const void *bytes, size_t n) {
  bytes_out *b = ctx;
  if (b->n + n > b->room) {
    size_t room = 2 * (b->n + n);
    unsigned char *p = realloc(b->p, room);
    if (!p) return ox_oom();
    b->p = p, b->room = room;
  }
  if (n) memcpy(b->p + b->n, bytes, n);
  b->n += n;
  return NULL;
}

/* The model as a file would have it. */
static ox_status *serialize(const hostile_text *t, bytes_out *out) {
  ox_model *m = NULL;
  ox_alloc alloc = {limited_alloc, limited_free, NULL};
  ox_status *st = ox_text_read(alloc, ox_ops_builtin(), t->text, t->n, &m);
  if (!st) st = ox_model_write(m, (ox_sink){append, out});
  ox_model_destroy(m);
  return st;
}

static const hostile_feed *feed_named(const hostile_text *t, const char *name) {
  for (int i = 0; i < t->n_feeds; i++)
    if (strcmp(t->feeds[i].name, name) == 0) return &t->feeds[i];
  return NULL;
}

/* ---- others at the same time ---- */

typedef struct {
  ox_session *s;
  const char *const *names;
  const ox_value *const *in;
  size_t n_in, n_out;
  volatile int *cancel;
} other_run;

static void *run_beside(void *arg) {
  const other_run *o = arg;
  ox_value *out[MOST_OUT + 1] = {0};
  ox_run_opts opts = {.struct_size = sizeof opts, .timeout_ms = 2000, .cancel = o->cancel};
  for (int again = 0; again < 2; again++) {
    ox_status_free(ox_session_run(o->s, &opts, o->names, o->in, o->n_in, NULL, out, o->n_out));
    for (size_t i = 0; i < o->n_out; i++) ox_value_release(out[i]), out[i] = NULL;
  }
  return NULL;
}

/* Two threads run it while a third cancels them some time. */
static void run_crowd(other_run o, rng *r) {
  volatile int cancel = 0;
  pthread_t threads[2];
  int n = 0;
  o.cancel = &cancel;
  while (n < 2 && pthread_create(&threads[n], NULL, run_beside, &o) == 0) n++;
  nanosleep(&(struct timespec){.tv_nsec = rng_below(r, 200000)}, NULL);
  __atomic_store_n(&cancel, 1, __ATOMIC_RELAXED);
  while (n) pthread_join(threads[--n], NULL);
}

static ox_status *run_twice(ox_env *env, ox_session *s, const hostile_text *t, rng *r) {
  size_t n_in = ox_session_input_count(s), n_out = ox_session_output_count(s), made = 0;
  const char *names[MOST_FEEDS];
  ox_value *in[MOST_FEEDS] = {0}, *out[MOST_OUT + 1] = {0};
  ox_run_opts opts = {.struct_size = sizeof opts, .timeout_ms = 2000};
  ox_status *st = NULL;
  for (; made < n_in && made < MOST_FEEDS && !st; made++) {
    ox_value_info info;
    st = ox_session_input(s, made, &info);
    const hostile_feed *f = st ? NULL : feed_named(t, info.name);
    if (!f || !(in[made] = make(env, &f->value, r))) break;
    names[made] = f->name;
  }
  for (int again = 0; !st && made == n_in && again < 2; again++) {
    st = ox_session_run(s, &opts, names, (const ox_value *const *)in, n_in, NULL, out, n_out);
    for (size_t i = 0; i < n_out; i++) ox_value_release(out[i]), out[i] = NULL;
  }
  if (!st && made == n_in && rng_below(r, 16) == 0)
    run_crowd((other_run){s, names, (const ox_value *const *)in, n_in, n_out, NULL}, r);
  for (size_t i = 0; i < made; i++) ox_value_release(in[i]);
  return st;
}

static hostile_outcome say_why(ox_status *st, hostile_outcome outcome, char *message, size_t n) {
  snprintf(message, n, "%s", st ? ox_status_message(st) : "");
  ox_status_free(st);
  return st ? outcome : OUTCOME_RAN;
}

void hostile_draw(rng *r, hostile_seeds seeds, hostile_case *out) {
  out->model = seeds.all[rng_below(r, seeds.n)];
  out->mutations[0] = hostile_mutate(&out->model, r, seeds);
  out->mutations[1] = rng_below(r, 4) ? "" : hostile_mutate(&out->model, r, seeds);
  hostile_write(&out->model, false, r, &out->text);
}

hostile_outcome hostile_run(const hostile_text *t, rng *r, char *message, size_t message_bytes) {
  size_t before = in_use;
  bytes_out model = {0};
  ox_env *env = NULL;
  ox_session *s = NULL;
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = {limited_alloc, limited_free, NULL}};
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.optimize = rng_below(r, 4), so.n_threads = 1 + rng_below(r, 2), so.max_workspace = MOST_BYTES;
  hostile_outcome outcome = say_why(serialize(t, &model), OUTCOME_UNREADABLE, message, message_bytes);
  ox_status *st = outcome == OUTCOME_RAN ? ox_env_create(&eo, &env) : NULL;
  if (env) {
    st = ox_session_create(env, model.p, model.n, &so, &s);
    outcome = say_why(st, OUTCOME_REFUSED_LOAD, message, message_bytes);
  }
  if (s) outcome = say_why(run_twice(env, s, t, r), OUTCOME_REFUSED_RUN, message, message_bytes);
  ox_session_release(s);
  ox_env_release(env);
  free(model.p);
  if (in_use == before) return outcome;
  snprintf(message, message_bytes, "%zu bytes were not given back", in_use - before);
  return OUTCOME_LEAKED;
}
