/**
 * Initial values of parameters (torch.nn.init). Each function writes a parameter or buffer in place and returns it; random
 * functions draw the same numbers as torch from the same seed.
 *
 * @module
 */
export {
  calculateGain,
  kaimingNormal,
  kaimingUniform,
  xavierNormal,
  xavierUniform,
  type KaimingOptions,
  type Nonlinearity,
  type XavierOptions,
} from './fan.ts';
export { constant, dirac, eye, ones, zeros } from './fixed.ts';
export type { Initializable } from './in-place.ts';
export { orthogonal, type OrthogonalOptions } from './orthogonal.ts';
export {
  normal,
  truncNormal,
  uniform,
  type NormalOptions,
  type RandomInitOptions,
  type TruncNormalOptions,
  type UniformOptions,
} from './random.ts';
export { sparse, type SparseOptions } from './sparse.ts';
