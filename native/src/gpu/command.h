#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gpu/address.h"
#include "gpu/stream.h"

namespace ringrun {

// One step of a program. Everything that can be checked or chosen before the first run was, by the constructor.
class GpuCommand {
 public:
  explicit GpuCommand(std::string name) : name_(std::move(name)) {}
  GpuCommand(const GpuCommand&) = delete;
  GpuCommand& operator=(const GpuCommand&) = delete;
  virtual ~GpuCommand() = default;

  const std::string& name() const { return name_; }

  // Bytes of memory that it needs while it runs, beside its operands.
  virtual std::size_t workspaceBytes() const { return 0; }

  // Adds the step to the work of a stream, which may be captured: it does not wait and allocates nothing. Throws Failure.
  virtual void enqueue(const GpuPlaces& places, const Stream& stream) = 0;

 private:
  std::string name_;
};

class CopyCommand : public GpuCommand {
 public:
  CopyCommand(std::string name, GpuAddress from, GpuAddress to, std::size_t bytes)
      : GpuCommand(std::move(name)), from_(from), to_(to), bytes_(bytes) {}

  void enqueue(const GpuPlaces& places, const Stream& stream) override { stream.copyOnDevice(places.at(to_), places.at(from_), bytes_); }

 private:
  GpuAddress from_;
  GpuAddress to_;
  std::size_t bytes_;
};

class FillCommand : public GpuCommand {
 public:
  FillCommand(std::string name, GpuAddress at, std::size_t bytes, unsigned char value)
      : GpuCommand(std::move(name)), at_(at), bytes_(bytes), value_(value) {}

  void enqueue(const GpuPlaces& places, const Stream& stream) override { stream.fill(places.at(at_), value_, bytes_); }

 private:
  GpuAddress at_;
  std::size_t bytes_;
  unsigned char value_;
};

}  // namespace ringrun
