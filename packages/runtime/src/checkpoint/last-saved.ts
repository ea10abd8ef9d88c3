import { printable } from '@ringrun/core';
import type { Store } from '@ringrun/core';
import { setTimeout } from 'node:timers/promises';
import { currentState } from '../process-group/state.ts';

/** Milliseconds to wait for the store. */
const storeTimeoutMs = 2000;

/** A checkpoint that was written. */
export interface SavedCheckpoint {
  number: number;
  step: number;
  /** A folder, or `s3://bucket/prefix/checkpoint-…`. */
  path: string;
  /** The host that wrote it. */
  host: string;
  /** `Manifest.training`. */
  training?: string | undefined;
}

/**
 * The newest checkpoint that this job has saved to a location, recorded in the launcher's store. The store
 * outlives the workers, so restarted workers detect a missing checkpoint. Without a launcher there is no
 * record.
 */
export class LastSaved {
  readonly #key: string;

  constructor(location: string) {
    this.#key = `checkpoint/${location}`;
  }

  /**
   * Never rejects, and takes at most `storeTimeoutMs`. A missing record only weakens the check after a restart,
   * so training continues.
   */
  async record(saved: SavedCheckpoint): Promise<void> {
    const store = jobStore();
    if (store === undefined) return;
    const over = new AbortController();
    const recorded = store.set(this.#key, JSON.stringify(saved)).catch(() => undefined);
    await Promise.race([recorded, setTimeout(storeTimeoutMs, undefined, over).catch(() => undefined)]);
    over.abort();
  }

  /** Undefined if nothing was saved, or if the store cannot be read. */
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
  return `step ${step} (${printable(path)}, written on host ${printable(host)})`;
}

function jobStore(): Store | undefined {
  const state = currentState();
  return state.phase === 'ready' ? state.session.jobStore : undefined;
}
