#include "onnxruntime/operators.h"

#include "onnxruntime/operator.h"
#include "onnxruntime/operators/add_dependency.h"
#include "onnxruntime/operators/add_rows.h"
#include "onnxruntime/operators/attention.h"
#include "onnxruntime/operators/batch_normalize_activate.h"
#include "onnxruntime/operators/calls.h"
#include "onnxruntime/operators/check_indices.h"
#include "onnxruntime/operators/check_probabilities.h"
#include "onnxruntime/operators/clip_norm.h"
#include "onnxruntime/operators/combine_statistics.h"
#include "onnxruntime/operators/ctc_loss.h"
#include "onnxruntime/operators/direct_convolve.h"
#include "onnxruntime/operators/dropout.h"
#include "onnxruntime/operators/elementwise.h"
#include "onnxruntime/operators/embedding_bag.h"
#include "onnxruntime/operators/gelu.h"
#include "onnxruntime/operators/layer_normalize.h"
#include "onnxruntime/operators/matrix_product.h"
#include "onnxruntime/operators/max_pool_activate.h"
#include "onnxruntime/operators/max_pool_gradient.h"
#include "onnxruntime/operators/recurrence.h"
#include "onnxruntime/operators/softmax.h"
#include "onnxruntime/operators/softmax_cross_entropy.h"
#include "onnxruntime/operators/sparse_rows.h"
#include "onnxruntime/operators/sum_rows.h"
#include "onnxruntime/operators/toom_cook_convolve.h"
#include "onnxruntime/operators/toom_cook_convolve_2d.h"
#include "onnxruntime/operators/update_rows.h"

namespace ringrun::ort {

const std::vector<const CustomOperator*>& operators() {
  static const std::vector<const CustomOperator*> all = [] {
    std::vector<const CustomOperator*> made = {
        customOperator<AwaitCall>(),
        customOperator<BagPlaces>(),
        customOperator<CheckIndices>(),
        customOperator<CheckProbabilities>(),
        customOperator<ClipNorm>(),
        customOperator<ClipNormOfParts>(),
        customOperator<CombineStatistics>(),
        customOperator<Copy>(),
        customOperator<CtcLoss>(),
        customOperator<DenseRows>(),
        customOperator<DirectConvolve>(),
        customOperator<DirectWeightGradient>(),
        customOperator<Elementwise>(),
        customOperator<EmbeddingBag>(),
        customOperator<EmbeddingBagGradient>(),
        customOperator<MatrixProducts>(),
        customOperator<NormParts>(),
        customOperator<RunCall>(),
        customOperator<StartCall>(),
        customOperator<SparseRowValues>(),
        customOperator<SparseRows>(),
        customOperator<SumRows>(),
        customOperator<UpdateRows<AdagradOfRows>>(),
        customOperator<UpdateRows<AdamOfRows>>(),
        customOperator<UpdateRows<SgdOfRows>>(),
    };
    addOverloads<AddDependency, 1>(made);
    addOverloads<AddLayerNormalize, 2>(made);
    addOverloads<AddRows, 1>(made);
    addOverloads<Attention, 1>(made);
    addOverloads<AttentionGradient, 1>(made);
    addOverloads<BatchNormalizeActivate, 1>(made);
    addOverloads<BatchNormalizeActivateGradient, 1>(made);
    addOverloads<Dropout, 1>(made);
    addOverloads<Gelu, 1>(made);
    addOverloads<GeluGradient, 1>(made);
    addOverloads<LayerNormalize, 1>(made);
    addOverloads<LayerNormalizeGradient, 2>(made);
    addOverloads<MaxPoolActivate, 1>(made);
    addOverloads<MaxPoolActivateGradient, 1>(made);
    addOverloads<MaxPoolGradient, 1>(made);
    addOverloads<Recurrence, 2>(made);
    addOverloads<RecurrenceGradient, 2>(made);
    addOverloads<SafeSoftmax, 1>(made);
    addOverloads<Softmax, 1>(made);
    addOverloads<SoftmaxCrossEntropy, 1>(made);
    addOverloads<SoftmaxCrossEntropyGradient, 1>(made);
    addOverloads<ToomCookConvolve, 1>(made);
    addOverloads<ToomCookConvolve2d, 1>(made);
    addOverloads<ToomCookWeightGradient, 1>(made);
    addOverloads<ToomCookWeightGradient2d, 1>(made);
    return made;
  }();
  return all;
}

}  // namespace ringrun::ort
