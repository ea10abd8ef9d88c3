export { spectralNorm, type SpectralNormOptions } from './spectral-norm.ts';
export { weightNorm, type WeightNormOptions } from './weight-norm.ts';
