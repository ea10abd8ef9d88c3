#include "binding/low_rank.h"

#include <cstdint>
#include <string>
#include <vector>

#include "binding/elements.h"
#include "operators/low_rank.h"

namespace ringrun {
namespace {

struct FloatArray {
  float* data;
  std::size_t count;
};

// No elements for undefined.
FloatArray floatsOf(const Napi::Value& array) {
  if (array.IsUndefined()) return {nullptr, 0};
  const Elements elements = elementsOf(array, DType::Float32);
  return {static_cast<float*>(elements.data), static_cast<std::size_t>(elements.count)};
}

std::size_t rankOf(const Napi::Value& rank) {
  const std::int64_t given = rank.ToNumber().Int64Value();
  if (given < 1) throw Napi::RangeError::New(rank.Env(), "rank: expected at least 1, got " + std::to_string(given));
  return static_cast<std::size_t>(given);
}

LowRankSizes sizesOf(const Napi::Env& env, std::size_t rank, const FloatArray& matrix, const FloatArray& error, const FloatArray& p,
                     const FloatArray& q) {
  const LowRankSizes sizes{p.count / rank, q.count / rank, rank};
  const bool isWhole = sizes.rows * rank == p.count && sizes.columns * rank == q.count;
  if (!isWhole || matrix.count != sizes.rows * sizes.columns || (error.data != nullptr && error.count != matrix.count)) {
    throw Napi::RangeError::New(env, "factors of rank " + std::to_string(rank) + " have " + std::to_string(p.count) + " and " +
                                         std::to_string(q.count) + " elements, which does not fit a matrix of " +
                                         std::to_string(matrix.count) + " elements and an error of " + std::to_string(error.count));
  }
  return sizes;
}

}  // namespace

void leftFactorOf(const Napi::CallbackInfo& info) {
  const FloatArray matrix = floatsOf(info[0]);
  const FloatArray error = floatsOf(info[1]);
  const FloatArray q = floatsOf(info[2]);
  const FloatArray p = floatsOf(info[3]);
  leftFactor(sizesOf(info.Env(), rankOf(info[4]), matrix, error, p, q), matrix.data, error.data, q.data, p.data);
}

void rightFactorOf(const Napi::CallbackInfo& info) {
  const FloatArray matrix = floatsOf(info[0]);
  const FloatArray p = floatsOf(info[1]);
  const FloatArray q = floatsOf(info[2]);
  rightFactor(sizesOf(info.Env(), rankOf(info[3]), matrix, {nullptr, 0}, p, q), matrix.data, p.data, q.data);
}

void productOfFactorsOf(const Napi::CallbackInfo& info) {
  const FloatArray p = floatsOf(info[0]);
  const FloatArray q = floatsOf(info[1]);
  const FloatArray matrix = floatsOf(info[2]);
  const FloatArray error = floatsOf(info[3]);
  productOfFactors(sizesOf(info.Env(), rankOf(info[4]), matrix, error, p, q), p.data, q.data, matrix.data, error.data);
}

Napi::Value orthonormalizeOf(const Napi::CallbackInfo& info) {
  const FloatArray factor = floatsOf(info[0]);
  const std::size_t rank = rankOf(info[1]);
  if (factor.count % rank != 0) {
    throw Napi::RangeError::New(info.Env(), "a factor of rank " + std::to_string(rank) + " has " + std::to_string(factor.count) +
                                                " elements, expected a multiple of its rank");
  }
  const std::vector<std::size_t> dependent = orthonormalize(factor.data, factor.count / rank, rank);
  Napi::Array indices = Napi::Array::New(info.Env(), dependent.size());
  for (std::uint32_t i = 0; i < dependent.size(); ++i) indices.Set(i, static_cast<double>(dependent[i]));
  return indices;
}

}  // namespace ringrun
