#include "operators/product/panels.h"

#include <algorithm>

#include "operators/product/vector_kernels.h"
#include "operators/vectors.h"

namespace ringrun {

const std::vector<PanelKernels>& panelKernels() {
  static const std::vector<PanelKernels> all = [] {
    std::vector<PanelKernels> kernels = {{"amx-twin", true, multiplyPlain, multiplyAmxTwin}, {"plain", true, multiplyPlain, multiplyPlain}};
#if defined(__x86_64__)
    kernels.push_back({"avx2", hasAvx2WithFma(), multiplyAvx2, multiplyAvx2});
    kernels.push_back({"avx512", hasAvx512WithFma(), multiplyAvx512, multiplyAvx512});
    kernels.push_back({"avx512-bf16", hasAvx512BFloat16(), multiplyAvx512, multiplyAvx512BFloat16});
    kernels.push_back({"amx", hasAvx512WithFma() && hasAmx(), multiplyAvx512, multiplyAmx});
#endif
    return kernels;
  }();
  return all;
}

const PanelKernels& bestPanelKernels() {
  static const PanelKernels& best =
      *std::find_if(panelKernels().rbegin(), panelKernels().rend(), [](const PanelKernels& kernels) { return kernels.isHere; });
  return best;
}

}  // namespace ringrun
