import type { Store } from '@ringrun/core';
import { PrefixStore, peek } from '@ringrun/rendezvous';
import type { AgedFigures } from './job-figures.ts';
import { checkFigures } from '../worker/rank-figures.ts';

/*
 * In a job of several nodes, each launcher writes the figures of its ranks to the job's store, below
 * `restart/<restart count>`, which a restart deletes. The launcher with the dashboard reads them.
 */

const storeOfFigures = (restartCount: number) => `restart/${restartCount}/figures`;
const nodeKey = (groupRank: number) => `node/${groupRank}`;

/** Writes the figures of this node's ranks, once a second, for the node with the dashboard. */
export async function sendFigures(
  store: Store,
  { restartCount, groupRank }: { restartCount: number; groupRank: number },
  figures: readonly AgedFigures[],
): Promise<void> {
  const keys = new PrefixStore(storeOfFigures(restartCount), store);
  // As text, a loss may be NaN.
  const text = JSON.stringify(figures, (_, value: unknown) =>
    typeof value === 'number' && !Number.isFinite(value) ? String(value) : value,
  );
  await keys.set(nodeKey(groupRank), text);
}

/** Reads the figures of the other nodes of one round. */
export class FiguresReader {
  readonly #restartCount: number;
  /** The last message of each node, and its arrival in milliseconds of `performance.now()`. */
  readonly #messages = new Map<number, { text: string; at: number; figures: readonly AgedFigures[] }>();

  constructor(restartCount: number) {
    this.#restartCount = restartCount;
  }

  /** The figures of the nodes. Ages do not depend on the clocks of other hosts. Rejects if the store does not answer. */
  async read(store: Store, groupRanks: readonly number[]): Promise<AgedFigures[]> {
    const keys = new PrefixStore(storeOfFigures(this.#restartCount), store);
    const ofNodes = groupRanks.map(async (groupRank) =>
      this.#aged(groupRank, await peek(keys, nodeKey(groupRank))),
    );
    return (await Promise.all(ofNodes)).flat();
  }

  #aged(groupRank: number, text: string | undefined): readonly AgedFigures[] {
    const now = performance.now();
    let message = this.#messages.get(groupRank);
    if (text !== undefined && text !== message?.text) {
      message = { text, at: now, figures: parseMessage(text) };
      this.#messages.set(groupRank, message);
    }
    const seconds = message === undefined ? 0 : (now - message.at) / 1000;
    return (message?.figures ?? []).map((one) => ({ ...one, age: one.age + seconds }));
  }
}

function parseMessage(text: string): AgedFigures[] {
  try {
    const list: unknown = JSON.parse(text);
    if (!Array.isArray(list)) return [];
    return list.flatMap((one: unknown) => {
      const figures = checkFigures(one);
      const age = Number((one as { age?: unknown } | null)?.age);
      return figures === undefined ? [] : [{ ...figures, age: Number.isFinite(age) ? age : 0 }];
    });
  } catch {
    return [];
  }
}
