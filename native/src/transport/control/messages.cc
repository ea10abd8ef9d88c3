#include "transport/control/messages.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace ringrun {
namespace {

constexpr char kReportedBy[] = "reported by rank ";
constexpr std::size_t kMaxTextBytes = 1000;
constexpr std::size_t kMaxInvolved = 1000;
constexpr std::size_t kMaxDigits = 16;  // of a rank, and the characters around it

void append(std::vector<std::uint8_t>& bytes, const void* more, std::size_t count) {
  const std::size_t at = bytes.size();
  bytes.resize(at + count);
  if (count > 0) std::memcpy(bytes.data() + at, more, count);
}

// Text from another process, without control characters, which could manipulate a terminal.
std::string printable(const std::uint8_t* text, std::size_t bytes) {
  std::string result(text, text + bytes);
  for (char& one : result) {
    if (static_cast<unsigned char>(one) < 0x20 || one == 0x7f) one = '?';
  }
  return result;
}

}  // namespace

std::vector<std::uint8_t> encodeMessage(ControlType type, const std::vector<std::uint8_t>& body) {
  ControlHeader header;
  header.type = type;
  header.bodyBytes = static_cast<std::uint32_t>(body.size());
  std::vector<std::uint8_t> message;
  append(message, &header, sizeof header);
  append(message, body.data(), body.size());
  return message;
}

std::vector<std::uint8_t> encodeAbort(const Failure& failure, std::uint64_t sequence) {
  const std::size_t involved = std::min(failure.ranks.size(), kMaxInvolved);
  AbortBody abort;
  abort.sequence = sequence;
  abort.code = static_cast<std::uint32_t>(failure.code);
  abort.involved = static_cast<std::uint32_t>(involved);
  std::vector<std::uint8_t> body;
  append(body, &abort, sizeof abort);
  for (std::size_t i = 0; i < involved; ++i) {
    InvolvedBody one;
    one.rank = static_cast<std::uint32_t>(failure.ranks[i].rank);
    one.seen = failure.ranks[i].seenIn.has_value() ? 1 : 0;
    one.seenIn = failure.ranks[i].seenIn.value_or(Fingerprint{});
    append(body, &one, sizeof one);
  }
  const std::string text = failure.detail.substr(0, kMaxTextBytes);
  append(body, text.data(), text.size());
  return body;
}

DecodedAbort decodeAbort(const std::uint8_t* body, std::size_t bytes, int reporter, int size) {
  const DecodedAbort malformed{Failure(FailureCode::PeerDied, {{reporter, {}}}, "it sent a malformed failure report"), 0};
  AbortBody abort;
  if (bytes < sizeof abort) return malformed;
  std::memcpy(&abort, body, sizeof abort);
  if (abort.involved > (bytes - sizeof abort) / sizeof(InvolvedBody)) return malformed;
  const std::size_t textAt = sizeof abort + abort.involved * sizeof(InvolvedBody);

  std::vector<InvolvedRank> ranks;
  for (std::size_t i = 0; i < abort.involved; ++i) {
    InvolvedBody one;
    std::memcpy(&one, body + sizeof abort + i * sizeof one, sizeof one);
    if (one.rank >= static_cast<std::uint32_t>(size)) return malformed;
    ranks.push_back({static_cast<int>(one.rank), one.seen == 1 ? std::optional(one.seenIn) : std::nullopt});
  }
  const std::string text = printable(body + textAt, std::min(bytes - textAt, kMaxTextBytes + sizeof kReportedBy + kMaxDigits));
  const auto code = static_cast<FailureCode>(abort.code);
  const bool aboutOthers = code == FailureCode::PeerDied || code == FailureCode::Timeout ||
                           code == FailureCode::Mismatch || code == FailureCode::Untrusted || code == FailureCode::Altered;
  if (aboutOthers) {
    // A forwarded failure already names its first reporter.
    const bool isHearsay = text.rfind(kReportedBy, 0) == 0;
    const std::string source = isHearsay ? "" : kReportedBy + std::to_string(reporter) + ": ";
    return {Failure(code, std::move(ranks), source + text), abort.sequence};
  }
  return {Failure(FailureCode::PeerDied, {{reporter, {}}}, "its group failed: " + text), abort.sequence};
}

}  // namespace ringrun
