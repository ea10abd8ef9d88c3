import { formatDuration } from '../../store/waiting-lines.ts';
import { ok, problem, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';
import type { LinkMeasurement } from '../second-doctor.ts';
import { formatBytes, formatMicroseconds, formatRate } from '../units.ts';

/** 1 Gbit/s, in bytes: on less, averaging gradients takes longer than computing them in most models. */
const slowBytesPerSecond = 125e6;
const slowLatencyUs = 5000;

/** Of float32. */
const bytesPerParameter = 4;
const exampleParameters = 10e6;

export function judgeLink(link: LinkMeasurement): Finding {
  const { peer, transport, latencyUs, bytesPerSecond, bytes } = link;
  const measured = { ...link };
  const gradients = formatMicroseconds((1e6 * bytesPerParameter * exampleParameters) / bytesPerSecond);
  const found =
    `with ${peer.host} over ${transport === 'shm' ? 'shared memory (it is the same host)' : 'TCP'}: ${formatRate(bytesPerSecond)} ` +
    `(${gbits(bytesPerSecond)} Gbit/s), all-reduces of ${formatBytes(bytes)}; ${formatMicroseconds(latencyUs)} for 4 B. Gradients of 10 million parameters take ${gradients}`;
  if (bytesPerSecond < slowBytesPerSecond) {
    return warning(
      found,
      'place the nodes closer together (one zone, no VPN); send less: registerCommHook with fp16 or PowerSGD, larger batches, noSync between steps',
      measured,
    );
  }
  if (latencyUs > slowLatencyUs) {
    return warning(
      found,
      'place the nodes closer together (one zone): every all-reduce waits that long',
      measured,
    );
  }
  return ok(found, measured);
}

/** Clocks that differ by less are nobody's trouble: lines of logs can be put in order. */
const tolerableMs = 1000;

/** @param aheadMs How far the other's clock is ahead. */
export function judgeClocks({ peer, clockAheadMs: aheadMs, roundTripMs }: LinkMeasurement): Finding {
  const size = formatMicroseconds(1000 * Math.max(Math.abs(aheadMs), roundTripMs / 2));
  const measured = { aheadMs, roundTripMs };
  if (Math.abs(aheadMs) <= tolerableMs) return ok(`agree with ${peer.host}'s to ${size}`, measured);
  return warning(
    `${peer.host}'s clock is ${size} ${aheadMs > 0 ? 'ahead' : 'behind'}: lines of logs are out of order, and from some minutes on storage and certificates are refused`,
    'set both hosts by NTP: timedatectl set-ntp true',
    measured,
  );
}

/** What stood in the way of the measurement; `stage` is how far it got. */
export interface LinkFailure {
  stage: 'waiting' | 'occupied' | 'connecting' | 'measuring';
  /** The other's host name, where it is known. */
  peer: string | undefined;
  message: string;
  /** Bytes of the array that did not get through. */
  bytes: number;
  waitedMs: number;
  /** What to start on the other node. */
  command: string;
}

export function judgeLinkFailure({ stage, peer, message, bytes, waitedMs, command }: LinkFailure): Finding {
  switch (stage) {
    case 'waiting':
      return warning(
        `not measured: no second doctor came within ${formatDuration(waitedMs)}`,
        `run this on another node at the same time: ${command}`,
      );
    case 'occupied':
      return warning(`not measured: ${message}`, 'run the doctor again when that has ended');
    case 'connecting':
      return problem(
        `the store's port works towards ${peer ?? 'the other node'}, connections between other ports do not: ${message}`,
        'open all TCP ports between the nodes of a job: ranks listen on ports that the system chooses (a NetworkPolicy or firewall that lets only the master’s port through is not enough)',
      );
    case 'measuring':
      return problem(
        `${formatBytes(bytes)} do not get through to ${peer ?? 'the other node'}: ${message}`,
        bytes > 1000
          ? 'small messages do, so look for packets that are too large for the way (ip link: mtu, which overlay networks lower), then for a link that loses packets'
          : 'look for a link that loses packets, and whether the other doctor was ended',
      );
  }
}

function gbits(bytesPerSecond: number): number {
  return Number(((8 * bytesPerSecond) / 1e9).toPrecision(3));
}
