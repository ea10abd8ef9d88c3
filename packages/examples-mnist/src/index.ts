export { Net } from './net.ts';
export { drawDigits } from './digits.ts';
export { InvalidDataError } from './errors.ts';
export type { Split } from './files.ts';
export { loadMnist, MnistDataset } from './mnist.ts';
export type { MnistSample } from './mnist.ts';
export { prepareMnist } from './source.ts';
export type { MnistSource, PrepareMnistOptions } from './source.ts';
