import { algorithmRules, operationSeconds, ringOrder, linuxTcp } from '@ringrun/collectives';
import type { AlgorithmRule, Processor } from '@ringrun/collectives';
import type { Links } from '@ringrun/core';
import type { ExchangeSeconds } from './step-seconds.ts';
import { transportBytes } from './ways.ts';
import type { Transport, Way } from './ways.ts';

/** Where ranks exchange arrays. */
export interface Scene {
  links: Links;
  ranksPerNode: number;
  processor: Processor;
}

/** The order of hosts and the algorithms of a scene, as a job follows them whose links were measured. */
export interface Routes {
  order: readonly number[];
  rules: readonly AlgorithmRule[];
}

export function routesOf(links: Links): Routes {
  return { order: ringOrder(links), rules: algorithmRules(links) };
}

/** Larger arrays continue the line through the times of this size and of half of it. */
const mostSimulatedBytes = 32 * 2 ** 20;

/** Times of exchanges, each simulated once. */
export function exchangeIn(scene: Scene, routes: Routes, transport: Transport): ExchangeSeconds {
  const known = new Map<string, number>();
  const simulated = (bytes: number, idleSeconds: number): number => {
    // Windows shrink in steps of retransmission timeouts, which are at least 0.2 s.
    const idle = Math.min(Math.floor(idleSeconds / 0.1) * 0.1, 10);
    const key = `${bytes} ${idle}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    const seconds = exchangeSeconds(bytes, scene, routes, transport, idle);
    known.set(key, seconds);
    return seconds;
  };
  return (bytes, idle) => {
    if (bytes <= mostSimulatedBytes) return simulated(bytes, idle);
    const most = simulated(mostSimulatedBytes, idle);
    const slope = (most - simulated(mostSimulatedBytes / 2, idle)) / (mostSimulatedBytes / 2);
    return most + slope * (bytes - mostSimulatedBytes);
  };
}

/** One number for each parameter: less than fits into a packet for most models, so that only the delay counts. */
const markBytes = 1024;

/**
 * Seconds in which a hook's ranks learn the parameters that any of them used. Without a hook, this is sent with the gradients.
 */
export function marksSecondsIn(scene: Scene, routes: Routes, { transport, local }: Way): number {
  const hasHook = transport !== 'float32' && local === undefined;
  return hasHook ? exchangeSeconds(markBytes, scene, routes, 'float32', 0) : 0;
}

function exchangeSeconds(
  bytes: number,
  { links, ranksPerNode, processor }: Scene,
  { order, rules }: Routes,
  transport: Transport,
  idleSeconds: number,
): number {
  const tcp = { ...linuxTcp, idleSeconds };
  const network = { links, processor, tcp, ranksPerHost: ranksPerNode, order };
  const sent = transportBytes(transport, bytes);
  switch (transport) {
    case 'int8':
    case 'int4':
      return operationSeconds({ op: 'allReduceQuantized', algorithm: transport, bytes }, network);
    case 'bf16':
      // 16-bit floats are rounded once, so they are reduced directly.
      return operationSeconds({ op: 'allReduce', algorithm: 'direct', bytes: sent }, network);
    case 'powersgd':
      // Two factors, one after the other.
      return 2 * allReduceSeconds(sent / 2) + bytes * processor.secondsPerFactoredByte;
    case 'float32':
      return allReduceSeconds(sent);
  }

  function allReduceSeconds(size: number): number {
    const share = size / ranksPerNode;
    const rule = rules.find(({ op, upToBytes }) => op === 'allReduce' && share <= upToBytes);
    return operationSeconds({ op: 'allReduce', algorithm: rule?.algorithm ?? 'ring', bytes: size }, network);
  }
}
