#include "gpu/convolution_command.h"

#include <algorithm>
#include <utility>

#include "gpu/cudnn.h"

namespace ringrun {
namespace {

// Algorithms that need more are left out: those by FFT take gigabytes.
constexpr std::size_t kMaxConvolutionWorkspace = std::size_t{1} << 30;

// cuDNN has at most 8 algorithms of a kind, each with several kinds of arithmetic.
constexpr int kMaxAlgorithms = 24;

std::string listOf(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "[" : ", ") + std::to_string(number);
  return text + "]";
}

std::string describe(const Convolution& convolution) {
  constexpr const char* kNames[] = {"forward", "gradient of the input", "gradient of the weight"};
  return std::string(kNames[static_cast<int>(convolution.pass)]) + ", input " + listOf(convolution.input.shape) + ", weight " +
         listOf(convolution.weight.shape);
}

// The shape that the output has.
std::vector<int> outputShapeOf(const Convolution& of) {
  std::vector<int> shape{of.input.shape[0], of.weight.shape[0]};
  for (std::size_t axis = 0; axis < of.padding.size(); ++axis) {
    const int extent = of.dilation[axis] * (of.weight.shape[axis + 2] - 1) + 1;
    shape.push_back((of.input.shape[axis + 2] + 2 * of.padding[axis] - extent) / of.stride[axis] + 1);
  }
  return shape;
}

void checkShapes(const Convolution& of) {
  const std::size_t axes = of.padding.size();
  const auto fail = [](const std::string& text) { throw Failure(FailureCode::System, {}, "convolution: " + text); };
  if (axes < 2 || axes > 3) fail("expected 2 or 3 spatial axes, got " + std::to_string(axes));
  if (of.stride.size() != axes || of.dilation.size() != axes) fail("padding, stride and dilation have different lengths");
  for (const ConvolutionTensor* const tensor : {&of.input, &of.weight, &of.output}) {
    if (tensor->shape.size() != axes + 2) fail("expected shapes of " + std::to_string(axes + 2) + " axes, got " + listOf(tensor->shape));
    if (*std::min_element(tensor->shape.begin(), tensor->shape.end()) < 1) fail("expected sizes of at least 1, got " + listOf(tensor->shape));
  }
  if (of.groups < 1 || of.input.shape[1] != of.groups * of.weight.shape[1] || of.weight.shape[0] % of.groups != 0) {
    fail("channels of input " + listOf(of.input.shape) + " and weight " + listOf(of.weight.shape) + " do not fit " +
         std::to_string(of.groups) + " groups");
  }
  if (outputShapeOf(of) != of.output.shape) fail("expected output " + listOf(outputShapeOf(of)) + ", got " + listOf(of.output.shape));
}

}  // namespace

struct ConvolutionCommand::Plan {
  const Cudnn& library = Cudnn::ofProcess();
  const Device& device;
  Convolution of;
  std::string about;
  CudnnTensor input = nullptr;
  CudnnTensor output = nullptr;
  CudnnFilter weight = nullptr;
  CudnnConvolution convolution = nullptr;
  CudnnAlgorithm algorithm{};

  Plan(const Device& on, const Convolution& given) : device(on), of(given), about(describe(given)) {}
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  ~Plan() {
    if (input != nullptr) library.tensorDestroy(input);
    if (output != nullptr) library.tensorDestroy(output);
    if (weight != nullptr) library.filterDestroy(weight);
    if (convolution != nullptr) library.convolutionDestroy(convolution);
  }

  bool isFloat32WithoutTf32() const { return of.dtype == GpuDType::Float32 && !of.allowsTf32; }

  int mathType() const {
    if (of.dtype == GpuDType::BFloat16) return kCudnnTensorMath;
    return of.allowsTf32 ? kCudnnDefaultMath : kCudnnFmaMath;
  }

  void describeTensors() {
    const int dtype = of.dtype == GpuDType::Float32 ? kCudnnFloat32 : kCudnnBFloat16;
    const int format = of.channelsLast ? kCudnnNhwc : kCudnnNchw;
    const int axes = static_cast<int>(of.input.shape.size());
    library.call(library.tensorCreate, about, &input);
    library.call(library.tensorSet, about, input, format, dtype, axes, of.input.shape.data());
    library.call(library.tensorCreate, about, &output);
    library.call(library.tensorSet, about, output, format, dtype, axes, of.output.shape.data());
    library.call(library.filterCreate, about, &weight);
    library.call(library.filterSet, about, weight, dtype, format, axes, of.weight.shape.data());
    library.call(library.convolutionCreate, about, &convolution);
    library.call(library.convolutionSet, about, convolution, axes - 2, of.padding.data(), of.stride.data(), of.dilation.data(),
                 kCudnnCrossCorrelation, kCudnnFloat32);
    library.call(library.convolutionSetGroups, about, convolution, of.groups);
    library.call(library.convolutionSetMath, about, convolution, mathType());
  }

