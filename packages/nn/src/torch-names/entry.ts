/**
 * Neural networks: modules, automatic differentiation and optimizers. A training step compiles to one ONNX graph.
 *
 * The module that `import` loads: all exports of ../index.ts, which has their types. Reading a name of PyTorch that ringrun
 * spells differently throws an error with the right name. Such properties cannot be added to a module namespace, so `F`, `nn`,
 * `optim` and `distributions` are copies here. A copy contains no types, such as `nn.Module`, so index.ts exports the namespaces themselves.
 */
import { GradScaler } from '../optim/grad-scaler.ts';
import { nameForwards, nameFunctions } from '../errors/called-function.ts';
import * as combine from '../tensor/combine.ts';
import * as allDistributions from '../distributions/index.ts';
import * as functional from '../functional/index.ts';
import * as modules from '../nn/index.ts';
import * as optimizers from '../optim/index.ts';
import { Tensor } from '../tensor/tensor.ts';
import {
  answerInPlace,
  answerNames,
  distributionNames,
  distributionsNames,
  functionalNames,
  moduleNames,
  nnNames,
  optimizerNames,
  optimNames,
  tensorNames,
  type TorchNames,
} from './index.ts';

export * from '../index.ts';

/** Functions of several tensors. */
export const { cat, cdist, einsum, meshgrid, stack, where } = nameFunctions(combine);

/** The functions of torch.nn.functional. */
export const F = answering('F', nameFunctions(functional), functionalNames);
/** The distributions of torch.distributions. */
export const distributions = answering('distributions', allDistributions, distributionsNames);
/** The modules of torch.nn. */
export const nn = answering('nn', modules, nnNames);
/** The optimizers of torch.optim. */
export const optim = answering('optim', optimizers, optimNames);

nameForwards(modules, [modules.Sequential]);
answerInPlace(Tensor.prototype, 'x');
answerNames(Tensor.prototype, 'x', tensorNames);
answerNames(modules.Module.prototype, 'module', moduleNames);
answerNames(optimizers.Optimizer.prototype, 'optimizer', optimizerNames);
answerNames(allDistributions.Distribution.prototype, 'distribution', distributionNames);
answerNames(GradScaler.prototype, 'scaler', { unscale_: 'scaler.unscale(optimizer)' });

/** A copy of a namespace, to which properties can be added. */
function answering<Namespace extends object>(
  owner: string,
  namespace: Namespace,
  torch: TorchNames,
): Namespace {
  const copy = { ...namespace };
  answerNames(copy, owner, torch);
  return copy;
}
