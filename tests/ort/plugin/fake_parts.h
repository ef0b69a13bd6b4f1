/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/fake_parts.h - what the files of the fake library share. */
#ifndef OX_TESTS_FAKE_PARTS_H
#define OX_TESTS_FAKE_PARTS_H

#include "fake_ep.h"
#include "onyx/ort_ep.h"

enum { FAKE_VENDOR = 0xfa3e };

typedef enum fake_kind { FAKE_COMPILE, FAKE_KERNELS, FAKE_DEVICE } fake_kind;
typedef struct fake_factory fake_factory;

typedef struct fake_ep {
  OrtEp base;
  fake_kind kind;
  OrtKernelRegistry *registry;
  const OrtMemoryInfo *memory;
  OrtEpContextConfig *context; /* NULL: data lies in the model */
} fake_ep;

extern const OrtApi *api;
extern const OrtEpApi *ep_api;

#define TRY(expr)                  \
  do {                             \
    OrtStatus *try_ = (expr);      \
    if (try_ != NULL) return try_; \
  } while (0)
/* A call that cannot fail. */
#define CHECK(expr) api->ReleaseStatus(expr)

/* A status if this call is to fail. */
OrtStatus *fake_call(const char *name);

/* 'M'ul, 'A'dd, 'R'elu; 0: another operator. */
char fake_op_of(const OrtNode *node);
float fake_op(char op, float a, float b);

/* What Compile made for a model with compiled parts. */
bool fake_is_context(const OrtNode *node);

OrtStatus *fake_compile(OrtEp *ep, const OrtGraph **graphs, const OrtNode **nodes, size_t n, OrtNodeComputeInfo **out,
                        OrtNode **context_nodes);
void fake_release_infos(OrtEp *ep, OrtNodeComputeInfo **infos, size_t n);

OrtKernelRegistry *fake_registry_create(fake_kind kind);

/* Allocators, streams and copies of the device. */
void fake_device_fill(OrtEpFactory *factory);
/* Where the bytes of a device's address are. */
void *fake_device_bytes(const void *address);

#endif
