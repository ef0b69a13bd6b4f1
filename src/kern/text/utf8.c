/* SPDX-License-Identifier: Apache-2.0
 * kern/text/utf8.c - decoding, encoding, case mapping. */
#include "kern/text/utf8.h"

#include "base/macros.h"

size_t ox_utf8_next(const char *p, size_t n, uint32_t *out_cp) {
  const unsigned char *s = (const unsigned char *)p;
  uint32_t c = s[0], least;
  size_t len;
  *out_cp = c;
  if (c < 0x80) return 1;
  if (c >= 0xc2 && c < 0xe0)
    len = 2, least = 0x80, c &= 31;
  else if (c >= 0xe0 && c < 0xf0)
    len = 3, least = 0x800, c &= 15;
  else if (c >= 0xf0 && c < 0xf5)
    len = 4, least = 0x10000, c &= 7;
  else
    len = n + 1, least = 0;
  *out_cp = 0xfffd;
  if (len > n) return 1;
  for (size_t i = 1; i < len; i++) {
    if ((s[i] & 0xc0) != 0x80) return 1;
    c = c << 6 | (s[i] & 63);
  }
  if (c < least || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return 1;
  *out_cp = c;
  return len;
}

size_t ox_utf8_put(uint32_t cp, char *out) {
  if (cp < 0x80) {
    out[0] = (char)cp;
    return 1;
  }
  size_t len = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
  for (size_t i = len - 1; i > 0; i--) out[i] = (char)(0x80 | (cp & 63)), cp >>= 6;
  out[0] = (char)((len == 2 ? 0xc0 : len == 3 ? 0xe0 : 0xf0) | cp);
  return len;
}

/* Upper-case letters [first, last], every |step|-th one; their lower case is |delta| on. */
static const struct {
  uint16_t first, last;
  uint8_t step;
  int16_t delta;
} cases[] = {
    {0x41, 0x5a, 1, 32},     {0xc0, 0xd6, 1, 32},    {0xd8, 0xde, 1, 32},     {0x100, 0x12e, 2, 1},
    {0x132, 0x136, 2, 1},    {0x139, 0x147, 2, 1},   {0x14a, 0x176, 2, 1},    {0x178, 0x178, 1, -121},
    {0x179, 0x17d, 2, 1},    {0x1cd, 0x1db, 2, 1},   {0x1de, 0x1ee, 2, 1},    {0x1f8, 0x21e, 2, 1},
    {0x222, 0x232, 2, 1},    {0x386, 0x386, 1, 38},  {0x388, 0x38a, 1, 37},   {0x38c, 0x38c, 1, 64},
    {0x38e, 0x38f, 1, 63},   {0x391, 0x3a1, 1, 32},  {0x3a3, 0x3ab, 1, 32},   {0x3d8, 0x3ee, 2, 1},
    {0x400, 0x40f, 1, 80},   {0x410, 0x42f, 1, 32},  {0x460, 0x480, 2, 1},    {0x48a, 0x4be, 2, 1},
    {0x4c0, 0x4c0, 1, 15},   {0x4c1, 0x4cd, 2, 1},   {0x4d0, 0x52e, 2, 1},    {0x531, 0x556, 1, 48},
    {0x1e00, 0x1e94, 2, 1},  {0x1ea0, 0x1efe, 2, 1}, {0x2160, 0x216f, 1, 16}, {0x24b6, 0x24cf, 1, 26},
    {0xff21, 0xff3a, 1, 32},
};

uint32_t ox_utf8_lower(uint32_t cp) {
  for (size_t i = 0; i < OX_COUNT(cases) && cp >= cases[i].first; i++)
    if (cp <= cases[i].last && (cp - cases[i].first) % cases[i].step == 0)
      return (uint32_t)((int32_t)cp + cases[i].delta);
  return cp;
}

uint32_t ox_utf8_upper(uint32_t cp) {
  if (cp == 0xb5) return 0x39c;  /* micro sign */
  if (cp == 0x3c2) return 0x3a3; /* final sigma */
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    uint32_t up = (uint32_t)((int32_t)cp - cases[i].delta);
    if (up >= cases[i].first && up <= cases[i].last && (up - cases[i].first) % cases[i].step == 0) return up;
  }
  return cp;
}
