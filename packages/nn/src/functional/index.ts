export * from './activation.ts';
export * from './convolution.ts';
export * from './linear.ts';
export * from './loss.ts';
export { type Pair } from './pair.ts';
export * from './pooling.ts';
