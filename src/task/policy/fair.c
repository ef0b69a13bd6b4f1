/* SPDX-License-Identifier: Apache-2.0
 * task/policy/fair.c - equal shares for callers that compete for processors. */
#include "task/policy/fair.h"

#include "base/macros.h"

enum {
  LEAD_NS = 3000 * 1000,   /* how far ahead a caller may be; 1 ms is no fairer and costs 4 % of all loops */
  ABSENT_NS = 50000 * 1000 /* a caller that has not checked for so long no longer competes; longer than it can be kept
                              from running */
};

/* The smallest account among the others; false if none competes. */
static bool find_last(const ox_fair *fair, uint32_t index, uint64_t now, uint64_t *out_used) {
  bool found = false;
  for (uint32_t i = 0; i < OX_FAIR_ACCOUNTS; i++) {
    uint64_t seen = atomic_load_explicit(&fair->accounts[i].seen_ns, memory_order_relaxed);
    if (i == index || !seen || (now > seen && now - seen > ABSENT_NS)) continue;
    uint64_t used = atomic_load_explicit(&fair->accounts[i].used_ns, memory_order_relaxed);
    *out_used = found ? OX_MIN(*out_used, used) : used;
    found = true;
  }
  return found;
}

bool ox_fair_is_ahead(ox_fair *fair, uint32_t index, ox_fair_look *last, uint64_t now, ox_thread_usage usage) {
  index %= OX_FAIR_ACCOUNTS;
  ox_fair_look was = *last;
  *last = (ox_fair_look){fair, now, usage};
  bool recent = was.fair == fair && now - was.now_ns < ABSENT_NS, competes = recent && was.usage.sleeps == usage.sleeps;
  uint64_t least = 0, used = atomic_load_explicit(&fair->accounts[index].used_ns, memory_order_relaxed);
  bool others = find_last(fair, index, now, &least);
  if (recent) used += usage.cpu_ns - was.usage.cpu_ns;
  if (!competes && others) used = OX_MIN(OX_MAX(used, least), least + LEAD_NS);
  atomic_store_explicit(&fair->accounts[index].used_ns, used, memory_order_relaxed);
  atomic_store_explicit(&fair->accounts[index].seen_ns, competes ? now : 0, memory_order_relaxed);
  return competes && others && used > least + LEAD_NS;
}
