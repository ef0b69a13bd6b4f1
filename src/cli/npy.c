/* SPDX-License-Identifier: Apache-2.0
 * cli/npy.c - reads and writes .npy. */
#include "npy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  uint32_t dtype;
  const char *descr;
} descrs[] = {{OX_F32, "<f4"}, {OX_F64, "<f8"},  {OX_F16, "<f2"}, {OX_I8, "|i1"},   {OX_I16, "<i2"},
              {OX_I32, "<i4"}, {OX_I64, "<i8"},  {OX_U8, "|u1"},  {OX_U16, "<u2"},  {OX_U32, "<u4"},
              {OX_U64, "<u8"}, {OX_BOOL, "|b1"}, {OX_C64, "<c8"}, {OX_C128, "<c16"}};

enum { N_DESCRS = sizeof descrs / sizeof *descrs, MOST_HEADER = 65536 };

/* The text after 'key': in the header's dictionary, or NULL. */
static const char *field(const char *header, const char *key) {
  const char *at = strstr(header, key);
  at = at ? strchr(at, ':') : NULL;
  if (!at) return NULL;
  for (at++; *at == ' '; at++) {
  }
  return at;
}

/* NULL, or what is wrong with the header. */
static const char *parse_header(const char *header, uint32_t *dtype, int64_t *dims, size_t *rank, bool *fortran) {
  const char *descr = field(header, "'descr'"), *order = field(header, "'fortran_order'"),
             *shape = field(header, "'shape'");
  if (!descr || !order || !shape || *shape != '(') return "malformed .npy header";
  *fortran = strncmp(order, "True", 4) == 0;
  *dtype = OX_UNDEFINED;
  for (size_t i = 0; i < N_DESCRS; i++)
    if (*descr == '\'' && strncmp(descr + 1, descrs[i].descr, strlen(descrs[i].descr)) == 0 &&
        descr[1 + strlen(descrs[i].descr)] == '\'')
      *dtype = descrs[i].dtype;
  if (*dtype == OX_UNDEFINED) return "of a type other than little-endian numbers, complex numbers and bool";
  *rank = 0;
  for (const char *at = shape + 1; *at && *at != ')';) {
    char *end;
    long long d = strtoll(at, &end, 10);
    if (end == at || d < 0 || *rank == OX_MAX_RANK) return "malformed shape, or more than 16 dimensions";
    dims[(*rank)++] = d;
    for (at = end; *at == ',' || *at == ' '; at++) {
    }
  }
  return NULL;
}

/* Elements of |each| bytes whose first index runs fastest to where the last one does. */
static void copy_fortran(char *to, const unsigned char *from, const int64_t *dims, size_t rank, size_t each) {
  int64_t at[OX_MAX_RANK] = {0}, n = 1;
  for (size_t d = 0; d < rank; d++) n *= dims[d];
  for (int64_t i = 0; i < n; i++) {
    int64_t offset = 0;
    for (size_t d = rank; d-- > 0;) offset = offset * dims[d] + at[d];
    memcpy(to + (size_t)i * each, from + (size_t)offset * each, each);
    for (size_t d = rank; d-- > 0 && ++at[d] == dims[d];) at[d] = 0;
  }
}

bool npy_read(ox_env *env, const char *path, ox_value **out_value, char *why, size_t n_why) {
  size_t n, rank, start;
  int64_t dims[OX_MAX_RANK];
  uint32_t dtype;
  bool fortran = false;
  char *header = NULL;
  unsigned char *b = cli_read_file(path, &n);
  *out_value = NULL;
  snprintf(why, n_why, "%s: %s", path, b ? "not a .npy file" : strerror(errno));
  if (!b || n < 12 || memcmp(b, "\x93NUMPY", 6) != 0) goto done;
  size_t len = b[6] == 1 ? (size_t)(b[8] | b[9] << 8)
                         : (size_t)b[8] | (size_t)b[9] << 8 | (size_t)b[10] << 16 | (size_t)b[11] << 24;
  start = b[6] == 1 ? 10 : 12;
  const char *wrong = "malformed .npy header";
  if (len <= MOST_HEADER && start + len <= n && (header = malloc(len + 1))) {
    memcpy(header, b + start, len), header[len] = 0;
    wrong = parse_header(header, &dtype, dims, &rank, &fortran);
  }
  if (wrong) {
    snprintf(why, n_why, "%s: %s", path, wrong);
    goto done;
  }
  ox_status *st = ox_value_create(env, dtype, dims, rank, out_value);
  if (st) {
    snprintf(why, n_why, "%s: %s", path, ox_status_message(st));
    ox_status_free(st);
  } else if (n - start - len < ox_value_get(*out_value)->bytes) {
    snprintf(why, n_why, "%s: the file ends early", path);
    ox_value_release(*out_value);
    *out_value = NULL;
  } else if (fortran) {
    copy_fortran(ox_value_data(*out_value), b + start + len, dims, rank, ox_type_bits(dtype) / 8);
  } else {
    memcpy(ox_value_data(*out_value), b + start + len, ox_value_get(*out_value)->bytes);
  }
done:
  free(header);
  free(b);
  return *out_value != NULL;
}

bool npy_write(const char *path, const ox_tensor *t, char *why, size_t n_why) {
  const char *descr = NULL;
  for (size_t i = 0; i < N_DESCRS; i++)
    if (descrs[i].dtype == t->dtype) descr = descrs[i].descr;
  if (!descr || t->kind != OX_TENSOR) {
    snprintf(why, n_why, "%s has no NumPy type", ox_type_name(t->dtype));
    return false;
  }
  char header[1024];
  int n = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
  for (int i = 0; i < t->shape.rank; i++)
    n += snprintf(header + n, sizeof header - (size_t)n, "%lld,", (long long)t->shape.dim[i]);
  n += snprintf(header + n, sizeof header - (size_t)n, "), }");
  while ((10 + n + 1) % 64) header[n++] = ' '; /* the data begins on a multiple of 64 */
  header[n++] = '\n';
  FILE *f = fopen(path, "wb");
  const unsigned char start[10] = {
      0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(n & 255), (unsigned char)(n >> 8)};
  bool ok = f && fwrite(start, 1, 10, f) == 10 && fwrite(header, 1, (size_t)n, f) == (size_t)n &&
            fwrite(t->data, 1, t->bytes, f) == t->bytes;
  if (f && fclose(f) != 0) ok = false;
  if (!ok) snprintf(why, n_why, "%s cannot be written: %s", path, strerror(errno));
  return ok;
}
