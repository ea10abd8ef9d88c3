export { CheckpointError } from './checkpoint-error.ts';
export type { CheckpointProblem } from './checkpoint-error.ts';
export { Checkpointer } from './checkpointer.ts';
export type {
  CheckpointerOptions,
  Progress,
  RegisterOptions,
  ResumeOptions,
  Resumed,
} from './checkpointer.ts';
export { loadSafetensors } from './load-safetensors.ts';
export { decodeSafetensors, encodeSafetensors } from './safetensors.ts';
export type { ArrayWithShape, ElementArray } from './safetensors.ts';
export { onPreemption } from './preemption.ts';
export type { PreemptionListener } from './preemption.ts';
export type { Stateful } from './stateful.ts';
