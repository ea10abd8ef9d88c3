export { clipGradNorm, clipGradValue, type ClipGradNormOptions } from './clip-grad.ts';
export * as rnn from './rnn.ts';
export { castStateDict, consumePrefixInStateDictIfPresent, type StoredTensor16 } from './state-dict.ts';
export * as parametrizations from './parametrizations/index.ts';
