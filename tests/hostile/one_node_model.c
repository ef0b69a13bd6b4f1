/* SPDX-License-Identifier: Apache-2.0
 * hostile/one_node_model.c - see one_node_model.h. */
#include "hostile/one_node_model.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const dtype_names[OX_DTYPE_COUNT] = {
    "undefined",  "float",        "uint8",          "int8",       "uint16",         "int16",  "int32",     "int64",
    "string",     "bool",         "float16",        "double",     "uint32",         "uint64", "complex64", "complex128",
    "bfloat16",   "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",  "int4",      "float4e2m1",
    "float8e8m0", "uint2",        "int2",           "float6e2m3", "float6e3m2"};

const char *hostile_dtype_name(uint32_t dtype) { return dtype < OX_DTYPE_COUNT ? dtype_names[dtype] : "undefined"; }

int64_t hostile_count(const hostile_value *v) {
  int64_t n = 1;
  for (int i = 0; i < v->rank; i++)
    if (v->dim[i] == 0) return 0;
  for (int i = 0; i < v->rank; i++)
    if (v->dim[i] < 0 || v->dim[i] > 1 << 20 || (n *= v->dim[i]) > 1 << 20) return -1;
  return n;
}

/* ---- reading ---- */

static char *skip(char *p) {
  while (isspace((unsigned char)*p)) p++;
  return p;
}

/* The end of a piece that begins at |p|: the comma or |close| that is in no bracket, brace or string. */
static char *piece_end(char *p, char close) {
  int depth = 0;
  for (bool text = false; *p; p++) {
    if (text && *p == '\\' && p[1])
      p++;
    else if (*p == '"')
      text = !text;
    else if (text)
      continue;
    else if (!depth && (*p == ',' || *p == close))
      return p;
    else if (strchr("[{(", *p))
      depth++;
    else if (strchr("]})", *p))
      depth--;
  }
  return NULL;
}

static void trim(char *p) {
  size_t n = strlen(p);
  while (n && isspace((unsigned char)p[n - 1])) p[--n] = 0;
}

static bool read_attr(char *text, hostile_attr *out) {
  char *eq = strchr(text, '=');
  if (!eq || (size_t)(eq - text) >= MOST_NAME || strlen(eq + 1) >= MOST_ATTR_TEXT) return false;
  *eq = 0;
  trim(text);
  strcpy(out->name, skip(text));
  strcpy(out->text, skip(eq + 1));
  return true;
}

static bool read_dims(char *p, hostile_value *out) {
  while (*(p = skip(p))) {
    if (out->rank == OX_MAX_RANK) return false;
    char *end;
    out->dim[out->rank++] = strtoll(p, &end, 10);
    if (end == p) return false;
    p = skip(end);
    if (*p == ',') p++;
  }
  return true;
}

static bool read_values(char *p, hostile_value *out) {
  if (out->dtype == OX_STRING) return true;
  while (*(p = skip(p))) {
    char *end;
    double v = strtod(p, &end);
    if (end == p) return false;
    if (out->n_values < MOST_VALUES) out->values[out->n_values++] = v;
    p = skip(end);
    if (*p == ',') p++;
  }
  return true;
}

static bool read_input(char *text, hostile_value *out) {
  *out = (hostile_value){0};
  trim(text = skip(text));
  if (!*text) return out->left_out = true;
  if (strncmp(text, "seq(", 4) == 0 || strncmp(text, "optional(", 9) == 0) {
    out->wrapped = *text == 's' ? OX_SEQUENCE : OX_NONE_VALUE;
    text = strchr(text, '(') + 1;
    char *close = strrchr(text, ')');
    if (!close) return false;
    *close = 0;
  }
  char *brace = strchr(text, '{');
  char *bracket = strchr(text, '[');
  if (brace) {
    char *close = strrchr(brace, '}');
    if (!close) return false;
    *close = 0, *brace++ = 0;
    if (bracket && bracket >= brace) bracket = NULL;
  }
  if (bracket) {
    char *close = strchr(bracket, ']');
    if (!close) return false;
    *close = 0, *bracket++ = 0;
  }
  trim(text);
  for (uint32_t d = 1; d < OX_DTYPE_COUNT; d++)
    if (strcmp(text, dtype_names[d]) == 0) out->dtype = d;
  return out->dtype && (!bracket || read_dims(bracket, out)) && (!brace || read_values(brace, out));
}

/* What stands between the bracket before |*p| and |close|, piece by piece. */
static bool read_attrs(char **p, one_node_model *out) {
  for (bool last = false; !last;) {
    char *end = piece_end(*p, '>');
    if (!end || out->n_attrs == MOST_ATTRS) return false;
    last = *end == '>';
    *end = 0;
    if (!read_attr(*p, &out->attrs[out->n_attrs++])) return false;
    *p = end + 1;
  }
  return true;
}

static bool read_inputs(char **p, one_node_model *out) {
  for (bool last = false; !last;) {
    char *end = piece_end(*p, ')');
    if (!end || out->n_in == MOST_IN) return false;
    last = *end == ')';
    *end = 0;
    if (!read_input(*p, &out->in[out->n_in++])) return false;
    *p = end + 1;
  }
  if (out->n_in == 1 && out->in[0].left_out) out->n_in = 0; /* () */
  return true;
}

bool one_node_read(char *line, one_node_model *out, const char **out_at) {
  *out = (one_node_model){0};
  char *p = line;
  *out_at = line;
  out->version = (int)strtol(p, &p, 10);
  p = skip(p);
  size_t n = strcspn(p, " <(");
  if (!out->version || !n || n >= sizeof out->op) return false;
  memcpy(out->op, p, n);
  *out_at = p = skip(p + n);
  if (*p == '<' && (p++, !read_attrs(&p, out))) return false;
  *out_at = p = skip(p);
  if (*p++ != '(' || !read_inputs(&p, out)) return false;
  *out_at = p;
  out->n_out = (int)strtol(p, &p, 10);
  return out->n_out >= 0 && out->n_out <= MOST_OUT;
}

uint32_t one_node_read_file(const char *path, one_node_model *out) {
  FILE *f = fopen(path, "r");
  char line[4096], copy[4096];
  const char *at = path;
  uint32_t n = 0;
  bool ok = f != NULL;
  while (ok && fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = 0;
    if (!line[0] || line[0] == '#') continue;
    strcpy(copy, line);
    ok = n < MOST_SEEDS && one_node_read(line, &out[n++], &at);
  }
  if (f) fclose(f);
  if (!ok) fprintf(stderr, "cannot read: %s\n", f ? copy : path);
  return ok ? n : 0;
}
