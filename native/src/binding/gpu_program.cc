#include "binding/gpu_program.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "binding/gpu_transfers.h"
#include "gpu/timing.h"

namespace ringrun {

namespace {

constexpr napi_type_tag kTypeTag{0x4f1d6b2a7c3e4d58, 0x9a0b1c2d3e4f5a6b};

}  // namespace

Napi::Function GpuProgramObject::define(Napi::Env env) {
  return DefineClass(env, "GpuProgram",
                     {
                         InstanceMethod<&GpuProgramObject::bind>("bind"),
                         InstanceMethod<&GpuProgramObject::run>("run"),
                         InstanceMethod<&GpuProgramObject::runSync>("runSync"),
                         InstanceMethod<&GpuProgramObject::measure>("measure"),
                         InstanceAccessor<&GpuProgramObject::statistics>("statistics"),
                         InstanceMethod<&GpuProgramObject::release>("release"),
                     });
}

GpuProgramObject::GpuProgramObject(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<GpuProgramObject>(info),
      created_(*info[0].As<Napi::External<Created>>().Data()),
      slots_(std::make_shared<Slots>()),
      statistics_(std::make_shared<SharedStatistics>()),
      promises_(std::make_unique<PromiseQueue>(info.Env(), "ringrun GPU program", [device = created_.device] { device->awaitIdle(); })) {
  Value().TypeTag(&kTypeTag);
  slots_->addresses.resize(created_.slotBytes.size());
  slots_->owners.resize(created_.slotBytes.size());
}

GpuProgramObject::~GpuProgramObject() { releaseProgram(); }

// On the thread that adds work, after pending runs, because freeing graphs waits for the GPU.
void GpuProgramObject::releaseProgram() {
  if (created_.program == nullptr) return;
  auto last = std::make_shared<std::shared_ptr<GpuProgram>>(std::move(created_.program));
  created_.device->submit([last](const Stream&) { last->reset(); }, [](const std::optional<Failure>&) {});
}

void GpuProgramObject::release(const Napi::CallbackInfo&) {
  releaseProgram();
  slots_ = std::make_shared<Slots>();
}

// (slot, memory, byteOffset?)
void GpuProgramObject::bind(const Napi::CallbackInfo& info) {
  const auto slot = info[0].ToNumber().Uint32Value();
  const DeviceMemoryObject* const memory = DeviceMemoryObject::of(info[1]);
  const auto offset = info[2].IsUndefined() ? 0 : static_cast<std::uint64_t>(info[2].ToNumber().Int64Value());
  if (slot >= slots_->addresses.size()) {
    throw Napi::RangeError::New(info.Env(), "slot: expected less than " + std::to_string(slots_->addresses.size()) + ", got " + std::to_string(slot));
  }
  if (memory == nullptr || memory->data() == nullptr) {
    throw Napi::TypeError::New(info.Env(), "slot " + std::to_string(slot) + ": expected memory of a GPU, got another value or freed memory");
  }
  if (offset + created_.slotBytes[slot] > memory->bytes()) {
    throw Napi::RangeError::New(info.Env(), "slot " + std::to_string(slot) + ": expected " + std::to_string(created_.slotBytes[slot]) +
                                                " bytes, got " + std::to_string(memory->bytes()) + " from byte " + std::to_string(offset) + " on");
  }
  // Products choose their algorithms for this alignment.
  constexpr std::uintptr_t kAlignment = 16;
  if (reinterpret_cast<std::uintptr_t>(memory->data() + offset) % kAlignment != 0) {
    throw Napi::RangeError::New(info.Env(), "slot " + std::to_string(slot) + ": expected an address that is a multiple of 16 bytes, got byteOffset " +
                                                std::to_string(offset));
  }
  if (slots_.use_count() > 1) slots_ = std::make_shared<Slots>(*slots_);
  slots_->addresses[slot] = memory->data() + offset;
  slots_->owners[slot] = memory->owner();
}

GpuProgramObject* GpuProgramObject::of(const Napi::Value& value) {
  if (!value.IsObject() || !value.As<Napi::Object>().CheckTypeTag(&kTypeTag)) return nullptr;
  return Unwrap(value.As<Napi::Object>());
}

void GpuProgramObject::Run::recordStatistics() const {
  const std::lock_guard<std::mutex> lock(statistics->mutex);
  statistics->values = program->statistics();
}

GpuProgramObject::Run GpuProgramObject::currentRun(Napi::Env env) const {
  if (created_.program == nullptr) throw Napi::Error::New(env, "the program was released");
  const auto missing = std::find(slots_->addresses.begin(), slots_->addresses.end(), nullptr);
  if (missing != slots_->addresses.end()) {
    const auto slot = std::to_string(missing - slots_->addresses.begin());
    throw Napi::Error::New(env, "program " + created_.program->name() + ": slot " + slot + " has no buffer. Call bind first");
  }
  return {created_.device, created_.program, slots_, statistics_};
}

ComputeDevice::Work GpuProgramObject::oneRun(Napi::Env env) const {
  return [run = currentRun(env)](const Stream& stream) {
    run.program->run(run.slots->addresses, stream);
    run.recordStatistics();
  };
}

// (transfers?)
Napi::Value GpuProgramObject::run(const Napi::CallbackInfo& info) {
  ComputeDevice::Work work = oneRun(info.Env());
  const auto transfers = std::make_shared<const GpuTransfers>(info[0], *created_.device);
  Napi::Array held = transfers->targets(info.Env());
  held.Set(held.Length(), Value());
  PromiseQueue::Pending* pending = nullptr;
  const Napi::Value promise = promises_->start(info.Env(), held, pending);
  created_.device->submit(
      [work = std::move(work), transfers](const Stream& stream) {
        transfers->addBefore(stream);
        work(stream);
        transfers->addAfter(stream);
      },
      [this, pending, transfers](const std::optional<Failure>& failure) {
        if (!failure) transfers->received();
        promises_->settle(pending, failure);
      });
  return promise;
}

void GpuProgramObject::runSync(const Napi::CallbackInfo& info) {
  ComputeDevice::Work work = oneRun(info.Env());
  const std::optional<Failure> failure = failureOf([&] { created_.device->submitAndWait(std::move(work)); });
  if (failure) throw errorOf(info.Env(), *failure);
}

// (runs)
Napi::Value GpuProgramObject::measure(const Napi::CallbackInfo& info) {
  const std::uint32_t runs = info[0].ToNumber().Uint32Value();
  auto times = std::make_shared<GpuTimes>();
  const ComputeDevice& device = *created_.device;
  ComputeDevice::Work work = [one = oneRun(info.Env()), runs, times, &device](const Stream& stream) {
    times->record(device.device(), stream);
    for (std::uint32_t i = 0; i < runs; ++i) {
      one(stream);
      times->record(device.device(), stream);
    }
  };
  PromiseQueue::Pending* pending = nullptr;
  const Napi::Value promise = promises_->start(info.Env(), Value(), pending);
  created_.device->submit(std::move(work), [this, pending, times](const std::optional<Failure>& failure) {
    std::vector<float> milliseconds;
    const std::optional<Failure> unread = failure ? failure : failureOf([&] { milliseconds = times->milliseconds(); });
    promises_->settle(pending, unread, [milliseconds](Napi::Env env) {
      Napi::Array list = Napi::Array::New(env, milliseconds.size());
      for (std::uint32_t i = 0; i < milliseconds.size(); ++i) list.Set(i, milliseconds[i]);
      return list;
    });
  });
  return promise;
}

Napi::Value GpuProgramObject::statistics(const Napi::CallbackInfo& info) {
  Napi::Object object = Napi::Object::New(info.Env());
  const std::lock_guard<std::mutex> lock(statistics_->mutex);
  const GpuProgram::Statistics& values = statistics_->values;
  object.Set("direct", static_cast<double>(values.direct));
  object.Set("recorded", static_cast<double>(values.recorded));
  object.Set("replayed", static_cast<double>(values.replayed));
  object.Set("graphNodes", static_cast<double>(values.graphNodes));
  object.Set("workspaceBytes", static_cast<double>(created_.workspaceBytes));
  return object;
}

}  // namespace ringrun
