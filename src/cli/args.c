/* SPDX-License-Identifier: Apache-2.0
 * cli/args.c - getopt_long over a command's table. */
#include "args.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

/* What getopt_long returns for option i is LONG + i: above every letter. */
enum { OPERAND = 1, LONG = 256, MOST_OPTIONS = 32 };

typedef struct {
  struct option longs[MOST_OPTIONS + 2];
  char letters[2 * MOST_OPTIONS + 4];
} tables;

static void make_tables(const cli_command *c, tables *t) {
  assert(c->n_options <= MOST_OPTIONS);
  /* '-': operands come one by one, also where POSIXLY_CORRECT is set; ':': a missing value is told from no such option
   */
  size_t n = (size_t)snprintf(t->letters, sizeof t->letters, "-:h");
  memset(t->longs, 0, sizeof t->longs);
  for (size_t i = 0; i < c->n_options; i++) {
    const cli_option *o = &c->options[i];
    t->longs[i] = (struct option){o->name, o->arg ? required_argument : no_argument, NULL, LONG + (int)i};
    if (o->letter) n += (size_t)snprintf(t->letters + n, sizeof t->letters - n, o->arg ? "%c:" : "%c", o->letter);
  }
  t->longs[c->n_options] = (struct option){"help", no_argument, NULL, LONG + (int)c->n_options};
}

static const cli_option *option_of(const cli_command *c, int got) {
  if (got >= LONG) return &c->options[got - LONG];
  for (size_t i = 0; i < c->n_options; i++)
    if (got && c->options[i].letter == got) return &c->options[i];
  return NULL;
}

/* ---- what is wrong ---- */

static cli_parsed wrong(const cli_command *c, const char *what, const char *name) {
  fprintf(stderr, "onyx %s: %s: %s (see onyx %s --help)\n", c->name, what, name, c->name);
  return CLI_WRONG;
}

static cli_parsed wrong_option(const cli_command *c, const char *what, const char *name) {
  char dashed[64];
  snprintf(dashed, sizeof dashed, "--%s", name);
  return wrong(c, what, dashed);
}

/* Options that a shortened name may stand for. */
static size_t count_beginning(const cli_command *c, const char *name) {
  size_t n = 0;
  for (size_t i = 0; i < c->n_options; i++) n += strncmp(c->options[i].name, name, strlen(name)) == 0;
  return n;
}

/* getopt_long does not know |arg|, or it is a flag with a value. */
static cli_parsed not_understood(const cli_command *c, const tables *t, char *arg) {
  char letter[] = {'-', (char)optopt, 0};
  if (optopt >= LONG) return wrong_option(c, "the option takes no value", t->longs[optopt - LONG].name);
  if (optopt) return wrong(c, "no such option", letter);
  arg[strcspn(arg, "=")] = 0;
  return wrong(c, count_beginning(c, arg + 2) > 1 ? "more than one option begins so" : "no such option", arg);
}

/* ---- values ---- */

static cli_parsed set_integer(const cli_command *c, const cli_option *o, const char *text) {
  char *end;
  errno = 0;
  long long v = strtoll(text, &end, 10);
  *o->integer = v;
  if (*text && !*end && !errno && v >= o->least && v <= o->most) return CLI_GO;
  fprintf(stderr, "onyx %s: --%s wants a whole number from %lld to %lld, got '%s'\n", c->name, o->name, o->least,
          o->most, text);
  return CLI_WRONG;
}

static cli_parsed set_number(const cli_command *c, const cli_option *o, const char *text) {
  char *end;
  *o->number = strtod(text, &end);
  if (*text && !*end && *o->number >= 0) return CLI_GO; /* which NaN is not */
  fprintf(stderr, "onyx %s: --%s wants a number that is not negative, got '%s'\n", c->name, o->name, text);
  return CLI_WRONG;
}

static cli_parsed set(const cli_command *c, const cli_option *o, char *value) {
  if (o->flag) *o->flag = true;
  if (o->text) *o->text = value;
  if (o->integer) return set_integer(c, o, value);
  if (o->number) return set_number(c, o, value);
  if (!o->list) return CLI_GO;
  if (o->list->n == CLI_MOST) return wrong_option(c, "the option is repeated too often", o->name);
  o->list->items[o->list->n++] = value;
  return CLI_GO;
}

/* ---- all of it ---- */

static cli_parsed check_operands(const cli_command *c, const cli_operands *operands) {
  if (c->operand && !operands->n) return wrong(c, "an argument is missing", c->operand);
  size_t most = !c->operand ? 0 : c->many ? operands->n : 1;
  return operands->n > most ? wrong(c, "an argument too many", operands->items[most]) : CLI_GO;
}

cli_parsed cli_parse(const cli_command *c, int argc, char **argv, cli_operands *out_operands) {
  tables t;
  make_tables(c, &t);
  *out_operands = (cli_operands){argv, 0}; /* gathered at the front of argv, never past where getopt_long is */
  opterr = 0;
  for (int got; (got = getopt_long(argc, argv, t.letters, t.longs, NULL)) != -1;) {
    if (got == OPERAND) {
      argv[out_operands->n++] = optarg;
      continue;
    }
    if (got == 'h' || got == LONG + (int)c->n_options) return CLI_HELP;
    if (got == '?') return not_understood(c, &t, argv[optind - 1]);
    if (got == ':') return wrong_option(c, "the option wants a value", option_of(c, optopt)->name);
    if (set(c, option_of(c, got), optarg) != CLI_GO) return CLI_WRONG;
  }
  while (optind < argc) argv[out_operands->n++] = argv[optind++]; /* after "--" */
  return check_operands(c, out_operands);
}
