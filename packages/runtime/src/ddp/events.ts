import { EventEmitter } from 'node:events';

/** Events of training with DistributedDataParallel, by name. */
export interface DdpEvents {
  /**
   * A collective blocked training from `startedAt` to `endedAt`, in milliseconds of `performance.now()`. `step`
   * is the step, from 1; undefined for buffers.
   */
  waited: [awaited: 'gradients' | 'buffers', startedAt: number, endedAt: number, step?: number];
  /** The gradients of a step, from 1, are averaged. `rank` is this process's rank in the model's group. */
  averaged: [step: number, rank: number];
}

/** Events of all models in this process. Listeners run synchronously within the step and must not throw. */
export const ddpEvents = new EventEmitter<DdpEvents>();
