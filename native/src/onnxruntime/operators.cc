#include "onnxruntime/operators.h"

#include "onnxruntime/operator.h"
#include "onnxruntime/operators/add_dependency.h"

namespace ringrun::ort {

const std::vector<const CustomOperator*>& operators() {
  static const std::vector<const CustomOperator*> all = {
      customOperator<AddDependency>(),
  };
  return all;
}

}  // namespace ringrun::ort
