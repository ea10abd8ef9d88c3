import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { equalLinks, payloadShare } from '../../packages/collectives/src/cost/index.ts';
import { LinkEmulator } from '../../test/support/links/emulator.ts';
import { Namespace } from '../../test/support/namespace.ts';

export interface Network {
  megabits: number;
  roundTripMs: number;
  hosts: number;
}

export interface Program {
  /** In this folder. */
  script: string;
  args: readonly (string | number)[];
  /** Default: those that follow the links. */
  algorithm?: string;
}

/** Runs a script on one rank of each host, and returns the JSON that rank 0 prints. */
export async function runOnLinks(network: Network, { script, args, algorithm }: Program): Promise<number[]> {
  const { megabits, roundTripMs, hosts } = network;
  const folder = mkdtempSync(join(tmpdir(), 'ringrun-bench-'));
  const bitsPerSecond = 1e6 * megabits;
  const spaces: Namespace[] = [];
  let links: LinkEmulator | undefined;
  try {
    for (let host = 0; host < hosts; host += 1)
      spaces.push(new Namespace(`ringrun-bench-${process.pid}-${host}`));
    links = new LinkEmulator(spaces, {
      folder,
      // Reno, without the HyStart of CUBIC, overruns a shorter queue in slow start, and loses packets.
      links: { bitsPerSecond, uplinkBitsPerSecond: bitsPerSecond, delayMs: roundTripMs / 2, queueMs: 400 },
    });
    for (const [host, space] of spaces.entries()) {
      space.ip('link set lo up', `address add 10.0.0.${host + 1}/24 dev eth0`, 'link set eth0 up');
      space.set('net/ipv4/tcp_congestion_control', 'reno');
    }
    const program = [process.execPath, fileURLToPath(new URL(script, import.meta.url)), ...args.map(String)];
    const linksFile = join(folder, 'links.json');
    writeFileSync(linksFile, JSON.stringify(linksOf(network)));
    const job = {
      ...process.env,
      ...{ MASTER_ADDR: '10.0.0.1', MASTER_PORT: '29500', WORLD_SIZE: String(hosts), OMP_NUM_THREADS: '1' },
      ...{ RINGRUN_SECRET: 'correct horse battery staple' },
      ...(algorithm === undefined ? { RINGRUN_LINKS: linksFile } : { RINGRUN_ALGORITHM: algorithm }),
    };
    const outputs = await Promise.all(
      spaces.map(async ({ name }, host) => {
        const child = spawn('ip', ['netns', 'exec', name, ...program], {
          env: { ...job, RANK: String(host) },
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        return text(child.stdout);
      }),
    );
    return JSON.parse(outputs[0]) as number[];
  } finally {
    links?.close();
    for (const space of spaces) space.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The links as the cost model has them. */
export function linksOf({ megabits, roundTripMs, hosts }: Network) {
  const bytesPerSecond = (1e6 * megabits * payloadShare) / 8;
  return equalLinks(hosts, { bytesPerSecond, delay: roundTripMs / 2000 });
}
