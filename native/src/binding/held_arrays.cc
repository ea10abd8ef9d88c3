#include "binding/held_arrays.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <unordered_map>
#include <vector>

namespace ringrun {
namespace {

// A std::shared_ptr<v8::BackingStore> that is only passed on. The destructor makes compilers pass it like one: by
// address.
struct BackingStorePointer {
  void* store = nullptr;
  void* owner = nullptr;

  BackingStorePointer() = default;
  BackingStorePointer(const BackingStorePointer&) = delete;
  ~BackingStorePointer() {}  // NOLINT: not trivial, see above
};

// Node-API cannot hold the memory of an ArrayBuffer. V8 can: a second ArrayBuffer of the same backing store. These
// functions of V8 are looked up at run time, because its headers would bind the addon to one version of Node. A
// napi_value is the v8::Local that they take and return. Tests run them on Node 20, 22 and 24; a runtime without them
// holds nothing.
struct V8 {
  void* (*currentIsolate)();                                       // v8::Isolate::GetCurrent
  BackingStorePointer (*backingStoreOf)(napi_value buffer);        // v8::ArrayBuffer::GetBackingStore
  napi_value (*bufferOf)(void* isolate, BackingStorePointer store);  // v8::ArrayBuffer::New; leaves `store` empty

  bool isComplete() const { return currentIsolate != nullptr && backingStoreOf != nullptr && bufferOf != nullptr; }
};

template <typename Function>
void find(Function& function, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (function == nullptr) function = reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
  }
}

V8 findV8() {
  V8 v8{};
  find(v8.currentIsolate, {"_ZN2v87Isolate10GetCurrentEv"});
  find(v8.backingStoreOf, {"_ZN2v811ArrayBuffer15GetBackingStoreEv"});
  // The second name is that of libc++.
  find(v8.bufferOf, {"_ZN2v811ArrayBuffer3NewEPNS_7IsolateESt10shared_ptrINS_12BackingStoreEE",
                     "_ZN2v811ArrayBuffer3NewEPNS_7IsolateENSt3__110shared_ptrINS_12BackingStoreEEE"});
  return v8;
}

const V8& v8() {
  static const V8 functions = findV8();
  return functions;
}

napi_value secondBufferOf(napi_value buffer) {
  return v8().bufferOf(v8().currentIsolate(), v8().backingStoreOf(buffer));
}

// Large buffers that are reused, such as the parameters of a model, keep their second buffers as long as they exist.
// Otherwise V8 would count their memory again in each operation, and run a full garbage collection in each.
constexpr std::size_t kLargeBytes = 1 << 20;

// A WeakMap from large buffers to their second ones; to `true` after the first use. One for each JavaScript thread.
class SecondBuffers {
 public:
  // Null if the environment cannot run JavaScript now.
  static SecondBuffers* of(napi_env env) {
    thread_local SecondBuffers map;
    return map.isReady(env) ? &map : nullptr;
  }

  // The second buffer; null at the first use.
  napi_value find(napi_env env, napi_value buffer) const {
    napi_value found = nullptr;
    if (napi_call_function(env, value(env, map_), value(env, get_), 1, &buffer, &found) != napi_ok) return nullptr;
    bool isBuffer = false;
    if (napi_is_arraybuffer(env, found, &isBuffer) == napi_ok && isBuffer) return found;
    napi_valuetype type = napi_undefined;
    napi_typeof(env, found, &type);
    if (type == napi_boolean) return create(env, buffer);
    napi_value isUsed = nullptr;
    if (napi_get_boolean(env, true, &isUsed) == napi_ok) set(env, buffer, isUsed);
    return nullptr;
  }

  // The second buffer, even at the first use.
  napi_value findOrCreate(napi_env env, napi_value buffer) const {
    napi_value const found = find(env, buffer);
    return found != nullptr ? found : create(env, buffer);
  }

  void remove(napi_env env, napi_value buffer) const {
    napi_value result = nullptr;
    napi_call_function(env, value(env, map_), value(env, delete_), 1, &buffer, &result);
  }

 private:
  // References belong to one environment; a thread may have several in succession.
  bool isReady(napi_env env) {
    if (env_ == env) return true;
    napi_value global = nullptr;
    napi_value constructor = nullptr;
    napi_value map = nullptr;
    if (napi_get_global(env, &global) != napi_ok || napi_get_named_property(env, global, "WeakMap", &constructor) != napi_ok ||
        napi_new_instance(env, constructor, 0, nullptr, &map) != napi_ok) {
      return false;
    }
    const auto refer = [&](const char* name, napi_ref& reference) {
      napi_value method = nullptr;
      return napi_get_named_property(env, map, name, &method) == napi_ok && napi_create_reference(env, method, 1, &reference) == napi_ok;
    };
    if (!refer("get", get_) || !refer("set", set_) || !refer("delete", delete_)) return false;
    if (napi_create_reference(env, map, 1, &map_) != napi_ok) return false;
    env_ = env;
    // The environment releases its references itself.
    napi_add_env_cleanup_hook(env, [](void* self) { static_cast<SecondBuffers*>(self)->env_ = nullptr; }, this);
    return true;
  }

  napi_value create(napi_env env, napi_value buffer) const {
    napi_value second = secondBufferOf(buffer);
    set(env, buffer, second);
    return second;
  }

