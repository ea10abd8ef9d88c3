export { DiLoCo } from './diloco.ts';
export { formIslands, type Islands } from './islands.ts';
export { LocalSGD } from './local-sgd.ts';
export type { DiLoCoOptions, LocalSGDOptions, Transport } from './options.ts';
export type { OuterOptimizerOptions } from './outer-optimizer.ts';
