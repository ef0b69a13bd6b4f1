/* SPDX-License-Identifier: Apache-2.0
 * task/model/park.pml - the sleep handshake of wake.h: an owner of four loops in two slots that runs none of their
 * blocks itself, and three workers, one of which has to quit halfway. Who joins a loop that has more blocks wakes two
 * more. A lost wake is a state where nobody can move: an invalid end state. One transition is one access to shared
 * memory, seq_cst, and the local steps after it.
 * Must be found wrong: LOSE=1 a worker looks before it announces; 2 the owner looks for sleepers before it publishes;
 * 3 parked is set after the announcement; 4 a quitting worker is woken before it is told; 5 bits are cleared by load and
 * store; 6 a slot counts as used only after the look for sleepers. */
#ifndef LOSE
#define LOSE 0
#endif
#define WORKERS 3
#define LOOPS 4
#define BLOCKS 2
#define SLOTS 2
#define BIT(i) (1 << (i))

byte range[SLOTS]; /* unclaimed blocks */
byte used;         /* n_used */
byte asleep;       /* the mask */
bool parked[WORKERS], quit[WORKERS], left[WORKERS];

/* The next sleeper in our copy of the mask. */
inline next_sleeper() {
  do
  :: bits == 0 || want == 0 -> bits = 0; want = 0; w = 0; break
  :: bits > 0 && want > 0 && (bits & 1) -> break
  :: bits > 0 && want > 0 && !(bits & 1) -> bits = bits >> 1; w++
  od
}

/* P2, then a fetch_and for each bit seen; who clears it owes the wake, which may come late. */
inline wake(most) {
  atomic { bits = asleep; want = most; next_sleeper() }
  do
  :: bits == 0 -> break
#if LOSE == 5
  :: atomic { bits > 0 && (asleep & BIT(w)) -> old = asleep }
    atomic { asleep = old & ~BIT(w); old = 0 }
#else
  :: atomic { bits > 0 && (asleep & BIT(w)) -> asleep = asleep & ~BIT(w) }
#endif
    atomic { parked[w] = false; want--; bits = bits >> 1; w++; next_sleeper() }
  :: atomic { bits > 0 && !(asleep & BIT(w)) -> bits = bits >> 1; w++; next_sleeper() }
  od
}

inline stop(i) {
#if LOSE == 4
  parked[i] = false;
  quit[i] = true;
#else
  quit[i] = true; /* P1 */
  parked[i] = false;
#endif
  left[i] /* join */
}

active proctype owner() {
  byte l, w, bits, want, old, s;
  do
  :: l == LOOPS -> break
  :: l < LOOPS ->
    s = l % SLOTS;
#if LOSE == 2
    wake(BLOCKS - 1);
#endif
#if LOSE != 6
    if
    :: used <= s -> used = s + 1
    :: else
    fi;
#endif
    range[s] = BLOCKS; /* P1 */
#if LOSE != 2
    wake(BLOCKS - 1);
#endif
#if LOSE == 6
    if
    :: used <= s -> used = s + 1
    :: else
    fi;
#endif
    atomic { range[s] == 0 -> l++ } /* blocks until all are taken */
    if
    :: l == LOOPS / 2 -> stop(2)
    :: else
    fi
  od;
  stop(0);
  stop(1)
}

inline claim(s) {
  atomic { range[s] > 0 -> range[s] = range[s] - 1; more = (range[s] > 0) }
  if
  :: more -> more = false; wake(2)
  :: else
  fi
}

proctype worker(byte me) {
  byte w, bits, want, old, n;
  bool more;
  do
  :: quit[me] -> break
  :: claim(0)
  :: claim(1)
  :: else ->
#if LOSE == 1
    parked[me] = true;
    asleep = asleep | BIT(me);
    !parked[me];
#else
#if LOSE == 3
    asleep = asleep | BIT(me);
    parked[me] = true;
#else
    parked[me] = true;
    asleep = asleep | BIT(me); /* W1 */
#endif
    n = used; /* W2: the slots in use, each of them, then quit */
    if
    :: n > 0 && range[0] > 0
    :: else ->
      if
      :: n > 1 && range[1] > 0
      :: else ->
        if
        :: quit[me]
        :: else -> !parked[me] /* sleeps */
        fi
      fi
    fi;
    n = 0;
#endif
    asleep = asleep & ~BIT(me)
  od;
  left[me] = true
}

init { atomic { run worker(0); run worker(1); run worker(2) } }
