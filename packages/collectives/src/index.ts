export { BFloat16Bits, Float16Bits } from './bits16.ts';
export type { DType16 } from './bits16.ts';
export * from './dtype.ts';
export * from './errors.ts';
export * from './gloo/index.ts';
export * from './hash-store.ts';
export * from './process-group.ts';
export * from './reduce-op.ts';
export * from './store.ts';
