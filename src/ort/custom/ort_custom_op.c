/* SPDX-License-Identifier: Apache-2.0
 * ort/custom/ort_custom_op.c - rows of onyx/op.h from the operators of a session's domains: one for each name and each
 * version from which on other operators serve it. */
#include "ort/custom/ort_custom_op.h"

#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/ort_status.h"
#include "ort/ort_list.h"

/* ---- what an operator says of itself ---- */

OrtCustomOpInputOutputCharacteristic ort_custom_slot(const OrtCustomOp *op, bool output, size_t slot) {
  if (op->version < ORT_OP_OPTIONALS) return INPUT_OUTPUT_REQUIRED;
  return output ? op->GetOutputCharacteristic(op, slot) : op->GetInputCharacteristic(op, slot);
}

static size_t slots_of(const OrtCustomOp *op, bool output) {
  return output ? op->GetOutputTypeCount(op) : op->GetInputTypeCount(op);
}

size_t ort_custom_slot_of(const OrtCustomOp *op, bool output, size_t i) {
  size_t n = slots_of(op, output);
  return i < n ? i : n - 1;
}

bool ort_custom_homogeneous(const OrtCustomOp *op, bool output) {
  if (op->version < ORT_OP_VARIADICS) return true;
  return (output ? op->GetVariadicOutputHomogeneity(op) : op->GetVariadicInputHomogeneity(op)) != 0;
}

static size_t least_arity(const OrtCustomOp *op, bool output) {
  if (op->version < ORT_OP_VARIADICS) return 1;
  int n = output ? op->GetVariadicOutputMinArity(op) : op->GetVariadicInputMinArity(op);
  return n > 0 ? (size_t)n : 0;
}

static int first_version(const OrtCustomOp *op) {
  int v = op->version >= ORT_OP_INFERENCE && op->GetStartVersion != NULL ? op->GetStartVersion(op) : 1;
  return v > 1 ? v : 1;
}

static int last_version(const OrtCustomOp *op) {
  return op->version >= ORT_OP_INFERENCE && op->GetEndVersion != NULL ? op->GetEndVersion(op) : INT_MAX;
}

static bool on_cpu(const OrtCustomOp *op) {
  const char *ep = op->GetExecutionProviderType(op);
  return ep == NULL || *ep == '\0' || strcmp(ep, "CPUExecutionProvider") == 0;
}

/* ---- checks ---- */

static OrtStatus *check_slots(const OrtCustomOp *op, bool output) {
  size_t n = slots_of(op, output);
  const char *what = output ? "output" : "input";
  if (n >= OX_VARIADIC) return ort_fail(ORT_FAIL, "%s count %zu is more than %d", what, n, OX_VARIADIC - 1);
  for (size_t i = 0; i + 1 < n; i++)
    if (ort_custom_slot(op, output, i) == INPUT_OUTPUT_VARIADIC)
      return ort_fail(ORT_FAIL, "%s %zu is variadic: only the last %s may be", what, i, what);
  return NULL;
}

/* What an operator of that version cannot be without. */
static const struct {
  size_t offset;
  uint32_t since;
  const char *name;
} members[] = {
#define MEMBER(since, name) \
  { offsetof(OrtCustomOp, name), since, #name }
    MEMBER(1, GetName),
    MEMBER(1, GetExecutionProviderType),
    MEMBER(1, GetInputType),
    MEMBER(1, GetInputTypeCount),
    MEMBER(1, GetOutputType),
    MEMBER(1, GetOutputTypeCount),
    MEMBER(1, KernelDestroy),
    MEMBER(ORT_OP_OPTIONALS, GetInputCharacteristic),
    MEMBER(ORT_OP_OPTIONALS, GetOutputCharacteristic),
    MEMBER(ORT_OP_VARIADICS, GetVariadicInputMinArity),
    MEMBER(ORT_OP_VARIADICS, GetVariadicInputHomogeneity),
    MEMBER(ORT_OP_VARIADICS, GetVariadicOutputMinArity),
    MEMBER(ORT_OP_VARIADICS, GetVariadicOutputHomogeneity),
#undef MEMBER
};

static OrtStatus *check_members(const OrtCustomOp *op) {
  void (*function)(void);
  for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
    if (op->version < members[i].since) continue;
    memcpy(&function, (const char *)op + members[i].offset, sizeof function);
    if (function == NULL) return ort_fail(ORT_FAIL, "a custom operator's %s is NULL", members[i].name);
  }
  bool v2 = op->version >= ORT_OP_STATUSES;
  if (op->CreateKernel == NULL && !(v2 && op->CreateKernelV2 != NULL))
    return ort_fail(ORT_FAIL, "a custom operator's CreateKernel is NULL");
  if (op->KernelCompute == NULL && !(v2 && op->KernelComputeV2 != NULL))
    return ort_fail(ORT_FAIL, "a custom operator's KernelCompute is NULL");
  return NULL;
}

