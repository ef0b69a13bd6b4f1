/* SPDX-License-Identifier: Apache-2.0
 * Real models with recorded inputs and outputs, through the ABI alone: the folder models of what SHARED names. Skipped
 * where there are none. */
#include <dirent.h>
#include <math.h>

#include "ort/models.h"

/* ---- protobuf, as far as values need it ---- */

typedef struct span {
  const uint8_t *p, *end;
} span;

typedef struct field {
  uint64_t number, value;
  span bytes;
} field;

static uint64_t take_varint(span *s) {
  uint64_t v = 0;
  for (int shift = 0; s->p < s->end; shift += 7) {
    uint8_t b = *s->p++;
    v |= (uint64_t)(b & 127) << shift;
    if (b < 128) break;
  }
  return v;
}

static bool take_field(span *s, field *f) {
  if (s->p >= s->end) return false;
  uint64_t tag = take_varint(s);
  *f = (field){.number = tag >> 3};
  switch (tag & 7) {
    case 0:
      f->value = take_varint(s);
      return true;
    case 2:
      f->value = take_varint(s);
      f->bytes = (span){s->p, s->p + f->value};
      break;
    default:
      f->value = (tag & 7) == 1 ? 8 : 4;
      f->bytes = (span){s->p, s->p + f->value};
  }
  s->p += f->value;
  return true;
}

/* A tensor: type, shape and raw bytes; lists of numbers are made raw. */
typedef struct recorded {
  int64_t dims[8], type;
  size_t rank, bytes;
  uint8_t *data;
} recorded;

static void append(recorded *r, const void *p, size_t n) {
  r->data = realloc(r->data, r->bytes + n + 1);
  memcpy(r->data + r->bytes, p, n);
  r->bytes += n;
}

static void append_varints(recorded *r, field f) {
  span list = f.bytes;
  size_t n = r->type == INT64 ? 8 : 4;
  if (list.p == NULL) append(r, &f.value, n);
  while (list.p != NULL && list.p < list.end) {
    uint64_t v = take_varint(&list);
    append(r, &v, n);
  }
}

static recorded read_tensor(span s) {
  recorded r = {0};
  field f;
  for (span head = s; take_field(&head, &f);) {
    if (f.number == 2) r.type = (int64_t)f.value;
    if (f.number != 1) continue;
    if (f.bytes.p == NULL) r.dims[r.rank++] = (int64_t)f.value;
    while (f.bytes.p != NULL && f.bytes.p < f.bytes.end) r.dims[r.rank++] = (int64_t)take_varint(&f.bytes);
  }
  while (take_field(&s, &f)) {
    if (f.number == 4 || f.number == 9) append(&r, f.bytes.p, (size_t)(f.bytes.end - f.bytes.p));
    if (f.number == 5 || f.number == 7) append_varints(&r, f);
  }
  return r;
}

/* ---- values as lists of numbers, keys of maps included ---- */

typedef struct numbers {
  double *v;
  size_t n;
} numbers;

static void push(numbers *to, double v) {
  to->v = realloc(to->v, (to->n + 1) * sizeof *to->v);
  to->v[to->n++] = v;
}

static void push_elements(numbers *to, int64_t type, const void *data, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (type == FLOAT)
      push(to, (double)((const float *)data)[i]);
    else if (type == INT64)
      push(to, (double)((const int64_t *)data)[i]);
    else
      push(to, (double)((const int32_t *)data)[i]);
  }
}

static size_t element_bytes(int64_t type) { return type == INT64 ? 8 : 4; }

static void push_recorded(numbers *to, span tensor) {
  recorded r = read_tensor(tensor);
  push_elements(to, r.type, r.data, r.bytes / element_bytes(r.type));
  free(r.data);
}

