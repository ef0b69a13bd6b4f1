/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/driver_libraries_test.c - products and convolutions by vendors' libraries, where a driver has them. */
#include <math.h>
#include <stdlib.h>

#include "base/macros.h"
#include "graph/dtype.h"
#include "plugins/device/short.h"

/* Small numbers of which float16 has all digits. */
static void fill(void *p, int64_t n, bool f16, int seed) {
  for (int64_t i = 0; i < n; i++) {
    float v = (float)((i * 37 + seed) % 17 - 8) / 8;
    if (f16)
      ((uint16_t *)p)[i] = ox_f16_from_f32(v);
    else
      ((float *)p)[i] = v;
  }
}

static double at(const void *p, int64_t i, bool f16) {
  return (double)(f16 ? ox_f16_to_f32(((const uint16_t *)p)[i]) : ((const float *)p)[i]);
}

enum { FIRST, SECOND, RESULT, BIAS, ADD, BUFFERS };

/* On the host and the device. */
typedef struct {
  void *host[BUFFERS], *device[BUFFERS];
  size_t bytes[BUFFERS], offset; /* offset: of the device's */
} operands;

static operands operands_make(const int64_t *counts, bool f16, size_t offset) {
  operands o = {.offset = offset * (f16 ? 2 : 4)};
  for (int i = 0; i < BUFFERS; i++) {
    o.bytes[i] = (size_t)counts[i] * (f16 ? 2 : 4);
    o.host[i] = calloc(1, o.bytes[i]);
    o.device[i] = (char *)device_alloc(o.bytes[i] + o.offset) + o.offset;
    if (i != RESULT) fill(o.host[i], counts[i], f16, i);
    put(o.device[i], o.host[i], o.bytes[i]);
  }
  return o;
}

static void operands_free(operands *o) {
  for (int i = 0; i < BUFFERS; i++) {
    free(o->host[i]);
    r.v->free(r.d, (char *)o->device[i] - o->offset, o->bytes[i] + o->offset);
  }
}

/* ---- products ---- */

static const struct {
  const char *name;
  int64_t batch, m, n, k;
  bool trans_a, trans_b;
  bool same_a, same_b; /* for all of a batch */
} gemms[] = {
    {"square", 1, 128, 128, 128, false, false, false, false},
    {"tall", 1, 520, 64, 96, false, false, false, false},
    {"wide, A transposed", 1, 64, 520, 96, true, false, false, false},
    {"B transposed", 1, 129, 131, 133, false, true, false, false},
    {"both", 1, 144, 160, 112, true, true, false, false},
    {"batches", 5, 80, 96, 64, false, false, false, false},
    {"batches, one B", 4, 80, 96, 80, false, true, false, true},
    {"batches, one A", 4, 80, 96, 80, true, false, true, false},
};

static void check_gemm(size_t i, bool f16, const dev_after *after, const operands *o) {
  const int64_t m = gemms[i].m, n = gemms[i].n, k = gemms[i].k;
  for (int64_t e = 0; e < gemms[i].batch * m * n; e += 7) {
    int64_t b = e / (m * n), row = e / n % m, column = e % n;
    double sum = 0, got = at(o->host[RESULT], e, f16);
    if (after->with_bias) sum += at(o->host[BIAS], column, f16);
    if (after->with_add) sum += at(o->host[ADD], e, f16);
    for (int64_t j = 0; j < k; j++)
      sum +=
          at(o->host[FIRST], (gemms[i].same_a ? 0 : b * m * k) + (gemms[i].trans_a ? j * m + row : row * k + j), f16) *
          at(o->host[SECOND], (gemms[i].same_b ? 0 : b * k * n) + (gemms[i].trans_b ? column * k + j : j * n + column),
             f16);
    if (!(fabs(got - sum) <= (f16 ? 2e-3 : 1e-5) * (1 + fabs(sum))))
      fail_msg("%s, f16 %d, bias %d, add %d, element %lld: %g, wanted %g", gemms[i].name, f16, after->with_bias,
               after->with_add, (long long)e, got, sum);
  }
}

