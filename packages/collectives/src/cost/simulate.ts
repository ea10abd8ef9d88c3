import type { Links } from '@ringrun/core';
import { Path } from './path.ts';
import type { Processor, Tcp } from './network.ts';
import type { Message, Schedule, Step } from './schedule.ts';

export interface Simulated {
  /** One rank of each host, in the order of the team. */
  links: Links;
  processor: Processor;
  tcp: Tcp;
}

/**
 * Seconds from the start of the second of two equal operations until the last rank has completed it. The first one opens
 * the windows of connections. Deterministic, so ranks with equal links get equal results.
 *
 * @throws Error if ranks wait for messages that are never sent.
 */
export function secondsOf(schedule: Schedule, simulated: Simulated): number {
  const size = simulated.links.hosts.length;
  const senders = Array.from({ length: size }, (_, place) => new Sender(place, simulated));
  const runOnce = (): number => {
    run(schedule, senders);
    return Math.max(...senders.map(({ now }) => now));
  };
  const startedAt = runOnce() + simulated.tcp.idleSeconds;
  for (const sender of senders) sender.now = startedAt;
  return runOnce() - startedAt;
}

/** Runs the steps of all ranks, each from its own time. */
function run(schedule: Schedule, senders: readonly Sender[]): void {
  const size = senders.length;
  const mail = Array.from({ length: size * size }, () => new Queue());
  const ranks = senders.map((sender, place) => {
    return { place, sender, steps: schedule(place, size)[Symbol.iterator](), ended: false };
  });
  const current = new Array<Step | undefined>(size);
  const ready = ranks.map(({ place }) => place);
  const isWaiting = new Array<number>(size).fill(-1);
  for (let place = ready.pop(); place !== undefined; place = ready.pop()) {
    const rank = ranks[place];
    for (;;) {
      const step = current[place] ?? begin(rank.steps, rank.sender, place, mail, size, wake);
      if (step === undefined) {
        rank.ended = true;
        break;
      }
      current[place] = step;
      const missing = step.receives.find((from) => mail[from * size + place].isEmpty);
      if (missing !== undefined) {
        isWaiting[place] = missing;
        break;
      }
      rank.sender.receive(
        step,
        step.receives.map((from) => mail[from * size + place].shift()),
      );
      current[place] = undefined;
    }
  }
  if (ranks.some(({ ended }) => !ended)) throw new Error('the ranks of a schedule wait for each other');

  function wake(to: number, from: number): void {
    if (isWaiting[to] !== from) return;
    isWaiting[to] = -1;
    ready.push(to);
  }
}

/**
 * As `secondsOf` if all links are alike and all ranks do the same: the messages that a rank receives arrive as its own do at
 * others. One rank is simulated.
 */
export function secondsOfSymmetric(schedule: Schedule, simulated: Simulated): number {
  const sender = new Sender(0, simulated);
  const runOnce = (): number => {
    const mail = new Queue();
    for (const step of schedule(0, simulated.links.hosts.length)) {
      for (const message of step.sends) mail.push(sender.send(message));
      sender.receive(
        step,
        step.receives.map(() => mail.shift()),
      );
    }
    return sender.now;
  };
  const startedAt = runOnce() + simulated.tcp.idleSeconds;
  sender.now = startedAt;
  return runOnce() - startedAt;
}

function begin(
  steps: Iterator<Step>,
  sender: Sender,
  place: number,
  mail: readonly Queue[],
  size: number,
  wake: (to: number, from: number) => void,
): Step | undefined {
  const next = steps.next();
  if (next.done) return undefined;
  for (const message of next.value.sends) {
    mail[place * size + message.to].push(sender.send(message));
    wake(message.to, place);
  }
  return next.value;
}

interface Mail {
  arrival: number;
  bytes: number;
}

/** First in, first out. */
class Queue {
  #items: Mail[] = [];
  #first = 0;

  get isEmpty(): boolean {
    return this.#first === this.#items.length;
  }

  push(item: Mail): void {
    this.#items.push(item);
  }

  shift(): Mail {
    const item = this.#items[this.#first];
    this.#first += 1;
    if (this.#first === this.#items.length) {
      this.#items = [];
      this.#first = 0;
    }
    return item;
  }
}

/** A rank's clock, its uplink and its connections. */
class Sender {
  now = 0;
  readonly #place: number;
  readonly #simulated: Simulated;
  readonly #paths = new Map<number, Path>();
  #uplinkFreeAt = 0;

  constructor(place: number, simulated: Simulated) {
    this.#place = place;
    this.#simulated = simulated;
  }

  send({ to, bytes }: Message): Mail {
    const { processor, links } = this.#simulated;
    this.now += processor.secondsPerMessage;
    const path = this.#pathTo(to);
    const first = Math.max(this.now, this.#uplinkFreeAt);
    this.#uplinkFreeAt = first + bytes / links.capacity[this.#place];
    // The kernel takes bytes while the first ones are on their way.
    this.now += bytes * processor.secondsPerSentByte;
    return { arrival: path.send(first, Math.max(this.#uplinkFreeAt, this.now), bytes), bytes };
  }

  receive({ work = 0 }: Step, messages: readonly Mail[]): void {
    const { secondsPerMessage, secondsPerSentByte } = this.#simulated.processor;
    // Bytes are read while later ones arrive, so only the last 64 KiB wait for the processor.
    for (const { arrival, bytes } of messages) {
      const last = Math.min(bytes, 65_536) * secondsPerSentByte;
      this.now = Math.max(this.now + bytes * secondsPerSentByte, arrival + last) + secondsPerMessage;
    }
    this.now += work;
  }

  #pathTo(to: number): Path {
    let path = this.#paths.get(to);
    if (path === undefined) {
      const { links, tcp } = this.#simulated;
      const delay = links.delay[this.#place][to];
      const bandwidth = links.bandwidth[this.#place][to];
      path = new Path({ delay, roundTrip: delay + links.delay[to][this.#place], bandwidth, tcp });
      this.#paths.set(to, path);
    }
    return path;
  }
}
