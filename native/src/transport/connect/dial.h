#pragma once

#include "base/operation.h"
#include "base/unique_fd.h"
#include "transport/connect/directory.h"
#include "transport/wire.h"

namespace ringrun {

// A connection to rank `peer` with its Hello sent. Waits until the call's deadline; a refused or broken connection is a
// PeerDied failure, since a rank listens before it publishes its card.
UniqueFd dial(const Directory& directory, int peer, Purpose purpose, const Call& call);

// Whether nobody listens where `peer` did: its process is gone. Takes at most a few milliseconds.
bool isGone(const Directory& directory, int peer);

// Throws what ends every wait: the call's deadline (naming `missing`), or this process leaving.
void throwIfTimedOutOrCancelled(const Call& call, int missing, const std::string& what);

}  // namespace ringrun
