export * from './collate.ts';
export * from './data-loader.ts';
export * from './dataset.ts';
export * from './distributed-sampler.ts';
export { RandomSampler, SequentialSampler } from './sampler.ts';
export type { Sampler, Sized } from './sampler.ts';
export type { EpochPass, SamplerState, StatefulSampler } from './sampler-state.ts';
