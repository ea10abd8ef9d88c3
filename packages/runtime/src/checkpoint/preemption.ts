import { hostname } from 'node:os';
import { ReduceOp, RingrunError } from '@ringrun/core';
import { recordError } from '@ringrun/launcher';
import { destroyProcessGroup, isInitialized } from '../process-group/index.ts';
import type { CheckpointGroup } from './checkpoint-group.ts';

/** Exit code after SIGTERM, as in a shell: 128 + 15. Kubernetes counts it as a disruption, not as an error. */
const exitCode = 143;

/** Called with the step after the checkpoint is saved, before the process exits. */
export const preemptionListeners = new Set<(step: number) => Promise<void>>();

/**
 * Detects SIGTERM on any rank, such as before a spot node is reclaimed. In every step, the ranks start to exchange
 * which of them have received it, and read the result in the next step, so all ranks stop at the same step.
 */
export class PreemptionWatch {
  #wasSignalled = false;
  #isListening = false;
  /** The exchange of the last step: the highest rank with a signal, plus 1; 0 without a signal. */
  #exchange: { found: Int32Array; done: Promise<void> } | undefined;

  readonly #onSignal = () => {
    this.#wasSignalled = true;
  };

  /** Returns the rank that has received SIGTERM, the same on all ranks. A collective. */
  async step(group: CheckpointGroup): Promise<number | undefined> {
    if (!this.#isListening) process.on('SIGTERM', this.#onSignal);
    this.#isListening = true;
    await this.#exchange?.done;
    const found = this.#exchange?.found[0] ?? 0;
    if (found > 0) return found - 1;
    const own = Int32Array.of(this.#wasSignalled ? group.rank + 1 : 0);
    const done = group.allReduce(own, { op: ReduceOp.MAX });
    // The next step reports the failure.
    done.catch(() => undefined);
    this.#exchange = { found: own, done };
    return undefined;
  }

  /** Ends the process by SIGTERM again. */
  end(): void {
    process.off('SIGTERM', this.#onSignal);
    this.#isListening = false;
  }
}

/** Reports that the checkpoint is saved and ends the process. A collective. */
export async function exitPreempted(
  group: CheckpointGroup,
  { step, by, location }: { step: number; by: number; location: string },
): Promise<never> {
  const hosts = await group.allGatherObject(hostname());
  const message = `preempted at step ${step}, checkpoint saved to ${location} (SIGTERM on rank ${by}, host ${hosts[by]})`;
  for (const listener of preemptionListeners) await listener(step);
  if (group.rank === 0) process.stderr.write(`ringrun: ${message}\n`);
  const error = new RingrunError('ERR_PREEMPTED', message);
  // The error's stack is of no use.
  error.stack = `${error.name}: ${message}`;
  recordError(error);
  if (isInitialized()) await destroyProcessGroup();
  process.exit(exitCode);
}
