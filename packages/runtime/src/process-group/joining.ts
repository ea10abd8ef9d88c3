import {
  formatDuration,
  formatRanks,
  PeerDiedError,
  printable,
  printableLines,
  RingrunError,
  StoreTimeoutError,
} from '@ringrun/core';
import type { Store } from '@ringrun/core';
import { setTimeout as delay } from 'node:timers/promises';
import { deleteNumbered, missingKeysOf, peek } from '@ringrun/rendezvous';
import { Heartbeat, SilenceDetector, heartbeatIntervalMs } from './heartbeat.ts';
import { memberKey, ranksBelow, ranksOfKeys } from './membership.ts';
import type { Member } from './membership.ts';
import { claimRank, gaveUpKey, memberAt, removeClaim, restoreClaim, roundKey } from './rank-claim.ts';
import { WatchedStore } from './watched-store.ts';

/*
 * How ranks join a job, in rounds. Each round forms one group of all ranks and has its own keys, `init/<round>/…`. The
 * key `round` counts the rounds in which every rank has joined, so a process joins the first round that is not
 * complete, no matter how many groups it was in before: survivors and processes that replace dead ones meet in it.
 * After all have joined, no rank uses the keys of earlier rounds, and rank 0 deletes them.
 *
 * A rank claims its `member` key and renews `alive` until the group is formed, every second in jobs of up to 1000
 * ranks. Other ranks delete the claim of a rank that stopped renewing, so a restarted process can claim it, and
 * timeouts name the dead rank.
 */

/** Set by rank 0 before it closes its store. */
const verdictKey = 'verdict';

/** Milliseconds that rank 0 keeps its store after a failure, at most, for ranks that have not seen its verdict. */
const lingerMs = 5000;
const lingerEveryMs = 100;

/** Intervals between two signs of life after which other ranks may have deleted the claim. */
const maxLate = 2;

/** Milliseconds without an answer, and at least 3 intervals, after which a store of rank 0 is given up. */
const unansweredMs = 20_000;

export interface JoinOptions {
  timeoutMs: number;
  /** True if the store ends with the process of rank 0. */
  servedByRank0?: boolean;
  /** Milliseconds between two signs of life. Default: `heartbeatIntervalMs`. */
  intervalMs?: number;
}

/** A round whose ranks have all joined, as this rank sees it. */
export interface JoinedRound {
  /** Keys of the round. */
  readonly store: Store;
  /** Keys of the group, `group/0/…`. Waiting calls throw PeerDiedError if a rank whose key is missing has died. */
  readonly groupStore: Store;
  /** Ends the signs of life: the group is formed. */
  formed(): void;
  /** Ends the signs of life after a failure. Rank 0 publishes the failure if it serves the store. */
  giveUp(error: unknown): Promise<void>;
}

interface Verdict {
  message: string;
  waitedMs: number;
  missing: number[];
  dead: Member | undefined;
}

/**
 * Claims the rank in the first round that is not complete, then waits until every rank of the job has joined.
 *
 * @param store Used by this job alone.
 * @throws RingrunError `ERR_JOB_MISMATCH` if the store belongs to a job with another world size or run id,
 * `ERR_RANK_TAKEN` if another living process has this rank; StoreTimeoutError with the keys of the ranks that did not
 * join.
 */
export async function joinJob(store: Store, self: Member, options: JoinOptions): Promise<JoinedRound> {
  const intervalMs = options.intervalMs ?? heartbeatIntervalMs(self.worldSize);
  const { round, keys } = await claimRank(store, self, intervalMs, options.timeoutMs);
  const endRound = () => store.compareSet(roundKey, String(round), String(round + 1));
  const joining = new Joining(keys, self, { ...options, intervalMs, endRound });
  try {
    await joining.waitForMembers();
    await endRound();
    if (self.rank === 0) await deleteNumbered(store, 'init', round - 1);
  } catch (error) {
    await joining.giveUp(error);
    throw error;
  }
  return joining;
}

type JoiningOptions = JoinOptions & {
  intervalMs: number;
  /** Lets processes that join later join the next round. */
  endRound: () => Promise<unknown>;
};

/** One rank from its claim until the group is formed. */
class Joining implements JoinedRound {
  readonly store: Store;
  readonly groupStore: Store;
  readonly #self: Member;
  readonly #options: JoiningOptions;
  readonly #heartbeat: Heartbeat;
  readonly #detector: SilenceDetector;
  readonly #startedAt = performance.now();
  /** The rank whose signs of life this rank watches. Each rank starts with the next one. */
  #watchedRank: number;
  #hasJoined = false;

