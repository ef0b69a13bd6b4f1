/* SPDX-License-Identifier: Apache-2.0
 * task/model/queue.pml - the ready queues of queue.h: a client and two workers, four operations each; MIX says which of
 * the twelve are pushes, the others are claims. A worker's claim that finds nothing sleeps by the handshake of
 * wake.h. Every unit is claimed once, none is lost, a count is the length of its list whenever nobody holds the
 * lock, and nobody sleeps while a queue has tasks. One transition is one access to shared memory and the local steps after it.
 * Must be found wrong: LOSE=1 the lock is taken in two steps; 2 a pusher looks for sleepers before it pushes; 3 who
 * moves tasks or leaves some behind wakes nobody; 4 a sleeper looks before it announces; 5 a count is read before
 * the lock is taken. */
#ifndef LOSE
#define LOSE 0
#endif
#ifndef MIX
#define MIX 77
#endif
#define N 3
#define OPS 4
#define PUSHES(op) ((MIX >> (me * OPS + op)) & 1)
#define UNITS(t) (1 + ((t) % 2)) /* every other task has two, claimed one by one */
#define BIT(i) (1 << (i))
#define ANY (count[0] > 0 || count[1] > 0 || count[2] > 0)

bool lock[N];
byte count[N];
chan list[N] = [8] of { byte }; /* under the lock */
chan moving[N] = [4] of { byte };
byte asleep; /* the mask */
bool parked[N];
byte naps;                     /* threads that do sleep */
short pushed, begun, claimed;  /* sets of tasks: a task of two units is first begun, then claimed */

/* The next sleeper in our copy of the mask. */
inline next_sleeper() {
  do
  :: bits == 0 || want == 0 -> bits = 0; want = 0; w = 0; break
  :: bits > 0 && want > 0 && (bits & 1) -> break
  :: bits > 0 && want > 0 && !(bits & 1) -> bits = bits >> 1; w++
  od
}

/* P2, then a fetch_and for each bit seen; who clears it owes the wake. */
inline wake(most) {
  atomic { bits = asleep; want = most; next_sleeper() }
  do
  :: bits == 0 -> break
  :: atomic { bits > 0 && (asleep & BIT(w)) -> asleep = asleep & ~BIT(w) }
    atomic { parked[w] = false; want--; bits = bits >> 1; w++; next_sleeper() }
  :: atomic { bits > 0 && !(asleep & BIT(w)) -> bits = bits >> 1; w++; next_sleeper() }
  od
}

/* Locks our own queue or, if that is taken, a later one: i. */
inline lock_any() {
  i = me;
  do
#if LOSE == 1
  :: !lock[i] -> lock[i] = true; break
#else
  :: atomic { !lock[i] -> lock[i] = true; break }
#endif
  :: atomic { lock[i] -> i = (i + 1) % N }
  od
}

inline push(t) {
#if LOSE == 2
  wake(UNITS(t));
#endif
#if LOSE == 5
  old = count[me];
#endif
  lock_any();
#if LOSE != 5
  old = count[i];
#endif
  atomic { list[i]!t; pushed = pushed | BIT(t); count[i] = old + 1; old = 0 } /* P1 */
  atomic { lock[i] = false; i = 0 }
#if LOSE != 2
  wake(UNITS(t))
#endif
}

/* Lock held, list not empty. */
inline take_front() {
  atomic {
    assert(count[i] == len(list[i]));
    list[i]?<t>;
    assert(!(claimed & BIT(t)));
    more = (UNITS(t) == 2 && !(begun & BIT(t)));
    if
    :: more -> begun = begun | BIT(t); share = false
    :: else ->
      claimed = claimed | BIT(t);
      list[i]?_;
      count[i] = count[i] - 1;
      more = (count[i] > 0);
      share = more && i != me
    fi;
    t = 0
  }
}

/* Lock held. Up to half of what is left goes to our own queue (ALL: all of it, as a block of calls does); in between it
 * is in none. */
