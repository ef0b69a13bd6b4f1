/* SPDX-License-Identifier: Apache-2.0
 * task/model/visit.pml - workers on an executor's threads (wake.c: invite; worker.c: ox_worker_visit): an owner of four
 * loops, three threads that may become any of two workers, and the end of the pool. Being announced is being asleep
 * here: a worker is invited by whoever clears its bit, and its thread leaves after it has announced itself again. The
 * executor refuses now and then. Nobody else is a worker while somebody is; no visit that was promised is lost; nobody
 * touches a pool that is gone.
 * Must be found wrong: LOSE=1 a visitor touches its worker after the announcement; 2 looks again without taking its bit
 * back; 3 leaves without a look; 4 is counted out before it announces; 5 the pool does not wait for visits. */
#ifndef LOSE
#define LOSE 0
#endif
#define WORKERS 2
#define THREADS 3
#define LOOPS 4
#define BLOCKS 2
#define BIT(i) (1 << (i))

chan calls = [WORKERS] of { byte }; /* what the executor has promised to run */
byte range, asleep = 3, visits;
byte inside[WORKERS];
bool gone;

/* P2, then a fetch_and for each bit seen; a refusal ends it. */
inline wake(most) {
  atomic { assert(!gone); bits = asleep; want = most; w = 0 }
  do
  :: bits == 0 || want == 0 -> break
  :: atomic { bits > 0 && want > 0 && (asleep & bits & BIT(w)) -> asleep = asleep & ~BIT(w) }
    atomic { assert(!gone); visits++ }
    if
    :: atomic { calls!w; bits = bits & ~BIT(w); want--; w++ }
    :: refused < 2 -> /* available again */
      atomic { refused++; asleep = asleep | BIT(w) }
      atomic { visits--; bits = 0; denied = true }
    fi
  :: atomic { bits > 0 && want > 0 && !(asleep & bits & BIT(w)) -> bits = bits & ~BIT(w); w++ }
  od;
  atomic { bits = 0; want = 0; w = 0 }
}
byte refused;

active proctype owner() {
  byte l, bits, want, w;
  bool denied;
  do
  :: l == LOOPS -> break
  :: l < LOOPS ->
    range = BLOCKS; /* P1 */
    wake(1);
    if /* refused: it does the work; else others must */
    :: !denied -> range == 0
    :: denied -> range = 0
    fi;
    atomic { denied = false; l++ }
  od;
  asleep = 0; /* destroy */
#if LOSE != 5
  visits == 0;
#endif
  gone = true
}

proctype thread() {
  byte me, bits, want, w;
  bool denied;
  bool more;
end_idle:
  do
  :: atomic { calls?me -> assert(inside[me] == 0); inside[me]++ }
    do
    :: atomic { range > 0 -> assert(!gone); range--; more = (range > 0) }
      if
      :: more -> more = false; wake(2); denied = false
      :: else
      fi
    :: else ->
#if LOSE == 4
      visits--;
#endif
#if LOSE == 1
      asleep = asleep | BIT(me);
      inside[me]--;
#else
      atomic { assert(!gone); inside[me]--; asleep = asleep | BIT(me) }
#endif
#if LOSE == 3
      break
#else
      if
      :: atomic { range > 0 -> assert(!gone) }
#if LOSE == 2
        inside[me]++; assert(inside[me] == 1)
#else
        if
        :: atomic { asleep & BIT(me) -> asleep = asleep & ~BIT(me); assert(inside[me] == 0); inside[me]++ }
        :: else -> break
        fi
#endif
      :: atomic { range == 0 -> assert(!gone); break }
      fi
#endif
    od;
#if LOSE != 4
    atomic { assert(!gone); visits-- }
#endif
    me = 0
  od
}

init { atomic { run thread(); run thread(); run thread() } }
