#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"
#include "operators/recurrent_cell.h"
#include "operators/row_product.h"
#include "reduce/widen.h"

namespace ringrun::ort {

// The steps of a recurrent network over a batch of sequences, in one direction. The product of the inputs with their
// weights is one matrix product before it, and the gradients of all weights are matrix products after its gradient: only
// sequential work happens here.
//
// L steps, N sequences, G gates (recurrent_cell.h) of H elements. Rows of the batch do not depend on one another, so
// threads divide the batch, and bits do not depend on threads.
struct RecurrenceShape {
  Cell cell;
  bool isReverse;
  std::size_t steps = 0;
  std::size_t rows = 0;
  std::size_t size = 0;
  std::size_t gates = 0;  // G·H
  const std::int64_t* lengths = nullptr;

  explicit RecurrenceShape(const Attributes& attributes)
      : cell(static_cast<Cell>(attributes.integer("cell"))), isReverse(attributes.integer("reverse") != 0) {}

  void read(const Shape& weight, const Shape& perStep, const Array<const std::int64_t>& given) {
    if (weight.axes != 2 || perStep.axes != 3) {
      throw Error("expected [G·H,H] weights and arrays [L,N,…], got " + describe(weight) + " and " + describe(perStep));
    }
    steps = static_cast<std::size_t>(perStep.sizes[0]);
    rows = static_cast<std::size_t>(perStep.sizes[1]);
    size = static_cast<std::size_t>(weight.sizes[1]);
    gates = gatesOf(cell) * size;
    lengths = nullptr;
    if (!given) return;
    if (given.shape != Shape{1, {perStep.sizes[1]}}) throw Error("expected a length for each of " + std::to_string(rows) + " rows, got " + describe(given.shape));
    for (std::size_t row = 0; row < rows; ++row) {
      if (given.data[row] >= 0 && given.data[row] <= perStep.sizes[0]) continue;
      throw Error("expected lengths from 0 to " + std::to_string(steps) + ", got " + std::to_string(given.data[row]));
    }
    lengths = given.data;
  }

  Shape ofState() const { return {2, {integer(rows), integer(size)}}; }
  Shape ofStates() const { return {3, {integer(steps), integer(rows), integer(size)}}; }
  Shape ofGates() const { return {3, {integer(steps), integer(rows), integer(gates)}}; }
  Shape ofWeight() const { return {2, {integer(gates), integer(size)}}; }

  std::size_t lengthOf(std::size_t row) const { return lengths == nullptr ? steps : static_cast<std::size_t>(lengths[row]); }

  // The time of step `index`.
  std::size_t timeOf(std::size_t index) const { return isReverse ? steps - 1 - index : index; }
  bool isFirst(std::size_t time, std::size_t row) const { return time == (isReverse ? lengthOf(row) - 1 : 0); }
  std::size_t before(std::size_t time) const { return isReverse ? time + 1 : time - 1; }

  // The row of an array [L,N,H] one step before `time`, and of the array [N,H] before the first step.
  template <typename T>
  const T* previous(const T* states, const T* initial, std::size_t time, std::size_t row) const {
    return isFirst(time, row) ? initial + row * size : states + (before(time) * rows + row) * size;
  }

  // Calls body(part, begin, end) for parts of the batch. Depends only on shapes: two threads have work from 8 rows on, and
  // more rows per part reuse a weight in a register more often.
  template <typename Body>
  void forEachPart(const Computation& computation, const Body& body) const {
    constexpr std::size_t kRowsOfPart = 16;
    const std::size_t parts = rows < 8 ? std::min<std::size_t>(rows, 1) : std::max<std::size_t>(2, rows / kRowsOfPart);
    computation.parallelFor(parts, [&](std::size_t part) { body(rows * part / parts, rows * (part + 1) / parts); });
  }

 private:
  static std::int64_t integer(std::size_t value) { return static_cast<std::int64_t>(value); }
};

// A row of an array, in float32.
class RowOfNumbers {
 public:
  explicit RowOfNumbers(std::size_t size) : memory_(size) {}

  // The row itself if it is float32; null if it is missing.
  const float* read(const float* from) { return from; }
  const float* read(const std::uint16_t* from) {
    if (from == nullptr) return nullptr;
    widen(DType::BFloat16, from, memory_.data(), memory_.size());
    return memory_.data();
  }

  // Where to write a row before `write`.
  float* place(float* to) { return to; }
  float* place(std::uint16_t* to) { return to == nullptr ? nullptr : memory_.data(); }
  void write(float*) const {}
  void write(std::uint16_t* to) const {
    if (to != nullptr) narrow(DType::BFloat16, memory_.data(), to, memory_.size());
  }

