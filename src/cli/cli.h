/* SPDX-License-Identifier: Apache-2.0
 * cli/cli.h - what the commands share. The command line sees public headers only, and the engine's writer of JSON. */
#ifndef OX_CLI_CLI_H
#define OX_CLI_CLI_H

#include "args.h"
#include "base/json.h"
#include "onyx/onyx.h"

/* Exit codes: 0 all well, 1 the work failed, 2 wrong usage. */
enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* Prints "onyx: <text>" for a status on stderr and frees it; returns EXIT_FAILED. */
int cli_fail(ox_status *st);

/* ---- files (files.c) ---- */

/* The whole file in malloc'd memory, the caller's to free. NULL if it cannot be read: errno says why. */
unsigned char *cli_read_file(const char *path, size_t *out_n);
bool cli_is_dir(const char *path);
bool cli_exists(const char *path);
/* For the API's functions that write: |file| is a FILE *. */
int cli_write(void *file, const void *bytes, size_t n);
/* A document of JSON on standard output. */
ox_json cli_json(void);

/* A value recorded in a file, as the model declares it: a TensorProto, a SequenceProto, an OptionalProto ...; false
 * with the reason in |why|. */
bool cli_load_value(ox_env *env, const char *path, const ox_value_info *declared, ox_value **out_value, char *why,
                    size_t n_why);

/* ---- comparing (compare.c) ---- */
typedef struct cli_tolerance {
  double rtol, atol, atol_max; /* |got - want| <= rtol * |want| + atol + atol_max * max |want| */
  bool shapes_only;            /* random outputs: types and shapes are compared, values are not */
  double cosine;               /* above 0: instead, at least this cosine */
  bool same_top;               /* and then the largest element is to be the same one */
} cli_tolerance;
#define CLI_TOLERANCE_OPTIONS(t)                                                                                      \
  CLI_NUMBER("rtol", "R", &(t).rtol, "relative tolerance"), CLI_NUMBER("atol", "A", &(t).atol, "absolute tolerance"), \
      CLI_NUMBER("atol-max", "X", &(t).atol_max, "tolerance relative to the largest expected magnitude")
/* True if equal; else |why| (of |n| bytes) tells the first difference. */
bool cli_equal(const ox_tensor *got, const ox_tensor *want, const cli_tolerance *tol, char *why, size_t n);
/* The element where tensors of numbers of one type and shape differ most; -1: they are no such tensors. */
int64_t cli_worst(const ox_tensor *got, const ox_tensor *want);

/* ---- progress (progress.c): a bar on stderr, on a terminal only, once the work has taken a second ---- */
typedef struct cli_progress {
  const char *what;
  bool terminal;
  double start_ms, shown_ms;
} cli_progress;
void cli_progress_start(cli_progress *p, const char *what);
void cli_progress_at(cli_progress *p, double part, size_t done); /* part below 0: not known, |done| is shown */
void cli_progress_end(cli_progress *p);

/* ---- time ---- */
double cli_now_ms(void);
double cli_peak_rss_mb(void);

#endif