/* A SequenceProto of maps from integers to numbers. */
static void push_recorded_maps(numbers *to, span sequence) {
  field f, m, v;
  while (take_field(&sequence, &f)) {
    if (f.number != 6) continue;
    for (span keys = f.bytes; take_field(&keys, &m);) {
      if (m.number != 3) continue;
      if (m.bytes.p == NULL) push(to, (double)(int64_t)m.value);
      while (m.bytes.p != NULL && m.bytes.p < m.bytes.end) push(to, (double)(int64_t)take_varint(&m.bytes));
    }
    for (span values = f.bytes; take_field(&values, &m);)
      while (m.number == 5 && take_field(&m.bytes, &v))
        if (v.number == 3) push_recorded(to, v.bytes);
  }
}

static void push_value(numbers *to, const OrtValue *v) {
  ONNXType kind;
  OK(ort()->GetValueType(v, &kind));
  if (kind == ONNX_TYPE_TENSOR) {
    OrtTensorTypeAndShapeInfo *info;
    ONNXTensorElementDataType type;
    size_t n;
    void *data;
    OK(ort()->GetTensorTypeAndShape(v, &info));
    OK(ort()->GetTensorElementType(info, &type));
    OK(ort()->GetTensorShapeElementCount(info, &n));
    OK(ort()->GetTensorMutableData((OrtValue *)(uintptr_t)v, &data));
    push_elements(to, type, data, n);
    ort()->ReleaseTensorTypeAndShapeInfo(info);
    return;
  }
  size_t n = 2; /* of a map: its keys, its values */
  if (kind == ONNX_TYPE_SEQUENCE) OK(ort()->GetValueCount(v, &n));
  for (size_t i = 0; i < n; i++) {
    OrtValue *item;
    OK(ort()->GetValue(v, (int)i, default_allocator(), &item));
    push_value(to, item);
    ort()->ReleaseValue(item);
  }
}

/* ---- one data set ---- */

static uint8_t *read_file(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  if (f == NULL) return NULL;
  fseek(f, 0, SEEK_END);
  *n = (size_t)ftell(f);
  rewind(f);
  uint8_t *p = malloc(*n + 1);
  assert_int_equal(fread(p, 1, *n, f), *n);
  fclose(f);
  return p;
}

/* |spread|: of the largest number, for quantized models, whose steps are larger than their errors; what was recorded
 * came from another processor, and Microsoft's library is as far from it here as Onyx is. */
static void compare(const char *model, const char *output, const numbers *got, const numbers *want, double spread) {
  double most = 0;
  if (got->n != want->n) fail_msg("%s, %s: %zu numbers, wanted %zu", model, output, got->n, want->n);
  for (size_t i = 0; i < want->n; i++) most = fmax(most, fabs(want->v[i]));
  for (size_t i = 0; i < want->n; i++)
    if (!(fabs(got->v[i] - want->v[i]) <= 1e-3 * fabs(want->v[i]) + 1e-5 + spread * most))
      fail_msg("%s, %s, number %zu: %g, wanted %g", model, output, i, got->v[i], want->v[i]);
}

enum { MOST = 16 };

typedef struct run {
  const char *model, *folder;
  double spread;
  OrtSession *s;
  char *in_names[MOST], *out_names[MOST];
  OrtValue *in[MOST], *out[MOST];
  uint8_t *data[MOST];
  size_t n_in, n_out;
} run;

static void load_inputs(run *r, const OrtMemoryInfo *cpu) {
  for (size_t i = 0; i < r->n_in; i++) {
    char path[512];
    size_t n;
    snprintf(path, sizeof path, "%s/input_%zu.pb", r->folder, i);
    uint8_t *bytes = read_file(path, &n);
    assert_non_null(bytes);
    recorded t = read_tensor((span){bytes, bytes + n});
    free(bytes);
    r->data[i] = t.data;
    OK(ort()->CreateTensorWithDataAsOrtValue(cpu, t.data, t.bytes, t.dims, t.rank, (ONNXTensorElementDataType)t.type,
                                             &r->in[i]));
  }
}

