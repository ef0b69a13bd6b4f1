/* SPDX-License-Identifier: Apache-2.0
 * bench/models/ort_model.h - a model in a libonnxruntime.so.1, Microsoft's or ours, with its inputs from files, so that
 * nothing but its runs is left to time. Whatever fails ends the program. */
#ifndef ORT_MODEL_H
#define ORT_MODEL_H

#include "ort_tensor.h"
#include "onyx/ort_abi.h"

enum { MAX_VALUES = 512, WARM_RUNS = 2 };

typedef struct ort_library {
  const OrtApi *api;
  const char *version;
} ort_library;

typedef struct ort_model {
  const OrtApi *api;
  OrtEnv *env;
  OrtSessionOptions *options;
  OrtSession *session;
  OrtMemoryInfo *memory;
  size_t n_in, n_out;
  tensor tensors[MAX_VALUES];
  OrtValue *in[MAX_VALUES], *out[MAX_VALUES];
  char *in_names[MAX_VALUES], *out_names[MAX_VALUES];
} ort_model;

ort_library ort_library_open(const char *path);

/* Makes a session and returns how long that took, in ms. |provider| may be NULL; cuda[,KEY=VALUE...], which is cut at
 * its commas: CUDA is asked before the CPU. */
double ort_model_load(ort_model *m, const OrtApi *api, const char *path, int threads, char *provider);
/* Takes the inputs from |data|, which holds input_0.pb and so on. */
void ort_model_fill(ort_model *m, const char *data);
/* Runs once and returns how long that took, in ms; m->out are the outputs until they are dropped. */
double ort_model_run(ort_model *m);
void ort_model_drop_outputs(ort_model *m);
/* Writes the outputs that are tensors to |folder|. */
void ort_model_write_outputs(const ort_model *m, const char *folder);
void ort_model_close(ort_model *m);

/* A monotonic clock, in ms. */
double now_ms(void);
/* Sorts |times|, of which |part| are then at most times_at(...). */
void times_sort(double *times, size_t n);
double times_at(const double *times, size_t n, double part);

#endif
