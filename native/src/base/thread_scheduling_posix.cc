#include <pthread.h>

#include "base/thread_scheduling.h"

namespace ringrun {

#ifdef __APPLE__
void nameThread(const char* name) { ::pthread_setname_np(name); }
#else
void nameThread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }
#endif

void giveWayToOtherThreads(int) {}

void preferShortSlices() {}

}  // namespace ringrun
