import type { Links } from '@ringrun/core';

/** The work of one rank's processor. */
export interface Processor {
  /** Seconds of a message for its sender, and again for its receiver: system calls and waking up. */
  readonly secondsPerMessage: number;
  /** Seconds of a byte that is sent, and again of one that is received: copies and checksums. */
  readonly secondsPerSentByte: number;
  /** Seconds of a byte of an array that is combined with another one. */
  readonly secondsPerReducedByte: number;
  /** Seconds of a byte of float32 that is rounded to 8 or 4 bits, or back. */
  readonly secondsPerQuantizedByte: number;
  /** Seconds of a byte of float32 of which PowerSGD computes factors of rank 1, and their product. */
  readonly secondsPerFactoredByte: number;
  /** Seconds of a byte of float32 in an outer step of DiLoCo, without its exchange. */
  readonly secondsPerOuterByte: number;
  /** Seconds of a byte of each rank's array while the ranks of a host reduce in shared memory. */
  readonly secondsPerSharedByte: number;
}

/**
 * One core of an AMD EPYC with AVX2 (Zen 3) that does nothing else. Links of 1 Gbit/s and less are slower than all of
 * these, so only the order of magnitude matters there.
 */
export const defaultProcessor: Processor = {
  secondsPerMessage: 8e-6,
  secondsPerSentByte: 1 / 4e9,
  secondsPerReducedByte: 1 / 10e9,
  secondsPerQuantizedByte: 1 / 4e9,
  secondsPerFactoredByte: 1 / 1.25e9,
  secondsPerOuterByte: 1 / 1.25e9,
  secondsPerSharedByte: 1 / 6e9,
};

/** How connections use a link. */
export interface Tcp {
  /** Bytes that a connection sends before the first acknowledgement. Linux: 10 segments of 1,448 bytes. */
  readonly initialWindow: number;
  /** Bytes under way on one connection at most: the kernel's largest buffers. */
  readonly maxWindow: number;
  /** Seconds between an operation and an equal one before it. */
  readonly idleSeconds: number;
}

/** Linux's defaults, between operations that follow each other. */
export const linuxTcp: Tcp = { initialWindow: 14_480, maxWindow: 3e6, idleSeconds: 0 };

/** What the time of an operation depends on. */
export interface CostNetwork {
  /** Between the hosts. */
  readonly links: Links;
  /** Default: `defaultProcessor`. */
  readonly processor?: Processor;
  /** Default: `linuxTcp`. */
  readonly tcp?: Tcp;
  /** Ranks of each host, which share memory and the host's links. Default: 1. */
  readonly ranksPerHost?: number;
  /** Order of the hosts in rings and chains. Default: as in `links`. */
  readonly order?: readonly number[];
}

/** Round trips from which the model lets rings send segments before the previous ones have arrived. */
export const farRoundTrip = 1e-3;

/**
 * The share of a link of Ethernet that is left for the bytes of messages: 1,448 of the 1,514 bytes of a frame. The rest
 * is headers of TCP, IP and Ethernet.
 */
export const payloadShare = 1448 / 1514;

/** Links between hosts that are all alike, for messages: without the bytes of headers. */
export function equalLinks(
  hosts: number,
  { bytesPerSecond, delay }: { bytesPerSecond: number; delay: number },
): Links {
  const square = (value: number) =>
    Array.from({ length: hosts }, (_, a) => Array.from({ length: hosts }, (_, b) => (a === b ? 0 : value)));
  return {
    hosts: Array.from({ length: hosts }, (_, host) => `host${host}`),
    delay: square(delay),
    bandwidth: square(bytesPerSecond),
    capacity: new Array<number>(hosts).fill(bytesPerSecond),
  };
}

/** Whether all pairs of hosts are alike, so that every rank of a symmetric algorithm takes the same time. */
export function areEqual({ delay, bandwidth, capacity }: Links): boolean {
  const off = (matrix: readonly (readonly number[])[]) =>
    matrix.flatMap((row, a) => row.filter((_, b) => b !== a));
  return [off(delay), off(bandwidth), capacity].every((values) =>
    values.every((value) => value === values[0]),
  );
}
