#include "base/notifier.h"

#include <utility>

#include "base/descriptors.h"

namespace ringrun {

Notifier::Notifier() {
  Pipe pipe = openPipe("to wake a waiting thread");
  out_ = std::move(pipe.readEnd);
  in_ = std::move(pipe.writeEnd);
}

// If the pipe is full, it is readable already.
void Notifier::notify() const noexcept {
  const char once = 1;
  [[maybe_unused]] const ssize_t written = ::write(in_.get(), &once, 1);
}

void Notifier::clear() const noexcept {
  char bytes[64];
  while (::read(out_.get(), bytes, sizeof bytes) == sizeof bytes) {
  }
}

}  // namespace ringrun
