/* SPDX-License-Identifier: Apache-2.0
 * task/model/lanes.pml - claiming and stealing of parallel.h: an owner and two helpers, loops one after the other in the
 * same slot. Every block runs once, in its own loop; nobody is inside a loop when the owner reuses the slot; helpers hold
 * what they read of a lane for as long as they like (late thieves, ABA). */
#define HELPERS 2
#define LANES 3
#define BLOCKS 4
#define LOOPS 3

byte begin[LANES], end[LANES];
byte pending;
byte loop;          /* stands for the slot's fields */
byte ran[BLOCKS];   /* in this loop */
bool over;

inline run_block(i) {
  mine = loop; /* the fields, read after the claim */
  ran[i]++;
  assert(ran[i] == 1);
  assert(mine == loop) /* pinned */
}

/* Claims from our own lane until it is empty. */
inline drain(me) {
  do
  :: true ->
    atomic { b = begin[me]; e = end[me] }
    if
    :: b >= e -> break
    :: else ->
      atomic { ok = (begin[me] == b && end[me] == e); if :: ok -> begin[me] = b + 1 :: else fi }
      if
      :: ok -> run_block(b); done++
      :: else
      fi
    fi
  od
}

/* One attempt at another's lane: upper half to ours, its first block now. |ok| if it worked. */
inline steal(me, victim) {
  ok = false;
  atomic { b = begin[victim]; e = end[victim] }
  if
  :: b >= e
  :: else ->
    mid = b + (e - b) / 2;
    atomic { ok = (begin[victim] == b && end[victim] == e); if :: ok -> end[victim] = mid :: else fi }
    if
    :: ok ->
      if
      :: mid + 1 < e -> atomic { assert(begin[me] >= end[me]); begin[me] = mid + 1; end[me] = e }
      :: else
      fi;
      run_block(mid);
      done++
    :: else
    fi
  fi
}

proctype helper(byte me) {
  byte b, e, mid, mine, done, victim;
  bool ok;
  do
  :: over -> break
  :: true ->
    select(victim : 0 .. 2);
    if
    :: victim == me
    :: else ->
      steal(me, victim);
      if
      :: ok ->
        drain(me);
        atomic { assert(pending >= done); pending = pending - done; done = 0 }
      :: else
      fi
    fi
  od
}

init {
  byte b, e, mid, mine, done, i, l;
  bool ok;
  atomic { run helper(1); run helper(2) }
  for (l : 1 .. LOOPS) {
    loop = l;
    for (i : 0 .. BLOCKS - 1) { ran[i] = 0 }
    pending = BLOCKS;
    atomic { begin[0] = 1; end[0] = BLOCKS } /* published; block 0 is already ours */
    run_block(0);
    done = 1;
    drain(0);
    do
    :: true ->
      steal(0, 1);
      if :: ok -> drain(0) :: else fi;
      steal(0, 2);
      if :: ok -> drain(0) :: else fi;
      atomic { pending = pending - done; done = 0 }
      if
      :: pending == 0 -> break
      :: else
      fi
    od;
    for (i : 0 .. BLOCKS - 1) { assert(ran[i] == 1) }
    assert(begin[0] >= end[0] && begin[1] >= end[1] && begin[2] >= end[2])
  }
  over = true
}
