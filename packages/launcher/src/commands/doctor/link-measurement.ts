import type { ProcessGroup } from '@ringrun/core';
import type { Throughput } from './measure-group.ts';

/** A doctor process. */
export interface Doctor {
  host: string;
  pid: number;
}

export interface LinkMeasurement extends Throughput {
  peer: Doctor;
  transport: ProcessGroup['transport'];
  /** Median of all-reduces of 4 B. */
  latencyUs: number;
  /** How far the peer's clock is ahead of this host's. The error is at most half a round trip. */
  clockAheadMs: number;
  roundTripMs: number;
}
