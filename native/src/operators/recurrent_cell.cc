#include "operators/recurrent_cell.h"

#include "operators/activations.h"
#include "operators/vectors.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

// ← a[i…] + b[i…]
template <std::size_t Bytes>
RINGRUN_INLINE void loadSum(Lanes<Bytes>& to, const float* a, const float* b, std::size_t left) {
  Lanes<Bytes> other;
  to.load(a, left, 0);
  other.load(b, left, 0);
  for (std::size_t k = 0; k < to.kVectors; ++k) to[k] += other[k];
}

// The gradient of the state: from the next step, and from outside.
template <std::size_t Bytes>
RINGRUN_INLINE void loadStateGradient(Lanes<Bytes>& to, const CellBackward& step, std::size_t i) {
  const std::size_t left = step.size - i;
  if (step.dOutput == nullptr) return to.load(step.dState + i, left, 0);
  loadSum(to, step.dState + i, step.dOutput + i, left);
}

template <bool isRelu>
struct PlainForward {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const CellForward& given) {
    const CellForward step = given;
    Lanes<Bytes> h;
    for (std::size_t i = 0; i < step.size; i += kLanes) {
      const std::size_t left = step.size - i;
      loadSum(h, step.gates + i, step.product + i, left);
      if constexpr (isRelu) {
        for (auto& vector : h.vectors) vector = vector < 0.0f ? typename Lanes<Bytes>::Numbers{} : vector;
      } else {
        hyperbolicTangent(h);
      }
      h.store(step.state + i, left);
    }
  }
};

template <bool isRelu>
struct PlainBackward {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const CellBackward& given) {
    const CellBackward step = given;
    Lanes<Bytes> d, h;
    for (std::size_t i = 0; i < step.size; i += kLanes) {
      const std::size_t left = step.size - i;
      loadStateGradient(d, step, i);
      h.load(step.state + i, left, 0);
      for (std::size_t k = 0; k < d.kVectors; ++k) {
        if constexpr (isRelu) {
          d[k] = h[k] <= 0.0f ? typename Lanes<Bytes>::Numbers{} : d[k];
        } else {
          d[k] *= 1.0f - h[k] * h[k];
        }
      }
      d.store(step.dGates + i, left);
    }
  }
};

struct LstmForward {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const CellForward& given) {
    const CellForward step = given;
    const std::size_t size = step.size;
    Lanes<Bytes> in, forget, candidate, out, c;
    for (std::size_t i = 0; i < size; i += kLanes) {
      const std::size_t left = size - i;
      loadSum(in, step.gates + i, step.product + i, left);
      loadSum(forget, step.gates + size + i, step.product + size + i, left);
      loadSum(candidate, step.gates + 2 * size + i, step.product + 2 * size + i, left);
      loadSum(out, step.gates + 3 * size + i, step.product + 3 * size + i, left);
      sigmoid(in);
      sigmoid(forget);
      hyperbolicTangent(candidate);
      sigmoid(out);
      if (step.activations != nullptr) {
        in.store(step.activations + i, left);
        forget.store(step.activations + size + i, left);
        candidate.store(step.activations + 2 * size + i, left);
        out.store(step.activations + 3 * size + i, left);
      }
      c.load(step.previousCell + i, left, 0);
      for (std::size_t k = 0; k < c.kVectors; ++k) c[k] = forget[k] * c[k] + in[k] * candidate[k];
      c.store(step.cell + i, left);
      hyperbolicTangent(c);
      for (std::size_t k = 0; k < c.kVectors; ++k) c[k] *= out[k];
      c.store(step.state + i, left);
    }
  }
};

