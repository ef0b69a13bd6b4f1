/* SPDX-License-Identifier: Apache-2.0
 * ort/custom/ort_custom_op.h - OrtCustomOp rows of a session's options as rows of onyx/op.h. */
#ifndef OX_ORT_CUSTOM_OP_H
#define OX_ORT_CUSTOM_OP_H

#include <limits.h>
#include <pthread.h>

#include "onyx/op.h"
#include "ort/custom/ort_kernel.h"
#include "ort/custom/ort_op_libraries.h"
#include "ort/session/ort_session_options.h"

struct OrtCustomOpDomain {
  char *name;
  const OrtCustomOp **ops; /* the client's */
  size_t n_ops;
};

typedef struct ort_custom_ops ort_custom_ops;

/* The operators of all domains of |options|; kept by the session that gets them, until after its ox_session is
 * released. All arguments are borrowed until then. *out NULL: there are none. */
OX_NODISCARD OrtStatus *ort_custom_ops_create(const OrtEnv *env, const OrtSessionOptions *options,
                                              const OrtLogger *logger, ort_custom_ops **out);
const ox_op *ort_custom_ops_rows(const ort_custom_ops *ops, size_t *out_n);
void ort_custom_ops_release(ort_custom_ops *ops);

/* ---- what the functions of the rows share ---- */

/* What serves one name from one version on: any of |ops|, whichever takes the types of the inputs. */
typedef struct ort_custom_row {
  const ort_custom_ops *owner;
  const char *domain, *name; /* the clients' */
  const OrtCustomOp **ops;
  size_t n_ops;
  int since; /* the first version of any of the name, for clients */
  bool cpu;  /* else they are all other providers' */
  ox_schema schema;
  ox_kernel_def kernel;
} ort_custom_row;

struct ort_custom_ops {
  const OrtEnv *env;
  const OrtSessionOptions *options;
  const OrtLogger *logger;
  pthread_mutex_t lock; /* kernels are created one after the other: clients expect one thread */
  ort_custom_row **list;
  ox_op *rows;
  size_t n;
};

/* The API version that brought a member of OrtCustomOp: behind it, older structures have nothing. */
enum {
  ORT_OP_OPTIONALS = 8,
  ORT_OP_MEMORY_TYPE = 13,
  ORT_OP_VARIADICS = 14,
  ORT_OP_STATUSES = 16,
  ORT_OP_INFERENCE = 17,
  ORT_OP_INPLACE = 18
};

/* What |op| says of an input (or output) slot; the last slot serves all further ones. */
OrtCustomOpInputOutputCharacteristic ort_custom_slot(const OrtCustomOp *op, bool output, size_t slot);
size_t ort_custom_slot_of(const OrtCustomOp *op, bool output, size_t i);
bool ort_custom_homogeneous(const OrtCustomOp *op, bool output);
/* The first of |row| that takes these inputs; NULL: none does. Types that are not known fit. */
const OrtCustomOp *ort_custom_pick(const ort_custom_row *row, const ox_type *const *in, uint32_t n_in);

ox_status *ort_custom_infer(ox_infer_ctx *c);
ox_status *ort_custom_load(ox_load_ctx *c);
void ort_custom_unload(void *state, ox_alloc alloc);
ox_status *ort_custom_prepare(ox_kernel_ctx *c);
ox_status *ort_custom_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch);

#endif
