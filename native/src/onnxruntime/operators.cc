#include "onnxruntime/operators.h"

#include "onnxruntime/operator.h"
#include "onnxruntime/operators/add_dependency.h"
#include "onnxruntime/operators/calls.h"
#include "onnxruntime/operators/elementwise.h"

namespace ringrun::ort {

const std::vector<const CustomOperator*>& operators() {
  static const std::vector<const CustomOperator*> all = {
      customOperator<AddDependency>(),
      customOperator<AwaitCall>(),
      customOperator<Elementwise>(),
      customOperator<RunCall>(),
      customOperator<StartCall>(),
  };
  return all;
}

}  // namespace ringrun::ort
