import { formatDuration } from '@ringrun/core';
import { ok, problem, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';
import type { LinkMeasurement } from '../link-measurement.ts';
import { formatBytes, formatMicroseconds, formatRate } from '../units.ts';

/** 1 Gbit/s in bytes: on a slower link, most models spend more time averaging gradients than computing them. */
const slowBytesPerSecond = 125e6;
const slowLatencyUs = 5000;

/** float32 */
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
      'place the nodes closer together (one zone, no VPN), or send less: registerCommHook with fp16 or PowerSGD, larger batches, noSync between steps',
      measured,
    );
  }
  if (latencyUs > slowLatencyUs) {
    return warning(
      found,
      'place the nodes closer together (one zone): every all-reduce has this latency',
      measured,
    );
  }
  return ok(found, measured);
}

/** Milliseconds: log lines of two hosts can be ordered if their clocks differ by less. */
const tolerableMs = 1000;

/** @param aheadMs How far the peer's clock is ahead of this host's. */
export function judgeClocks({ peer, clockAheadMs: aheadMs, roundTripMs }: LinkMeasurement): Finding {
  const size = formatMicroseconds(1000 * Math.max(Math.abs(aheadMs), roundTripMs / 2));
  const measured = { aheadMs, roundTripMs };
  if (Math.abs(aheadMs) <= tolerableMs) return ok(`agree with ${peer.host} within ${size}`, measured);
  return warning(
    `${peer.host}'s clock is ${size} ${aheadMs > 0 ? 'ahead' : 'behind'}: log lines are out of order, and a difference of minutes makes storage refuse requests and certificates invalid`,
    'synchronize both hosts by NTP: timedatectl set-ntp true',
    measured,
  );
}

/** Why the link could not be measured. `stage` is the step that failed. */
export interface LinkFailure {
  stage: 'waiting' | 'occupied' | 'connecting' | 'measuring';
  /** The peer's host name, if known. */
  peer: string | undefined;
  message: string;
  /** Size of the array that was not transferred. */
  bytes: number;
  waitedMs: number;
  /** Command to run on the other node. */
  command: string;
}

export function judgeLinkFailure({ stage, peer, message, bytes, waitedMs, command }: LinkFailure): Finding {
  switch (stage) {
    case 'waiting':
      return warning(
        `not measured: no second doctor connected within ${formatDuration(waitedMs)}`,
        `run this on another node at the same time: ${command}`,
      );
    case 'occupied':
      return warning(`not measured: ${message}`, 'run the doctor again after it has ended');
    case 'connecting':
      return problem(
        `the store's port is reachable from ${peer ?? 'the other node'}, but connections to other ports fail: ${message}`,
        'open all TCP ports between the nodes of a job: ranks listen on ports that the system chooses, so a firewall or NetworkPolicy that allows only the master port is not enough',
      );
    case 'measuring':
      return problem(
        `a message of ${formatBytes(bytes)} to ${peer ?? 'the other node'} failed: ${message}`,
        bytes > 1000
          ? 'smaller messages passed, so check for packets larger than the MTU of the path (ip link; overlay networks lower it), then for packet loss'
          : 'check for packet loss, and whether the other doctor has ended',
      );
  }
}

function gbits(bytesPerSecond: number): number {
  return Number(((8 * bytesPerSecond) / 1e9).toPrecision(3));
}
