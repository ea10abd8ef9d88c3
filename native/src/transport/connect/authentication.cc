#include "transport/connect/authentication.h"

#include <cstring>

#include "base/failure.h"
#include "base/libcrypto.h"

namespace ringrun {
namespace {

Key hmacOf(const Key& key, const void* data, std::size_t dataBytes) {
  const LibcryptoUse library;
  Key result{};
  unsigned int resultBytes = 0;
  const auto* const done = library->hmac(library->sha256(), key.data(), static_cast<int>(key.size()),
                                        static_cast<const unsigned char*>(data), dataBytes, result.data(), &resultBytes);
  if (done == nullptr || resultBytes != result.size()) {
    throw Failure(FailureCode::System, {}, "OpenSSL's HMAC failed with SHA-256");
  }
  return result;
}

}  // namespace

Authentication::Authentication(const Key& key, bool encrypts) : key_(key), encrypts_(encrypts) { LibcryptoUse(); }

// Every rank creates a new token for every group, so the proofs and keys of one group are useless in another.
Key Authentication::derive(const char (&label)[17], const Token& listenerToken, const Hello& hello,
                           const Nonce& listenerNonce) const {
  struct {
    char label[16];
    Hello hello;
    Nonce listenerNonce;
  } message{{}, hello, listenerNonce};
  static_assert(sizeof message == 16 + sizeof(Hello) + sizeof(Nonce), "no padding");
  std::memcpy(message.label, label, sizeof message.label);
  return hmacOf(hmacOf(key_, listenerToken.data(), listenerToken.size()), &message, sizeof message);
}

Proof Authentication::proofOf(Side side, const Token& listenerToken, const Hello& hello, const Nonce& listenerNonce) const {
  return side == Side::Dialler ? derive("ringrun dialler ", listenerToken, hello, listenerNonce)
                               : derive("ringrun listener", listenerToken, hello, listenerNonce);
}

Key Authentication::keyOf(Side side, const Token& listenerToken, const Hello& hello, const Nonce& listenerNonce) const {
  return side == Side::Dialler ? derive("key of dialler  ", listenerToken, hello, listenerNonce)
                               : derive("key of listener ", listenerToken, hello, listenerNonce);
}

bool Authentication::isProof(const Proof& given, Side side, const Token& listenerToken, const Hello& hello,
                             const Nonce& listenerNonce) const {
  const Proof expected = proofOf(side, listenerToken, hello, listenerNonce);
  return LibcryptoUse()->compare(given.data(), expected.data(), expected.size()) == 0;
}

Nonce randomNonce() {
  Nonce nonce;
  if (LibcryptoUse()->randomBytes(nonce.data(), static_cast<int>(nonce.size())) != 1) {
    throw Failure(FailureCode::System, {}, "OpenSSL's RAND_bytes has no random bytes");
  }
  return nonce;
}

}  // namespace ringrun
