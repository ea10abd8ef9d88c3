import { deserialize, serialize } from 'node:v8';
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A function that every rank calls: an export of a module, or the source of a function. */
export type Called =
  | { readonly module: string; readonly name: string }
  | {
      readonly source: string;
      /** A path, from whose folder the function imports. */
      readonly from: string;
    };

/** What `spawn` writes for the ranks. */
export interface Call {
  readonly called: Called;
  readonly args: readonly unknown[];
}

/** What a rank leaves, of `size` ranks; `at` is the time in milliseconds. */
export type Outcome = { readonly size: number } & (
  { readonly result: unknown } | { readonly error: unknown; readonly at: number }
);

/** The files of one call of `spawn`, in a folder of its own: `call`, and `outcome-<rank>` of each rank. Values are cloned as in messages between threads. */
export class CallFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  writeCall(call: Call): void {
    this.#write('call', call);
  }

  readCall(): Call {
    return this.#read('call') as Call;
  }

  writeOutcome(rank: number, outcome: Outcome): void {
    this.#write(`outcome-${rank}`, outcome);
  }

  /** By rank, without those that have left none. */
  readOutcomes(): Outcome[] {
    const outcomes: Outcome[] = [];
    for (const name of readdirSync(this.#folder)) {
      const rank = /^outcome-(\d+)$/.exec(name)?.[1];
      if (rank !== undefined) outcomes[Number(rank)] = this.#read(name) as Outcome;
    }
    return outcomes;
  }

  #write(name: string, value: unknown): void {
    const path = join(this.#folder, name);
    writeFileSync(`${path}.part`, serialize(value));
    renameSync(`${path}.part`, path);
  }

  #read(name: string): unknown {
    return deserialize(readFileSync(join(this.#folder, name)));
  }
}
