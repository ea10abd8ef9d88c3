import type { Executor } from './executor.ts';
import { onnxruntimeExecutor } from './cpu/onnxruntime.ts';

/** The executor that runs graphs. */
export function selectedExecutor(): Executor {
  return onnxruntimeExecutor;
}
