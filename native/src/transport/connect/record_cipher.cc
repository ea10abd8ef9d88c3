#include "transport/connect/record_cipher.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/descriptors.h"
#include "base/failure.h"
#include "base/libcrypto.h"

namespace ringrun {
namespace {

// EVP_CTRL_GCM_GET_TAG, EVP_CTRL_GCM_SET_TAG of <openssl/evp.h>.
constexpr int kGetTag = 0x10;
constexpr int kSetTag = 0x11;

constexpr std::size_t kMaxSealedBytes = sizeof(RecordHeader) + kMaxRecordBytes + kTagBytes;
constexpr std::size_t kInboxBytes = 4 * kMaxSealedBytes;

// 96 bits, as GCM requires.
std::array<std::uint8_t, 12> nonceOf(std::uint64_t record) {
  std::array<std::uint8_t, 12> nonce{};
  std::memcpy(nonce.data() + 4, &record, sizeof record);
  return nonce;
}

}  // namespace

RecordCipher::RecordCipher(const Key& sendingKey, const Key& receivingKey)
    : sending_(begin(sendingKey, true)), outbox_(kMaxSealedBytes), receiving_(begin(receivingKey, false)), inbox_(kInboxBytes) {}

void RecordCipher::FreeContext::operator()(void* context) const { LibcryptoUse()->freeContext(context); }

RecordCipher::Direction RecordCipher::begin(const Key& key, bool encrypts) {
  const LibcryptoUse library;
  Direction direction;
  direction.context.reset(library->newContext());
  if (!direction.context) throw Failure(FailureCode::System, {}, "OpenSSL has no memory");
  const auto init = encrypts ? library->encryptInit : library->decryptInit;
  if (init(direction.context.get(), library->aes256Gcm(), nullptr, key.data(), nullptr) != 1) {
    throw Failure(FailureCode::System, {}, "OpenSSL has no AES-256-GCM");
  }
  return direction;
}

ssize_t RecordCipher::send(ByteStream& stream, const msghdr& message) {
  ssize_t accepted = 0;
  for (;;) {
    if (outboxBytes_ == 0) {
      msghdr rest = message;
      std::array<iovec, 2> parts{};
      std::size_t count = 0;
      std::size_t skipped = static_cast<std::size_t>(accepted);
      for (std::size_t i = 0; i < static_cast<std::size_t>(message.msg_iovlen) && count < parts.size(); ++i) {
        const iovec& part = message.msg_iov[i];
        const std::size_t skip = std::min(skipped, part.iov_len);
        skipped -= skip;
        if (part.iov_len > skip) parts[count++] = {static_cast<std::uint8_t*>(part.iov_base) + skip, part.iov_len - skip};
      }
      if (count == 0) return accepted;
      rest.msg_iov = parts.data();
      rest.msg_iovlen = static_cast<decltype(rest.msg_iovlen)>(count);
      if (!seal(rest)) {
        errno = EIO;
        return -1;
      }
    }
    while (outboxSent_ < outboxBytes_) {
      iovec part{outbox_.data() + outboxSent_, outboxBytes_ - outboxSent_};
      msghdr sealed{};
      sealed.msg_iov = &part;
      sealed.msg_iovlen = 1;
      const ssize_t sent = stream.send(sealed);
      if (sent < 0) return accepted > 0 ? accepted : -1;
      outboxSent_ += static_cast<std::size_t>(sent);
    }
    outboxBytes_ = outboxSent_ = 0;
    accepted += static_cast<ssize_t>(outboxPlain_);
  }
}

// Encrypts the first bytes of `message` into the outbox.
bool RecordCipher::seal(const msghdr& message) {
  const LibcryptoUse library;
  void* const context = sending_.context.get();
  RecordHeader header;
  for (std::size_t i = 0; i < static_cast<std::size_t>(message.msg_iovlen); ++i) {
    const std::size_t room = kMaxRecordBytes - header.bytes;
    header.bytes += static_cast<std::uint32_t>(std::min(room, message.msg_iov[i].iov_len));
  }
  std::memcpy(outbox_.data(), &header, sizeof header);
  const auto nonce = nonceOf(sending_.records++);
  int written = 0;
  bool isSealed = library->encryptInit(context, nullptr, nullptr, nullptr, nonce.data()) == 1 &&
                  library->encryptUpdate(context, nullptr, &written, outbox_.data(), sizeof header) == 1;
  std::uint8_t* into = outbox_.data() + sizeof header;
  std::size_t left = header.bytes;
  for (std::size_t i = 0; isSealed && left > 0; ++i) {
    const iovec& part = message.msg_iov[i];
    const std::size_t bytes = std::min(left, part.iov_len);
    const auto* const from = static_cast<const std::uint8_t*>(part.iov_base);
    isSealed = library->encryptUpdate(context, into, &written, from, static_cast<int>(bytes)) == 1;
    into += bytes;
    left -= bytes;
  }
  isSealed = isSealed && library->encryptFinal(context, into, &written) == 1 &&
             library->control(context, kGetTag, static_cast<int>(kTagBytes), into) == 1;
  if (!isSealed) return false;
  outboxBytes_ = sizeof header + header.bytes + kTagBytes;
  outboxSent_ = 0;
  outboxPlain_ = header.bytes;
  return true;
}

ssize_t RecordCipher::receive(ByteStream& stream, msghdr& message) {
  message.msg_controllen = 0;
  message.msg_flags = 0;
  std::size_t delivered = 0;
  std::size_t at = 0;    // part of `message`
  std::size_t done = 0;  // bytes of it
  for (;;) {
    while (plainBegin_ < plainEnd_ && at < static_cast<std::size_t>(message.msg_iovlen)) {
      const iovec& part = message.msg_iov[at];
      const std::size_t bytes = std::min(part.iov_len - done, plainEnd_ - plainBegin_);
      if (bytes > 0) std::memcpy(static_cast<std::uint8_t*>(part.iov_base) + done, inbox_.data() + plainBegin_, bytes);
      plainBegin_ += bytes;
      done += bytes;
      delivered += bytes;
      if (done < part.iov_len) continue;
      ++at;
      done = 0;
    }
    if (at == static_cast<std::size_t>(message.msg_iovlen)) return static_cast<ssize_t>(delivered);
    const Opened opened = isAltered_ ? Opened::Altered : openNext();
    if (opened == Opened::Record) continue;
    if (delivered > 0) {
      isAltered_ = opened == Opened::Altered;
      return static_cast<ssize_t>(delivered);
    }
    if (opened == Opened::Altered) {
      isAltered_ = true;
      errno = EBADMSG;
      return -1;
    }
    if (inboxBegin_ > 0) {
      std::memmove(inbox_.data(), inbox_.data() + inboxBegin_, inboxEnd_ - inboxBegin_);
      inboxEnd_ -= inboxBegin_;
      inboxBegin_ = plainBegin_ = plainEnd_ = 0;
    }
    iovec room{inbox_.data() + inboxEnd_, inbox_.size() - inboxEnd_};
    msghdr arriving{};
    arriving.msg_iov = &room;
    arriving.msg_iovlen = 1;
    const ssize_t got = stream.receive(arriving);
    if (got <= 0) return got;
    inboxEnd_ += static_cast<std::size_t>(got);
  }
}

// Decrypts the next record of the inbox in place.
RecordCipher::Opened RecordCipher::openNext() {
  const LibcryptoUse library;
  void* const context = receiving_.context.get();
  RecordHeader header;
  const std::size_t available = inboxEnd_ - inboxBegin_;
  if (available < sizeof header) return Opened::Incomplete;
  std::uint8_t* const record = inbox_.data() + inboxBegin_;
  std::memcpy(&header, record, sizeof header);
  if (header.bytes == 0 || header.bytes > kMaxRecordBytes) return Opened::Altered;
  const std::size_t whole = sizeof header + header.bytes + kTagBytes;
  if (available < whole) return Opened::Incomplete;
  std::uint8_t* const text = record + sizeof header;
  const auto nonce = nonceOf(receiving_.records++);
  const int bytes = static_cast<int>(header.bytes);
  int written = 0;
  const bool isOpened =
      library->decryptInit(context, nullptr, nullptr, nullptr, nonce.data()) == 1 &&
      library->decryptUpdate(context, nullptr, &written, record, sizeof header) == 1 &&
      library->decryptUpdate(context, text, &written, text, bytes) == 1 &&
      library->control(context, kSetTag, static_cast<int>(kTagBytes), text + header.bytes) == 1 &&
      library->decryptFinal(context, text + header.bytes, &written) == 1;
  if (!isOpened) return Opened::Altered;
  plainBegin_ = inboxBegin_ + sizeof header;
  plainEnd_ = plainBegin_ + header.bytes;
  inboxBegin_ += whole;
  return Opened::Record;
}

}  // namespace ringrun
