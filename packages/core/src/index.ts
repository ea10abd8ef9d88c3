/**
 * The contracts between ringrun's packages: process groups, stores, operands, options and errors. Import from here to
 * write a backend, a store or a library that trains under `ringrun`.
 *
 * @module @ringrun/core
 */
export * from './activity.ts';
export * from './bits16.ts';
export * from './collectives.ts';
export * from './device-tensor.ts';
export type * from './distributed-data-parallel.ts';
export * from './distributed-module.ts';
export * from './dtype.ts';
export * from './earlier-keys.ts';
export * from './errors.ts';
export * from './format.ts';
export * from './given-location.ts';
export * from './known-options.ts';
export type * from './lane.ts';
export type * from './links.ts';
export * from './make-folder.ts';
export * from './missing-package.ts';
export * from './options.ts';
export type * from './output.ts';
export * from './other-runtime.ts';
export * from './path-problem.ts';
export { longestTimerMs } from './longest-timer.ts';
export * from './open-files.ts';
export * from './printable.ts';
export type * from './process-group.ts';
export * from './recorded-calls.ts';
export * from './reduce-op.ts';
export { registry, type Registry, type TfjsDistribution } from './registry.ts';
export * from './require-choice.ts';
export * from './require-integer.ts';
export * from './require-options.ts';
export * from './same-list.ts';
export * from './slurm.ts';
export type * from './stateful.ts';
export type * from './store.ts';
export * from './thread-count.ts';
export * from './timeout-option.ts';
export * from './unaveraged-gradient.ts';
export * from './without-credentials.ts';
export * from './work.ts';
