#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

#include "onnxruntime/c_api.h"

namespace ringrun::ort {

// ringrun's own operators in onnxruntime's graphs, in the domain kDomain. An operator is a class:
//
//   struct Scale {
//     static constexpr const char* kName = "Scale";
//     static constexpr std::array kInputs = {Argument{kFloat32}, Argument{kFloat32, kOptional}};
//     static constexpr std::array kOutputs = {Argument{kFloat32}};
//     static constexpr std::array kInPlace = {Sharing{0, 0}};  // optional: output 0 may be written over input 0
//     static constexpr std::array kAliases = {Sharing{0, 0}};  // optional: output 0 is in the memory of input 0
//
//     explicit Scale(const Attributes& attributes);  // once for each node of a session
//     void compute(Computation& computation) const;  // for each run; may throw
//   };
//
// and an entry in operators.cc. One session computes on one thread at a time, but sessions of different JavaScript
// threads compute at the same time, so only the members of the class are safe to write.
//
// An operator whose arrays may be float32 or bfloat16 is a class template over their element types, and `addOverloads`
// registers every combination: onnxruntime infers the type of an output only if that of each kernel is fixed.
//
//   template <typename X>
//   struct Scale {
//     static constexpr std::array kInputs = {Argument{kTypeOf<X>}, Argument{kFloat32, kOptional}};
//
// packages/nn/src/ops/own has the graph node of each operator, with the graph of plain operators that it replaces.

constexpr const char* kDomain = "ringrun";
constexpr std::size_t kMaxAxes = 8;

// Elements of arrays in memory: std::uint16_t is bfloat16.
template <typename T>
constexpr int kTypeOf = std::is_same_v<T, std::uint16_t> ? kBFloat16 : kFloat32;

// An input or output: its element type (kAnyType: `compute` reads it, Computation::elementType), and kRequired, kOptional or
// kVariadic (the last one; the arrays of kAnyType may have different types).
struct Argument {
  int type;
  int characteristic = kRequired;
  int least = 1;  // arrays of a variadic argument
};

// The output may be written over the input if no other node reads the input (kInPlace), or always (kAliases).
struct Sharing {
  int input;
  int output;
};

struct Shape {
  std::size_t axes = 0;
  std::array<std::int64_t, kMaxAxes> sizes{};

  std::size_t count() const;
  bool operator==(const Shape& other) const;
  bool operator!=(const Shape& other) const { return !(*this == other); }
};

// For messages: [64,10]
std::string describe(const Shape& shape);

// An array of a run. `data` is null if an optional input is missing.
template <typename T>
struct Array {
  T* data = nullptr;
  Shape shape;

  std::size_t count() const { return shape.count(); }
  explicit operator bool() const { return data != nullptr; }
};

// The elements of an array from `begin` on; null if the array is missing.
template <typename T>
T* elementsFrom(T* array, std::size_t begin) {
  return array == nullptr ? nullptr : array + begin;
}

// The attributes of a node. Throws Error if one is missing.
class Attributes {
 public:
  Attributes(const Table* api, const KernelInfo* info) : api_(api), info_(info) {}

  std::int64_t integer(const char* name) const;
  float number(const char* name) const;
  std::vector<std::int64_t> integers(const char* name) const;

 private:
  const Table* api_;
  const KernelInfo* info_;
};

// The inputs and outputs of one run of a node. Valid during the run.
class Computation {
 public:
  Computation(const Table* api, KernelContext* context) : api_(api), context_(context) {}

  std::size_t inputCount() const;

  template <typename T>
  Array<const T> input(std::size_t index) const {
    const auto [data, shape] = inputAt(index);
    return {static_cast<const T*>(data), shape};
  }

  // Requires the input to be present and to have this shape.
  template <typename T>
  Array<const T> input(std::size_t index, const Shape& shape) const {
    const Array<const T> found = input<T>(index);
    if (!found || found.shape != shape) failShape(index, shape, found ? describe(found.shape) : "nothing");
    return found;
  }

  // The elements of an optional input; null if it is missing. Requires it to have this shape otherwise.
  template <typename T>
  const T* optionalInput(std::size_t index, const Shape& shape) const {
    return input<T>(index) ? input<T>(index, shape).data : nullptr;
  }

