#include "binding/held_arrays.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <unordered_map>

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

struct View {
  napi_value buffer = nullptr;
  std::uintptr_t begin = 0;  // of the buffer
  void* data = nullptr;
};

// False for other values, empty arrays, and shared memory, which cannot be transferred.
bool isViewOfArrayBuffer(napi_env env, napi_value value, View& view) {
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

  // What to keep reachable for `value`.
  napi_value hold(napi_value value) {
    View view;
    if (isViewOfArrayBuffer(env_, value, view)) {
      if (isKept_(view.data)) return value;
      // One for each buffer: V8 counts the memory of each, and collects garbage when there is much.
      napi_value& buffer = held_[view.begin];
      if (buffer == nullptr) buffer = v8().bufferOf(v8().currentIsolate(), v8().backingStoreOf(view.buffer));
      return buffer;
    }
    std::uint32_t length = 0;
    if (napi_get_array_length(env_, value, &length) != napi_ok) return value;
    return holdAll(value, length);
  }

 private:
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
};

// Detaches the second buffers now instead of when they are collected, because V8 counts their memory twice until then.
void release(napi_env env, napi_value held) {
  bool isBuffer = false;
  if (napi_is_arraybuffer(env, held, &isBuffer) == napi_ok && isBuffer) {
    napi_detach_arraybuffer(env, held);
    return;
  }
  std::uint32_t length = 0;
  if (napi_get_array_length(env, held, &length) != napi_ok) return;
  for (std::uint32_t i = 0; i < length; ++i) {
    napi_value element = nullptr;
    if (napi_get_element(env, held, i, &element) == napi_ok) release(env, element);
  }
}

}  // namespace

HeldArrays::HeldArrays(const Napi::Value& arguments, const IsKept& isKept) {
  if (!arguments.IsObject()) return;
  const Napi::Env env = arguments.Env();
  const napi_value held = v8().isComplete() ? Holder(env, isKept).hold(arguments) : static_cast<napi_value>(arguments);
  held_ = Napi::Persistent(Napi::Object(env, held));
}

HeldArrays::~HeldArrays() {
  if (isLeft_ || held_.IsEmpty()) return;
  const Napi::HandleScope scope(held_.Env());
  release(held_.Env(), held_.Value());
}

void HeldArrays::leaveToEnvironment() {
  held_.SuppressDestruct();
  isLeft_ = true;
}

}  // namespace ringrun
