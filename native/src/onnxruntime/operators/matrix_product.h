#pragma once

#include <algorithm>
#include <array>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"
#include "onnxruntime/operators/program_arrays.h"
#include "operators/product/product.h"

namespace ringrun::ort {

// Matrix products over leading axes that broadcast (operators/product/product.h). Inputs: left […,M,K] or, with transLeft = 1,
// […,K,M]; right […,K,N] or, with transRight = 1, […,N,K]; a bias [N] (optional); the arrays of a program (program_arrays.h) but
// the last, which is the product […,M,N]. Outputs: those of the program. Without instructions, the result is the product.
//
// Attributes: halves = 1, products in bfloat16; sums = 1, the sum of the products over all leading axes.
struct MatrixProducts {
  static constexpr const char* kName = "MatrixProduct";
  static constexpr auto kInputs = programArguments<3>({Argument{kAnyType}, Argument{kAnyType}, Argument{kFloat32, kOptional}});
  static constexpr auto kOutputs = programArguments();

  explicit MatrixProducts(const Attributes& attributes)
      : transLeft_(attributes.integer("transLeft") != 0),
        transRight_(attributes.integer("transRight") != 0),
        inHalves_(attributes.integer("halves") != 0),
        sums_(attributes.integer("sums") != 0),
        arrays_(attributes, true) {
    const auto& definition = program().definition();
    isPlain_ = definition.instructions.empty() && definition.results.size() == 1;
    if (sums_ && !isPlain_) throw Error("expected no instructions after a sum over leading axes");
  }

  void compute(Computation& computation) const {
    const Operand left = operandOf(computation, 0, transLeft_);
    const Operand right = operandOf(computation, 1, transRight_);
    if (left.columns != right.rows) throw Error("expected equal inner sizes, got " + describe(left.shape) + " and " + describe(right.shape));
    const Shape batches = batchesOf(left.shape, right.shape);

    MatrixProduct product;
    product.rows = left.rows;
    product.inner = left.columns;
    product.columns = right.columns;
    product.inHalves = inHalves_;
    const std::size_t expected = product.rows * product.columns * (sums_ ? 1 : batches.count());
    if (arrays_.count() != expected) throw Error("expected results of " + std::to_string(expected) + " elements, got " + std::to_string(arrays_.count()));
    const Shape bias{1, {static_cast<std::int64_t>(product.columns)}};
    product.epilogue.bias = computation.optionalInput<float>(2, bias);
    const auto inputs = arrays_.inputs(computation, 3);
    const auto outputs = arrays_.outputs(computation);
    if (isPlain_) {
      product.to = {outputs.front(), program().definition().outputs.isBFloat(0), product.columns};
    } else {
      for (const auto& input : inputs) {
        if (input.period > 1 && input.period % product.columns != 0) throw Error("expected whole rows in an array that is repeated");
      }
      product.epilogue.program = &program();
      product.epilogue.inputs = &inputs;
      product.epilogue.outputs = &outputs;
      product.epilogue.stride = product.columns;
    }
    computeAll(computation, product, left, right, batches);
  }

 private:
  struct Operand {
    MatrixOperand matrix;
    Shape shape;
    std::size_t rows;
    std::size_t columns;
  };

  Operand operandOf(const Computation& computation, std::size_t index, bool isTransposed) const {
    const auto found = computation.input<std::uint8_t>(index);
    const bool isHalf = isHalfAt(computation, index);
    if (found.shape.axes < 2) throw Error("input " + std::to_string(index) + ": expected a matrix, got " + describe(found.shape));
    if (isHalf && !inHalves_) throw Error("input " + std::to_string(index) + ": expected float32 for a product in float32, got bfloat16");
    const auto size = [&](std::size_t fromEnd) { return static_cast<std::size_t>(found.shape.sizes[found.shape.axes - fromEnd]); };
    if (isTransposed) return {{found.data, isHalf, 1, size(1)}, found.shape, size(1), size(2)};
    return {{found.data, isHalf, size(1), 1}, found.shape, size(2), size(1)};
  }

