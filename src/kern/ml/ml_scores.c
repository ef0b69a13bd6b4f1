/* SPDX-License-Identifier: Apache-2.0
 * kern/ml/ml_scores.c - score transforms of the ai.onnx.ml operators. Logistic and probit are computed in float for
 * any type, as in ONNX Runtime. */
#include "kern/ml/ml_scores.h"

#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "onyx/ep.h"

bool ox_ml_transform_find(const char *name, ox_ml_transform *out) {
  static const char *const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  for (size_t i = 0; i < OX_COUNT(names); i++)
    if (!strcmp(name, names[i])) return *out = (ox_ml_transform)i, true;
  return false;
}

float ox_ml_logistic(float v) {
  float p = 1.0f / (1.0f + expf(-fabsf(v)));
  return v < 0 ? 1.0f - p : p;
}

/* sqrt(2) * erfinv(2v - 1), with Winitzki's closed form (a = 0.147) for the inverse error function. */
float ox_ml_probit(float v) {
  const float a = 0.147f, y = 2.0f * v - 1.0f;
  float l = logf((1.0f - y) * (1.0f + y));
  float b = 2.0f / (3.14159f * a) + 0.5f * l;
  float r = sqrtf(sqrtf(b * b - l / a) - b);
  return 1.41421356f * (y < 0 ? -r : r);
}

static void softmax(const double *s, int64_t n, double *out) {
  double most = s[0], sum = 0;
  for (int64_t i = 1; i < n; i++) most = s[i] > most ? s[i] : most;
  for (int64_t i = 0; i < n; i++) sum += out[i] = exp(s[i] - most);
  for (int64_t i = 0; i < n; i++) out[i] /= sum;
}

/* Scores of zero stay (almost) zero: they are scaled, not exponentiated. */
static void softmax_zero(const double *s, int64_t n, double *out) {
  double most = s[0], sum = 0;
  for (int64_t i = 1; i < n; i++) most = s[i] > most ? s[i] : most;
  double scale = exp(-most);
  for (int64_t i = 0; i < n; i++) {
    bool zero = s[i] <= 1e-7 && s[i] >= -1e-7;
    out[i] = zero ? s[i] * scale : exp(s[i] - most);
    if (!zero) sum += out[i];
  }
  for (int64_t i = 0; i < n; i++) out[i] /= sum;
}

static void one_score(double s, ox_ml_transform transform, ox_ml_second second, double *out) {
  if (transform == OX_ML_PROBIT) {
    out[0] = ox_ml_probit((float)s);
  } else if (second != OX_ML_ONE && transform == OX_ML_LOGISTIC) {
    out[0] = ox_ml_logistic((float)-s), out[1] = ox_ml_logistic((float)s);
  } else if (second != OX_ML_ONE) {
    out[0] = second == OX_ML_COMPLEMENT ? 1 - s : -s, out[1] = s;
  } else {
    out[0] = s;
  }
}

void ox_ml_scores_write(const double *s, int64_t n, ox_ml_transform transform, ox_ml_second second, double *out) {
  if (n == 1) {
    one_score(s[0], transform, second, out);
    return;
  }
  if (n <= 0) return;
  switch (transform) {
    case OX_ML_SOFTMAX:
      softmax(s, n, out);
      break;
    case OX_ML_SOFTMAX_ZERO:
      softmax_zero(s, n, out);
      break;
    case OX_ML_LOGISTIC:
      for (int64_t i = 0; i < n; i++) out[i] = ox_ml_logistic((float)s[i]);
      break;
    case OX_ML_PROBIT:
      for (int64_t i = 0; i < n; i++) out[i] = ox_ml_probit((float)s[i]);
      break;
    case OX_ML_NONE:
      if (out != s) memcpy(out, s, (size_t)n * sizeof *out);
      break;
  }
}

static float half(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, bits = (uint32_t)(h & 0x7fff) << 13;
  float f;
  if ((h & 0x7c00) == 0x7c00) {
    bits |= 0x7f800000;
  } else { /* also right for denormals: the multiplication normalises */
    float scale = 0x1p112f;
    memcpy(&f, &bits, sizeof f);
    f *= scale;
    memcpy(&bits, &f, sizeof bits);
  }
  bits |= sign;
  memcpy(&f, &bits, sizeof f);
  return f;
}

#define OX_ML_READ(out_type)                                                                        \
  switch (dtype) {                                                                                  \
    case OX_F32:                                                                                    \
      for (int64_t i = 0; i < n; i++) out[i] = (out_type)((const float *)data)[first + i];          \
      break;                                                                                        \
    case OX_F64:                                                                                    \
      for (int64_t i = 0; i < n; i++) out[i] = (out_type)((const double *)data)[first + i];         \
      break;                                                                                        \
    case OX_I32:                                                                                    \
      for (int64_t i = 0; i < n; i++) out[i] = (out_type)((const int32_t *)data)[first + i];        \
      break;                                                                                        \
    case OX_I64:                                                                                    \
      for (int64_t i = 0; i < n; i++) out[i] = (out_type)((const int64_t *)data)[first + i];        \
      break;                                                                                        \
    default:                                                                                        \
      for (int64_t i = 0; i < n; i++) out[i] = (out_type)half(((const uint16_t *)data)[first + i]); \
      break;                                                                                        \
  }

void ox_ml_read_f32(uint32_t dtype, const void *data, int64_t first, int64_t n, float *out) { OX_ML_READ(float) }
void ox_ml_read_f64(uint32_t dtype, const void *data, int64_t first, int64_t n, double *out) { OX_ML_READ(double) }
