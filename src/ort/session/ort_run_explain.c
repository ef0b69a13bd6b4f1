/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_run_explain.c - why a run failed, in the codes and words that clients of Microsoft's library look
 * for. The engine has refused it already: here the arguments are looked at once more, one by one. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ort/session/ort_session.h"
#include "ort/ort_status.h"

static bool find(const ox_session *s, const char *name,
                 ox_status *(*describe)(const ox_session *, size_t, ox_value_info *), size_t n, ox_value_info *out) {
  for (size_t i = 0; i < n; i++) {
    ox_status *st = describe(s, i, out);
    bool found = st == NULL && strcmp(out->name, name) == 0;
    ox_status_free(st);
    if (found) return true;
  }
  return false;
}

static bool find_input(const ox_session *s, const char *name, ox_value_info *out) {
  return find(s, name, ox_session_input, ox_session_input_count(s), out) ||
         find(s, name, ox_session_default, ox_session_default_count(s), out);
}

static OrtStatus *check_names(const ox_session *s, const char *const *inputs, size_t n_inputs,
                              const char *const *outputs, size_t n_outputs) {
  ox_value_info info;
  for (size_t i = 0; i < n_inputs; i++)
    if (!find_input(s, inputs[i], &info)) return ort_fail(ORT_INVALID_ARGUMENT, "Invalid input name: %s", inputs[i]);
  for (size_t i = 0; i < n_outputs; i++)
    if (!find(s, outputs[i], ox_session_output, ox_session_output_count(s), &info))
      return ort_fail(ORT_INVALID_ARGUMENT, "Invalid output name: %s", outputs[i]);
  return NULL;
}

static const char *kind_name(uint32_t kind) {
  static const char *const names[] = {
      [OX_TENSOR] = "tensor", [OX_SPARSE] = "sparse_tensor", [OX_SEQUENCE] = "seq", [OX_MAP] = "map"};
  return kind < sizeof names / sizeof *names && names[kind] != NULL ? names[kind] : "optional";
}

static OrtStatus *check_value(const ox_value_info *want, const ox_tensor *got) {
  if (got->kind == OX_NONE_VALUE && want->optional) return NULL;
  bool numbers = got->kind == OX_TENSOR || got->kind == OX_SPARSE;
  if (got->kind != want->kind || (want->dtype != OX_UNDEFINED && got->dtype != want->dtype && numbers))
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "Unexpected input data type. Input: %s. Actual: (%s(%s)) , expected: (%s(%s))", want->name,
                    kind_name(got->kind), ort_element_name(ort_type_from(got->dtype)), kind_name(want->kind),
                    ort_element_name(ort_type_from(want->dtype)));
  if (!numbers || want->rank < 0) return NULL;
  if (got->shape.rank != want->rank)
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "Invalid rank for input: %s Got: %d Expected: %d Please fix either the "
                    "inputs/outputs or the model.",
                    want->name, (int)got->shape.rank, (int)want->rank);
  char text[OX_MAX_RANK * 80];
  size_t n = 0;
  for (int32_t d = 0; d < want->rank; d++)
    if (want->dims[d] >= 0 && want->dims[d] != got->shape.dim[d])
      n += (size_t)snprintf(text + n, sizeof text - n, " index: %d Got: %" PRId64 " Expected: %" PRId64 "\n", (int)d,
                            got->shape.dim[d], want->dims[d]);
  if (n == 0) return NULL;
  return ort_fail(ORT_INVALID_ARGUMENT,
                  "Got invalid dimensions for input: %s for the following indices\n%s Please fix "
                  "either the inputs/outputs or the model.",
                  want->name, text);
}

static OrtStatus *check_values(const ox_session *s, const char *const *names, const ox_value *const *values, size_t n) {
  ox_value_info info;
  for (size_t i = 0; i < n; i++)
    if (find_input(s, names[i], &info)) ORT_TRY(check_value(&info, ox_value_get(values[i])));
  return NULL;
}