struct LstmBackward {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const CellBackward& given) {
    const CellBackward step = given;
    const std::size_t size = step.size;
    Lanes<Bytes> d, in, forget, candidate, out, c, dc, previous;
    for (std::size_t i = 0; i < size; i += kLanes) {
      const std::size_t left = size - i;
      loadStateGradient(d, step, i);
      in.load(step.activations + i, left, 0);
      forget.load(step.activations + size + i, left, 0);
      candidate.load(step.activations + 2 * size + i, left, 0);
      out.load(step.activations + 3 * size + i, left, 0);
      c.load(step.cell + i, left, 0);
      previous.load(step.previousCell + i, left, 0);
      dc.load(step.dCell + i, left, 0);
      hyperbolicTangent(c);
      for (std::size_t k = 0; k < d.kVectors; ++k) {
        const auto dOut = d[k] * c[k];
        const auto dAll = dc[k] + d[k] * out[k] * (1.0f - c[k] * c[k]);
        dc[k] = dAll * forget[k];
        const auto dIn = dAll * candidate[k];
        const auto dForget = dAll * previous[k];
        const auto dCandidate = dAll * in[k];
        in[k] = dIn * in[k] * (1.0f - in[k]);
        forget[k] = dForget * forget[k] * (1.0f - forget[k]);
        candidate[k] = dCandidate * (1.0f - candidate[k] * candidate[k]);
        out[k] = dOut * out[k] * (1.0f - out[k]);
      }
      dc.store(step.dCell + i, left);
      in.store(step.dGates + i, left);
      forget.store(step.dGates + size + i, left);
      candidate.store(step.dGates + 2 * size + i, left);
      out.store(step.dGates + 3 * size + i, left);
    }
  }
};

struct GruForward {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const CellForward& given) {
    const CellForward step = given;
    const std::size_t size = step.size;
    Lanes<Bytes> reset, update, candidate, product, h;
    for (std::size_t i = 0; i < size; i += kLanes) {
      const std::size_t left = size - i;
      loadSum(reset, step.gates + i, step.product + i, left);
      loadSum(update, step.gates + size + i, step.product + size + i, left);
      candidate.load(step.gates + 2 * size + i, left, 0);
      product.load(step.product + 2 * size + i, left, 0);
      sigmoid(reset);
      sigmoid(update);
      for (std::size_t k = 0; k < h.kVectors; ++k) candidate[k] += reset[k] * product[k];
      hyperbolicTangent(candidate);
      if (step.activations != nullptr) {
        reset.store(step.activations + i, left);
        update.store(step.activations + size + i, left);
        candidate.store(step.activations + 2 * size + i, left);
      }
      if (step.candidate != nullptr) product.store(step.candidate + i, left);
      h.load(step.previousState + i, left, 0);
      for (std::size_t k = 0; k < h.kVectors; ++k) h[k] = (1.0f - update[k]) * candidate[k] + update[k] * h[k];
      h.store(step.state + i, left);
    }
  }
};

struct GruBackward {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const CellBackward& given) {
    const CellBackward step = given;
    const std::size_t size = step.size;
    Lanes<Bytes> d, reset, update, candidate, product, previous;
    for (std::size_t i = 0; i < size; i += kLanes) {
      const std::size_t left = size - i;
      loadStateGradient(d, step, i);
      reset.load(step.activations + i, left, 0);
      update.load(step.activations + size + i, left, 0);
      candidate.load(step.activations + 2 * size + i, left, 0);
      product.load(step.candidate + i, left, 0);
      previous.load(step.previousState + i, left, 0);
      for (std::size_t k = 0; k < d.kVectors; ++k) {
        const auto z = update[k];
        const auto dCandidate = d[k] * (1.0f - z) * (1.0f - candidate[k] * candidate[k]);
        update[k] = d[k] * (previous[k] - candidate[k]) * z * (1.0f - z);
        d[k] *= z;
        const auto r = reset[k];
        reset[k] = dCandidate * product[k] * r * (1.0f - r);
        candidate[k] = dCandidate;
        product[k] = dCandidate * r;
      }
      d.store(step.dState + i, left);
      reset.store(step.dGates + i, left);
      update.store(step.dGates + size + i, left);
      candidate.store(step.dGates + 2 * size + i, left);
      reset.store(step.dProduct + i, left);
      update.store(step.dProduct + size + i, left);
      product.store(step.dProduct + 2 * size + i, left);
    }
  }
};

#undef RINGRUN_INLINE

}  // namespace

void stepForward(Cell cell, const CellForward& step) {
  switch (cell) {
    case Cell::Tanh: return runVectorised<PlainForward<false>>(step);
    case Cell::Relu: return runVectorised<PlainForward<true>>(step);
    case Cell::Lstm: return runVectorised<LstmForward>(step);
    case Cell::Gru: return runVectorised<GruForward>(step);
  }
}

void stepBackward(Cell cell, const CellBackward& step) {
  switch (cell) {
    case Cell::Tanh: return runVectorised<PlainBackward<false>>(step);
    case Cell::Relu: return runVectorised<PlainBackward<true>>(step);
    case Cell::Lstm: return runVectorised<LstmBackward>(step);
    case Cell::Gru: return runVectorised<GruBackward>(step);
  }
}

}  // namespace ringrun