static void check_outputs(run *r) {
  for (size_t i = 0; i < r->n_out; i++) {
    char path[512];
    size_t n;
    numbers got = {0}, want = {0};
    ONNXType kind;
    snprintf(path, sizeof path, "%s/output_%zu.pb", r->folder, i);
    uint8_t *bytes = read_file(path, &n);
    assert_non_null(bytes);
    OK(ort()->GetValueType(r->out[i], &kind));
    if (kind == ONNX_TYPE_TENSOR)
      push_recorded(&want, (span){bytes, bytes + n});
    else
      push_recorded_maps(&want, (span){bytes, bytes + n});
    push_value(&got, r->out[i]);
    compare(r->model, r->out_names[i], &got, &want, r->spread);
    free(bytes);
    free(got.v);
    free(want.v);
  }
}

static void run_data_set(run *r, const OrtMemoryInfo *cpu) {
  load_inputs(r, cpu);
  for (int again = 0; again < 2; again++) {
    memset(r->out, 0, sizeof r->out);
    OK(ort()->Run(r->s, NULL, (const char *const *)r->in_names, (const OrtValue *const *)r->in, r->n_in,
                  (const char *const *)r->out_names, r->n_out, r->out));
    check_outputs(r);
    for (size_t i = 0; i < r->n_out; i++) ort()->ReleaseValue(r->out[i]);
  }
  for (size_t i = 0; i < r->n_in; i++) {
    ort()->ReleaseValue(r->in[i]);
    free(r->data[i]);
  }
}

/* ---- one model ---- */

static const char *models_folder(void) {
  static char path[256];
  const char *shared = getenv("SHARED");
  snprintf(path, sizeof path, "%s/models", shared != NULL ? shared : "../shared");
  return path;
}

static void run_model(const char *name, double spread) {
  char path[512], folder[512];
  OrtEnv *env = test_env();
  OrtSessionOptions *o;
  OrtMemoryInfo *cpu;
  run r = {.model = name, .folder = folder, .spread = spread};
  snprintf(path, sizeof path, "%s/%s/model.onnx", models_folder(), name);
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->CreateSession(env, path, o, &r.s));
  OK(ort()->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &cpu));
  OK(ort()->SessionGetInputCount(r.s, &r.n_in));
  OK(ort()->SessionGetOutputCount(r.s, &r.n_out));
  assert_true(r.n_in <= MOST && r.n_out <= MOST);
  for (size_t i = 0; i < r.n_in; i++) OK(ort()->SessionGetInputName(r.s, i, default_allocator(), &r.in_names[i]));
  for (size_t i = 0; i < r.n_out; i++) OK(ort()->SessionGetOutputName(r.s, i, default_allocator(), &r.out_names[i]));
  int n_sets = 0;
  for (;; n_sets++) {
    snprintf(folder, sizeof folder, "%s/%s/test_data_set_%d", models_folder(), name, n_sets);
    DIR *dir = opendir(folder);
    if (dir == NULL) break;
    closedir(dir);
    run_data_set(&r, cpu);
  }
  assert_true(n_sets > 0);
  for (size_t i = 0; i < r.n_in; i++) OK(ort()->AllocatorFree(default_allocator(), r.in_names[i]));
  for (size_t i = 0; i < r.n_out; i++) OK(ort()->AllocatorFree(default_allocator(), r.out_names[i]));
  ort()->ReleaseSession(r.s);
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseMemoryInfo(cpu);
  ort()->ReleaseEnv(env);
}

static void test_recorded_outputs_come_again(void **state) {
  (void)state;
  DIR *dir = opendir(models_folder());
  if (dir == NULL) skip();
  int n = 0;
  for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
    if (e->d_name[0] == '.' || strchr(e->d_name, '.') != NULL) continue;
    run_model(e->d_name, strstr(e->d_name, "qdq") != NULL ? 0.04 : 0);
    n++;
  }
  closedir(dir);
  assert_true(n > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_recorded_outputs_come_again)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
