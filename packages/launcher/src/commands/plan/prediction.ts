import { defaultProcessor } from '@ringrun/collectives';
import type { Links } from '@ringrun/core';
import { exchangeIn, marksSecondsIn, routesOf } from './exchange.ts';
import type { Routes, Scene } from './exchange.ts';
import type { PlanOptions } from './options.ts';
import { stepSeconds } from './step-seconds.ts';
import { formatBits, formatSeconds } from './units.ts';
import { transportBytes, waysOf } from './ways.ts';
import type { Way } from './ways.ts';

export interface Prediction {
  way: string;
  /** Seconds of a step, on average. */
  stepSeconds: number;
  stepsPerSecond: number;
  /** Time of the computation in that of the step: 1 without communication. */
  efficiency: number;
  /** Bytes that a node sends in a step, on average, without headers. */
  bytesPerStep: number;
  /** What shortens the step most if it takes no time. */
  limit: string;
}

/** A step that is so little longer than its computation is limited by the computation. */
const negligible = 0.02;

/** More than any network, yet finite. */
const unlimited = 1e15;

/** The predictions for all ways of training. A pure function. */
export function predict(links: Links, options: PlanOptions): Prediction[] {
  const routes = routesOf(links);
  const scene: Scene = { links, ranksPerNode: options.ranksPerNode, processor: defaultProcessor };
  return waysOf(options).map((way) => predictOne(way, scene, routes, options));
}

function predictOne(way: Way, scene: Scene, routes: Routes, options: PlanOptions): Prediction {
  const { stepSeconds: computation, modelBytes, bucketBytes } = options;
  const secondsIn = (other: Scene) => {
    const outerSeconds = modelBytes * other.processor.secondsPerOuterByte;
    const marksSeconds = marksSecondsIn(other, routes, way);
    const step = { seconds: computation, outerSeconds, marksSeconds, modelBytes, bucketBytes };
    return stepSeconds(way, step, exchangeIn(other, routes, way.transport));
  };
  const seconds = secondsIn(scene);
  const hosts = scene.links.hosts.length;
  const exchanged = transportBytes(way.transport, modelBytes) / (way.local?.innerSteps ?? 1);
  return {
    way: way.name,
    stepSeconds: seconds,
    stepsPerSecond: 1 / seconds,
    efficiency: computation / seconds,
    bytesPerStep: (2 * (hosts - 1) * exchanged) / hosts,
    limit:
      seconds <= (1 + negligible) * computation ? 'computation' : limitOf(scene, routes, seconds, secondsIn),
  };
}

/** The part of the scene without which the step would be shortest. */
function limitOf(
  scene: Scene,
  { order }: Routes,
  seconds: number,
  secondsIn: (scene: Scene) => number,
): string {
  const { links } = scene;
  const withLinks = (change: Partial<Links>) => ({ ...scene, links: { ...links, ...change } });
  const wide = links.bandwidth.map((row) => row.map(() => unlimited));
  const wideUplinks = links.capacity.map(() => unlimited);
  const processor = {
    secondsPerMessage: 0,
    secondsPerSentByte: 0,
    secondsPerReducedByte: 0,
    secondsPerQuantizedByte: 0,
    secondsPerFactoredByte: 0,
    secondsPerOuterByte: 0,
    secondsPerSharedByte: 0,
  };
  const candidates: [string, number][] = [
    ['bandwidth', secondsIn(withLinks({ bandwidth: wide, capacity: wideUplinks }))],
    ['delay', secondsIn(withLinks({ delay: links.delay.map((row) => row.map(() => 0)) }))],
    ['processor', secondsIn({ ...scene, processor })],
  ];
  const [name] = candidates.reduce((best, one) => (one[1] < best[1] ? one : best));
  if (name === 'delay') return describeDelay(links, order);
  if (name === 'processor') return 'processor';
  const pairs = secondsIn(withLinks({ bandwidth: wide }));
  return pairs < seconds * (1 - negligible) ? describeSlowestPair(links, order) : describeUplink(links);
}

/** The pairs of hosts next to each other on the ring. */
function pairsOn(order: readonly number[]): [number, number][] {
  return order.map((host, place) => [host, order[(place + 1) % order.length]]);
}

function describeDelay({ hosts, delay }: Links, order: readonly number[]): string {
  const [a, b] = pairsOn(order).reduce((most, one) =>
    delay[one[0]][one[1]] > delay[most[0]][most[1]] ? one : most,
  );
  const roundTrip = `round trip ${formatSeconds(delay[a][b] + delay[b][a])}`;
  return isUniform(delay) ? roundTrip : `${roundTrip} of ${hosts[a]}–${hosts[b]}`;
}

function describeSlowestPair({ hosts, bandwidth }: Links, order: readonly number[]): string {
  const [a, b] = pairsOn(order).reduce((most, one) =>
    bandwidth[one[0]][one[1]] < bandwidth[most[0]][most[1]] ? one : most,
  );
  const text = `bandwidth ${formatBits(bandwidth[a][b])}`;
  return isUniform(bandwidth) ? text : `${text} of ${hosts[a]}–${hosts[b]}`;
}

function describeUplink({ hosts, capacity }: Links): string {
  const least = Math.min(...capacity);
  const text = `bandwidth ${formatBits(least)}`;
  return capacity.every((one) => one === least)
    ? text
    : `uplink ${formatBits(least)} of ${hosts[capacity.indexOf(least)]}`;
}

function isUniform(matrix: readonly (readonly number[])[]): boolean {
  const first = matrix[0][1];
  return matrix.every((row, a) => row.every((value, b) => a === b || value === first));
}
