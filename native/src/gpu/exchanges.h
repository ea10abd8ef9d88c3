#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gpu/command.h"

namespace ringrun {

// A collective of a program on float32 numbers.
struct GpuExchange {
  enum class Kind : std::uint8_t { Sum = 1, Average = 2, Gather = 3 };

  std::size_t place = 0;  // index of the ExchangeCommand that begins it
  Kind kind = Kind::Sum;
  const std::uint8_t* send = nullptr;
  std::uint8_t* receive = nullptr;
  std::size_t count = 0;  // numbers that each rank sends
};

// Carries out the collectives of one run of a program, on a stream of their own. One thread at a time uses it.
class GpuExchanges {
 public:
  virtual ~GpuExchanges() = default;

  // Adds the collectives of a place, which start after the work of `stream` so far. Throws Failure.
  virtual void begin(std::size_t place, const Stream& stream) = 0;

  // Later work of `stream` starts after all collectives that have begun. Throws Failure.
  virtual void join(const Stream& stream) = 0;

  // Throws Failure if the run has failed on another thread, so that no more work may be added.
  virtual void requireGoing() const = 0;
};

// Begins the collectives of a place. Does nothing in a run without any.
class ExchangeCommand : public GpuCommand {
 public:
  ExchangeCommand(std::string name, std::size_t place) : GpuCommand(std::move(name)), place_(place) {}

  void enqueue(const GpuPlaces& places, const Stream& stream) override {
    if (places.exchanges != nullptr) places.exchanges->begin(place_, stream);
  }

 private:
  std::size_t place_;
};

// Waits for the collectives that have begun.
class JoinCommand : public GpuCommand {
 public:
  using GpuCommand::GpuCommand;

  void enqueue(const GpuPlaces& places, const Stream& stream) override {
    if (places.exchanges != nullptr) places.exchanges->join(stream);
  }
};

}  // namespace ringrun
