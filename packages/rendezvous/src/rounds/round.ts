import { formatHostPort } from '../store/endpoint.ts';
import type { HostPort } from '../store/endpoint.ts';
import { countOf } from './rendezvous-state.ts';
import type { RendezvousState } from './rendezvous-state.ts';

/**
 * One start of all workers, as seen by one node. The rendezvous counts rounds from 1 (`RendezvousState.round`); the
 * launcher and its workers use `restartCount`, which is that number minus 1.
 */
export interface Round {
  readonly runId: string;
  /**
   * RINGRUN_RESTART_COUNT: number of rounds before this one, from 0. Unlike `RendezvousState.restartsUsed`, it counts
   * restarts after a change of nodes too. Unique per round, because it is the prefix of the workers' store keys.
   */
  readonly restartCount: number;
  /** GROUP_RANK: rank of this node. */
  readonly groupRank: number;
  /** GROUP_WORLD_SIZE. */
  readonly groupWorldSize: number;
  /** By group rank; determines the ranks of the workers. */
  readonly processesPerNode: readonly number[];
  /** MASTER_ADDR of the workers: the host of rank 0. */
  readonly masterAddress: string;
  readonly masterPort: number;
  /** RINGRUN_STORE of the workers of this node: `tcp://host:port`. */
  readonly storeEndpoint: string;
}

/** The running round for node `id`; undefined if the node has no rank, or while the port of rank 0 is unknown. */
export function roundOf(state: RendezvousState, id: string, store: HostPort): Round | undefined {
  const index = state.participants.findIndex(({ node, gone }) => node.id === id && gone === undefined);
  const groupRank = index < 0 ? index : (state.part?.groupRank ?? index);
  if (state.phase !== 'running' || groupRank < 0 || !state.master) return undefined;
  return {
    runId: state.runId,
    restartCount: state.round - 1,
    groupRank,
    groupWorldSize: countOf(state),
    processesPerNode: processesPerNodeOf(state),
    masterAddress: state.master.address,
    masterPort: state.master.port,
    storeEndpoint: `tcp://${formatHostPort(store)}`,
  };
}

function processesPerNodeOf({ part, participants }: RendezvousState): number[] {
  if (!part) return participants.map(({ node }) => node.processesPerNode);
  const runs = part.processesPerNode.map(([processes, nodes]) => new Array<number>(nodes).fill(processes));
  return new Array<number>().concat(...runs);
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
