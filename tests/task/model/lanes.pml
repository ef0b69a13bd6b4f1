/* SPDX-License-Identifier: Apache-2.0
 * task/model/lanes.pml - claiming and stealing of parallel.h: an owner and two helpers, four loops of four blocks one
 * after the other in the same slot. The first and the last loop admit both helpers, the second helper 1 only, the third
 * helper 2 only; in the second a block fails. Helpers hold what they read of a lane for as long as they like (late
 * thieves, ABA). Every block runs once, in its own loop, or is skipped after the error; nobody is inside a loop when the
 * owner reuses the slot, nobody enters one that excludes him; an owner that sleeps on |pending| is woken. One transition
 * is one access to shared memory and the local steps after it.
 * Must be found wrong: LOSE=1 a steal does not compare; 2 nor the gate; 3 blocks are reported before they run; 4 the
 * owner sleeps whatever |pending| is by then; 5 the owner returns when the lanes are empty; 6 a thief's lane is filled
 * before the steal succeeds; 7 nobody wakes the owner. */
#ifndef LOSE
#define LOSE 0
#endif
#ifndef LOOPS
#define LOOPS 4
#endif
#define LANES 3
#ifndef BLOCKS
#define BLOCKS 4
#endif
#define GATE(l) ((l) == 2 -> 1 : ((l) == 3 -> 2 : 0)) /* the only helper admitted; 0: both */
#define FAILS(l, i) ((l) == 2 && (i) == 2)
#define ADMITS(g, me) ((g) == 0 || (me) == 0 || (g) == (me))

byte begin[LANES], end[LANES], gate[LANES]; /* the words */
byte pending;
bool waiting;  /* OX_PARK_WAITING, in the same word */
bool sleeping; /* the owner, on that word */
byte loop;     /* stands for the slot's fields */
bool error;
short ran;     /* the blocks that ran in this loop */
bool over;

#define EMPTY(v) (begin[v] >= end[v])
#define BIT(i) (1 << (i))

/* A claimed block: the fields are read now; |mine| is what they were. */
inline run_block(i) {
#if LOSE == 3
  pending--;
#endif
  atomic {
    assert(mine == 0 || mine == loop);
    mine = loop;
#if LOSE != 3
    done++;
#endif
    if
    :: error /* drain */
    :: else ->
      assert(!(ran & BIT(i)) && ADMITS(GATE(loop), me));
      ran = ran | BIT(i)
    fi;
    fails = FAILS(loop, i);
    i = 0
  }
  if
  :: fails -> atomic { assert(mine == loop); error = true; fails = false }
  :: else
  fi
}

/* Claims from our own lane until it is empty; a CAS that succeeds is one step. */
inline drain() {
  do
  :: atomic { EMPTY(me) -> break }
  :: atomic { !EMPTY(me) -> b = begin[me]; begin[me] = b + 1 } run_block(b)
  :: atomic { !EMPTY(me) && error -> done = done + end[me] - begin[me]; begin[me] = end[me] }
  od
}

/* The steal: upper half of lane v to ours, its first block now; |ok| if it worked. The word was read before. */
#if LOSE == 1
#define SAME true
#elif LOSE == 2
#define SAME (begin[v] == b && end[v] == e)
#else
#define SAME (begin[v] == b && end[v] == e && gate[v] == g)
#endif
inline look(victim) { v = victim; b = begin[v]; e = end[v]; g = gate[v] }
inline steal() {
#if LOSE == 6
  if
  :: b + (e - b) / 2 + 1 < e -> atomic { begin[me] = b + (e - b) / 2 + 1; end[me] = e; gate[me] = g }
  :: else
  fi;
#endif
  if
  :: atomic { SAME -> b = b + (e - b) / 2; end[v] = b; ok = true }
    if
    :: b + 1 < e -> atomic { assert(EMPTY(me)); begin[me] = b + 1; end[me] = e; gate[me] = g }
    :: else
    fi;
    atomic { v = 0; e = 0; g = 0 }
    run_block(b)
  :: atomic { !(SAME) -> v = 0; b = 0; e = 0; g = 0 }
  fi
}

inline help() {
  if
  :: ok ->
    drain();
    report();
    ok = false
  :: else
  fi
}

inline report() {
  atomic {
    assert(mine == loop && pending >= done);
    pending = pending - done;
    done = 0;
    mine = 0;
    owed = (waiting && pending == 0)
  }
  if
#if LOSE != 7
  :: owed -> atomic { sleeping = false; owed = false } /* maybe late */
#endif
  :: else -> owed = false
  fi
}

proctype helper(byte me) {
  byte b, e, g, v, mine, done;
  bool ok, fails, owed;
  do
  :: atomic { over -> break }
  :: atomic { !EMPTY(0) && ADMITS(gate[0], me) -> look(0) } steal(); help()
  :: atomic { !EMPTY(3 - me) && ADMITS(gate[3 - me], me) -> look(3 - me) } steal(); help()
  od
}

/* Takes back what the helpers have not started. */
inline take_back() {
  do
  :: ok -> atomic { ok = false } drain()
  :: atomic { !ok && !EMPTY(1) -> look(1) } steal()
  :: atomic { !ok && EMPTY(1) && !EMPTY(2) -> look(2) } steal()
  :: atomic { !ok && EMPTY(1) && EMPTY(2) -> break }
  od
}

/* The compare and the sleep are one step of the kernel. */
inline sleep_until_finished() {
  do
  :: atomic { pending == 0 -> break }
  :: atomic { pending > 0 -> left = pending; waiting = true }
#if LOSE == 4
    sleeping = true;
#else
    atomic { sleeping = (pending == left && waiting); left = 0 }
#endif
    !sleeping
  od
}

active proctype owner() {
  byte me, b, e, g, v, mine, done, l, left; /* me: 0 */
  bool ok, fails;
  atomic { run helper(1); run helper(2); l = 1 }
  do
  :: l > LOOPS -> break
  :: else ->
    atomic { loop = l; error = false; ran = 0; pending = BLOCKS }
    atomic { begin[0] = 1; end[0] = BLOCKS; gate[0] = GATE(l) } /* published; block 0 is already ours */
    run_block(b);
    drain();
    take_back();
#if LOSE == 5
    done = 0;
#else
    if
    :: atomic { pending == done -> pending = 0; done = 0 }
    :: atomic { pending != done -> pending = pending - done; done = 0; mine = 0 }
      do /* watches, then sleeps */
      :: atomic { pending == 0 -> break }
      :: pending > 0 ->
        take_back();
        if
        :: done > 0 -> atomic { pending = pending - done; done = 0; mine = 0 }
        :: else
        fi
      :: pending > 0 -> sleep_until_finished(); break
      od
    fi;
#endif
    atomic {
      waiting = false;
      mine = 0;
      assert(pending == 0 && error == FAILS(l, 2));
      assert(error || ran == BIT(BLOCKS) - 1);
      assert(EMPTY(0) && EMPTY(1) && EMPTY(2));
      l++
    }
  od;
  over = true
}
