#pragma once

namespace ringrun {

// Names the calling thread for debuggers and tools such as top. At most 15 characters.
void nameThread(const char* name);

// How the system divides processors between the threads of a process while all of them compute. Without these two, a
// thread that wakes up on a busy processor waits until the slice of the running one ends: a timer of JavaScript is late by
// 4 ms (99th percentile, Linux 6.18).
//
// They change the calling thread, need no privilege, and do nothing if the system refuses, for a thread with a real-time policy,
// and outside of Linux.

// For threads that compute for long: adds steps of nice(2), each of which reduces their share of a processor by a fifth while
// threads of the usual priority also compute on it. They still use processors that no other thread needs. Threads that the
// calling one creates later inherit it.
void giveWayToOtherThreads(int steps);

// For a thread that computes briefly and often: asks for slices of 0.1 ms, the shortest that Linux accepts (6.12 and later).
// Its share of a processor is unchanged, but it is scheduled sooner.
void preferShortSlices();

}  // namespace ringrun
