import { hostname } from 'node:os';
import { ReduceOp, RingrunError } from '@ringrun/core';
import { recordError } from '@ringrun/launcher';
import { destroyProcessGroup, isInitialized } from '../process-group/index.ts';
import type { CheckpointGroup } from './checkpoint-group.ts';

/**
 * The signals that end a training after a checkpoint, with their exit codes, as in a shell: 128 plus the number of the signal.
 * Kubernetes counts 143 as a disruption, not as an error.
 */
const endings = [
  { signal: 'SIGTERM', exitCode: 143, verb: 'preempted' },
  { signal: 'SIGINT', exitCode: 130, verb: 'interrupted' },
] as const;

/** Milliseconds from which on a second SIGINT is another press of Ctrl-C. */
const samePressMs = 500;

/** The rank that has received a signal, the same on all ranks. */
export interface Signalled {
  readonly by: number;
  readonly ending: (typeof endings)[number];
}

/** Called with the step after the checkpoint is saved, before the process exits, and with `preempted` or `interrupted`. */
export type PreemptionListener = (step: number, verb: string) => Promise<void>;

/** The listeners of this process. */
export const preemptionListeners = new Set<PreemptionListener>();

/**
 * Calls `listener` on each rank before `Checkpointer.saveIfPreempted` ends the process, after the checkpoint is saved: for
 * files and connections that must be closed. The grace period is running, so it must be short.
 *
 * @param listener receives the step, and `preempted` (SIGTERM) or `interrupted` (SIGINT)
 * @returns a function that removes the listener
 */
export function onPreemption(listener: PreemptionListener): () => void {
  preemptionListeners.add(listener);
  return () => void preemptionListeners.delete(listener);
}

/**
 * Detects SIGTERM on any rank, such as before a spot node is reclaimed, and SIGINT (Ctrl-C). In every step, the ranks start to
 * exchange which of them have received it, and read the result in the next step, so all ranks stop at the same step.
 */
export class PreemptionWatch {
  /** Index in `endings` of the first signal, and when it came. */
  #received: { readonly ending: number; readonly at: number } | undefined;
  #isListening = false;
  /** The exchange of the last step: the largest code of a rank with a signal (`codeOf`); 0 without a signal. */
  #exchange: { found: Int32Array; done: Promise<void> } | undefined;

  readonly #onSignal = (signal: NodeJS.Signals) => {
    const now = performance.now();
    const isAnotherPress = signal === 'SIGINT' && this.#received && now - this.#received.at >= samePressMs;
    this.#received ??= { ending: endings.findIndex((one) => one.signal === signal), at: now };
    if (!isAnotherPress) return;
    // Who presses Ctrl-C twice does not want to wait for the checkpoint.
    this.end();
    process.kill(process.pid, 'SIGINT');
  };

  /** Returns the rank that has received a signal, the same on all ranks. A collective. */
  async step(group: CheckpointGroup): Promise<Signalled | undefined> {
    if (!this.#isListening) for (const { signal } of endings) process.on(signal, this.#onSignal);
    this.#isListening = true;
    await this.#exchange?.done;
    const found = this.#exchange?.found[0] ?? 0;
    if (found > 0) return signalledOf(found);
    const own = Int32Array.of(this.#received ? codeOf(group.rank, this.#received.ending) : 0);
    const done = group.allReduce(own, { op: ReduceOp.MAX });
    // The next step reports the failure.
    done.catch(() => undefined);
    this.#exchange = { found: own, done };
    return undefined;
  }

  /** Ends the process by these signals again. */
  end(): void {
    for (const { signal } of endings) process.off(signal, this.#onSignal);
    this.#isListening = false;
  }
}

/** A positive number for a rank and a signal. */
function codeOf(rank: number, ending: number): number {
  return 1 + rank * endings.length + ending;
}

function signalledOf(code: number): Signalled {
  return { by: Math.floor((code - 1) / endings.length), ending: endings[(code - 1) % endings.length] };
}

/** Reports that the checkpoint is saved and ends the process. A collective. */
export async function exitPreempted(
  group: CheckpointGroup,
  { step, by, ending, location }: Signalled & { readonly step: number; readonly location: string },
): Promise<never> {
  const { signal, verb, exitCode } = ending;
  const hosts = await group.allGatherObject(hostname());
  const message = `${verb} at step ${step}, checkpoint saved to ${location} (${signal} on rank ${by}, host ${hosts[by]})`;
  for (const listener of preemptionListeners) await listener(step, verb);
  if (group.rank === 0) process.stderr.write(`ringrun: ${message}\n`);
  const error = new RingrunError('ERR_PREEMPTED', message);
  // The error's stack is of no use.
  error.stack = `${error.name}: ${message}`;
  recordError(error);
  if (isInitialized()) await destroyProcessGroup();
  process.exit(exitCode);
}
