import { formatHostPort } from '../store/endpoint.ts';
import type { HostPort } from '../store/endpoint.ts';
import type { RendezvousState } from './state.ts';

/** What a node has got when it was let in: its place in one start of all workers. */
export interface Round {
  /** From 1; no two rounds of a job have one number. */
  readonly number: number;
  readonly runId: string;
  /** RINGRUN_RESTART_COUNT: `number` - 1. Workers put their keys under it, so it differs in every round. */
  readonly restartCount: number;
  /** GROUP_RANK: this node among all. */
  readonly groupRank: number;
  /** GROUP_WORLD_SIZE. */
  readonly groupWorldSize: number;
  /** By group rank; the workers' ranks follow from it. */
  readonly processesPerNode: readonly number[];
  /** MASTER_ADDR and MASTER_PORT of the workers: on the host of rank 0. */
  readonly masterAddress: string;
  readonly masterPort: number;
  /** RINGRUN_STORE of the workers of this node: `tcp://host:port`. */
  readonly storeEndpoint: string;
}

/** The place of node `id` in the round that runs; undefined while it has none, or while the port of rank 0 is not known. */
export function roundOf(state: RendezvousState, id: string, store: HostPort): Round | undefined {
  const groupRank = state.participants.findIndex(({ card, gone }) => card.id === id && gone === undefined);
  if (state.phase !== 'running' || groupRank < 0 || !state.master) return undefined;
  return {
    number: state.round,
    runId: state.runId,
    restartCount: state.round - 1,
    groupRank,
    groupWorldSize: state.participants.length,
    processesPerNode: state.participants.map(({ card }) => card.processesPerNode),
    masterAddress: state.master.address,
    masterPort: state.master.port,
    storeEndpoint: `tcp://${formatHostPort(store)}`,
  };
}

/** RANK of the first worker of this node. */
export function firstRankOf({ groupRank, processesPerNode }: Round): number {
  return sum(processesPerNode.slice(0, groupRank));
}

/** WORLD_SIZE. */
export function worldSizeOf({ processesPerNode }: Round): number {
  return sum(processesPerNode);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
