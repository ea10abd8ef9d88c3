// Compares all-reduces over emulated links with the cost model, and prints a row of a table for each: `npm run bench:plan`.
// Needs Linux and root, as test/support/hosts.ts. Arguments choose other cases than the sample below:
//
//   npm run bench:plan -- <Mbit/s> <round trip in ms> <hosts> <algorithm> <bytes>…
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { equalLinks, operationSeconds, payloadShare } from '../../packages/collectives/src/cost/index.ts';
import { LinkEmulator } from '../../test/support/links/emulator.ts';
import { Namespace } from '../../test/support/namespace.ts';

interface Case {
  megabits: number;
  roundTripMs: number;
  hosts: number;
  algorithm: string;
  sizes: readonly number[];
}

const rounds = 4;
const rank = fileURLToPath(new URL('rank.js', import.meta.url));

/** Links that are slow enough for two processors to keep up with all hosts. */
const sample: readonly Case[] = [
  ...[2, 4, 8, 16].map((hosts) => sampled(10, 10, hosts, 'ring')),
  ...[2, 4, 8, 16].map((hosts) => sampled(100, 10, hosts, 'ring')),
  ...[0, 50, 100].map((roundTripMs) => sampled(100, roundTripMs, 4, 'ring')),
  ...[10, 100].map((roundTripMs) => sampled(100, roundTripMs, 4, 'direct')),
  ...[10, 100].map((roundTripMs) => sampled(100, roundTripMs, 8, 'halving-doubling')),
  ...[0, 10].map((roundTripMs) => sampled(1000, roundTripMs, 2, 'ring')),
];

function sampled(megabits: number, roundTripMs: number, hosts: number, algorithm: string): Case {
  return { megabits, roundTripMs, hosts, algorithm, sizes: megabits === 10 ? [1e6] : [65_536, 4e6] };
}

const [megabits, roundTripMs, hosts, algorithm, ...sizes] = process.argv.slice(2);
const cases =
  megabits === undefined
    ? sample
    : [
        {
          megabits: Number(megabits),
          roundTripMs: Number(roundTripMs),
          hosts: Number(hosts),
          algorithm,
          sizes: sizes.map(Number),
        },
      ];
console.log(`All-reduces of float32 on ${cpus().length} processors: ${cpus()[0].model}\n`);
console.log(
  '| Mbit/s | round trip | hosts | algorithm | bytes | measured ms | model ms | model / measured |',
);
console.log('| -: | -: | -: | - | -: | -: | -: | -: |');
for (const one of cases) {
  const seconds = await measure(one);
  for (const [i, size] of one.sizes.entries()) {
    const measured = seconds[i];
    const model = predict(one, size);
    const figures = [(1000 * measured).toFixed(0), (1000 * model).toFixed(0), (model / measured).toFixed(2)];
    console.log(
      `| ${[one.megabits, `${one.roundTripMs} ms`, one.hosts, one.algorithm, size, ...figures].join(' | ')} |`,
    );
  }
}

/** Seconds by size. */
async function measure({ megabits, roundTripMs, hosts, algorithm, sizes }: Case): Promise<number[]> {
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
    const outputs = await Promise.all(
      spaces.map(async (space, host) => {
        const args = [
          'netns',
          'exec',
          space.name,
          process.execPath,
          rank,
          String(rounds),
          ...sizes.map(String),
        ];
        const env = {
          ...{ MASTER_ADDR: '10.0.0.1', MASTER_PORT: '29500', WORLD_SIZE: String(hosts), RANK: String(host) },
          ...{
            OMP_NUM_THREADS: '1',
            RINGRUN_SECRET: 'correct horse battery staple',
            RINGRUN_ALGORITHM: algorithm,
          },
        };
        const child = spawn('ip', args, {
          env: { ...process.env, ...env },
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

function predict({ megabits, roundTripMs, hosts, algorithm }: Case, bytes: number): number {
  const links = equalLinks(hosts, {
    bytesPerSecond: (1e6 * megabits * payloadShare) / 8,
    delay: roundTripMs / 2000,
  });
  return operationSeconds({ op: 'allReduce', algorithm, bytes }, { links });
}
