import type { Executor } from './executor.ts';
import { onnxruntimeExecutor } from './onnxruntime.ts';

/** The executor that runs graphs. */
export function selectedExecutor(): Executor {
  return onnxruntimeExecutor;
}