  static bool isHalfAt(const Computation& computation, std::size_t index) {
    const int type = computation.elementType(index);
    if (type != kFloat32 && type != kBFloat16) throw Error("input " + std::to_string(index) + ": expected float32 or bfloat16");
    return type == kBFloat16;
  }

  static Shape batchesOf(const Shape& left, const Shape& right) {
    Shape batches;
    batches.axes = std::max(left.axes, right.axes) - 2;
    for (std::size_t axis = 0; axis < batches.axes; ++axis) {
      const std::int64_t a = batchSize(left, batches.axes, axis), b = batchSize(right, batches.axes, axis);
      if (a != b && a != 1 && b != 1) throw Error("leading axes of " + describe(left) + " and " + describe(right) + " do not broadcast");
      batches.sizes[axis] = a == 1 ? b : a;
    }
    return batches;
  }

  // The size of a leading axis, counted in `axes` axes.
  static std::int64_t batchSize(const Shape& shape, std::size_t axes, std::size_t axis) {
    const std::size_t missing = axes + 2 - shape.axes;
    return axis < missing ? 1 : shape.sizes[axis - missing];
  }

  // The position of the matrix that belongs to a batch.
  static std::size_t positionOf(const Shape& shape, const Shape& batches, std::size_t batch) {
    std::size_t position = 0, step = 1;
    for (std::size_t axis = batches.axes; axis-- > 0;) {
      const auto all = static_cast<std::size_t>(batches.sizes[axis]), own = static_cast<std::size_t>(batchSize(shape, batches.axes, axis));
      if (own != 1) position += batch % all * step;
      batch /= all;
      step *= own;
    }
    return position;
  }

  static MatrixProduct productOf(const MatrixProduct& first, const Operand& left, const Operand& right, const Shape& batches, std::size_t batch) {
    MatrixProduct product = first;
    product.left = matrixAt(left.matrix, positionOf(left.shape, batches, batch) * first.rows * first.inner);
    product.right = matrixAt(right.matrix, positionOf(right.shape, batches, batch) * first.inner * first.columns);
    return product;
  }

  static MatrixOperand matrixAt(const MatrixOperand& matrix, std::size_t offset) {
    MatrixOperand at = matrix;
    at.data = static_cast<const char*>(matrix.data) + offset * (matrix.isHalf ? sizeof(std::uint16_t) : sizeof(float));
    return at;
  }

  void computeAll(Computation& computation, MatrixProduct product, const Operand& left, const Operand& right, const Shape& batches) const {
    const std::size_t count = batches.count();
    const auto parallelFor = [&](std::size_t total, const auto& body) { computation.parallelFor(total, body); };
    if (sums_) {
      if (count == 0) std::fill_n(static_cast<float*>(product.to.data), product.rows * product.columns, 0.0f);
      for (std::size_t batch = 0; batch < count; ++batch) {
        product.adds = batch > 0;
        multiply(productOf(product, left, right, batches, batch), parallelFor);
      }
      return;
    }
    // One matrix for all batches: their rows follow one another.
    if (right.shape.count() == right.rows * right.columns && !transLeft_ && left.shape.count() == count * product.rows * product.inner) {
      product.rows *= count;
      product.left = left.matrix;
      product.right = right.matrix;
      return multiply(product, parallelFor);
    }
    computation.parallelFor(count, [&](std::size_t batch) {
      MatrixProduct own = productOf(product, left, right, batches, batch);
      const std::size_t offset = batch * product.rows * product.columns;
      if (isPlain_) own.to = product.to.from(offset);
      own.epilogue.first = offset;
      multiply(own);
    });
  }

  const ElementwiseProgram& program() const { return arrays_.program(); }

  bool transLeft_;
  bool transRight_;
  bool inHalves_;
  bool sums_;
  ProgramArrays arrays_;
  bool isPlain_;
};

}  // namespace ringrun::ort
