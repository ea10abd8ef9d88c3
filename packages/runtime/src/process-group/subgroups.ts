import { InvalidArgumentError } from '@ringrun/collectives';
import type { ProcessGroup } from '@ringrun/collectives';
import { PrefixStore } from '../store/prefix-store.ts';
import { agreeOnRanks } from './ranks-agreement.ts';
import { checkedRanks } from './ranks.ts';
import type { Session } from './session.ts';

/** The groups of a session: that of all ranks, and those that newGroup has made, with who is in each. */
export class Subgroups {
  readonly #session: Session;
  /** Ranks of the default group, ascending: the order of the ranks of each group. */
  readonly #ranks = new Map<ProcessGroup, readonly number[]>();
  /** In the order of the calls, which is the same on every rank. */
  readonly #formations: Promise<ProcessGroup | null>[] = [];

  constructor(session: Session) {
    this.#session = session;
    this.#ranks.set(session.group, checkedRanks(undefined, session.group.size));
  }

  /** See `newGroup`. Arguments are checked before the call counts. */
  async form(ranks: readonly number[] | undefined, timeoutMs: number): Promise<ProcessGroup | null> {
    const members = checkedRanks(ranks, this.#session.group.size);
    if (!(timeoutMs > 0)) {
      throw new InvalidArgumentError(`timeoutMs is ${timeoutMs}, expected a number of milliseconds above 0.`);
    }
    const formation = this.#form(this.#formations.length + 1, members, timeoutMs);
    this.#formations.push(formation);
    return await formation;
  }

  async #form(number: number, ranks: readonly number[], timeoutMs: number): Promise<ProcessGroup | null> {
    const { group: all, masterAddress, formGroup } = this.#session;
    const store = new PrefixStore(`group/${number}`, this.#session.store);
    await agreeOnRanks(store, { rank: all.rank, worldSize: all.size, number, ranks }, timeoutMs);
    const rank = ranks.indexOf(all.rank);
    if (rank < 0) return null;
    const group = await formGroup({ store, rank, size: ranks.length, timeoutMs, masterAddress });
    this.#ranks.set(group, ranks);
    return group;
  }

  /** The default group, and those that have been formed with this rank in them and not been destroyed. */
  all(): ProcessGroup[] {
    return [...this.#ranks.keys()];
  }

  /** Who is in the group. */
  ranksOf(group: ProcessGroup): readonly number[] {
    const ranks = this.#ranks.get(group);
    if (ranks) return ranks;
    throw new InvalidArgumentError(
      'The group given is none of this process group: expected one that newGroup made and that was not destroyed. ' +
        'A group from createGlooGroup has methods of its own, which count its ranks.',
    );
  }

  async destroy(group: ProcessGroup): Promise<void> {
    this.ranksOf(group);
    this.#ranks.delete(group);
    await group.destroy();
  }

  /** All but the default group, in the order in which they were made; a failure is thrown when all have been tried. */
  async destroyAll(): Promise<void> {
    const failures: unknown[] = [];
    for (const formation of this.#formations) {
      const group = await formation.catch(() => null);
      if (group === null || !this.#ranks.has(group)) continue;
      await this.destroy(group).catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  }
}
