#pragma once

#include <cstddef>

namespace ringrun {

// The functions of libcrypto in use, with the types of <openssl/hmac.h>, <openssl/evp.h>, <openssl/crypto.h> and
// <openssl/rand.h>. They come from the OpenSSL that Node's executable exports.
struct Libcrypto {
  using Pointer = void*;

  const void* (*sha256)() = nullptr;
  unsigned char* (*hmac)(const void* digest, const void* key, int keyBytes, const unsigned char* data,
                         std::size_t dataBytes, unsigned char* result, unsigned int* resultBytes) = nullptr;
  int (*compare)(const void* one, const void* other, std::size_t bytes) = nullptr;
  int (*randomBytes)(unsigned char* into, int bytes) = nullptr;

  const void* (*aes256Gcm)() = nullptr;
  Pointer (*newContext)() = nullptr;
  void (*freeContext)(Pointer context) = nullptr;
  int (*control)(Pointer context, int type, int argument, void* data) = nullptr;
  int (*encryptInit)(Pointer context, const void* cipher, Pointer engine, const unsigned char* key,
                     const unsigned char* nonce) = nullptr;
  int (*encryptUpdate)(Pointer context, unsigned char* into, int* written, const unsigned char* from, int bytes) = nullptr;
  int (*encryptFinal)(Pointer context, unsigned char* into, int* written) = nullptr;
  int (*decryptInit)(Pointer context, const void* cipher, Pointer engine, const unsigned char* key,
                     const unsigned char* nonce) = nullptr;
  int (*decryptUpdate)(Pointer context, unsigned char* into, int* written, const unsigned char* from, int bytes) = nullptr;
  int (*decryptFinal)(Pointer context, unsigned char* into, int* written) = nullptr;
};

// A use of libcrypto, which exit() does not interrupt: Node's exit() frees the state of OpenSSL while threads of ringrun
// still run. It waits for the uses of all threads, and a thread that begins one later stops for good.
class LibcryptoUse {
 public:
  // Throws Failure if Node does not export a function.
  LibcryptoUse();
  ~LibcryptoUse();
  LibcryptoUse(const LibcryptoUse&) = delete;
  LibcryptoUse& operator=(const LibcryptoUse&) = delete;

  const Libcrypto* operator->() const { return &library_; }

 private:
  const Libcrypto& library_;
};

}  // namespace ringrun
