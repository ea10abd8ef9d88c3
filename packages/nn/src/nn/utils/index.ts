export { clipGradNorm, clipGradValue, type ClipGradNormOptions } from './clip-grad.ts';
