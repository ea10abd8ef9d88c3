// Compares all-reduces and steps of DDP over emulated links with the cost model, and prints a row of a table for each:
// `npm run bench:plan`. Needs Linux and root, as test/support/hosts.ts. Arguments choose other cases than the samples below:
//
//   npm run bench:plan -- <Mbit/s> <round trip in ms> <hosts> <algorithm> <bytes>…
//   npm run bench:plan -- <Mbit/s> <round trip in ms> <hosts> ddp <layers of 4 MB>
import { cpus } from 'node:os';
import { operationSeconds } from '../../packages/collectives/src/cost/index.ts';
import { stepSeconds } from '../../packages/launcher/src/commands/plan/step-seconds.ts';
import { linksOf, runOnLinks } from './on-links.ts';
import type { Network } from './on-links.ts';

interface Case extends Network {
  /** Of the all-reduces, or `ddp`. */
  algorithm: string;
  /** Bytes of arrays, or the number of layers. */
  sizes: readonly number[];
}

const rounds = 4;
const bytesPerLayer = 4e6;

/** Links that are slow enough for two processors to keep up with all hosts. */
const samples: readonly Case[] = [
  ...[2, 4, 8, 16].map((hosts) => sampled(10, 10, hosts, 'ring')),
  ...[2, 4, 8, 16].map((hosts) => sampled(100, 10, hosts, 'ring')),
  ...[0, 50, 100].map((roundTripMs) => sampled(100, roundTripMs, 4, 'ring')),
  ...[10, 100].map((roundTripMs) => sampled(100, roundTripMs, 4, 'direct')),
  ...[10, 100].map((roundTripMs) => sampled(100, roundTripMs, 8, 'halving-doubling')),
  ...[0, 10].map((roundTripMs) => sampled(1000, roundTripMs, 2, 'ring')),
  ...[10, 50].map((roundTripMs) => ({ megabits: 100, roundTripMs, hosts: 2, algorithm: 'ddp', sizes: [4] })),
];

function sampled(megabits: number, roundTripMs: number, hosts: number, algorithm: string): Case {
  return { megabits, roundTripMs, hosts, algorithm, sizes: megabits === 10 ? [1e6] : [65_536, 4e6] };
}

function chosen(args: readonly string[]): readonly Case[] {
  const [megabits, roundTripMs, hosts, algorithm, ...sizes] = args;
  if (args.length === 0) return samples;
  const [first, second, third] = [megabits, roundTripMs, hosts].map(Number);
  return [{ megabits: first, roundTripMs: second, hosts: third, algorithm, sizes: sizes.map(Number) }];
}

console.log(`On ${cpus().length} processors: ${cpus()[0].model}\n`);
console.log(
  '| Mbit/s | round trip | hosts | algorithm | bytes | measured ms | model ms | model / measured |',
);
console.log('| -: | -: | -: | - | -: | -: | -: | -: |');
for (const one of chosen(process.argv.slice(2)))
  await (one.algorithm === 'ddp' ? compareSteps : compareArrays)(one);

async function compareArrays(one: Case): Promise<void> {
  const { algorithm, sizes } = one;
  const seconds = await runOnLinks(one, { script: 'rank.js', args: [rounds, ...sizes], algorithm });
  for (const [i, bytes] of sizes.entries()) {
    const model = operationSeconds({ op: 'allReduce', algorithm, bytes }, { links: linksOf(one) });
    print(one, algorithm, bytes, seconds[i], model);
  }
}

/** The computation of a step is measured, its communication predicted. */
async function compareSteps(one: Case): Promise<void> {
  const [layers] = one.sizes;
  const [alone, averaged] = await runOnLinks(one, {
    script: 'ddp-rank.js',
    args: [rounds, layers],
    algorithm: 'ring',
  });
  const step = { seconds: alone, modelBytes: layers * bytesPerLayer, bucketBytes: bytesPerLayer };
  const model = stepSeconds({ name: 'DDP', transport: 'float32' }, step, (bytes) =>
    operationSeconds({ op: 'allReduce', algorithm: 'ring', bytes }, { links: linksOf(one) }),
  );
  print(one, `DDP, ${(1000 * alone).toFixed(0)} ms alone`, step.modelBytes, averaged, model);
}

function print(
  { megabits, roundTripMs, hosts }: Network,
  what: string,
  bytes: number,
  seconds: number,
  model: number,
) {
  const figures = [(1000 * seconds).toFixed(0), (1000 * model).toFixed(0), (model / seconds).toFixed(2)];
  console.log(`| ${[megabits, `${roundTripMs} ms`, hosts, what, bytes, ...figures].join(' | ')} |`);
}
