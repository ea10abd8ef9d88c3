import { linksAmong } from '../links/links-among.ts';
import { areEqual, defaultProcessor, farRoundTrip, linuxTcp } from './network.ts';
import type { CostNetwork } from './network.ts';
import type { Schedule } from './schedule.ts';
import { directAllReduce, directExchange, directReduceScatter } from './schedules/direct.ts';
import { halvingDoublingAllReduce, recursiveDoublingAllReduce } from './schedules/hypercube.ts';
import { quantizedAllReduce } from './schedules/quantized.ts';
import { ringAllGather, ringAllReduce } from './schedules/ring.ts';
import type { RingOptions } from './schedules/ring.ts';
import {
  binomialTreeBroadcast,
  binomialTreeReduce,
  bruckAllGather,
  chainBroadcast,
  dissemination,
} from './schedules/trees.ts';
import { secondsOf, secondsOfSymmetric } from './simulate.ts';

interface Algorithm {
  schedule: (options: RingOptions) => Schedule;
  /** Whether all ranks do the same at any team size, or only at powers of two. Otherwise they differ. */
  isSymmetric?: boolean | 'power of two';
  /** Whether all ranks agree first. */
  agrees?: boolean;
  /** Whether hosts reduce segments in shared memory while others are sent. */
  overlapsSharedMemory?: boolean;
}

const quantized = (bits: 8 | 4): Algorithm => ({
  schedule: (options) => quantizedAllReduce(options, bits),
  isSymmetric: true,
  overlapsSharedMemory: true,
});

/** Operations whose cost is known. */
export type CostOperation =
  'allReduce' | 'allReduceQuantized' | 'reduceScatter' | 'allGather' | 'broadcast' | 'reduce';

/** By operation. Bytes are those of `AlgorithmInput`: of each rank's array, or received by a rank in an allGather. */
const algorithms = {
  allReduce: {
    direct: { schedule: directAllReduce, isSymmetric: true },
    ring: { schedule: ringAllReduce, isSymmetric: true, overlapsSharedMemory: true },
    'halving-doubling': { schedule: halvingDoublingAllReduce, isSymmetric: 'power of two' },
    'recursive-doubling': { schedule: recursiveDoublingAllReduce, isSymmetric: 'power of two' },
  },
  allReduceQuantized: { int8: quantized(8), int4: quantized(4) },
  reduceScatter: { direct: { schedule: directReduceScatter, isSymmetric: true, agrees: true } },
  allGather: {
    direct: {
      schedule: ({ bytes }) => afterAgreement((place, size) => directExchange(bytes / size)(place, size)),
      isSymmetric: true,
    },
    bruck: { schedule: ({ bytes }) => bruckAllGather(bytes), isSymmetric: true },
    ring: { schedule: (options) => ringAllGather(options), isSymmetric: true, agrees: true },
  },
  broadcast: {
    'binomial-tree': { schedule: ({ bytes }) => binomialTreeBroadcast(bytes) },
    chain: { schedule: ({ bytes }) => chainBroadcast(bytes) },
  },
  reduce: {
    'binomial-tree': {
      schedule: ({ bytes, secondsPerReducedByte }) => binomialTreeReduce(bytes, secondsPerReducedByte),
    },
  },
} as const satisfies Record<CostOperation, Record<string, Algorithm>>;

/** Names of the algorithms of an operation whose cost is known, as RINGRUN_ALGORITHM has them. */
export function costAlgorithms(op: CostOperation): readonly string[] {
  return Object.keys(algorithms[op]);
}

/** An operation and how it runs. */
export interface OperationCost {
  /** Its name: `allReduce`. */
  op: CostOperation;
  /** One of `costAlgorithms(op)`. */
  algorithm: string;
  /** Of each rank's array, in float32; in an allGather, of all ranks' blocks together. */
  bytes: number;
}

/**
 * Seconds of an operation that all ranks start at the same time, until the last one has ended. Follows the addon's
 * algorithms message by message: segments, what is sent before what has arrived, shared uplinks, TCP's slow start.
 *
 * Hosts with several ranks reduce in shared memory, and as many teams of one rank of each host share the links.
 *
 * @throws TypeError for an unknown algorithm.
 */
export function operationSeconds({ op, algorithm, bytes }: OperationCost, network: CostNetwork): number {
  const known = (algorithms[op] as Partial<Record<string, Algorithm>>)[algorithm];
  if (known === undefined)
    throw new TypeError(`${op}: expected one of ${costAlgorithms(op).join(', ')}, got ${algorithm}.`);
  const { processor = defaultProcessor, tcp = linuxTcp, ranksPerHost = 1 } = network;
  const links = sharedBy(
    ranksPerHost,
    network.order ? linksAmong(network.links, network.order) : network.links,
  );
  const inHost = ranksPerHost > 1 ? bytes * processor.secondsPerSharedByte : 0;
  const hosts = links.hosts.length;
  if (hosts === 1) return inHost;
  const schedule = known.schedule({
    bytes: bytes / ranksPerHost,
    isFar: (place, next) => links.delay[place][next] + links.delay[next][place] >= farRoundTrip,
    secondsPerReducedByte: processor.secondsPerReducedByte,
  });
  const whole = known.agrees ? afterAgreement(schedule) : schedule;
  const isSymmetric = known.isSymmetric === 'power of two' ? isPowerOfTwo(hosts) : known.isSymmetric === true;
  const seconds = (isSymmetric && areEqual(links) ? secondsOfSymmetric : secondsOf)(whole, {
    links,
    processor,
    tcp,
  });
  const computing =
    op === 'allReduceQuantized' ? (2 * bytes * processor.secondsPerQuantizedByte) / ranksPerHost : 0;
  const between = Math.max(seconds, computing);
  return known.overlapsSharedMemory ? Math.max(between, inHost) : between + inHost;
}

function afterAgreement(schedule: Schedule): Schedule {
  return function* steps(place, size) {
    yield* dissemination()(place, size);
    yield* schedule(place, size);
  };
}

/** What one of `teams` ranks of each host gets of the links. */
function sharedBy(teams: number, links: CostNetwork['links']): CostNetwork['links'] {
  if (teams === 1) return links;
  return {
    ...links,
    bandwidth: links.bandwidth.map((row) => row.map((bandwidth) => bandwidth / teams)),
    capacity: links.capacity.map((capacity) => capacity / teams),
  };
}

const isPowerOfTwo = (value: number) => 2 ** Math.floor(Math.log2(value) + 0.5) === value;