  constructor(keys: Store, self: Member, options: JoiningOptions) {
    this.store = keys;
    this.#self = self;
    this.#options = options;
    this.#watchedRank = (self.rank + 1) % self.worldSize;
    const { intervalMs } = options;
    this.#detector = new SilenceDetector(keys, intervalMs);
    this.#heartbeat = new Heartbeat(keys, self, {
      intervalMs,
      maxUnanswered: options.servedByRank0 === true ? Math.max(3, unansweredMs / intervalMs) : Infinity,
      unanswered: () => this.#storeIsSilent(),
      then: (sinceLastMs) => this.#eachInterval(sinceLastMs > maxLate * intervalMs),
    });
    const watch = new SilenceDetector(keys, intervalMs);
    this.groupStore = new WatchedStore(keys, self.rank, {
      detector: watch,
      failed: this.#heartbeat.failed,
      dead: (rank) => this.#died(rank),
    });
  }

  async waitForMembers(): Promise<void> {
    const { worldSize } = this.#self;
    const { timeoutMs } = this.#options;
    const joined = this.store
      .wait(ranksBelow(worldSize).map(memberKey), { timeoutMs })
      .catch(async (error: unknown) => {
        throw error instanceof StoreTimeoutError ? await this.#notJoined(error) : error;
      });
    joined.catch(() => undefined);
    await Promise.race([joined, this.#heartbeat.failed]);
    this.#hasJoined = true;
  }

  formed(): void {
    this.#heartbeat.stop();
  }

  async giveUp(error: unknown): Promise<void> {
    this.#heartbeat.stop();
    const { rank } = this.#self;
    const leaving = async () => {
      const keeps = rank === 0 && this.#options.servedByRank0 === true;
      if (keeps) {
        await this.store.set(verdictKey, JSON.stringify(this.#verdictOn(error)));
        await this.#options.endRound();
      }
      await this.store.set(gaveUpKey(rank), '');
      await removeClaim(this.store, this.#self);
      if (keeps) await this.#linger();
    };
    await Promise.race([leaving().catch(() => undefined), delay(lingerMs)]);
  }

  /** Reads rank 0's verdict and another rank's sign of life: two calls of the store unless something is wrong. */
  async #eachInterval(wasLate: boolean): Promise<void> {
    if (this.#options.servedByRank0 === true && this.#self.rank > 0) {
      const verdict = await peek(this.store, verdictKey);
      if (verdict !== undefined) {
        this.#heartbeat.fail(this.#follow(JSON.parse(verdict) as Verdict));
        return;
      }
    }
    // Continues after joining: a rank that joined last may not have seen the claim yet. Other ranks may have deleted
    // the claim while this process was stopped, or its store was not reachable.
    if (wasLate) await restoreClaim(this.store, this.#self);
    if (!this.#hasJoined) await this.#watchAnother();
  }

  async #watchAnother(): Promise<void> {
    const { rank, worldSize } = this.#self;
    const one = this.#watchedRank;
    const state = one === rank ? 'alive' : await this.#detector.observe(one);
    const there = state === 'silent' || state === 'absent' ? await memberAt(this.store, one) : undefined;
    if (state === 'silent' && there) await removeClaim(this.store, there);
    const isClaimed = state === 'unknown' || (state === 'absent' && there !== undefined);
    if (!isClaimed) this.#watchedRank = (one + 1) % worldSize;
  }

  async #notJoined(error: StoreTimeoutError): Promise<StoreTimeoutError> {
    const missing = ranksOfKeys(error.missingKeys);
    const { rank } = this.#self;
    if (missing === undefined || missing.length === 0 || missing.includes(rank)) {
      return new StoreTimeoutError([], error.message);
    }
    const absent = ranksOfKeys(await missingKeysOf(this.store, missing.map(gaveUpKey))) ?? [];
    return this.#timedOut(absent.length > 0 ? absent : missing, '');
  }

  #timedOut(missing: number[], until: string): StoreTimeoutError {
    const { rank, worldSize } = this.#self;
    const waitedMs = until === '' ? this.#options.timeoutMs : performance.now() - this.#startedAt;
    return new StoreTimeoutError(
      missing.map(memberKey),
      `Rank ${rank} of ${worldSize} waited ${formatDuration(waitedMs)} for ${formatRanks(missing)} to join${until}. ` +
        `Start one process for each rank with the same MASTER_ADDR and MASTER_PORT, and check the stderr of the missing ones; ` +
        `initProcessGroup({ timeoutMs }) sets a longer timeout.`,
      missing,
    );
  }

  async #died(rank: number): Promise<PeerDiedError | undefined> {
    const there = await memberAt(this.store, rank);
    return there && this.#peerDied(there);
  }

  #peerDied(dead: Member): PeerDiedError {
    const own = `rank ${this.#self.rank} (host ${printable(this.#self.host)}, pid ${this.#self.pid})`;
    return new PeerDiedError(
      [{ rank: dead.rank, host: dead.host, pid: dead.pid }],
      'initProcessGroup',
      `rank ${dead.rank} (host ${printable(dead.host)}, pid ${dead.pid}) is gone: it joined, but sent no sign of life while the group was formed. ` +
        `${own} was in initProcessGroup`,
    );
  }

  #storeIsSilent(): RingrunError {
    return new RingrunError(
      'ERR_STORE_LOST',
      `Rank 0, which serves the store, has not answered for ${formatDuration(unansweredMs)}: its process is stopped, or its host cannot be reached. Restart the job.`,
    );
  }

  #verdictOn(error: unknown): Verdict {
    return {
      message: error instanceof Error ? error.message : String(error),
      waitedMs: performance.now() - this.#startedAt,
      missing: error instanceof StoreTimeoutError ? (ranksOfKeys(error.missingKeys) ?? []) : [],
      dead: error instanceof PeerDiedError ? { ...this.#self, ...error.peer } : undefined,
    };
  }

  /** The error of this rank after rank 0 has failed. */
  #follow({ message, waitedMs, missing, dead }: Verdict): Error {
    const absent = missing.filter((rank) => rank !== this.#self.rank);
    if (dead) return this.#peerDied(dead);
    if (absent.length > 0) {
      return this.#timedOut(
        absent,
        `, until rank 0, which serves the store, gave up after ${formatDuration(waitedMs)}`,
      );
    }
    return new RingrunError(
      'ERR_STORE_LOST',
      `Rank 0, which serves the store, failed to form the group: ${printableLines(message)}`,
    );
  }

  /** Resolves after the other ranks of the round have left it. The caller limits the time. */
  async #linger(): Promise<void> {
    const members = ranksBelow(this.#self.worldSize).map(memberKey);
    while ((await missingKeysOf(this.store, members)).length < members.length) await delay(lingerEveryMs);
  }
}
