import type { Signature } from '../signature.ts';

/** The functions of F; see {@link Signature}. */
export const functional = {
  'F.adaptiveAvgPool1d': [['input', 'outputSize'], []],
  'F.adaptiveAvgPool2d': [['input', 'outputSize'], []],
  'F.adaptiveAvgPool3d': [['input', 'outputSize'], []],
  'F.adaptiveMaxPool1d': [['input', 'outputSize'], ['returnIndices!']],
  'F.adaptiveMaxPool2d': [['input', 'outputSize'], ['returnIndices!']],
  'F.adaptiveMaxPool3d': [['input', 'outputSize'], ['returnIndices!']],
  'F.affineGrid': [['theta', 'size'], ['alignCorners?']],
  'F.alphaDropout': [
    ['input', 'p?'],
    ['training?', 'inplace!'],
  ],
  'F.avgPool1d': [
    ['input', 'kernelSize'],
    ['stride?', 'padding?', 'ceilMode?', 'countIncludePad?'],
  ],
  'F.avgPool2d': [
    ['input', 'kernelSize'],
    ['stride?', 'padding?', 'ceilMode?', 'countIncludePad?', 'divisorOverride?'],
  ],
  'F.avgPool3d': [
    ['input', 'kernelSize'],
    ['stride?', 'padding?', 'ceilMode?', 'countIncludePad?', 'divisorOverride?'],
  ],
  'F.batchNorm': [
    ['input', 'runningMean?', 'runningVar?', 'weight?', 'bias?'],
    ['training?', 'momentum?', 'eps?'],
  ],
  'F.bilinear': [['input1', 'input2', 'weight', 'bias?'], []],
  'F.binaryCrossEntropy': [
    ['input', 'target'],
    ['weight?', 'sizeAverage!', 'reduce!', 'reduction?'],
  ],
  'F.binaryCrossEntropyWithLogits': [
    ['input', 'target'],
    ['weight?', 'sizeAverage!', 'reduce!', 'reduction?', 'posWeight?'],
  ],
  'F.celu': [['input', 'alpha?'], ['inplace!']],
  'F.channelShuffle': [['input', 'groups'], []],
  'F.conv1d': [
    ['input', 'weight', 'bias?'],
    ['stride?', 'padding?', 'dilation?', 'groups?'],
  ],
  'F.conv2d': [
    ['input', 'weight', 'bias?'],
    ['stride?', 'padding?', 'dilation?', 'groups?'],
  ],
  'F.conv3d': [
    ['input', 'weight', 'bias?'],
    ['stride?', 'padding?', 'dilation?', 'groups?'],
  ],
  'F.convTranspose1d': [
    ['input', 'weight', 'bias?'],
    ['stride?', 'padding?', 'outputPadding?', 'groups?', 'dilation?'],
  ],
  'F.convTranspose2d': [
    ['input', 'weight', 'bias?'],
    ['stride?', 'padding?', 'outputPadding?', 'groups?', 'dilation?'],
  ],
  'F.convTranspose3d': [
    ['input', 'weight', 'bias?'],
    ['stride?', 'padding?', 'outputPadding?', 'groups?', 'dilation?'],
  ],
  'F.cosineEmbeddingLoss': [
    ['input1', 'input2', 'target'],
    ['margin?', 'sizeAverage!', 'reduce!', 'reduction?'],
  ],
  'F.cosineSimilarity': [
    ['x1', 'x2'],
    ['dim?', 'eps?'],
  ],
  'F.crossEntropy': [
    ['input', 'target'],
    ['weight?', 'sizeAverage!', 'ignoreIndex?', 'reduce!', 'reduction?', 'labelSmoothing?'],
  ],
  'F.ctcLoss': [
    ['logProbs', 'targets', 'inputLengths', 'targetLengths'],
    ['blank?', 'reduction?', 'zeroInfinity?'],
  ],
  'F.dropout': [
    ['input', 'p?'],
    ['training?', 'inplace!'],
  ],
  'F.dropout1d': [
    ['input', 'p?'],
    ['training?', 'inplace!'],
  ],
  'F.dropout2d': [
    ['input', 'p?'],
    ['training?', 'inplace!'],
  ],
  'F.dropout3d': [
    ['input', 'p?'],
    ['training?', 'inplace!'],
  ],
  'F.elu': [['input', 'alpha?'], ['inplace!']],
  'F.embedding': [
    ['input', 'weight'],
    ['paddingIdx?', 'maxNorm!', 'normType!', 'scaleGradByFreq?', 'sparse?'],
  ],
  'F.embeddingBag': [
    ['input', 'weight', 'offsets?'],
    [
      'maxNorm!',
      'normType!',
      'scaleGradByFreq!',
      'mode?',
      'sparse?',
      'perSampleWeights?',
      'includeLastOffset?',
      'paddingIdx?',
    ],
  ],
  'F.flatten': [['input', 'startDim?', 'endDim?'], []],
  'F.gaussianNllLoss': [
    ['input', 'target', 'var'],
    ['full?', 'eps?', 'reduction?'],
  ],
  'F.gelu': [['input'], ['approximate?']],
  'F.glu': [['input', 'dim?'], []],
  'F.gridSample': [
    ['input', 'grid'],
    ['mode?', 'paddingMode?', 'alignCorners?'],
  ],
  'F.groupNorm': [['input', 'numGroups', 'weight?', 'bias?'], ['eps?']],
  'F.gumbelSoftmax': [['logits'], ['tau?', 'hard?', 'eps!', 'dim?']],
  'F.hardshrink': [['input', 'lambd?'], []],
  'F.hardsigmoid': [['input'], ['inplace!']],
  'F.hardswish': [['input'], ['inplace!']],
  'F.hardtanh': [['input', 'minVal?', 'maxVal?'], ['inplace!']],
  'F.hingeEmbeddingLoss': [
    ['input', 'target'],
    ['margin?', 'sizeAverage!', 'reduce!', 'reduction?'],
  ],
  'F.huberLoss': [
    ['input', 'target'],
    ['reduction?', 'delta?', 'weight!'],
  ],
  'F.instanceNorm': [['input', 'weight?', 'bias?'], ['eps?']],
  'F.interpolate': [
    ['input'],
    ['size?', 'scaleFactor?', 'mode?', 'alignCorners?', 'recomputeScaleFactor?', 'antialias!'],
  ],
  'F.klDiv': [
    ['input', 'target'],
    ['sizeAverage!', 'reduce!', 'reduction?', 'logTarget?'],
  ],
  'F.l1Loss': [
    ['input', 'target'],
    ['sizeAverage!', 'reduce!', 'reduction?', 'weight!'],
  ],
  'F.layerNorm': [['input', 'normalizedShape', 'weight?', 'bias?'], ['eps?']],
  'F.leakyRelu': [['input', 'negativeSlope?'], ['inplace!']],
  'F.linear': [['input', 'weight', 'bias?'], []],
  'F.localResponseNorm': [
    ['input', 'size'],
    ['alpha?', 'beta?', 'k?'],
  ],
  'F.logSoftmax': [
    ['input', 'dim'],
    ['_stacklevel!', 'dtype!'],
  ],
  'F.logsigmoid': [['input'], []],
  'F.marginRankingLoss': [
    ['input1', 'input2', 'target'],
    ['margin?', 'sizeAverage!', 'reduce!', 'reduction?'],
  ],
  'F.maxPool1d': [
    ['input', 'kernelSize'],
    ['stride?', 'padding?', 'dilation?', 'ceilMode?', 'returnIndices!'],
  ],
  'F.maxPool2d': [
    ['input', 'kernelSize'],
    ['stride?', 'padding?', 'dilation?', 'ceilMode?', 'returnIndices!'],
  ],
  'F.maxPool3d': [
    ['input', 'kernelSize'],
    ['stride?', 'padding?', 'dilation?', 'ceilMode?', 'returnIndices!'],
  ],
  'F.mish': [['input'], ['inplace!']],
  'F.mseLoss': [
    ['input', 'target'],
    ['sizeAverage!', 'reduce!', 'reduction?', 'weight!'],
  ],
  'F.multiMarginLoss': [
    ['input', 'target'],
    ['p?', 'margin?', 'weight?', 'sizeAverage!', 'reduce!', 'reduction?'],
  ],
  'F.multilabelSoftMarginLoss': [
    ['input', 'target'],
    ['weight?', 'sizeAverage!', 'reduce!', 'reduction?'],
  ],
  'F.nllLoss': [
    ['input', 'target'],
    ['weight?', 'sizeAverage!', 'ignoreIndex?', 'reduce!', 'reduction?'],
  ],
  'F.normalize': [['input'], ['p?', 'dim?', 'eps?', 'out!']],
  'F.oneHot': [['tensor', 'numClasses'], []],
  'F.pad': [
    ['input', 'pad'],
    ['mode?', 'value?'],
  ],
  'F.pairwiseDistance': [
    ['x1', 'x2'],
    ['p?', 'eps?', 'keepdim?'],
  ],
  'F.pixelShuffle': [['input', 'upscaleFactor'], []],
  'F.pixelUnshuffle': [['input', 'downscaleFactor'], []],
  'F.poissonNllLoss': [
    ['input', 'target'],
    ['logInput?', 'full?', 'sizeAverage!', 'eps?', 'reduce!', 'reduction?'],
  ],
  'F.prelu': [['input', 'weight'], []],
  'F.relu': [['input'], ['inplace!']],
  'F.relu6': [['input'], ['inplace!']],
  'F.rmsNorm': [['input', 'normalizedShape', 'weight?'], ['eps?']],
  'F.scaledDotProductAttention': [
    ['query', 'key', 'value'],
    ['attnMask?', 'dropoutP?', 'isCausal?'],
    ['scale', 'enableGqa'],
  ],
  'F.selu': [['input'], ['inplace!']],
  'F.sigmoid': [['input'], []],
  'F.silu': [['input'], ['inplace!']],
  'F.smoothL1Loss': [
    ['input', 'target'],
    ['sizeAverage!', 'reduce!', 'reduction?', 'beta?'],
  ],
  'F.softMarginLoss': [
    ['input', 'target'],
    ['sizeAverage!', 'reduce!', 'reduction?'],
  ],
  'F.softmax': [
    ['input', 'dim'],
    ['_stacklevel!', 'dtype!'],
  ],
  'F.softmin': [
    ['input', 'dim'],
    ['_stacklevel!', 'dtype!'],
  ],
  'F.softplus': [['input'], ['beta?', 'threshold?']],
  'F.softshrink': [['input', 'lambd?'], []],
  'F.softsign': [['input'], []],
  'F.tanh': [['input'], []],
  'F.tanhshrink': [['input'], []],
  'F.threshold': [['input', 'threshold', 'value'], ['inplace!']],
  'F.tripletMarginLoss': [
    ['anchor', 'positive', 'negative'],
    ['margin?', 'p?', 'eps?', 'swap?', 'sizeAverage!', 'reduce!', 'reduction?'],
  ],
  'F.tripletMarginWithDistanceLoss': [
    ['anchor', 'positive', 'negative'],
    [],
    ['distanceFunction', 'margin', 'swap', 'reduction'],
  ],
} as const satisfies Readonly<Record<string, Signature>>;