static void test_products(void **state) {
  (void)state;
  if (!r.v->gemm_takes) skip();
  dev_queue *q = queue();
  size_t taken_in_all = 0;
  for (size_t i = 0; i < 16 * OX_COUNT(gemms); i++) {
    const size_t c = i / 16, pass = i / 2 % 2; /* at the start of an allocation, and one element later */
    const int64_t m = gemms[c].m, n = gemms[c].n, k = gemms[c].k, batch = gemms[c].batch;
    bool f16 = i % 2, taken = false;
    dev_gemm g = {.dtype = f16 ? OX_F16 : OX_F32,
                  .batch = batch,
                  .m = m,
                  .n = n,
                  .k = k,
                  .trans_a = gemms[c].trans_a,
                  .trans_b = gemms[c].trans_b,
                  .stride_a = gemms[c].same_a ? 0 : m * k,
                  .stride_b = gemms[c].same_b ? 0 : k * n,
                  .stride_c = m * n,
                  .after = {.with_bias = i / 4 % 2, .with_add = i / 8 % 2}};
    CHECK_OK(r.v->gemm_takes(r.d, &g, &taken));
    if (!taken) continue;
    operands o = operands_make((int64_t[]){batch * m * k, batch * k * n, batch * m * n, n, batch * m * n}, f16, pass);
    g.a = o.device[FIRST], g.b = o.device[SECOND], g.c = o.device[RESULT];
    g.after.bias = o.device[BIAS], g.after.add = o.device[ADD];
    CHECK_OK(r.v->gemm(q, &g));
    CHECK_OK(r.v->queue_sync(q));
    get(o.host[RESULT], o.device[RESULT], o.bytes[RESULT]);
    check_gemm(c, f16, &g.after, &o);
    operands_free(&o);
    taken_in_all++;
  }
  r.v->queue_release(q);
  if (!taken_in_all) skip(); /* the library is not there */
  assert_true(taken_in_all > 8 * OX_COUNT(gemms));
}

static void test_products_that_are_left_to_kernels(void **state) {
  (void)state;
  if (!r.v->gemm_takes) skip();
  static const int64_t small[][3] = {{1, 1024, 1024}, {1024, 1, 1024}, {4, 4, 4}, {0, 64, 64}, {64, 64, 0}};
  for (size_t i = 0; i < OX_COUNT(small); i++) {
    bool taken = true;
    const dev_gemm g = {.dtype = OX_F32, .batch = 1, .m = small[i][0], .n = small[i][1], .k = small[i][2]};
    CHECK_OK(r.v->gemm_takes(r.d, &g, &taken));
    assert_false(taken);
  }
  bool taken = true;
  const dev_gemm relu = {.dtype = OX_F32, .batch = 1, .m = 128, .n = 128, .k = 128, .after = {.relu = true}};
  CHECK_OK(r.v->gemm_takes(r.d, &relu, &taken));
  assert_false(taken); /* NaN would not stay NaN */
}

/* A recorded product computes with its own memory: the queue's calls in between do not disturb it. */
static void test_products_are_recorded(void **state) {
  (void)state;
  if (!r.v->gemm_takes || !r.v->libraries_record) skip();
  bool taken = false;
  dev_gemm g = {.dtype = OX_F32, .batch = 1, .m = 128, .n = 128, .k = 128};
  CHECK_OK(r.v->gemm_takes(r.d, &g, &taken));
  if (!taken) skip();
  dev_queue *q = queue(), *other = queue();
  dev_record *rec;
  operands o = operands_make((int64_t[]){128 * 128, 128 * 128, 128 * 128, 1, 1}, false, 0);
  g.a = o.device[FIRST], g.b = o.device[SECOND], g.c = o.device[RESULT];
  CHECK_OK(r.v->gemm(q, &g));
  CHECK_OK(r.v->queue_sync(q));
  put(o.device[RESULT], o.host[RESULT], o.bytes[2]); /* zeros */
  CHECK_OK(r.v->record_begin(q));
  CHECK_OK(r.v->gemm(q, &g));
  CHECK_OK(r.v->record_end(q, &rec));
  r.v->queue_release(q);
  CHECK_OK(r.v->record_launch(other, rec));
  CHECK_OK(r.v->queue_sync(other));
  get(o.host[RESULT], o.device[RESULT], o.bytes[2]);
  check_gemm(0, false, &g.after, &o);
  r.v->record_release(rec);
  r.v->queue_release(other);
  operands_free(&o);
}

/* ---- convolutions ---- */

static const dev_conv convs[] = {
    {.n = 1,
     .c = 32,
     .h = 14,
     .w = 14,
     .o = 64,
     .kh = 3,
     .kw = 3,
     .group = 1,
     .stride = {1, 1},
     .dilation = {1, 1},
     .pads = {1, 1, 1, 1},
     .oh = 14,
     .ow = 14},
    {.n = 2,
     .c = 64,
     .h = 20,
     .w = 18,
     .o = 48,
     .kh = 1,
     .kw = 1,
     .group = 1,
     .stride = {1, 1},
     .dilation = {1, 1},
     .oh = 20,
     .ow = 18},
    {.n = 2,
     .c = 48,
     .h = 17,
     .w = 23,
     .o = 64,
     .kh = 5,
     .kw = 3,
     .group = 2,
     .stride = {2, 1},
     .dilation = {1, 2},
     .pads = {2, 0, 2, 0},
     .oh = 9,
     .ow = 19},
    {.n = 1,
     .c = 64,
     .h = 1,
     .w = 200,
     .o = 128,
     .kh = 1,
     .kw = 3,
     .group = 1,
     .stride = {1, 2},
     .dilation = {1, 1},
     .pads = {0, 1, 0, 1},
     .oh = 1,
     .ow = 100},
};

