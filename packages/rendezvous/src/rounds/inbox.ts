import type { Clock } from '../clock.ts';
import type { NodeFacts } from './facts.ts';
import { blockSize, waitMs } from './rendezvous-client.ts';
import type { RendezvousClient } from './rendezvous-client.ts';

/** Milliseconds of one wait while a message is on its way, and after which its sender counts as dead. */
const lateMs = { look: 50, most: 60_000 };

/**
 * The leader's messages. Each has a number, which its sender takes before it writes the message: a slow sender delays no other,
 * and that of a sender that has died never comes.
 */
export class Inbox {
  readonly #clock: Clock;
  #next = 1;
  /** Numbers below `#next` without a message, and since when. */
  readonly #late = new Map<number, number>();
  #firstBlock = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The messages that have arrived. Waits for the first one, at most a second. */
  async collect(client: RendezvousClient): Promise<NodeFacts[]> {
    await client.awaitMessage(this.#next, this.#late.size > 0 ? lateMs.look : waitMs);
    const last = await client.lastMessage();
    const fresh = Array.from({ length: Math.max(0, last + 1 - this.#next) }, (_, i) => this.#next + i);
    const numbers = [...this.#late.keys(), ...fresh];
    const messages = await client.readMessages(numbers);
    for (const [i, number] of numbers.entries()) this.#count(number, messages[i] !== undefined);
    this.#next += fresh.length;
    await this.#deleteOld(client);
    return messages.filter((facts) => facts !== undefined);
  }

  #count(number: number, isThere: boolean): void {
    const now = this.#clock.now();
    const since = this.#late.get(number) ?? now;
    if (isThere || now - since > lateMs.most) this.#late.delete(number);
    else this.#late.set(number, since);
  }

  async #deleteOld(client: RendezvousClient): Promise<void> {
    const end = Math.floor(Math.min(this.#next, ...this.#late.keys()) / blockSize);
    const blocks = Array.from({ length: end - this.#firstBlock }, (_, i) => this.#firstBlock + i);
    await Promise.all(blocks.map((block) => client.deleteBlock(block)));
    this.#firstBlock = end;
  }
}
