export { clipGradNorm, clipGradValue, type ClipGradNormOptions } from './clip-grad.ts';
export { consumePrefixInStateDictIfPresent } from './state-dict.ts';
