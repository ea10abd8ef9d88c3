export { Optimizer, type UpdateInputs, type UpdateOutputs } from './optimizer.ts';
export { SGD, type SGDOptions } from './sgd.ts';