inline move() {
  atomic {
#ifdef ALL
    n = count[i];
#else
    n = count[i] / 2;
#endif
    old = n;
    do
    :: n > 0 -> list[i]?t; moving[me]!t; n--
    :: n == 0 -> break
    od;
    t = 0;
    count[i] = count[i] - old
  }
  atomic { lock[i] = false; i = 0 }
  if
  :: old > 0 ->
    lock_any();
    atomic {
      assert(count[i] == len(list[i]));
      count[i] = count[i] + old;
      do
      :: nempty(moving[me]) -> moving[me]?t; list[i]!t
      :: empty(moving[me]) -> break
      od;
      old = 0;
      t = 0
    }
    atomic { lock[i] = false; i = 0 }
#if LOSE != 3
    wake(1)
#endif
  :: else
  fi
}

/* One pass over the queues; found says whether there was a unit. */
inline claim() {
  i = me;
  do
  :: atomic { k == N || found -> k = 0; i = 0; break }
  :: atomic { k < N && !found && count[i] == 0 -> k++; i = (i + 1) % N }
  :: k < N && !found && count[i] > 0 ->
    if
    :: atomic { lock[i] -> k++; i = (i + 1) % N }
#if LOSE == 1
    :: !lock[i] -> lock[i] = true;
#else
    :: atomic { !lock[i] -> lock[i] = true }
#endif
      if
      :: empty(list[i]) -> atomic { lock[i] = false; k++; i = (i + 1) % N }
      :: nempty(list[i]) ->
        take_front();
        if
        :: share -> share = false; move()
        :: else -> lock[i] = false
        fi;
        found = true
      fi
    fi
  od
}

inline sleep() {
#if LOSE == 4
  if
  :: ANY
  :: else ->
    parked[me] = true;
    atomic { asleep = asleep | BIT(me); naps++ }
end_lost:
    atomic { !parked[me] -> naps-- }
  fi;
#else
  parked[me] = true;
  asleep = asleep | BIT(me); /* W1 */
  do /* W2 */
  :: atomic { k < N && count[k] > 0 -> k = 0; break }
  :: atomic { k + 1 < N && count[k] == 0 -> k++ }
  :: atomic { k + 1 == N && count[k] == 0 -> k = 0; naps++ }
end_asleep:
    atomic { !parked[me] -> naps--; break }
  od;
#endif
  asleep = asleep & ~BIT(me)
}

/* Thread 0 is a client: its claims are tries, and it leaves without a look. */
proctype thread(byte me) {
  byte op, i, k, n, old, t, w, bits, want;
  bool found, more, share;
  do
  :: op == OPS -> break
  :: op < OPS && PUSHES(op) -> push(me * OPS + op); op++
  :: op < OPS && !PUSHES(op) ->
    do
    :: found -> break
    :: else ->
      claim();
      if
      :: found
      :: !found && me > 0 -> sleep()
      :: !found && me == 0 -> break
      fi
    od;
#if LOSE != 3
    if /* something is left: more hands */
    :: more -> wake(2)
    :: else
    fi;
#endif
    atomic { more = false; found = false; op++ }
  od;
  if
  :: me > 0 && ANY -> wake(1) /* a worker that quits passes its wake on */
  :: else
  fi
}

/* When nobody can move: who sleeps, sleeps rightly, and each task is claimed or queued once. */
active proctype monitor() {
  byte i, t;
  short seen;
end_quiet:
  timeout;
  atomic {
    assert(naps == 0 || !ANY);
    assert(!lock[0] && !lock[1] && !lock[2]);
    seen = claimed;
    for (i : 0 .. N - 1) {
      assert(count[i] == len(list[i]));
      do
      :: nempty(list[i]) -> list[i]?t; assert(!(seen & BIT(t))); seen = seen | BIT(t)
      :: empty(list[i]) -> break
      od
    }
    assert(seen == pushed)
  }
}

init { atomic { run thread(0); run thread(1); run thread(2) } }
