/**
 * Averages of parameters over training (torch.optim.swa_utils): stochastic weight averaging and exponential moving averages.
 *
 * @module
 */
export {
  AveragedModel,
  getEmaAvgFn,
  getSwaAvgFn,
  type AveragedModelOptions,
  type AverageWeight,
} from './averaged-model.ts';
export { SWALR, type SWALROptions } from './swa-lr.ts';
export { updateBn } from './update-bn.ts';
