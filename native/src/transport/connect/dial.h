#pragma once

#include "base/operation.h"
#include "base/unique_fd.h"
#include "transport/connect/directory.h"
#include "transport/wire.h"

namespace ringrun {

// Connects to rank `peer` and sends the Hello. Waits until the call's deadline. A refused or broken connection
// is a PeerDied failure, because a rank listens before it publishes its RankInfo.
UniqueFd dial(const Directory& directory, int peer, Purpose purpose, const Call& call);

// True if nothing listens at the address of `peer`: its process has ended. Takes a few milliseconds at most.
bool hasStoppedListening(const Directory& directory, int peer);

// Throws if the call's deadline has passed (naming `missing`) or if this process destroys the group.
void throwIfTimedOutOrCancelled(const Call& call, int missing, const std::string& what);

}  // namespace ringrun
