import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Interface } from 'node:readline';
import type { Namespace } from '../namespace.ts';
import { emulatorProgram } from './program.ts';

/** The path of packets from one host to another. */
export interface Link {
  /** Headers included, in frames of at most 1,514 bytes. Default: unlimited. */
  bitsPerSecond?: number;
  /** One way: half of what ping shows. Default: 0. */
  delayMs?: number;
  /** Packets that would wait longer for the link are lost. Default: the round trip, at least 50 ms. */
  queueMs?: number;
  /** Drops all packets. Default: false. */
  isCut?: boolean;
}

/** Of all pairs of hosts, except for those in `pairs`. */
export interface LinkOptions extends Link {
  /** Shared by all packets that a host sends. Default: unlimited. */
  uplinkBitsPerSecond?: number;
  /** Pairs of hosts that differ, in both directions. */
  pairs?: readonly (Link & { hosts: readonly [number, number] })[];
}

/** `bytes[a][b]`: delivered from host a to host b, headers included. `dropped[a][b]`: packets. */
export interface LinkTraffic {
  bytes: number[][];
  dropped: number[][];
}

const leastQueueMs = 50;

/** Connects namespaces by a process that forwards their packets (emulator.cc). */
export class LinkEmulator {
  readonly #process: ChildProcess;
  readonly #lines: Interface;
  readonly #links: Link[][];
  readonly #hosts: number;
  readonly #uplinkQueueMs: number;

  /**
   * @param folder of the network; the emulator is ready when it contains `links-ready`
   * @throws Error if the emulator cannot create its devices.
   */
  constructor(
    namespaces: readonly Namespace[],
    { folder, links }: { folder: string; links: Readonly<LinkOptions> },
  ) {
    const program = emulatorProgram();
    const ready = join(folder, 'links-ready');
    const names = namespaces.map(({ name }) => name);
    this.#process = spawn(program, [ready, ...names], { stdio: ['pipe', 'pipe', 'inherit'] });
    awaitReady(ready, this.#process.pid);
    // A link does not wait for the processors of its hosts.
    setPriority(this.#process.pid!, constants.priority.PRIORITY_HIGHEST);
    // The test process may exit while the emulator runs, which then ends with its standard input.
    this.#process.unref();
    this.#lines = createInterface({ input: this.#process.stdout! });
    this.#hosts = names.length;
    const { uplinkBitsPerSecond, pairs = [], ...all } = links;
    this.#uplinkQueueMs = all.queueMs ?? leastQueueMs;
    this.#links = names.map(() => names.map(() => ({ ...all })));
    for (let from = 0; from < this.#hosts; from += 1) {
      if (uplinkBitsPerSecond !== undefined) this.setUplink(from, uplinkBitsPerSecond);
      for (let to = 0; to < this.#hosts; to += 1) if (to !== from) this.setOneWay(from, to, {});
    }
    for (const { hosts, ...link } of pairs) this.set(...hosts, link);
  }

  /** Changes both directions. What `change` does not name stays. */
  set(one: number, other: number, change: Readonly<Link>): void {
    this.setOneWay(one, other, change);
    this.setOneWay(other, one, change);
  }

  setOneWay(from: number, to: number, change: Readonly<Link>): void {
    const link = Object.assign(this.#links[from][to], change);
    const { bitsPerSecond = 0, delayMs = 0, isCut = false } = link;
    const { queueMs = Math.max(2 * delayMs, leastQueueMs) } = link;
    const [delay, queue] = [delayMs, queueMs].map((ms) => Math.round(1000 * ms));
    this.#write(`link ${from} ${to} ${bitsPerSecond} ${delay} ${queue} ${Number(isCut)}`);
  }

  /** Cuts or restores all links of a host. */
  setCut(host: number, isCut: boolean): void {
    for (let other = 0; other < this.#hosts; other += 1) if (other !== host) this.set(host, other, { isCut });
  }

  /** Of all packets that a host sends. 0: unlimited. The queue is `queueMs` of all links; default: 50 ms. */
  setUplink(host: number, bitsPerSecond: number): void {
    this.#write(`uplink ${host} ${bitsPerSecond} ${Math.round(1000 * this.#uplinkQueueMs)}`);
  }

  /** Since the start. */
  async traffic(): Promise<LinkTraffic> {
    const line = once(this.#lines, 'line');
    this.#write('report');
    return JSON.parse(((await line) as [string])[0]) as LinkTraffic;
  }

  close(): void {
    this.#process.kill('SIGKILL');
    this.#lines.close();
  }

  #write(command: string): void {
    this.#process.stdin!.write(`${command}\n`);
  }
}

/** Blocks, because hosts are connected synchronously. */
function awaitReady(file: string, pid: number | undefined): void {
  const until = performance.now() + 10_000;
  const cell = new Int32Array(new SharedArrayBuffer(4));
  while (!existsSync(file)) {
    if (performance.now() > until || pid === undefined || hasEnded(pid))
      throw new Error('the link emulator did not start; its message is on stderr');
    Atomics.wait(cell, 0, 0, 2);
  }
}

/** A process that has exited stays a zombie until Node's event loop reads its status. */
function hasEnded(pid: number): boolean {
  return / [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
}
