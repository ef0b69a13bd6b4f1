/* SPDX-License-Identifier: Apache-2.0
 * kern/ml/ml_scores.h - shared by the ai.onnx.ml models: conversion of rows to f32 or f64, and the score transforms of
 * post_transform. Conventions for binary classifiers are ONNX Runtime's. */
#ifndef OX_KERN_ML_ML_SCORES_H
#define OX_KERN_ML_ML_SCORES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ox_ml_transform {
  OX_ML_NONE,
  OX_ML_SOFTMAX,
  OX_ML_LOGISTIC,
  OX_ML_SOFTMAX_ZERO,
  OX_ML_PROBIT /* numbered as in TreeEnsemble-5 */
} ox_ml_transform;

/* How the two scores of a binary classifier follow from one raw score. */
typedef enum ox_ml_second {
  OX_ML_ONE = -1,       /* only one score is written */
  OX_ML_COMPLEMENT = 0, /* 1 - s, s: the score is a probability */
  OX_ML_NEGATE = 2      /* -s, s. LOGISTIC makes both logistic(-s), logistic(s) */
} ox_ml_second;

/* The transform of that name; false if there is none. */
bool ox_ml_transform_find(const char *name, ox_ml_transform *out);

/* Writes the |n| scores to |out| after the transform; with n == 1 also the second class, as |second| says. |out| has
 * room for max(n, 2) values; it may be |scores|. */
void ox_ml_scores_write(const double *scores, int64_t n, ox_ml_transform transform, ox_ml_second second, double *out);

float ox_ml_probit(float v);
float ox_ml_logistic(float v);

/* Converts |n| elements from number |first| on to f32 or f64. dtype: F32, F64, I32, I64, F16. */
void ox_ml_read_f32(uint32_t dtype, const void *data, int64_t first, int64_t n, float *out);
void ox_ml_read_f64(uint32_t dtype, const void *data, int64_t first, int64_t n, double *out);

#endif
