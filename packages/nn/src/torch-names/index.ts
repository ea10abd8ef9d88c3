export { advice, answerInPlace, answerNames } from './answer.ts';
export { moduleNames } from './module.ts';
export { functionalNames, nnNames, optimNames } from './namespaces.ts';
export { optimizerNames } from './optimizer.ts';
export { tensorNames } from './tensor.ts';
export { camelCase, snakeCase, type TorchNames } from './torch-names.ts';
export { distributionNames, distributionsNames } from './distributions.ts';