  bool isUsable(const CudnnAlgorithm& one) const {
    return one.status == kCudnnSuccess && one.determinism == kCudnnDeterministic && one.workspaceBytes <= kMaxConvolutionWorkspace &&
           (!isFloat32WithoutTf32() || one.mathType == kCudnnFmaMath);
  }

  void chooseAlgorithm() {
    const CudnnHandle handle = library.handleOf(device.index());
    std::vector<CudnnAlgorithm> found(kMaxAlgorithms);
    int count = 0;
    switch (of.pass) {
      case ConvolutionPass::Forward:
        library.call(of.triesAlgorithms ? library.findForward : library.forwardAlgorithms, about, handle, input, weight, convolution, output, kMaxAlgorithms, &count, found.data());
        break;
      case ConvolutionPass::InputGradient:
        library.call(of.triesAlgorithms ? library.findInputGradient : library.inputGradientAlgorithms, about, handle, weight, output,
                     convolution, input, kMaxAlgorithms, &count, found.data());
        break;
      case ConvolutionPass::WeightGradient:
        library.call(of.triesAlgorithms ? library.findWeightGradient : library.weightGradientAlgorithms, about, handle, input, output,
                     convolution, weight, kMaxAlgorithms, &count, found.data());
        break;
    }
    const auto end = found.begin() + count;
    const auto first = std::find_if(found.begin(), end, [this](const CudnnAlgorithm& one) { return isUsable(one); });
    if (first == end) throw Failure(FailureCode::System, {}, "cuDNN has no deterministic algorithm for " + about);
    algorithm = *first;
    library.call(library.convolutionSetMath, about, convolution, algorithm.mathType);
  }
};

ConvolutionCommand::ConvolutionCommand(std::string name, const Device& device, const Convolution& given)
    : GpuCommand(std::move(name)), plan_(std::make_unique<Plan>(device, given)) {
  checkShapes(given);
  if (!plan_->library.problem().empty()) throw Failure(FailureCode::System, {}, "cuDNN: " + plan_->library.problem());
  plan_->describeTensors();
  plan_->chooseAlgorithm();
}

ConvolutionCommand::~ConvolutionCommand() = default;

std::size_t ConvolutionCommand::workspaceBytes() const { return plan_->algorithm.workspaceBytes; }

void ConvolutionCommand::enqueue(const GpuPlaces& places, const Stream& stream) {
  const Plan& plan = *plan_;
  const Cudnn& library = plan.library;
  const CudnnHandle handle = library.handleOf(plan.device.index());
  library.call(library.setStream, plan.about, handle, stream.handle());
  const float one = 1;
  const float zero = 0;
  const void* const alpha = &one;
  const void* const beta = &zero;
  void* const input = places.at(plan.of.input.at);
  void* const weight = places.at(plan.of.weight.at);
  void* const output = places.at(plan.of.output.at);
  void* const workspace = places.workspace;
  const auto in = [](const void* data) { return data; };
  const auto& [algorithm, bytes] = std::pair(plan.algorithm.algorithm, plan.algorithm.workspaceBytes);
  switch (plan.of.pass) {
    case ConvolutionPass::Forward:
      return library.call(library.forward, plan.about, handle, alpha, plan.input, in(input), plan.weight, in(weight), plan.convolution,
                          algorithm, workspace, bytes, beta, plan.output, output);
    case ConvolutionPass::InputGradient:
      return library.call(library.inputGradient, plan.about, handle, alpha, plan.weight, in(weight), plan.output, in(output),
                          plan.convolution, algorithm, workspace, bytes, beta, plan.input, input);
    case ConvolutionPass::WeightGradient:
      return library.call(library.weightGradient, plan.about, handle, alpha, plan.input, in(input), plan.output, in(output),
                          plan.convolution, algorithm, workspace, bytes, beta, plan.weight, weight);
  }
}

}  // namespace ringrun
