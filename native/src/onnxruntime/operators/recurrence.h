#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"
#include "operators/recurrent_cell.h"
#include "operators/row_product.h"

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
  const float* previous(const T* states, const float* initial, std::size_t time, std::size_t row) const {
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

// Inputs: gates of the input [L,N,G·H]; recurrent weights [G·H,H]; the first state [N,H]; optional: the first cell [N,H], of
// lstm; the recurrent bias [G·H]; lengths [N], after which states are 0.
// Outputs: states [L,N,H]; the last state [N,H]; optional: the last cell [N,H]; and for the gradient of lstm and gru, gates
// after their functions [L,N,G·H], and cells of lstm, or products of gru's last gate [L,N,H].
// Attributes: cell, a ringrun::Cell; reverse, from the last step to the first.
struct Recurrence {
  static constexpr const char* kName = "Recurrence";
  static constexpr std::array kInputs = {Argument{kFloat32},           Argument{kFloat32},           Argument{kFloat32},
                                         Argument{kFloat32, kOptional}, Argument{kFloat32, kOptional}, Argument{kInt64, kOptional}};
  static constexpr std::array kOutputs = {Argument{kFloat32}, Argument{kFloat32}, Argument{kFloat32, kOptional},
                                          Argument{kFloat32, kOptional}, Argument{kFloat32, kOptional}};
  static constexpr std::array kInPlace = {Sharing{0, 3}};

  explicit Recurrence(const Attributes& attributes) : shape_(attributes) {}

  void compute(Computation& computation) const {
    RecurrenceShape& s = shape_;
    const auto weight = computation.input<float>(1);
    s.read(weight.shape, computation.input<float>(0).shape, computation.input<std::int64_t>(5));
    computation.input<float>(1, s.ofWeight());
    const float* const gates = computation.input<float>(0, s.ofGates()).data;
    const float* const first = computation.input<float>(2, s.ofState()).data;
    const bool isLstm = s.cell == Cell::Lstm;
    const float* const firstCell = isLstm ? computation.input<float>(3, s.ofState()).data : nullptr;
    const auto bias = computation.input<float>(4);

    float* const states = computation.output<float>(0, s.ofStates());
    float* const last = computation.output<float>(1, s.ofState());
    float* const lastCell = isLstm ? computation.output<float>(2, s.ofState()) : nullptr;
    const bool saves = isLstm || s.cell == Cell::Gru;
    float* const activations = saves ? computation.output<float>(3, s.ofGates()) : nullptr;
    float* const further = saves ? computation.output<float>(4, s.ofStates()) : nullptr;

    matrix_.store(weight.data, s.size, s.gates, 1, s.size);
    const std::size_t width = RowProduct::padded(s.gates);
    bias_.resize(width);
    std::fill(bias_.data(), bias_.data() + width, 0.0f);
    if (bias) std::copy_n(computation.input<float>(4, {1, {static_cast<std::int64_t>(s.gates)}}).data, s.gates, bias_.data());
    products_.resize(s.rows * width);
    cells_.resize(isLstm ? s.rows * s.size : 0);

    s.forEachPart(computation, [&](std::size_t begin, std::size_t end) {
      std::vector<const float*> from(end - begin), start(end - begin, bias_.data());
      std::vector<float*> to(end - begin);
      std::vector<std::size_t> active(end - begin);
      for (std::size_t row = begin; isLstm && row < end; ++row) {
        std::copy_n(firstCell + row * s.size, s.size, cells_.data() + row * s.size);
      }
      for (std::size_t index = 0; index < s.steps; ++index) {
        const std::size_t time = s.timeOf(index);
        std::size_t count = 0;
        for (std::size_t row = begin; row < end; ++row) {
          if (time >= s.lengthOf(row)) {
            std::fill_n(states + (time * s.rows + row) * s.size, s.size, 0.0f);
            continue;
          }
          active[count] = row;
          from[count] = s.previous(states, first, time, row);
          to[count] = products_.data() + row * width;
          ++count;
        }
        matrix_.multiply(from.data(), start.data(), to.data(), count);
        for (std::size_t i = 0; i < count; ++i) {
          const std::size_t row = active[i];
          const std::size_t place = time * s.rows + row;
          // Without an output for all cells, only the current one is kept.
          float* const cell = isLstm ? cells_.data() + row * s.size : nullptr;
          stepForward(s.cell, {s.size, gates + place * s.gates, to[i], from[i], cell, states + place * s.size, cell,
                               elementsFrom(activations, place * s.gates),
                               s.cell == Cell::Gru && further != nullptr ? further + place * s.size : nullptr});
          if (isLstm && further != nullptr) std::copy_n(cell, s.size, further + place * s.size);
        }
      }
      for (std::size_t row = begin; row < end; ++row) {
        const std::size_t length = s.lengthOf(row);
        const float* const source = length == 0 ? first + row * s.size : states + ((s.isReverse ? 0 : length - 1) * s.rows + row) * s.size;
        std::copy_n(source, s.size, last + row * s.size);
        if (lastCell != nullptr) std::copy_n(cells_.data() + row * s.size, s.size, lastCell + row * s.size);
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
};

// Inputs: states, recurrent weights, the first state; optional: the first cell, lengths, the last two outputs of Recurrence, the
// gradients of its first three. Outputs, each optional: the gradients of the gates of the input [L,N,G·H]; of the product of
// states and weights [L,N,G·H], which differs only for gru; the states before each step [L,N,H], 0 after the length;
// the gradients of the first state and of the first cell [N,H]. Attributes: see Recurrence.
struct RecurrenceGradient {
  static constexpr const char* kName = "RecurrenceGradient";
  static constexpr Argument kMaybe = {kFloat32, kOptional};
  static constexpr std::array kInputs = {Argument{kFloat32}, Argument{kFloat32}, Argument{kFloat32}, kMaybe, Argument{kInt64, kOptional},
                                         kMaybe, kMaybe, kMaybe, kMaybe, kMaybe};
  static constexpr std::array kOutputs = {Argument{kFloat32}, kMaybe, kMaybe, kMaybe, kMaybe};
  static constexpr std::array kInPlace = {Sharing{5, 0}};

  explicit RecurrenceGradient(const Attributes& attributes) : shape_(attributes) {}

  void compute(Computation& computation) const {
    RecurrenceShape& s = shape_;
    const auto weight = computation.input<float>(1);
    s.read(weight.shape, computation.input<float>(0).shape, computation.input<std::int64_t>(4));
    computation.input<float>(1, s.ofWeight());
    const float* const states = computation.input<float>(0, s.ofStates()).data;
    const float* const first = computation.input<float>(2, s.ofState()).data;
    const bool isLstm = s.cell == Cell::Lstm;
    const bool isGru = s.cell == Cell::Gru;
    const float* const firstCell = isLstm ? computation.input<float>(3, s.ofState()).data : nullptr;
    const float* const activations = isLstm || isGru ? computation.input<float>(5, s.ofGates()).data : nullptr;
    const float* const further = isLstm || isGru ? computation.input<float>(6, s.ofStates()).data : nullptr;
    const float* const dStates = computation.optionalInput<float>(7, s.ofStates());
    const float* const dLast = computation.optionalInput<float>(8, s.ofState());
    const float* const dLastCell = computation.optionalInput<float>(9, s.ofState());

    float* const dGates = computation.output<float>(0, s.ofGates());
    float* const askedProducts = isGru ? computation.output<float>(1, s.ofGates()) : nullptr;
    float* const previous = computation.output<float>(2, s.ofStates());
    float* const dFirst = computation.output<float>(3, s.ofState());
    float* const dFirstCell = isLstm ? computation.output<float>(4, s.ofState()) : nullptr;

    matrix_.store(weight.data, s.gates, s.size, s.size, 1);
    const std::size_t width = RowProduct::padded(s.size);
    dState_.resize(s.rows * width);
    std::fill_n(dState_.data(), s.rows * width, 0.0f);
    dCell_.resize(isLstm ? s.rows * s.size : 0);
    dProducts_.resize(isGru && askedProducts == nullptr ? s.rows * s.gates : 0);

    s.forEachPart(computation, [&](std::size_t begin, std::size_t end) {
      std::vector<const float*> from(end - begin);
      std::vector<float*> to(end - begin);
      for (std::size_t row = begin; row < end; ++row) {
        if (dLast != nullptr) std::copy_n(dLast + row * s.size, s.size, dState_.data() + row * width);
        if (!isLstm) continue;
        float* const dCell = dCell_.data() + row * s.size;
        if (dLastCell != nullptr) std::copy_n(dLastCell + row * s.size, s.size, dCell);
        else std::fill_n(dCell, s.size, 0.0f);
      }
      for (std::size_t index = s.steps; index-- > 0;) {
        const std::size_t time = s.timeOf(index);
        std::size_t count = 0;
        for (std::size_t row = begin; row < end; ++row) {
          const std::size_t place = time * s.rows + row;
          float* const dProduct = !isGru ? nullptr : askedProducts != nullptr ? askedProducts + place * s.gates : dProducts_.data() + row * s.gates;
          if (time >= s.lengthOf(row)) {
            std::fill_n(dGates + place * s.gates, s.gates, 0.0f);
            if (askedProducts != nullptr) std::fill_n(dProduct, s.gates, 0.0f);
            if (previous != nullptr) std::fill_n(previous + place * s.size, s.size, 0.0f);
            continue;
          }
          const float* const before = s.previous(states, first, time, row);
          if (previous != nullptr) std::copy_n(before, s.size, previous + place * s.size);
          to[count] = dState_.data() + row * width;
          stepBackward(s.cell, {s.size, states + place * s.size, before, isLstm ? s.previous(further, firstCell, time, row) : nullptr,
                                isLstm ? further + place * s.size : nullptr, elementsFrom(activations, place * s.gates),
                                isGru ? further + place * s.size : nullptr, elementsFrom(dStates, place * s.size), to[count],
                                isLstm ? dCell_.data() + row * s.size : nullptr, dGates + place * s.gates, dProduct});
          from[count++] = isGru ? dProduct : dGates + place * s.gates;
        }
        // In gru, the state also reaches the next step without weights.
        matrix_.multiply(from.data(), isGru ? to.data() : nullptr, to.data(), count);
      }
      for (std::size_t row = begin; row < end; ++row) {
        if (dFirst != nullptr) std::copy_n(dState_.data() + row * width, s.size, dFirst + row * s.size);
        if (dFirstCell != nullptr) std::copy_n(dCell_.data() + row * s.size, s.size, dFirstCell + row * s.size);
      }
    });
  }

 private:
  // Kept to reuse its memory in the next run.
  mutable RecurrenceShape shape_;
  mutable RowProduct matrix_;
  mutable AlignedFloats dState_;
  mutable AlignedFloats dCell_;
  mutable AlignedFloats dProducts_;
};

}  // namespace ringrun::ort
