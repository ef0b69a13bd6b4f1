# SPDX-License-Identifier: Apache-2.0
"""How much of the machine others use while something is measured."""
import os
import pathlib
import resource
import time

BUSY_WARNING = 5.0


def busy_seconds():
    """CPU time the whole machine has spent, and what the host took."""
    ticks = [int(x) for x in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    user, nice, system, _idle, _wait, irq, softirq, steal = ticks[:8]
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(r.ru_utime + r.ru_stime for r in both)


class Foreign:
    """CPU time used by others since the start, in % of all processors."""

    def __init__(self):
        self.start = (busy_seconds(), own_seconds(), time.monotonic())

    def percent(self):
        busy, own, wall = busy_seconds(), own_seconds(), time.monotonic()
        others = (busy - self.start[0]) - (own - self.start[1])
        return max(0.0, 100 * others / (os.cpu_count() * (wall - self.start[2])))
