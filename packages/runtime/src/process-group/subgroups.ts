import { setImmediate } from 'node:timers/promises';
import { beginNewGroup, groupHosts, groupLinks, hasFailed, linksAmong } from '@ringrun/collectives';
import { InvalidArgumentError } from '@ringrun/core';
import type { Links, ProcessGroup } from '@ringrun/core';
import { PrefixStore } from '@ringrun/rendezvous';
import { agreeOnRanks } from './ranks-agreement.ts';
import { checkedRanks } from './ranks.ts';
import type { Session } from './session.ts';

/** The groups of a session and their members: the default group, and the groups created by newGroup. */
export class Subgroups {
  readonly #session: Session;
  /** Members of each group as ranks of the default group, ascending. */
  readonly #ranks = new Map<ProcessGroup, readonly number[]>();
  /** In the order of the calls of newGroup, which is the same on every rank. */
  readonly #formations: Promise<ProcessGroup | null>[] = [];

  constructor(session: Session) {
    this.#session = session;
    this.#ranks.set(session.group, checkedRanks(undefined, session.group.size));
  }

  /** See `newGroup`. A call with invalid arguments does not count as one of the ordered calls. */
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
    await beginNewGroup(all, timeoutMs);
    const store = new PrefixStore(`group/${number}`, this.#session.store);
    await agreeOnRanks(store, { rank: all.rank, worldSize: all.size, number, ranks }, timeoutMs);
    const rank = ranks.indexOf(all.rank);
    if (rank < 0) return null;
    const links = linksOfRanks(all, ranks);
    const group = await formGroup({
      store,
      rank,
      size: ranks.length,
      timeoutMs,
      masterAddress,
      ...(links !== undefined && { links }),
    });
    this.#ranks.set(group, ranks);
    return group;
  }

  /** The groups that include this rank and were not destroyed, the default group among them. */
  all(): ProcessGroup[] {
    return [...this.#ranks.keys()];
  }

  /** Members of the group, as ranks of the default group. */
  ranksOf(group: ProcessGroup): readonly number[] {
    const ranks = this.#ranks.get(group);
    if (ranks) return ranks;
    throw new InvalidArgumentError(
      'Unknown group: expected the default group or one that newGroup returned and that was not destroyed. ' +
        'For a group from createCpuGroup, call its methods, which use its own ranks.',
    );
  }

  async destroy(group: ProcessGroup): Promise<void> {
    this.ranksOf(group);
    this.#ranks.delete(group);
    await group.destroy();
  }

  /**
   * Destroys all groups but the default one, in the order of their creation. Throws the first failure after trying all.
   * After a failure of the default group, groups that are still being formed are not waited for.
   */
  async destroyAll(): Promise<void> {
    const failures: unknown[] = [];
    for (const formation of this.#formations) {
      const group = await (hasFailed(this.#session.group)
        ? settledOrNull(formation)
        : formation.catch(() => null));
      if (group === null || !this.#ranks.has(group)) continue;
      await this.destroy(group).catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  }
}

/** The links between the hosts of some ranks of a group. Undefined if the group has none. */
function linksOfRanks(group: ProcessGroup, ranks: readonly number[]): Links | undefined {
  const [links, hosts] = [groupLinks(group), groupHosts(group)];
  if (links === undefined || hosts === undefined) return undefined;
  return linksAmong(links, [...new Set(ranks.map((rank) => hosts.ofRank[rank]))]);
}

/** The group, or null if it is not formed yet or could not be formed. */
async function settledOrNull(formation: Promise<ProcessGroup | null>): Promise<ProcessGroup | null> {
  return await Promise.race([formation, setImmediate(null)]).catch(() => null);
}
