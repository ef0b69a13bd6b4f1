/* SPDX-License-Identifier: Apache-2.0
 * cli/help.c - a command's --help, from its table. */
#include <string.h>

#include "args.h"

enum { LEFT_MOST = 64 };

/* "-o, --output FILE" */
static int left_of(const cli_option *o, char *out) {
  int n = o->letter ? snprintf(out, LEFT_MOST, "-%c, ", o->letter) : 0;
  return n + snprintf(out + n, (size_t)(LEFT_MOST - n), "--%s%s%s", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
}

static void print_row(const cli_option *o, int width, FILE *to) {
  char left[LEFT_MOST];
  left_of(o, left);
  fprintf(to, "  %-*s  ", width, left);
  for (const char *at = o->help; *at; at++) {
    fputc(*at, to);
    if (*at == '\n') fprintf(to, "%*s", width + 4, "");
  }
  if (o->integer) fprintf(to, " (%lld)", *o->integer);
  if (o->number) fprintf(to, " (%g)", *o->number);
  if (o->list) fprintf(to, "; may be repeated");
  fputc('\n', to);
}

void cli_print_help(const cli_command *c, FILE *to) {
  static const cli_option help = {.name = "help", .letter = 'h', .help = "this text"};
  char left[LEFT_MOST];
  int width = left_of(&help, left);
  fprintf(to, "usage: onyx %s", c->name);
  for (size_t i = 0; i < c->n_options; i++) {
    int n = left_of(&c->options[i], left);
    if (n > width) width = n;
  }
  fprintf(to, " [OPTION]...%s%s%s\n\n%s\n\n", c->operand ? " " : "", c->operand ? c->operand : "", c->many ? "..." : "",
          c->about);
  for (size_t i = 0; i < c->n_options; i++) print_row(&c->options[i], width, to);
  print_row(&help, width, to);
}
