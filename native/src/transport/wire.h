#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/operation.h"

// Every byte that processes exchange, except tensor values: little endian, all padding is named.
// docs/wire-format.md describes the same layouts with worked examples. Any change must increase kWireVersion.

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "ringrun writes its structures to the wire as they lie in memory: little endian processors only"
#endif

namespace ringrun {

constexpr std::uint16_t kWireVersion = 8;

constexpr std::uint32_t kHelloMagic = 0x31485252;         // "RRH1"
constexpr std::uint32_t kContinuedMagic = 0x31565252;     // "RRV1"
constexpr std::uint32_t kControlMagic = 0x31435252;       // "RRC1"
constexpr std::uint32_t kDataMagic = 0x31445252;          // "RRD1"
constexpr std::uint32_t kPointToPointMagic = 0x31505252;  // "RRP1"
constexpr std::uint32_t kStripeMagic = 0x31535252;        // "RRS1"

constexpr std::size_t kTokenBytes = 16;

// Connections for stripes between two ranks, in addition to the one for data (transport/tcp/stripes.h).
constexpr std::uint32_t kMostStripeLanes = 128;

// Relay: the dialler asks the listener to forward the connection to the rank in `lane`.
enum class Purpose : std::uint8_t { Control = 1, Data = 2, PointToPoint = 3, Relay = 4 };

// 1: the messages of this connection are encrypted (RecordHeader).
enum class Protection : std::uint8_t { Authenticated = 0, Encrypted = 1 };

// Both sides of a new connection prove that they have the key and the listener's token
// (transport/connect/authentication.h).
using Nonce = std::array<std::uint8_t, 32>;
using Proof = std::array<std::uint8_t, 32>;

// First bytes of every connection, sent by the side that connected (the dialler). With kContinuedMagic, both sides send a
// Continuation after the proofs: the dialler first.
struct Hello {
  std::uint32_t magic = kHelloMagic;
  std::uint16_t version = kWireVersion;
  Purpose purpose = Purpose::Control;
  Protection protection = Protection::Authenticated;
  std::uint32_t rank = 0;      // of the dialler
  std::uint32_t listener = 0;  // rank of the other side
  std::uint32_t lane = 0;      // of a data connection: 0 for messages, or 1 … kMostStripeLanes for their stripes
  Nonce nonce{};
};
static_assert(sizeof(Hello) == 52, "wire format");

// The listener's answer.
struct Challenge {
  Nonce nonce{};
  Proof proof{};  // of the listener
};
static_assert(sizeof(Challenge) == 64, "wire format");

// The dialler's answer to it is its own Proof, or kNoProof if the listener's is wrong. Messages follow; on an encrypted
// connection, within records: RecordHeader, `bytes` of ciphertext, kTagBytes.
constexpr Proof kNoProof{};

// The first bytes after the proofs of a connection that passes through a relay, or that continues another one of the same
// purpose, ranks and lane. A continued connection carries the bytes that follow those received before, encrypted with the
// keys of the first connection.
struct Continuation {
  enum class Kind : std::uint32_t {
    New = 0,
    Resumed = 1,
    Unknown = 2,  // of the listener: it has no such connection
  };
  std::uint64_t received = 0;  // bytes of earlier connections that the sender has received
  Kind kind = Kind::New;
  std::uint32_t relay = 0;  // 1 + rank of the relay, or 0
};
static_assert(sizeof(Continuation) == 16, "wire format");

// A relay's answer after the proofs of a connection for Purpose::Relay. After errno 0, all bytes are forwarded.
struct RelayAnswer {
  std::uint32_t error = 0;  // errno of the connection to the other rank
  std::uint32_t reserved = 0;
};
static_assert(sizeof(RelayAnswer) == 8, "wire format");

struct RecordHeader {
  std::uint32_t bytes = 0;
};
static_assert(sizeof(RecordHeader) == 4, "wire format");

constexpr std::size_t kMaxRecordBytes = 64 * 1024;
constexpr std::size_t kTagBytes = 16;

enum class ControlType : std::uint16_t {
  Status = 1,   // body: Fingerprint of the operation in which the sender waits
  Abort = 2,    // body: AbortBody, InvolvedBody × involved, text
  Leave = 3,    // no body: the sender has destroyed the group, after all ranks called destroy
  Memory = 4,   // body: PassedMemoryBody, with one file descriptor (SCM_RIGHTS); Unix sockets only
  Outside = 5,  // no body: the sender has completed the operation of its last Status
  Read = 6,     // body: ReadBody
  Message = 7,  // body: Fingerprint of the message for which the sender waits; no body: it waits for none
};

struct ControlHeader {
  std::uint32_t magic = kControlMagic;
  ControlType type = ControlType::Status;
  std::uint16_t reserved = 0;
  std::uint32_t bodyBytes = 0;
};
static_assert(sizeof(ControlHeader) == 12, "wire format");

// A header with a longer body is not from ringrun.
constexpr std::uint32_t kMaxBodyBytes = 1 << 20;

// The failure of the sender's group.
struct AbortBody {
  std::uint64_t sequence = 0;  // of the operation that failed
  std::uint32_t code = 0;      // FailureCode
  std::uint32_t involved = 0;  // number of InvolvedBody structures that follow
};
static_assert(sizeof(AbortBody) == 16, "wire format");

struct InvolvedBody {
  Fingerprint seenIn;
  std::uint32_t rank = 0;
  std::uint32_t seen = 0;  // 1: seenIn is valid; 0: unknown
};
static_assert(sizeof(InvolvedBody) == 32, "wire format");

struct PassedMemoryBody {
  std::uint64_t bytes = 0;
};
static_assert(sizeof(PassedMemoryBody) == 8, "wire format");

// The sender has read this many STATUS, OUTSIDE and MESSAGE messages since its last READ.
struct ReadBody {
  std::uint32_t messages = 0;
};
static_assert(sizeof(ReadBody) == 4, "wire format");

// STATUS, OUTSIDE and MESSAGE messages that a rank may send before READ: a connection whose window stays closed, because the
// peer computes and does not read, would end.
constexpr std::uint32_t kMaxUnreadMessages = 64;

// Number of STATUS, OUTSIDE and MESSAGE messages for which READ is sent.
constexpr std::uint32_t kReadBatch = 16;

// Precedes the elements of every message on a data connection.
struct DataHeader {
  std::uint32_t magic = kDataMagic;
  std::uint32_t part = 0;  // number of earlier messages to this rank in this operation and team
  Fingerprint fingerprint;
  std::uint64_t bytes = 0;      // bytes that follow
  std::uint32_t processor = 0;  // on which the sender ran; used by ranks on the same machine
  std::uint32_t isStriped = 0;  // 1: the elements are sent in stripes, on the other lanes
};
static_assert(sizeof(DataHeader) == 48, "wire format");

// Precedes each part of a striped message.
struct StripeHeader {
  std::uint32_t magic = kStripeMagic;
  std::uint32_t bytes = 0;    // that follow
  std::uint64_t message = 0;  // number of earlier striped messages in this direction
  std::uint64_t offset = 0;   // of the part in the message, in bytes
  std::uint32_t lanes = 0;    // that the sender wants to be open; the rank that connected opens them
  std::uint32_t zero = 0;
};
static_assert(sizeof(StripeHeader) == 32, "wire format");

// Message types on a point-to-point connection. The side that connected sends messages; the other replies with
// ClearToSend and Credit.
enum class PointToPointType : std::uint16_t {
  Eager = 1,          // a short message; its elements follow
  RequestToSend = 2,  // a long message; its elements are sent after ClearToSend
  ClearToSend = 3,    // the receive for that message is posted
  Elements = 4,       // the elements of that message follow
  Credit = 5,         // `id` eager messages have been received
};

// Longer messages are sent when their receive is posted. Small enough to store many messages without one; for longer
// messages, the additional round trip costs little.
constexpr std::size_t kEagerMessageBytes = 16 * 1024;

// Eager messages to one rank that have not been credited: at most 4 MiB there. Additional ones are sent like long messages.
constexpr std::uint32_t kEagerCredits = 256;
constexpr std::uint32_t kCreditBatch = 64;

// Requests to send to one rank that have not been cleared. Additional messages wait at the sender.
constexpr std::uint32_t kMaxRequestsToSend = 1 << 16;

struct PointToPointHeader {
  std::uint32_t magic = kPointToPointMagic;
  PointToPointType type = PointToPointType::Eager;
  std::uint16_t reserved = 0;
  Fingerprint fingerprint;  // Op::Send; sequence: the tag; root: the receiver
  std::uint64_t id = 0;     // message number, counted by its sender from 1; of a Credit: the number of messages
};
static_assert(sizeof(PointToPointHeader) == 40, "wire format");

}  // namespace ringrun
