export * from './activation.ts';
export * from './convolution.ts';
export { dropout, type DropoutOptions } from './dropout.ts';
export { embedding, type EmbeddingOptions } from './embedding.ts';
export * from './linear.ts';
export * from './loss.ts';
export * from './normalization.ts';
export { type Pair } from './pair.ts';
export * from './pooling.ts';
