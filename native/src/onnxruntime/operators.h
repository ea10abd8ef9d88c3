#pragma once

#include <vector>

#include "onnxruntime/c_api.h"

namespace ringrun::ort {

// All operators of the domain kDomain (operator.h).
const std::vector<const CustomOperator*>& operators();

}  // namespace ringrun::ort