 private:
  std::vector<float> memory_;
};

inline void copyRow(const float* from, std::size_t count, float* to) { std::copy_n(from, count, to); }
inline void copyRow(const std::uint16_t* from, std::size_t count, float* to) { widen(DType::BFloat16, from, to, count); }
inline void copyRow(const float* from, std::size_t count, std::uint16_t* to) { narrow(DType::BFloat16, from, to, count); }

// The row, or a copy in float32.
inline const float* inFloat32(const float* row, std::size_t, float*) { return row; }
inline const float* inFloat32(const std::uint16_t* row, std::size_t count, float* copy) {
  copyRow(row, count, copy);
  return copy;
}

inline bool isHalfWeight(const Computation& computation) {
  const int type = computation.elementType(1);
  if (type != kFloat32 && type != kBFloat16) throw Error("input 1: expected float32 or bfloat16");
  return type == kBFloat16;
}

// Inputs: gates of the input [L,N,G·H]; recurrent weights [G·H,H]; the first state [N,H]; optional: the first cell [N,H], of
// lstm; the recurrent bias [G·H]; lengths [N], after which states are 0.
// Outputs: states [L,N,H]; the last state [N,H]; optional: the last cell [N,H]; and for the gradient of lstm and gru, gates
// after their functions [L,N,G·H], and cells of lstm, or products of gru's last gate [L,N,H].
// Attributes: cell, a ringrun::Cell; reverse, from the last step to the first.
//
// Gates and states may be bfloat16: G is the type of gates, S that of states and cells, of inputs and outputs. States are rounded
// after each step; cells stay float32 until the last. With weights in bfloat16, states are multiplied in bfloat16.
template <typename G, typename S>
struct Recurrence {
  static constexpr int kGates = kTypeOf<G>;
  static constexpr int kStates = kTypeOf<S>;
  static constexpr const char* kName = "Recurrence";
  static constexpr std::array kInputs = {Argument{kGates},            Argument{kAnyType},            Argument{kStates},
                                         Argument{kStates, kOptional}, Argument{kFloat32, kOptional}, Argument{kInt64, kOptional}};
  static constexpr std::array kOutputs = {Argument{kStates}, Argument{kStates}, Argument{kStates, kOptional},
                                          Argument{kGates, kOptional}, Argument{kStates, kOptional}};
  static constexpr std::array kInPlace = {Sharing{0, 3}};

  explicit Recurrence(const Attributes& attributes) : shape_(attributes) {}

  void compute(Computation& computation) const {
    RecurrenceShape& s = shape_;
    const auto weight = computation.input<std::uint8_t>(1);
    s.read(weight.shape, computation.input<G>(0).shape, computation.input<std::int64_t>(5));
    computation.input<std::uint8_t>(1, s.ofWeight());
    const G* const gates = computation.input<G>(0, s.ofGates()).data;
    const S* const first = computation.input<S>(2, s.ofState()).data;
    const bool isLstm = s.cell == Cell::Lstm;
    const bool isGru = s.cell == Cell::Gru;
    const S* const firstCell = isLstm ? computation.input<S>(3, s.ofState()).data : nullptr;
    const auto bias = computation.input<float>(4);

    S* const states = computation.output<S>(0, s.ofStates());
    S* const last = computation.output<S>(1, s.ofState());
    S* const lastCell = isLstm ? computation.output<S>(2, s.ofState()) : nullptr;
    G* const activations = isLstm || isGru ? computation.output<G>(3, s.ofGates()) : nullptr;
    S* const further = isLstm || isGru ? computation.output<S>(4, s.ofStates()) : nullptr;

    matrix_.store({weight.data, isHalfWeight(computation), 1, s.size}, s.size, s.gates);
    const std::size_t width = RowProduct::padded(s.gates);
    bias_.resize(width);
    std::fill(bias_.data(), bias_.data() + width, 0.0f);
    if (bias) std::copy_n(computation.input<float>(4, {1, {static_cast<std::int64_t>(s.gates)}}).data, s.gates, bias_.data());
    products_.resize(s.rows * width);
    cells_.resize(isLstm ? s.rows * s.size : 0);
    previous_.resize(kTypeOf<S> == kFloat32 ? 0 : s.rows * s.size);

    s.forEachPart(computation, [&](std::size_t begin, std::size_t end) {
      std::vector<const float*> from(end - begin), start(end - begin, bias_.data());
      std::vector<float*> to(end - begin);
      std::vector<std::size_t> active(end - begin);
      RowOfNumbers x(s.gates), functions(s.gates), state(s.size), rest(s.size);
      for (std::size_t row = begin; isLstm && row < end; ++row) copyRow(firstCell + row * s.size, s.size, cells_.data() + row * s.size);
      for (std::size_t index = 0; index < s.steps; ++index) {
        const std::size_t time = s.timeOf(index);
        std::size_t count = 0;
        for (std::size_t row = begin; row < end; ++row) {
          if (time >= s.lengthOf(row)) {
            std::fill_n(states + (time * s.rows + row) * s.size, s.size, S{0});
            continue;
          }
          active[count] = row;
          from[count] = inFloat32(s.previous(states, first, time, row), s.size, previous_.data() + row * s.size);
          to[count] = products_.data() + row * width;
          ++count;
        }
        matrix_.multiply(from.data(), start.data(), to.data(), count);
        for (std::size_t i = 0; i < count; ++i) {
          const std::size_t row = active[i];
          const std::size_t place = time * s.rows + row;
          // Without an output for all cells, only the current one is kept.
          float* const cell = isLstm ? cells_.data() + row * s.size : nullptr;
          G* const saved = elementsFrom(activations, place * s.gates);
          S* const candidate = isGru ? elementsFrom(further, place * s.size) : nullptr;
          stepForward(s.cell, {s.size, x.read(gates + place * s.gates), to[i], from[i], cell, state.place(states + place * s.size), cell,
                               functions.place(saved), rest.place(candidate)});
          state.write(states + place * s.size);
          functions.write(saved);
          rest.write(candidate);
          if (isLstm && further != nullptr) copyRow(cell, s.size, further + place * s.size);
        }
      }
      for (std::size_t row = begin; row < end; ++row) {
        const std::size_t length = s.lengthOf(row);
        const S* const source = length == 0 ? first + row * s.size : states + ((s.isReverse ? 0 : length - 1) * s.rows + row) * s.size;
        std::copy_n(source, s.size, last + row * s.size);
        if (lastCell != nullptr) copyRow(cells_.data() + row * s.size, s.size, lastCell + row * s.size);
      }
    });
  }

