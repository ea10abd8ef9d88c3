export { clipGradNorm, clipGradValue, type ClipGradNormOptions } from './clip-grad.ts';
export * as rnn from './rnn.ts';
export { consumePrefixInStateDictIfPresent } from './state-dict.ts';
