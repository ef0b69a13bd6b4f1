/* SPDX-License-Identifier: Apache-2.0
 * task/model/park.pml - the sleep handshake of task_pool.h: an owner that publishes work and never runs it itself, two
 * workers, and the end of the pool. A lost wake is a state where nobody can move: Spin reports an invalid end state.
 * Each statement is one atomic access, seq_cst; LOSE=1 swaps announce and look, and must be found wrong. */
#ifndef LOSE
#define LOSE 0
#endif
#define WORKERS 2
#define LOOPS 4

byte range0;           /* unclaimed blocks */
bool asleep[WORKERS];  /* bits of pool->asleep */
bool parked[WORKERS];
bool quit[WORKERS];

/* Clears the bit; who gets true owes the wake. */
inline take(w, got) { atomic { got = asleep[w]; asleep[w] = false } }

inline wake(w) {
  take(w, mine);
  if
  :: mine -> parked[w] = false
  :: else
  fi
}

active proctype owner() {
  byte i, w;
  bool mine;
  for (i : 1 .. LOOPS) {
    range0 = 1; /* P1 */
    w = 0;
    do /* P2: any one sleeper */
    :: w < WORKERS && asleep[w] -> wake(w); break
    :: w < WORKERS && !asleep[w] -> w++
    :: w == WORKERS -> break
    od;
    range0 == 0 /* blocks until somebody took it */
  }
  for (i : 0 .. WORKERS - 1) {
    quit[i] = true;
    parked[i] = false
  }
}

proctype worker(byte me) {
  bool mine;
  do
  :: quit[me] -> break
  :: else ->
    if
    :: atomic { range0 > 0 -> range0-- } /* the claim */
    :: else ->
      if
      :: LOSE -> (range0 == 0 && !quit[me]) -> parked[me] = true; asleep[me] = true; !parked[me]
      :: !LOSE ->
        parked[me] = true;
        asleep[me] = true; /* W1 */
        if
        :: range0 > 0 || quit[me] /* W2: something to do */
        :: else -> !parked[me]    /* sleeps */
        fi
      fi;
      take(me, mine)
    fi
  od
}

init {
  byte i;
  atomic { for (i : 0 .. WORKERS - 1) { run worker(i) } }
}