 private:
  // Kept to reuse its memory in the next run.
  mutable RecurrenceShape shape_;
  mutable RowProduct matrix_;
  mutable AlignedFloats bias_;
  mutable AlignedFloats products_;
  mutable AlignedFloats cells_;
  mutable AlignedFloats previous_;
};

// Inputs: states, recurrent weights, the first state; optional: the first cell, lengths, the last two outputs of Recurrence, the
// gradients of its first three. Outputs, each optional: the gradients of the gates of the input [L,N,G·H]; of the product of
// states and weights [L,N,G·H], which differs only for gru; the states before each step [L,N,H], 0 after the length;
// the gradients of the first state and of the first cell [N,H]. Attributes: see Recurrence.
template <typename G, typename S>
struct RecurrenceGradient {
  static constexpr const char* kName = "RecurrenceGradient";
  static constexpr Argument kMaybeGates = {kTypeOf<G>, kOptional};
  static constexpr Argument kMaybe = {kTypeOf<S>, kOptional};
  static constexpr std::array kInputs = {Argument{kTypeOf<S>}, Argument{kAnyType}, Argument{kTypeOf<S>}, kMaybe, Argument{kInt64, kOptional},
                                         kMaybeGates, kMaybe, kMaybe, kMaybe, kMaybe};
  static constexpr std::array kOutputs = {Argument{kTypeOf<G>}, kMaybeGates, kMaybeGates, kMaybe, kMaybe};
  static constexpr std::array kInPlace = {Sharing{5, 0}};

  explicit RecurrenceGradient(const Attributes& attributes) : shape_(attributes) {}