  static napi_value value(napi_env env, napi_ref reference) {
    napi_value referred = nullptr;
    napi_get_reference_value(env, reference, &referred);
    return referred;
  }

  void set(napi_env env, napi_value buffer, napi_value second) const {
    napi_value const arguments[] = {buffer, second};
    napi_value result = nullptr;
    napi_call_function(env, value(env, map_), value(env, set_), 2, arguments, &result);
  }

  napi_env env_ = nullptr;
  napi_ref map_ = nullptr;
  napi_ref get_ = nullptr;
  napi_ref set_ = nullptr;
  napi_ref delete_ = nullptr;
};

struct ArrayView {
  napi_value buffer = nullptr;
  std::uintptr_t begin = 0;  // of the buffer
  void* data = nullptr;
};

// False for other values, empty arrays, and shared memory, which cannot be transferred.
bool isViewOfArrayBuffer(napi_env env, napi_value value, ArrayView& view) {
  std::size_t length = 0;
  std::size_t offset = 0;
  if (napi_get_typedarray_info(env, value, nullptr, &length, &view.data, &view.buffer, &offset) != napi_ok || length == 0) return false;
  bool isArrayBuffer = false;
  if (napi_is_arraybuffer(env, view.buffer, &isArrayBuffer) != napi_ok || !isArrayBuffer) return false;
  view.begin = reinterpret_cast<std::uintptr_t>(view.data) - offset;
  return true;
}

// Replaces typed arrays by second buffers of their memory.
class Holder {
 public:
  Holder(napi_env env, const HeldArrays::IsKept& isKept) : env_(env), isKept_(isKept) {}

  // The object to keep reachable for `value`.
  napi_value hold(napi_value value) {
    ArrayView view;
    if (isViewOfArrayBuffer(env_, value, view)) {
      if (isKept_(view.data)) return value;
      // One for each buffer: V8 counts the memory of each, and collects garbage when much has accumulated.
      napi_value& buffer = held_[view.begin];
      if (buffer == nullptr) buffer = secondOf(view.buffer);
      return buffer;
    }
    std::uint32_t length = 0;
    if (napi_get_array_length(env_, value, &length) != napi_ok) return value;
    return holdAll(value, length);
  }

  // The second buffers that only this operation uses.
  const std::vector<napi_value>& temporary() const { return temporary_; }

 private:
  napi_value secondOf(napi_value buffer) {
    std::size_t bytes = 0;
    napi_get_arraybuffer_info(env_, buffer, nullptr, &bytes);
    SecondBuffers* const kept = bytes >= kLargeBytes ? SecondBuffers::of(env_) : nullptr;
    if (napi_value second = kept ? kept->find(env_, buffer) : nullptr) return second;
    temporary_.push_back(secondBufferOf(buffer));
    return temporary_.back();
  }

  napi_value holdAll(napi_value list, std::uint32_t length) {
    napi_value held = nullptr;
    if (napi_create_array_with_length(env_, length, &held) != napi_ok) return list;
    for (std::uint32_t i = 0; i < length; ++i) {
      napi_value element = nullptr;
      if (napi_get_element(env_, list, i, &element) != napi_ok) return list;
      napi_set_element(env_, held, i, hold(element));
    }
    return held;
  }

  napi_env env_;
  const HeldArrays::IsKept& isKept_;
  std::unordered_map<std::uintptr_t, napi_value> held_;
  std::vector<napi_value> temporary_;
};

}  // namespace

HeldArrays::HeldArrays(const Napi::Value& arguments, const IsKept& isKept) {
  if (!arguments.IsObject()) return;
  const Napi::Env env = arguments.Env();
  if (!v8().isComplete()) {
    held_ = Napi::Persistent(arguments.As<Napi::Object>());
    return;
  }
  Holder holder(env, isKept);
  Napi::Array all = Napi::Array::New(env);
  all.Set(0U, Napi::Value(env, holder.hold(arguments)));
  for (const napi_value buffer : holder.temporary()) all.Set(all.Length(), Napi::Value(env, buffer));
  temporary_ = holder.temporary().size();
  held_ = Napi::Persistent(all.As<Napi::Object>());
}

// Detaches buffers that only this operation uses now instead of when they are collected, because V8 counts their memory
// twice until then.
HeldArrays::~HeldArrays() {
  if (isLeft_ || held_.IsEmpty() || temporary_ == 0) return;
  const Napi::Env env = held_.Env();
  const Napi::HandleScope scope(env);
  for (std::uint32_t i = 1; i <= temporary_; ++i) {
    napi_value buffer = nullptr;
    if (napi_get_element(env, held_.Value(), i, &buffer) == napi_ok) napi_detach_arraybuffer(env, buffer);
  }
}

void HeldArrays::leaveToEnvironment() {
  held_.SuppressDestruct();
  isLeft_ = true;
}

napi_value heldBuffer(napi_env env, napi_value array) {
  ArrayView view;
  if (!v8().isComplete() || !isViewOfArrayBuffer(env, array, view)) return nullptr;
  SecondBuffers* const kept = SecondBuffers::of(env);
  return kept == nullptr ? nullptr : kept->findOrCreate(env, view.buffer);
}

void forgetBuffer(Napi::Env env, Napi::ArrayBuffer buffer) {
  if (SecondBuffers* const kept = SecondBuffers::of(env)) kept->remove(env, buffer);
}

}  // namespace ringrun
