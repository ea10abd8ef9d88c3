#pragma once

#include <cstddef>
#include <cstdint>

#include "base/operation.h"

// Every byte that travels between processes, except tensors' values. Little endian, no padding that is not named
// here; docs/wire-format.md shows the same with a worked example. Change kWireVersion with any change.

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "ringrun writes its structures to the wire as they lie in memory: little endian processors only"
#endif

namespace ringrun {

constexpr std::uint16_t kWireVersion = 3;

constexpr std::uint32_t kHelloMagic = 0x31485252;    // "RRH1"
constexpr std::uint32_t kControlMagic = 0x31435252;  // "RRC1"
constexpr std::uint32_t kDataMagic = 0x31445252;     // "RRD1"
constexpr std::uint32_t kNoteMagic = 0x31505252;     // "RRP1"

constexpr std::size_t kTokenBytes = 16;

enum class Purpose : std::uint16_t { Control = 1, Data = 2, PointToPoint = 3 };

// The first bytes of every connection, from the side that dialled.
struct Hello {
  std::uint32_t magic = kHelloMagic;
  std::uint16_t version = kWireVersion;
  Purpose purpose = Purpose::Control;
  std::uint32_t rank = 0;  // who dials
  std::uint32_t reserved = 0;
  std::uint8_t token[kTokenBytes] = {};  // the listener's, from its card in the store: proof of belonging to the same group
};
static_assert(sizeof(Hello) == 32, "wire format");

enum class ControlType : std::uint16_t {
  Status = 1,   // body: Fingerprint that the sender waits in
  Abort = 2,    // body: AbortBody, InvolvedBody × involved, text
  Leave = 3,    // no body: the sender has destroyed the group, after everybody arrived at that
  Segment = 4,  // body: SegmentBody, and one file descriptor beside it (SCM_RIGHTS); Unix sockets only
  Outside = 5,  // no body: the sender has ended the operation of its last Status
};

struct ControlHeader {
  std::uint32_t magic = kControlMagic;
  ControlType type = ControlType::Status;
  std::uint16_t reserved = 0;
  std::uint32_t bodyBytes = 0;
};
static_assert(sizeof(ControlHeader) == 12, "wire format");

// Longer bodies are taken for something that is not ringrun.
constexpr std::uint32_t kMostBodyBytes = 1 << 20;

// The sender's group has failed, and why.
struct AbortBody {
  std::uint64_t sequence = 0;  // of the operation that failed
  std::uint32_t code = 0;      // FailureCode
  std::uint32_t involved = 0;  // number of InvolvedBody that follow
};
static_assert(sizeof(AbortBody) == 16, "wire format");

struct InvolvedBody {
  Fingerprint seenIn;
  std::uint32_t rank = 0;
  std::uint32_t seen = 0;  // 1: seenIn says where; 0: nothing is known
};
static_assert(sizeof(InvolvedBody) == 32, "wire format");

struct SegmentBody {
  std::uint64_t bytes = 0;
};
static_assert(sizeof(SegmentBody) == 8, "wire format");

// Before every tensor's bytes on a data connection.
struct DataHeader {
  std::uint32_t magic = kDataMagic;
  std::uint32_t part = 0;  // messages that the sender sent this rank before, in this operation and team
  Fingerprint fingerprint;
  std::uint64_t bytes = 0;  // that follow
  std::uint32_t processor = 0;  // that the sender ran on: of use to ranks of the same machine
  std::uint32_t reserved = 0;
};
static_assert(sizeof(DataHeader) == 48, "wire format");

// What travels on a connection for messages between two ranks: notes from the side that dialled, grants back.
enum class NoteType : std::uint16_t {
  Eager = 1,     // a message; its elements follow
  Announce = 2,  // a message whose elements wait for a grant
  Grant = 3,     // somebody receives the announced message: send it
  Elements = 4,  // of a granted message; they follow
};

struct NoteHeader {
  std::uint32_t magic = kNoteMagic;
  NoteType type = NoteType::Eager;
  std::uint16_t reserved = 0;
  Fingerprint fingerprint;  // Op::Send; sequence: the tag; root: who it is for
  std::uint64_t id = 0;     // number of the message, counted by its sender from 1
};
static_assert(sizeof(NoteHeader) == 40, "wire format");

}  // namespace ringrun