  void compute(Computation& computation) const {
    RecurrenceShape& s = shape_;
    const auto weight = computation.input<std::uint8_t>(1);
    s.read(weight.shape, computation.input<S>(0).shape, computation.input<std::int64_t>(4));
    computation.input<std::uint8_t>(1, s.ofWeight());
    const S* const states = computation.input<S>(0, s.ofStates()).data;
    const S* const first = computation.input<S>(2, s.ofState()).data;
    const bool isLstm = s.cell == Cell::Lstm;
    const bool isGru = s.cell == Cell::Gru;
    const S* const firstCell = isLstm ? computation.input<S>(3, s.ofState()).data : nullptr;
    const G* const activations = isLstm || isGru ? computation.input<G>(5, s.ofGates()).data : nullptr;
    const S* const further = isLstm || isGru ? computation.input<S>(6, s.ofStates()).data : nullptr;
    const S* const dStates = computation.optionalInput<S>(7, s.ofStates());
    const S* const dLast = computation.optionalInput<S>(8, s.ofState());
    const S* const dLastCell = computation.optionalInput<S>(9, s.ofState());

    G* const dGates = computation.output<G>(0, s.ofGates());
    G* const askedProducts = isGru ? computation.output<G>(1, s.ofGates()) : nullptr;
    G* const previous = computation.output<G>(2, s.ofStates());
    S* const dFirst = computation.output<S>(3, s.ofState());
    S* const dFirstCell = isLstm ? computation.output<S>(4, s.ofState()) : nullptr;

    matrix_.store({weight.data, isHalfWeight(computation), s.size, 1}, s.gates, s.size);
    const std::size_t width = RowProduct::padded(s.size);
    dState_.resize(s.rows * width);
    std::fill_n(dState_.data(), s.rows * width, 0.0f);
    dCell_.resize(isLstm ? s.rows * s.size : 0);
    // The gradients of the products of a step, unless they are rows of a float32 output.
    const bool keepsProducts = kTypeOf<G> == kBFloat16 || (isGru && askedProducts == nullptr);
    dProducts_.resize(keepsProducts ? s.rows * s.gates : 0);

    s.forEachPart(computation, [&](std::size_t begin, std::size_t end) {
      std::vector<const float*> from(end - begin);
      std::vector<float*> to(end - begin);
      RowOfNumbers functions(s.gates), dGate(s.gates), state(s.size), before(s.size), cellBefore(s.size), saved(s.size), dOutput(s.size);
      for (std::size_t row = begin; row < end; ++row) {
        if (dLast != nullptr) copyRow(dLast + row * s.size, s.size, dState_.data() + row * width);
        if (!isLstm) continue;
        float* const dCell = dCell_.data() + row * s.size;
        if (dLastCell != nullptr) copyRow(dLastCell + row * s.size, s.size, dCell);
        else std::fill_n(dCell, s.size, 0.0f);
      }
      for (std::size_t index = s.steps; index-- > 0;) {
        const std::size_t time = s.timeOf(index);
        std::size_t count = 0;
        for (std::size_t row = begin; row < end; ++row) {
          const std::size_t place = time * s.rows + row;
          G* const dX = dGates + place * s.gates;
          G* const asked = elementsFrom(askedProducts, place * s.gates);
          if (time >= s.lengthOf(row)) {
            std::fill_n(dX, s.gates, G{0});
            if (asked != nullptr) std::fill_n(asked, s.gates, G{0});
            if (previous != nullptr) std::fill_n(previous + place * s.size, s.size, G{0});
            continue;
          }
          const float* const stateBefore = before.read(s.previous(states, first, time, row));
          if (previous != nullptr) copyRow(stateBefore, s.size, previous + place * s.size);
          to[count] = dState_.data() + row * width;
          float* const ofProducts = keepsProducts ? dProducts_.data() + row * s.gates : floatRow(isGru ? asked : dX);
          float* const ofGates = kTypeOf<G> == kBFloat16 && !isGru ? ofProducts : dGate.place(dX);
          stepBackward(s.cell, {s.size, state.read(states + place * s.size), stateBefore,
                                isLstm ? cellBefore.read(s.previous(further, firstCell, time, row)) : nullptr,
                                isLstm ? saved.read(further + place * s.size) : nullptr, functions.read(elementsFrom(activations, place * s.gates)),
                                isGru ? saved.read(further + place * s.size) : nullptr, dOutput.read(elementsFrom(dStates, place * s.size)), to[count],
                                isLstm ? dCell_.data() + row * s.size : nullptr, ofGates, isGru ? ofProducts : nullptr});
          store(ofGates, s.gates, dX);
          if (asked != nullptr) store(ofProducts, s.gates, asked);
          from[count++] = ofProducts;
        }
        // In gru, the state also reaches the next step without weights.
        matrix_.multiply(from.data(), isGru ? to.data() : nullptr, to.data(), count);
      }
      for (std::size_t row = begin; row < end; ++row) {
        if (dFirst != nullptr) copyRow(dState_.data() + row * width, s.size, dFirst + row * s.size);
        if (dFirstCell != nullptr) copyRow(dCell_.data() + row * s.size, s.size, dFirstCell + row * s.size);
      }
    });
  }

 private:
  // A float32 row was written where it is.
  static float* floatRow(float* row) { return row; }
  static float* floatRow(std::uint16_t*) { return nullptr; }
  static void store(const float*, std::size_t, float*) {}
  static void store(const float* row, std::size_t count, std::uint16_t* to) { copyRow(row, count, to); }

  // Kept to reuse its memory in the next run.
  mutable RecurrenceShape shape_;
  mutable RowProduct matrix_;
  mutable AlignedFloats dState_;
  mutable AlignedFloats dCell_;
  mutable AlignedFloats dProducts_;
};

}  // namespace ringrun::ort
