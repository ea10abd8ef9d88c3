#include "base/libcrypto.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

#include "base/failure.h"

namespace ringrun {
namespace {

template <typename Function>
void find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
  if (function != nullptr) return;
  throw Failure(FailureCode::System, {},
                std::string("ranks cannot authenticate each other: expected a Node.js that exports OpenSSL, got one without ") +
                    name + ". Use a Node.js from nodejs.org");
}

Libcrypto findAll() {
  Libcrypto library;
  find(library.sha256, "EVP_sha256");
  find(library.hmac, "HMAC");
  find(library.compare, "CRYPTO_memcmp");
  find(library.randomBytes, "RAND_bytes");
  find(library.aes256Gcm, "EVP_aes_256_gcm");
  find(library.newContext, "EVP_CIPHER_CTX_new");
  find(library.freeContext, "EVP_CIPHER_CTX_free");
  find(library.control, "EVP_CIPHER_CTX_ctrl");
  find(library.encryptInit, "EVP_EncryptInit_ex");
  find(library.encryptUpdate, "EVP_EncryptUpdate");
  find(library.encryptFinal, "EVP_EncryptFinal_ex");
  find(library.decryptInit, "EVP_DecryptInit_ex");
  find(library.decryptUpdate, "EVP_DecryptUpdate");
  find(library.decryptFinal, "EVP_DecryptFinal_ex");
  return library;
}

std::atomic<int> usesOfAllThreads{0};
std::atomic<bool> isExiting{false};
thread_local int usesOfThisThread = 0;  // nested ones, and one that never ends on the thread that exits

void waitForUses() {
  isExiting = true;
  ++usesOfThisThread;
  while (usesOfAllThreads > 0) std::this_thread::yield();
}

// exit() calls the latest handler first, and Node has registered that of OpenSSL when it started.
const Libcrypto& ofNode() {
  static const Libcrypto library = [] {
    std::atexit(waitForUses);
    return findAll();
  }();
  return library;
}

}  // namespace

LibcryptoUse::LibcryptoUse() : library_(ofNode()) {
  ++usesOfAllThreads;
  if (usesOfThisThread++ > 0 || !isExiting) return;
  --usesOfAllThreads;
  for (;;) ::pause();
}

LibcryptoUse::~LibcryptoUse() {
  --usesOfThisThread;
  --usesOfAllThreads;
}

}  // namespace ringrun