/* The type of an output that has any has to come from somewhere. */
static OrtStatus *check_any(const OrtCustomOp *op) {
  size_t n_any = 0;
  for (size_t i = 0; i < slots_of(op, false); i++)
    n_any += op->GetInputType(op, i) == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  if (n_any == 1 || (op->version >= ORT_OP_INFERENCE && op->InferOutputShapeFn != NULL)) return NULL;
  for (size_t i = 0; i < slots_of(op, true); i++)
    if (op->GetOutputType(op, i) == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED)
      return ort_fail(
          ORT_FAIL, "output %zu is of any type, with %zu inputs of any type: wanted 1 or InferOutputShapeFn", i, n_any);
  return NULL;
}

/* Operators of one name have the same slots. */
static OrtStatus *check_alike(const OrtCustomOp *a, const OrtCustomOp *b, bool output) {
  const char *what = output ? "output" : "input";
  size_t n = slots_of(a, output);
  if (n != slots_of(b, output))
    return ort_fail(ORT_FAIL, "%s count does not match: %zu and %zu", what, n, slots_of(b, output));
  for (size_t i = 0; i < n; i++)
    if (ort_custom_slot(a, output, i) != ort_custom_slot(b, output, i))
      return ort_fail(ORT_FAIL, "%s %zu: characteristic does not match", what, i);
  return NULL;
}

static OrtStatus *check(const OrtCustomOp *op, const OrtCustomOp *first) {
  ORT_TRY(check_slots(op, false));
  ORT_TRY(check_slots(op, true));
  ORT_TRY(check_any(op));
  ORT_TRY(check_alike(first, op, false));
  return check_alike(first, op, true);
}

/* ---- rows ---- */

/* Inputs that may overwrite output 0, or share its memory: without the input's content being needed afterwards it is
 * the same to the engine, and a kernel that finds other memory copies. */
static uint32_t pairs_with_output_0(size_t (*get)(int **, int **), void (*release)(int *, int *)) {
  int *from = NULL, *to = NULL;
  uint32_t mask = 0;
  size_t n = get != NULL ? get(&from, &to) : 0;
  for (size_t i = 0; i < n; i++)
    if (to[i] == 0 && from[i] >= 0 && from[i] < 32) mask |= (uint32_t)1 << from[i];
  if (get != NULL && release != NULL) release(from, to);
  return mask;
}

static uint32_t inplace_of(const OrtCustomOp *op) {
  if (op->version < ORT_OP_INPLACE) return 0;
  return pairs_with_output_0(op->GetMayInplace, op->ReleaseMayInplace) |
         pairs_with_output_0(op->GetAliasMap, op->ReleaseAliasMap);
}

