/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/standin/standin_nvrtc.c - the compiler: it takes what is not plainly wrong and keeps the source; the
 * kernels are in this library already. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/device/standin/standin.h"

struct _nvrtcProgram {
  char *source, *image, log[256];
  char name[64];
  bool machine_code;
};

enum { NVRTC_INVALID_INPUT = 3, NVRTC_INVALID_PROGRAM = 4, NVRTC_INVALID_OPTION = 5, NVRTC_COMPILATION = 6 };

STANDIN_API const char *nvrtcGetErrorString(int code);
const char *nvrtcGetErrorString(int code) {
  return code == NVRTC_COMPILATION ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR";
}

static const int archs[] = {75, 80, 86, 89, 90};
enum { ARCHS = sizeof archs / sizeof *archs };

STANDIN_API int nvrtcGetNumSupportedArchs(int *n);
int nvrtcGetNumSupportedArchs(int *n) {
  *n = ARCHS;
  return standin_gate(false);
}

STANDIN_API int nvrtcGetSupportedArchs(int *out);
int nvrtcGetSupportedArchs(int *out) {
  memcpy(out, archs, sizeof archs);
  return standin_gate(false);
}

STANDIN_API int nvrtcCreateProgram(nvrtc_program *program, const char *source, const char *name, int n,
                                   const char *const *headers, const char *const *header_names);
int nvrtcCreateProgram(nvrtc_program *program, const char *source, const char *name, int n, const char *const *headers,
                       const char *const *header_names) {
  int code = standin_gate(false);
  if (code || n || headers || header_names || !source) return code ? code : NVRTC_INVALID_INPUT;
  nvrtc_program p = *program = calloc(1, sizeof *p);
  p->source = strcpy(malloc(strlen(source) + 1), source);
  snprintf(p->name, sizeof p->name, "%s", name);
  standin_made(1);
  return OK;
}

STANDIN_API int nvrtcDestroyProgram(nvrtc_program *program);
int nvrtcDestroyProgram(nvrtc_program *program) {
  if (!*program) return NVRTC_INVALID_PROGRAM;
  free((*program)->source);
  free((*program)->image);
  free(*program);
  *program = NULL;
  standin_made(-1);
  return OK;
}

STANDIN_API int nvrtcCompileProgram(nvrtc_program p, int n, const char *const *options);
int nvrtcCompileProgram(nvrtc_program p, int n, const char *const *options) {
  int code = standin_gate(false), arch = 0;
  bool known = false;
  if (code) return code;
  for (int i = 0; i < n; i++) {
    p->machine_code |= sscanf(options[i], "--gpu-architecture=sm_%d", &arch) == 1;
    sscanf(options[i], "--gpu-architecture=compute_%d", &arch);
    if (strstr(options[i], "fast-math") || strstr(options[i], "prec-div=false")) return NVRTC_INVALID_OPTION;
  }
  for (int i = 0; i < ARCHS; i++) known |= archs[i] == arch;
  if (!known) return NVRTC_INVALID_OPTION;
  if (strstr(p->source, "this is not C")) {
    snprintf(p->log, sizeof p->log, "%s(1): error: this declaration has no storage class or type specifier\n", p->name);
    return NVRTC_COMPILATION;
  }
  size_t bytes = strlen(p->source) + 64;
  p->image = malloc(bytes);
  snprintf(p->image, bytes, "STANDIN %s_%d\n%s", p->machine_code ? "sm" : "compute", arch, p->source);
  return OK;
}

STANDIN_API int nvrtcGetProgramLogSize(nvrtc_program p, size_t *bytes);
int nvrtcGetProgramLogSize(nvrtc_program p, size_t *bytes) {
  *bytes = strlen(p->log) + 1;
  return standin_gate(false);
}

STANDIN_API int nvrtcGetProgramLog(nvrtc_program p, char *log);
int nvrtcGetProgramLog(nvrtc_program p, char *log) {
  strcpy(log, p->log);
  return standin_gate(false);
}

static int size(nvrtc_program p, size_t *bytes, bool machine_code) {
  int code = standin_gate(false);
  *bytes = 0;
  if (code || !p->image || p->machine_code != machine_code) return code ? code : NVRTC_INVALID_PROGRAM;
  *bytes = strlen(p->image) + 1;
  return OK;
}

static int content(nvrtc_program p, char *image, bool machine_code) {
  int code = standin_gate(false);
  if (code || !p->image || p->machine_code != machine_code) return code ? code : NVRTC_INVALID_PROGRAM;
  strcpy(image, p->image);
  return OK;
}

STANDIN_API int nvrtcGetCUBINSize(nvrtc_program p, size_t *bytes);
int nvrtcGetCUBINSize(nvrtc_program p, size_t *bytes) { return size(p, bytes, true); }
STANDIN_API int nvrtcGetPTXSize(nvrtc_program p, size_t *bytes);
int nvrtcGetPTXSize(nvrtc_program p, size_t *bytes) { return size(p, bytes, false); }
STANDIN_API int nvrtcGetCUBIN(nvrtc_program p, char *image);
int nvrtcGetCUBIN(nvrtc_program p, char *image) { return content(p, image, true); }
STANDIN_API int nvrtcGetPTX(nvrtc_program p, char *image);
int nvrtcGetPTX(nvrtc_program p, char *image) { return content(p, image, false); }
