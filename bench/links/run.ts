// Compares all-reduces and training steps over emulated links with the cost model, and prints a row of a table for each:
// `npm run bench:plan`. Needs Linux and root, as test/support/hosts.ts. Arguments choose other cases than the samples below:
//
//   npm run bench:plan -- <Mbit/s> <round trip in ms> <hosts> <algorithm, quantized-int8 or quantized-int4> <bytes>…
//   npm run bench:plan -- <Mbit/s> <round trip in ms> <hosts> <way of way-rank.js> <layers of 4 MB>
import { cpus } from 'node:os';
import { defaultProcessor, operationSeconds } from '../../packages/collectives/src/cost/index.ts';
import type { Processor } from '../../packages/collectives/src/cost/index.ts';
import type { Hook } from '../../packages/launcher/src/commands/plan/options.ts';
import { exchangeIn, marksSecondsIn, routesOf } from '../../packages/launcher/src/commands/plan/exchange.ts';
import { stepSeconds } from '../../packages/launcher/src/commands/plan/step-seconds.ts';
import { waysOf } from '../../packages/launcher/src/commands/plan/ways.ts';
import type { Way } from '../../packages/launcher/src/commands/plan/ways.ts';
import { linksOf, runOnLinks } from './on-links.ts';
import type { Network } from './on-links.ts';

interface Case extends Network {
  /** Of the all-reduces, or a way of way-rank.js. */
  what: string;
  /** Bytes of arrays, or the number of layers. */
  sizes: readonly number[];
}

const rounds = 4;
const bytesPerLayer = 4e6;
const algorithms = ['ring', 'direct', 'halving-doubling', 'recursive-doubling'];
/** The all-reduce of a hook, without training. */
const quantized: Partial<Record<string, string>> = { 'quantized-int8': 'int8', 'quantized-int4': 'int4' };

/** Links that are slow enough for two processors to keep up with all hosts. */
const samples: readonly Case[] = [
  ...[2, 4, 8, 16].map((hosts) => sampled(10, 10, hosts, 'ring')),
  ...[2, 4, 8, 16].map((hosts) => sampled(100, 10, hosts, 'ring')),
  ...[0, 50, 100].map((roundTripMs) => sampled(100, roundTripMs, 4, 'ring')),
  ...[10, 100].map((roundTripMs) => sampled(100, roundTripMs, 4, 'direct')),
  ...[10, 100].map((roundTripMs) => sampled(100, roundTripMs, 8, 'halving-doubling')),
  ...[0, 10].map((roundTripMs) => sampled(1000, roundTripMs, 2, 'ring')),
  ...[20, 100].map((roundTripMs) => sampled(100, roundTripMs, 4, 'quantized-int8')),
  { ...sampled(10, 100, 4, 'quantized-int8'), sizes: [1e6, 4e6] },
  ...[10, 50].map((roundTripMs) => trained(100, roundTripMs, 2, 'none', 4)),
  ...['none', 'bf16', 'int8', 'int4', 'powersgd'].map((hook) => trained(100, 20, 4, hook, 4)),
  ...['diloco:10:1:float32', 'diloco:20:4:int8'].map((way) => trained(100, 20, 4, way, 4)),
  ...['int8', 'powersgd', 'diloco:10:1:int8'].map((way) => trained(10, 100, 4, way, 1)),
  ...['none', 'int8'].map((hook) => trained(100, 10, 16, hook, 2)),
  ...['none', 'int8'].map((hook) => trained(1000, 10, 2, hook, 4)),
];

function sampled(megabits: number, roundTripMs: number, hosts: number, algorithm: string): Case {
  const sizes = megabits === 10 ? [1e6] : [65_536, 4e6];
  return { megabits, roundTripMs, hosts, what: algorithm, sizes };
}

function trained(megabits: number, roundTripMs: number, hosts: number, way: string, layers: number): Case {
  return { megabits, roundTripMs, hosts, what: way, sizes: [layers] };
}

function chosen(args: readonly string[]): readonly Case[] {
  const [megabits, roundTripMs, hosts, what, ...sizes] = args;
  if (args.length === 0) return samples;
  const [first, second, third] = [megabits, roundTripMs, hosts].map(Number);
  return [{ megabits: first, roundTripMs: second, hosts: third, what, sizes: sizes.map(Number) }];
}

console.log(`On ${cpus().length} processors: ${cpus()[0].model}\n`);
console.log('| Mbit/s | round trip | hosts | what | bytes | measured ms | model ms | model / measured |');
console.log('| -: | -: | -: | - | -: | -: | -: | -: |');
for (const one of chosen(process.argv.slice(2)))
  await (algorithms.includes(one.what) || one.what in quantized ? compareArrays : compareSteps)(one);

async function compareArrays(one: Case): Promise<void> {
  const { what, sizes } = one;
  const transport = quantized[what];
  const args = [rounds, transport ?? 'float32', ...sizes];
  const seconds = await runOnLinks(one, { script: 'rank.js', args, ...(!transport && { algorithm: what }) });
  const operation = transport
    ? ({ op: 'allReduceQuantized', algorithm: transport } as const)
    : ({ op: 'allReduce', algorithm: what } as const);
  const network = { links: linksOf(one), processor: sharedProcessor(one.hosts) };
  for (const [i, bytes] of sizes.entries())
    print(one, what, bytes, seconds[i], operationSeconds({ ...operation, bytes }, network));
}

/** The computation of a step is measured, its exchange predicted as in `ringrun plan`. */
async function compareSteps(one: Case): Promise<void> {
  const [layers] = one.sizes;
  const [alone, exchanged] = await runOnLinks(one, {
    script: 'way-rank.js',
    args: [rounds, layers, one.what],
  });
  const way = wayOf(one.what);
  const modelBytes = layers * bytesPerLayer;
  const links = linksOf(one);
  const scene = { links, ranksPerNode: 1, processor: sharedProcessor(one.hosts) };
  const routes = routesOf(links);
  const outerSeconds = modelBytes * scene.processor.secondsPerOuterByte;
  const marksSeconds = marksSecondsIn(scene, routes, way);
  const buckets = { bucketBytes: bytesPerLayer, firstBucketBytes: bytesPerLayer };
  const step = { seconds: alone, outerSeconds, marksSeconds, modelBytes, ...buckets };
  const model = stepSeconds(way, step, exchangeIn(scene, routes, way.transport));
  print(one, `${one.what}, ${(1000 * alone).toFixed(0)} ms alone`, modelBytes, exchanged, model);
}

/** One rank's part of the processors that all hosts share here. */
function sharedProcessor(hosts: number): Processor {
  const ranksPerProcessor = Math.max(hosts / cpus().length, 1);
  const entries = Object.entries(defaultProcessor) as [keyof Processor, number][];
  return Object.fromEntries(
    entries.map(([name, seconds]) => [name, seconds * ranksPerProcessor]),
  ) as unknown as Processor;
}

function wayOf(name: string): Way {
  const [kind, innerSteps, fragments, transport] = name.split(':');
  if (kind !== 'diloco') return waysOf({ hooks: [kind as Hook], innerSteps: [], fragments: 1 })[0];
  const local = { hooks: [], innerSteps: [Number(innerSteps)], fragments: Number(fragments) };
  return waysOf(local).find(
    (way) => way.transport === transport && way.local?.fragments === local.fragments,
  )!;
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