/* What comes after: nothing; bias, Relu; bias, another value, Relu. */
static const dev_after afters[] = {
    {0}, {.with_bias = true, .relu = true}, {.with_bias = true, .with_add = true, .relu = true}};

static double after_at(const dev_conv *c, const operands *o, bool f16, int64_t e, double v) {
  if (c->after.with_bias) v += at(o->host[BIAS], e / c->ow / c->oh % c->o, f16);
  if (c->after.with_add) v += at(o->host[ADD], e, f16);
  return c->after.relu && v < 0 ? 0 : v;
}

/* A bias that is NaN: what a Relu without it would make 0. */
static void spoil_bias(const operands *o, bool f16) {
  if (f16)
    ((uint16_t *)o->host[BIAS])[3] = 0x7e00;
  else
    ((float *)o->host[BIAS])[3] = NAN;
  put(o->device[BIAS], o->host[BIAS], o->bytes[BIAS]);
}

static double conv_at(const dev_conv *c, const operands *o, bool f16, int64_t e) {
  int64_t column = e % c->ow, row = e / c->ow % c->oh, filter = e / c->ow / c->oh % c->o,
          image = e / c->ow / c->oh / c->o;
  int64_t channels = c->c / c->group, first = filter / (c->o / c->group) * channels;
  double sum = 0;
  for (int64_t k = 0; k < channels * c->kh * c->kw; k++) {
    int64_t j = k % c->kw, i = k / c->kw % c->kh, channel = k / c->kw / c->kh;
    int64_t y = row * c->stride[0] - c->pads[0] + i * c->dilation[0];
    int64_t x = column * c->stride[1] - c->pads[1] + j * c->dilation[1];
    if (y < 0 || y >= c->h || x < 0 || x >= c->w) continue;
    sum += at(o->host[FIRST], ((image * c->c + first + channel) * c->h + y) * c->w + x, f16) *
           at(o->host[SECOND], filter * channels * c->kh * c->kw + k, f16);
  }
  return sum;
}

static void test_convolutions(void **state) {
  (void)state;
  if (!r.v->conv_takes) skip();
  dev_queue *q = queue();
  size_t taken_in_all = 0;
  for (size_t i = 0; i < 2 * OX_COUNT(afters) * OX_COUNT(convs); i++) {
    dev_conv c = convs[i / 2 / OX_COUNT(afters)];
    bool f16 = i % 2, taken = false;
    c.after = afters[i / 2 % OX_COUNT(afters)];
    int64_t n = c.n * c.o * c.oh * c.ow;
    c.dtype = f16 ? OX_F16 : OX_F32;
    CHECK_OK(r.v->conv_takes(r.d, &c, &taken));
    if (!taken) continue;
    operands o =
        operands_make((int64_t[]){c.n * c.c * c.h * c.w, c.o * c.c / c.group * c.kh * c.kw, n, c.o, n}, f16, 0);
    spoil_bias(&o, f16);
    c.x = o.device[FIRST], c.weights = o.device[SECOND], c.y = o.device[RESULT];
    c.after.bias = o.device[BIAS], c.after.add = o.device[ADD];
    CHECK_OK(r.v->conv(q, &c));
    CHECK_OK(r.v->queue_sync(q));
    get(o.host[RESULT], o.device[RESULT], o.bytes[RESULT]);
    for (int64_t e = 0; e < n; e += 5) {
      double want = after_at(&c, &o, f16, e, conv_at(&c, &o, f16, e)), got = at(o.host[RESULT], e, f16);
      if (isnan(want) ? !isnan(got) : !(fabs(got - want) <= (f16 ? 4e-3 : 1e-4) * (1 + fabs(want))))
        fail_msg("convolution and after %zu, f16 %d, element %lld: %g, wanted %g", i / 2, f16, (long long)e, got, want);
    }
    operands_free(&o);
    taken_in_all++;
  }
  r.v->queue_release(q);
  if (!taken_in_all) skip(); /* the library is not there */
}

static void test_convolutions_that_are_left_to_kernels(void **state) {
  (void)state;
  if (!r.v->conv_takes) skip();
  dev_conv uneven = convs[0], depthwise = convs[0], small = convs[0],
           biased = convs[0], *const all[] = {&uneven, &depthwise, &small, &biased};
  uneven.pads[0] = 0, uneven.pads[2] = 2;
  depthwise.c = depthwise.o = depthwise.group = 512;
  small.c = 1, small.o = 4;
  biased.after.with_bias = true; /* but no Relu, which the library's calls have */
  for (size_t i = 0; i < OX_COUNT(all); i++) {
    bool taken = true;
    all[i]->dtype = OX_F32;
    CHECK_OK(r.v->conv_takes(r.d, all[i], &taken));
    assert_false(taken);
  }
}

#define TESTS(X)                            \
  X(test_products)                          \
  X(test_products_that_are_left_to_kernels) \
  X(test_products_are_recorded) X(test_convolutions) X(test_convolutions_that_are_left_to_kernels)
RIG_MAIN(TESTS)