static void set_counts(const OrtCustomOp *op, bool output, uint8_t *least, uint8_t *most) {
  size_t n = slots_of(op, output), required = 0;
  bool variadic = n != 0 && ort_custom_slot(op, output, n - 1) == INPUT_OUTPUT_VARIADIC;
  /* Required slots behind an optional one are checked in inference: the engine counts from the front. */
  while (required < n && ort_custom_slot(op, output, required) == INPUT_OUTPUT_REQUIRED) required++;
  if (variadic && required + 1 == n) required += least_arity(op, output);
  *least = (uint8_t)(required < OX_VARIADIC ? required : OX_VARIADIC - 1);
  *most = (uint8_t)(variadic ? OX_VARIADIC : n);
  if (output && *most == 0) *most = 1; /* 0 to 0 would mean exactly one */
}

static void set_row(ort_custom_row *row, int since) {
  const OrtCustomOp *op = row->ops[0];
  row->schema = (ox_schema){.struct_size = sizeof row->schema,
                            .since = since,
                            .name = row->name,
                            .domain = row->domain,
                            .traits = OX_NONDETERMINISTIC, /* neither folded nor merged: nobody knows what it does */
                            .infer = ort_custom_infer,
                            .user = row};
  set_counts(op, false, &row->schema.min_in, &row->schema.max_in);
  set_counts(op, true, &row->schema.min_out, &row->schema.max_out);
  uint32_t inplace = UINT32_MAX;
  for (size_t i = 0; i < row->n_ops; i++) inplace &= inplace_of(row->ops[i]);
  row->kernel = (ox_kernel_def){.struct_size = sizeof row->kernel,
                                .inplace = inplace,
                                .load = ort_custom_load,
                                .unload = ort_custom_unload,
                                .prepare = ort_custom_prepare,
                                .run = ort_custom_run};
}

/* All operators of one name, in the order in which they were added. */
typedef struct {
  const char *domain, *name;
  const OrtCustomOp **ops;
  size_t n;
  int first; /* the lowest version of any */
} family;

/* Those that serve version |v|: on the CPU if there are any such. Between ranges and behind them the lowest serves on.
 */
static size_t serving(const family *f, int v, const OrtCustomOp **out) {
  bool in_range = false, cpu = false;
  size_t n = 0;
  for (size_t i = 0; i < f->n; i++) in_range |= first_version(f->ops[i]) <= v && v <= last_version(f->ops[i]);
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < f->n; i++) {
      const OrtCustomOp *op = f->ops[i];
      bool serves = in_range ? first_version(op) <= v && v <= last_version(op) : first_version(op) == f->first;
      if (!serves) continue;
      if (pass == 0)
        cpu |= on_cpu(op);
      else if (!cpu || on_cpu(op))
        out[n++] = op;
    }
  return n;
}

static OrtStatus *add_row(ort_custom_ops *all, const family *f, int since) {
  ORT_TRY(ort_list_grow(&all->list, all->n, sizeof *all->list));
  ort_custom_row *row = calloc(1, sizeof *row);
  if (row != NULL) row->ops = calloc(f->n, sizeof *row->ops);
  if (row == NULL || row->ops == NULL) {
    free(row);
    return ort_out_of_memory();
  }
  row->owner = all, row->domain = f->domain, row->name = f->name, row->since = f->first;
  row->n_ops = serving(f, since, row->ops), row->cpu = on_cpu(row->ops[0]);
  set_row(row, since);
  all->list[all->n++] = row;
  return NULL;
}

/* The next version after |v| from which on others serve; 0: none. */
static int next_version(const family *f, int v) {
  int next = 0;
  for (size_t i = 0; i < f->n; i++) {
    int start = first_version(f->ops[i]), end = last_version(f->ops[i]);
    if (start > v && (next == 0 || start < next)) next = start;
    if (end < INT_MAX && end >= v && (next == 0 || end + 1 < next)) next = end + 1;
  }
  return next;
}

static OrtStatus *add_family(ort_custom_ops *all, family *f) {
  f->first = INT_MAX;
  for (size_t i = 0; i < f->n; i++) {
    OrtStatus *st = check(f->ops[i], f->ops[0]);
    if (st != NULL) {
      OrtStatus *named = ort_fail(ORT_FAIL, "custom operator %s:%s: %s", f->domain, f->name, ort_GetErrorMessage(st));
      ort_ReleaseStatus(st);
      return named;
    }
    if (first_version(f->ops[i]) < f->first) f->first = first_version(f->ops[i]);
  }
  for (int v = f->first; v != 0; v = next_version(f, v)) ORT_TRY(add_row(all, f, v));
  return NULL;
}