  // A number, of any shape with one element.
  float number(std::size_t index) const;

  // kFloat32, kBFloat16, …; kAnyType if an optional input is missing.
  int elementType(std::size_t index) const;

  // Allocates an output, unless the caller of the session provides its memory. Null if nothing reads an optional output.
  template <typename T>
  T* output(std::size_t index, const Shape& shape) const {
    return static_cast<T*>(outputAt(index, shape));
  }

  // Calls body(i) for every i below `total`, in any order, on the threads of the session. Rethrows an exception of a call.
  template <typename Body>
  void parallelFor(std::size_t total, const Body& body) const {
    if (total == 1) return body(std::size_t{0});
    Calls<Body> calls{body};
    calls.order.store(0, std::memory_order_release);
    run(&Calls<Body>::call, total, &calls);
    static_cast<void>(calls.order.load(std::memory_order_acquire));
    if (calls.failure) std::rethrow_exception(calls.failure);
  }

 private:
  struct Found {
    const void* data;
    Shape shape;
  };

  // onnxruntime's threads must not see an exception.
  template <typename Body>
  struct Calls {
    const Body& body;
    std::mutex mutex{};
    std::exception_ptr failure{};
    // onnxruntime synchronises its threads, but ThreadSanitizer sees only the addon's synchronisation.
    std::atomic<int> order{0};

    static void call(void* data, std::size_t i) {
      auto& calls = *static_cast<Calls*>(data);
      static_cast<void>(calls.order.load(std::memory_order_acquire));
      try {
        calls.body(i);
      } catch (...) {
        const std::lock_guard lock(calls.mutex);
        calls.failure = std::current_exception();
      }
      calls.order.fetch_add(1, std::memory_order_release);
    }
  };

  std::size_t outputCount() const;
  const Value* valueAt(std::size_t index) const;
  Found inputAt(std::size_t index) const;
  void* outputAt(std::size_t index, const Shape& shape) const;
  void run(void (*body)(void*, std::size_t), std::size_t total, void* data) const;
  [[noreturn]] void failShape(std::size_t index, const Shape& expected, const std::string& found) const;

  const Table* api_;
  KernelContext* context_;
};

Status* failure(const Table* api, const char* operatorName, const std::exception& error);

// A node of a session.
template <typename Operator>
struct Kernel {
  const Table* api;
  Operator op;
};

// The functions that onnxruntime calls. They do not throw.
template <typename Operator>
struct Callbacks {
  static const char* getName(const CustomOperator*) { return Operator::kName; }
  static int getInputType(const CustomOperator*, std::size_t i) { return Operator::kInputs[i].type; }
  static std::size_t getInputTypeCount(const CustomOperator*) { return Operator::kInputs.size(); }
  static int getOutputType(const CustomOperator*, std::size_t i) { return Operator::kOutputs[i].type; }
  static std::size_t getOutputTypeCount(const CustomOperator*) { return Operator::kOutputs.size(); }
  static int getInputCharacteristic(const CustomOperator*, std::size_t i) { return Operator::kInputs[i].characteristic; }
  static int getOutputCharacteristic(const CustomOperator*, std::size_t i) { return Operator::kOutputs[i].characteristic; }
  static int getMemoryType(const CustomOperator*, std::size_t) { return kDefaultMemory; }
  static int one(const CustomOperator*) { return 1; }
  static int minInputs(const CustomOperator*) { return Operator::kInputs.back().least; }
  static int minOutputs(const CustomOperator*) { return Operator::kOutputs.back().least; }
  static int areInputsHomogeneous(const CustomOperator*) { return Operator::kInputs.back().type != kAnyType; }
  static int areOutputsHomogeneous(const CustomOperator*) { return Operator::kOutputs.back().type != kAnyType; }
  static int getEndVersion(const CustomOperator*) { return INT32_MAX; }

  static Status* createKernel(const CustomOperator*, const Table* api, const KernelInfo* info, void** kernel) {
    try {
      *kernel = new Kernel<Operator>{api, Operator(Attributes(api, info))};
      return nullptr;
    } catch (const std::exception& error) {
      return failure(api, Operator::kName, error);
    }
  }

