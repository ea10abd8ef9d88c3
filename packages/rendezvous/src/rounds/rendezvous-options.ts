import type { Store } from '@ringrun/core';
import type { Clock } from '../clock.ts';
import type { HostPort } from '../store/endpoint.ts';
import type { Timing } from './node-state.ts';
import type { JobEvent, JobTerms, NodeEnd, NodeInfo, RendezvousState } from './rendezvous-state.ts';
import type { WorkerControl } from './worker-control.ts';

/** The store of the rendezvous, as one node sees it: `JobStore`, or a simulated one. */
export interface RendezvousStore {
  /** Address of the job's store, the same on all nodes. */
  readonly endpoint: HostPort;
  /** Whether this process serves the store. */
  readonly isServer: boolean;
  /** The address at which this node and its workers reach the store. */
  readonly localEndpoint: HostPort;
  /**
   * Connects to the store; serves it again if it was lost and this node must serve it.
   *
   * @throws StoreTimeoutError if no store accepts the connection in time.
   */
  connect(): Promise<Store>;
}

export interface RendezvousOptions {
  readonly store: RendezvousStore;
  readonly node: Omit<NodeInfo, 'address'>;
  /** Returns the address of this node. Called when the store has answered, so that the name of its host resolves. */
  readonly address: () => string | Promise<string>;
  readonly terms: JobTerms;
  readonly timing: Timing;
  readonly runId: string;
  readonly workers: WorkerControl;
  /** Milliseconds between two checks of timeouts. */
  readonly lookEveryMs: number;
  /** Milliseconds for the workers to end after a node has joined or left. */
  readonly gracePeriodMs: number;
  /** Milliseconds that the node with the store waits until the other nodes have read the result of the job. */
  readonly closeTimeoutMs: number;
  /** Aborted when this node must leave, with the cause as its reason. */
  readonly leaving: AbortSignal;
  /** Prints a line for the user. */
  readonly log: (line: string) => void;
  /** Receives the events of the job, the oldest first, after each change of the state. */
  readonly onEvents?: (events: readonly JobEvent[]) => void;
  /** Default: `systemClock`. */
  readonly clock?: Clock;
}

/** How this node's part ended, and the last state that it read, with the events of the job. */
export interface RendezvousEnd {
  readonly end: NodeEnd;
  readonly state: RendezvousState | undefined;
}