static OrtStatus *check_missing(const ox_session *s, const char *const *names, size_t n) {
  ox_value_info info;
  for (size_t i = 0; i < ox_session_input_count(s); i++) {
    ox_status *st = ox_session_input(s, i, &info);
    bool there = st != NULL || info.optional;
    ox_status_free(st);
    for (size_t k = 0; !there && k < n; k++) there = strcmp(names[k], info.name) == 0;
    if (!there) return ort_fail(ORT_FAIL, "Missing Input: %s", info.name);
  }
  return NULL;
}

/* ---- nodes ---- */

/* Where Microsoft's kernels give no code of their own for inputs that they do not take: FAIL comes of that. Others say
 * INVALID_ARGUMENT. */
static const char plain[] =
    "|Add|AffineGrid|And|BitShift|BitwiseAnd|BitwiseOr|BitwiseXor|CenterCropPad|Clip|Col2Im|Concat|"
    "ConstantOfShape|Conv|ConvInteger|DequantizeLinear|Div|DynamicQuantizeMatMul|Equal|FusedConv|FusedMatMul|"
    "GatherElements|Greater|GreaterOrEqual|GridSample|Less|LessOrEqual|MatMul|MatMulInteger|"
    "MatMulIntegerToFloat|Max|MaxUnpool|Mean|Min|Mod|Mul|NonMaxSuppression|Or|PRelu|Pad|Pow|QLinearAdd|"
    "QLinearConv|QLinearMatMul|QuantizeLinear|Reshape|Resize|Slice|Split|Squeeze|Sub|Sum|TopK|Unsqueeze|"
    "Upsample|Where|Xor|";

/* The operator of the innermost node that |text| names, as "node 'n' (Op)" or "node (Op)"; false: it names none. */
static bool find_operator(const char *text, char out[64]) {
  bool found = false;
  for (const char *at = strstr(text, "node "); at != NULL; at = strstr(at + 1, "node ")) {
    const char *open = at + strlen("node "), *quote = *open == '\'' ? strstr(open + 1, "' (") : NULL;
    if (quote != NULL) open = quote + 2;
    size_t n = strcspn(open, ")");
    if (*open != '(' || open[n] != ')' || n > 63) continue;
    memcpy(out, open + 1, n - 1);
    out[n - 1] = '\0';
    found = true;
  }
  return found;
}

/* A node that does not take what it got. That a graph is invalid is nothing that a run can say. */
static OrtErrorCode code_of_node(ox_code code, const char *op) {
  bool slice = strcmp(op, "Slice") == 0;
  if (code == OX_INVALID_MODEL) return slice ? ORT_INVALID_ARGUMENT : ORT_FAIL;
  char word[70];
  snprintf(word, sizeof word, "|%s|", op);
  return strstr(plain, word) != NULL ? ORT_FAIL : ORT_INVALID_ARGUMENT;
}

OrtStatus *ort_run_explain(ox_status *st, const OrtSession *s, const OrtRunOptions *options, const ort_run_call *c) {
  ox_code code = ox_status_code(st);
  OrtStatus *why = NULL;
  if (code == OX_CANCELLED && options != NULL && options->terminate)
    why = ort_fail(ORT_FAIL, "Exiting due to terminate flag being set to true.");
  if (code == OX_INVALID_ARGUMENT || code == OX_SHAPE_MISMATCH) {
    why = check_names(s->session, c->input_names, c->n_inputs, c->output_names, c->n_outputs);
    if (why == NULL) why = check_values(s->session, c->input_names, c->inputs, c->n_inputs);
    bool all = options == NULL || options->state == NULL; /* else the state has some of them */
    if (why == NULL && all) why = check_missing(s->session, c->input_names, c->n_inputs);
  }
  char op[64];
  bool refused = code == OX_INVALID_ARGUMENT || code == OX_SHAPE_MISMATCH || code == OX_INVALID_MODEL;
  if (why == NULL && refused && find_operator(ox_status_message(st), op))
    why = ort_fail(code_of_node(code, op), "%s", ox_status_message(st));
  if (why == NULL) return ort_status_from(st);
  ox_status_free(st);
  return why;
}