  static Status* compute(void* kernel, KernelContext* context) {
    const auto& [api, op] = *static_cast<Kernel<Operator>*>(kernel);
    try {
      Computation computation(api, context);
      op.compute(computation);
      return nullptr;
    } catch (const std::exception& error) {
      return failure(api, Operator::kName, error);
    }
  }

  static void destroyKernel(void* kernel) { delete static_cast<Kernel<Operator>*>(kernel); }

  template <typename Op>
  static constexpr auto inPlaceOf(int) -> decltype(Op::kInPlace) {
    return Op::kInPlace;
  }
  template <typename Op>
  static constexpr std::array<Sharing, 0> inPlaceOf(long) {
    return {};
  }
  template <typename Op>
  static constexpr auto aliasesOf(int) -> decltype(Op::kAliases) {
    return Op::kAliases;
  }
  template <typename Op>
  static constexpr std::array<Sharing, 0> aliasesOf(long) {
    return {};
  }

  static std::size_t getMayInPlace(int** inputs, int** outputs) { return list(inPlaceOf<Operator>(0), inputs, outputs); }
  static std::size_t getAliasMap(int** inputs, int** outputs) { return list(aliasesOf<Operator>(0), inputs, outputs); }

  template <std::size_t size>
  static std::size_t list(const std::array<Sharing, size>& pairs, int** inputs, int** outputs) {
    // onnxruntime releases lists that are not empty.
    *inputs = size == 0 ? nullptr : new int[size];
    *outputs = size == 0 ? nullptr : new int[size];
    for (std::size_t i = 0; i < size; ++i) {
      (*inputs)[i] = pairs[i].input;
      (*outputs)[i] = pairs[i].output;
    }
    return size;
  }

  static void releaseList(int* inputs, int* outputs) {
    delete[] inputs;
    delete[] outputs;
  }
};

// The description of an operator, which lives as long as the addon.
template <typename Operator>
const CustomOperator* customOperator() {
  using Functions = Callbacks<Operator>;
  static const CustomOperator description = [] {
    CustomOperator made{};
    made.version = kApiVersion;
    made.getName = Functions::getName;
    made.getExecutionProviderType = [](const CustomOperator*) -> const char* { return nullptr; };
    made.getInputType = Functions::getInputType;
    made.getInputTypeCount = Functions::getInputTypeCount;
    made.getOutputType = Functions::getOutputType;
    made.getOutputTypeCount = Functions::getOutputTypeCount;
    made.kernelDestroy = Functions::destroyKernel;
    made.getInputCharacteristic = Functions::getInputCharacteristic;
    made.getOutputCharacteristic = Functions::getOutputCharacteristic;
    made.getInputMemoryType = Functions::getMemoryType;
    made.getVariadicInputMinArity = Functions::minInputs;
    made.getVariadicInputHomogeneity = Functions::areInputsHomogeneous;
    made.getVariadicOutputMinArity = Functions::minOutputs;
    made.getVariadicOutputHomogeneity = Functions::areOutputsHomogeneous;
    made.createKernelV2 = Functions::createKernel;
    made.kernelComputeV2 = Functions::compute;
    made.getStartVersion = Functions::one;
    made.getEndVersion = Functions::getEndVersion;
    made.getMayInPlace = Functions::getMayInPlace;
    made.releaseMayInPlace = Functions::releaseList;
    made.getAliasMap = Functions::getAliasMap;
    made.releaseAliasMap = Functions::releaseList;
    return made;
  }();
  return &description;
}

// Adds an operator for every combination of its `count` element types.
template <template <typename...> class Operator, std::size_t count, typename... Chosen>
void addOverloads(std::vector<const CustomOperator*>& to) {
  if constexpr (sizeof...(Chosen) == count) {
    to.push_back(customOperator<Operator<Chosen...>>());
  } else {
    addOverloads<Operator, count, Chosen..., float>(to);
    addOverloads<Operator, count, Chosen..., std::uint16_t>(to);
  }
}

}  // namespace ringrun::ort