/* All of the domains, without those whose name came before. */
typedef struct {
  const char *domain;
  const OrtCustomOp *op;
  bool taken;
} entry;

static OrtStatus *add_entries(ort_custom_ops *all, entry *entries, size_t n, const OrtCustomOp **ops) {
  for (size_t i = 0; i < n; i++) {
    if (entries[i].taken) continue;
    family f = {.domain = entries[i].domain, .name = entries[i].op->GetName(entries[i].op), .ops = ops};
    if (f.name == NULL || *f.name == '\0')
      return ort_fail(ORT_FAIL, "a custom operator of domain '%s' has no name", f.domain);
    for (size_t k = i; k < n; k++) {
      const char *name = entries[k].op->GetName(entries[k].op);
      if (name == NULL || strcmp(name, f.name) != 0 || strcmp(entries[k].domain, f.domain) != 0) continue;
      entries[k].taken = true;
      ops[f.n++] = entries[k].op;
    }
    ORT_TRY(add_family(all, &f));
  }
  return NULL;
}

static OrtStatus *add_all(ort_custom_ops *all) {
  const OrtSessionOptions *o = all->options;
  size_t n = 0, at = 0;
  for (size_t d = 0; d < o->n_domains; d++) n += o->domains[d]->n_ops;
  entry *entries = calloc(n + 1, sizeof *entries);
  const OrtCustomOp **ops = calloc(n + 1, sizeof *ops);
  OrtStatus *st = entries != NULL && ops != NULL ? NULL : ort_out_of_memory();
  for (size_t d = 0; st == NULL && d < o->n_domains; d++)
    for (size_t i = 0; st == NULL && i < o->domains[d]->n_ops; i++) {
      entries[at++] = (entry){.domain = o->domains[d]->name, .op = o->domains[d]->ops[i]};
      st = check_members(o->domains[d]->ops[i]);
    }
  if (st == NULL) st = add_entries(all, entries, n, ops);
  free(entries);
  free((void *)ops);
  return st;
}

static OrtStatus *make_table(ort_custom_ops *all) {
  all->rows = calloc(all->n + 1, sizeof *all->rows);
  if (all->rows == NULL) return ort_out_of_memory();
  for (size_t i = 0; i < all->n; i++) {
    const ort_custom_row *row = all->list[i];
    all->rows[i] = (ox_op){&row->schema, &row->kernel};
  }
  return NULL;
}

OrtStatus *ort_custom_ops_create(const OrtEnv *env, const OrtSessionOptions *options, const OrtLogger *logger,
                                 ort_custom_ops **out) {
  *out = NULL;
  if (options->n_domains == 0) return NULL;
  ort_custom_ops *all = calloc(1, sizeof *all);
  if (all == NULL) return ort_out_of_memory();
  all->env = env, all->options = options, all->logger = logger;
  pthread_mutex_init(&all->lock, NULL);
  OrtStatus *st = add_all(all);
  if (st == NULL) st = make_table(all);
  if (st != NULL)
    ort_custom_ops_release(all);
  else
    *out = all;
  return st;
}

const ox_op *ort_custom_ops_rows(const ort_custom_ops *ops, size_t *out_n) {
  *out_n = ops != NULL ? ops->n : 0;
  return ops != NULL ? ops->rows : NULL;
}

void ort_custom_ops_release(ort_custom_ops *ops) {
  if (ops == NULL) return;
  for (size_t i = 0; i < ops->n; i++) {
    free((void *)ops->list[i]->ops);
    free(ops->list[i]);
  }
  free((void *)ops->list);
  free(ops->rows);
  pthread_mutex_destroy(&ops->lock);
  free(ops);
}
