/* SPDX-License-Identifier: Apache-2.0
 * ort/custom/ort_custom_domain.c - domains of custom operators: lists of rows that clients own. */
#include <stdlib.h>
#include <string.h>

#include "ort/ort_alive.h"
#include "ort/ort_api.h"
#include "ort/custom/ort_custom_op.h"
#include "ort/ort_status.h"
#include "ort/ort_list.h"

OrtStatus *ort_CreateCustomOpDomain(const char *domain, OrtCustomOpDomain **out) {
  ORT_NEED(domain);
  ORT_NEED(out);
  *out = NULL;
  OrtCustomOpDomain *d = calloc(1, sizeof *d);
  if (d != NULL) d->name = strdup(domain);
  if (d == NULL || d->name == NULL) {
    free(d);
    return ort_out_of_memory();
  }
  *out = d;
  return NULL;
}

OrtStatus *ort_CustomOpDomain_Add(OrtCustomOpDomain *custom_op_domain, const OrtCustomOp *op) {
  ORT_NEED(custom_op_domain);
  ORT_NEED(op);
  OrtCustomOpDomain *d = custom_op_domain;
  ORT_TRY(ort_list_grow(&d->ops, d->n_ops, sizeof *d->ops));
  d->ops[d->n_ops++] = op;
  return NULL;
}

void ort_ReleaseCustomOpDomain(OrtCustomOpDomain *domain) {
  if (domain == NULL) return;
  free((void *)domain->ops);
  free(domain->name);
  free(domain);
}

OrtStatus *ort_AddCustomOpDomain(OrtSessionOptions *options, OrtCustomOpDomain *custom_op_domain) {
  ORT_ALIVE(options, ORT_ALIVE_SESSION_OPTIONS);
  ORT_NEED(custom_op_domain);
  ORT_TRY(ort_list_grow(&options->domains, options->n_domains, sizeof *options->domains));
  options->domains[options->n_domains++] = custom_op_domain;
  return NULL;
}
