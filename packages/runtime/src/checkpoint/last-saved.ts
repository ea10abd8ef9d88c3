import { setTimeout } from 'node:timers/promises';
import type { Store } from '@ringrun/collectives';
import { currentState } from '../process-group/state.ts';

/** Milliseconds that the store has to answer. */
const patienceMs = 2000;

/** A checkpoint that was written. */
export interface SavedCheckpoint {
  number: number;
  step: number;
  /** A folder, or `s3://bucket/prefix/checkpoint-…`. */
  path: string;
  /** Where it was written. */
  host: string;
}

/**
 * The newest checkpoint that this job has saved to a place, kept in the launcher's store: it outlives the workers, so that those of the next round notice when they see less than that.
 * Without a launcher there is no record.
 */
export class LastSaved {
  readonly #key: string;

  constructor(location: string) {
    this.#key = `checkpoint/${location}`;
  }

  /** Never rejects, and takes no longer than `patienceMs`: without a record the next round is less well protected, and training goes on. */
  async record(saved: SavedCheckpoint): Promise<void> {
    const store = jobStore();
    if (store === undefined) return;
    const over = new AbortController();
    const recorded = store.set(this.#key, JSON.stringify(saved)).catch(() => undefined);
    await Promise.race([recorded, setTimeout(patienceMs, undefined, over).catch(() => undefined)]);
    over.abort();
  }

  /** Undefined where nothing was saved, or that is not known. */
  async read(): Promise<SavedCheckpoint | undefined> {
    try {
      const store = jobStore();
      if (!(await store?.check([this.#key]))) return undefined;
      const bytes = await store!.get(this.#key);
      return JSON.parse(Buffer.from(bytes).toString('utf8')) as SavedCheckpoint;
    } catch {
      return undefined;
    }
  }
}

/** `step 500 (/data/checkpoint-000005-step-500, written on host a)`. */
export function describeSaved({ step, path, host }: SavedCheckpoint): string {
  return `step ${step} (${path}, written on host ${host})`;
}

function jobStore(): Store | undefined {
  const state = currentState();
  return state.phase === 'ready' ? state.session.jobStore : undefined;
}
