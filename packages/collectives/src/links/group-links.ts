import { nativeOp } from '@ringrun/native';
import type { NativeProcessGroup } from '@ringrun/native';

import type { Links } from '@ringrun/core';
import { algorithmRules, ringOrder } from '../cost/index.ts';
import { linksForHosts } from './links-among.ts';
import { linksFromTable } from './measured-links.ts';
import type { RequestedLinks } from './requested-links.ts';

/** The hosts of a group, in the order of their first ranks. Ranks of a host share memory. */
export interface GroupHosts {
  /** By the index of the host. */
  readonly names: readonly string[];
  /** By rank: the index of its host. */
  readonly ofRank: readonly number[];
}

/** How to measure the links of a group that is in use. */
export interface MeasureLinksOptions {
  /** Timeout in milliseconds. Default: the group's. */
  timeoutMs?: number;
  /** Whether later operations of the group follow the measured links. The same on every rank. Default: `false`. */
  use?: boolean;
}

type Native = Pick<NativeProcessGroup, 'measureLinks' | 'followRoutes'>;

/** The links between the hosts of a group, which its collectives follow. The same on all ranks. */
export class GroupLinks {
  readonly hosts: GroupHosts;
  #current: Links | undefined;
  #isMeasured = false;

  constructor(hosts: GroupHosts) {
    this.hosts = hosts;
  }

  /** The links that the group follows. Undefined if it treats all hosts alike. */
  get current(): Links | undefined {
    return this.#current;
  }

  /** Whether the links that the group follows were measured, not given. */
  get areMeasured(): boolean {
    return this.#isMeasured;
  }

  /**
   * Measures the links of a new group, or takes the given ones, and follows them. A collective.
   *
   * @throws InvalidArgumentError if the given links are those of other hosts.
   */
  async begin(native: Native, requested: RequestedLinks, timeoutMs: number): Promise<void> {
    if (requested === 'measure') await this.measure(native, { use: true, timeoutMs });
    else if (requested !== undefined)
      await this.#follow(native, linksForHosts(requested, this.hosts.names), timeoutMs);
  }

  /** Measures the links. A collective. */
  async measure(native: Native, { use, timeoutMs }: Required<MeasureLinksOptions>): Promise<Links> {
    const hosts = this.hosts.names;
    const table = new Float64Array(3 * hosts.length ** 2);
    await native.measureLinks(table, timeoutMs);
    const links = linksFromTable(hosts, table);
    if (use) {
      await this.#follow(native, links, timeoutMs);
      this.#isMeasured = true;
    }
    return links;
  }

  /** Every rank calls it between the same operations. */
  async #follow(native: Native, links: Links, timeoutMs: number): Promise<void> {
    const rules = algorithmRules(links).map(({ op, upToBytes, algorithm }) => ({
      op: nativeOp[op as keyof typeof nativeOp],
      upToBytes,
      algorithm,
    }));
    const [delay, bandwidth] = [links.delay, links.bandwidth].map((rows) => Float64Array.from(rows.flat()));
    await native.followRoutes(ringOrder(links), rules, timeoutMs, { delay, bandwidth });
    this.#current = links;
  }
}
