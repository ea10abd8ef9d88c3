import { basename } from 'node:path';
import { printable } from '@ringrun/core';
import type { DashboardPlace } from './dashboard-place.ts';
import type { Program } from './program.ts';
import type { RendezvousOptions } from './rendezvous-options.ts';
import type { StreamsByRank } from './streams-by-rank.ts';

/**
 * The options of one launch, from the command line and the environment. Except where a comment names a difference,
 * names, defaults and meaning are those of torchrun (torch.distributed.run). Times are in milliseconds.
 */
export interface LaunchOptions {
  /** The script, module or program that each worker runs. */
  program: Program;
  /** --nnodes: number of nodes. Default: 1. */
  nodes: NodeRange;
  /** --nproc-per-node, --nproc: workers on this node. Default: 1. */
  processesPerNode: ProcessesPerNode;
  /** How the nodes find each other. Not used for one node. */
  rendezvous: RendezvousOptions;
  /** --rdzv-id: job id, the same on all nodes. Default: a random id for one node, `none` for several. */
  runId: string | undefined;
  /** --name, RINGRUN_JOB_NAME: name of the job on the dashboard. Default: the file name of the script. */
  name: string | undefined;
  /** --secret-file: file with the secret of the job. Default: RINGRUN_SECRET or RINGRUN_SECRET_FILE. */
  secretFile: string | undefined;
  /** --encrypt, RINGRUN_ENCRYPT: encrypt the connections between nodes. Needs a secret. Default: false. */
  encrypt: boolean;
  /** --links, RINGRUN_LINKS: `measure`, or a JSON file of the links between hosts. Default: none. */
  links: string | undefined;
  /** --save-links, RINGRUN_SAVE_LINKS: file to which rank 0 writes the measured links. Default: none. */
  saveLinks: string | undefined;
  /** --standalone: run on this node alone, even if the environment names several nodes. */
  standalone: boolean;
  /** --node-rank. Default: 0. Undefined with c10d and several nodes: the rendezvous assigns the ranks. */
  nodeRank: number | undefined;
  /** --master-addr: name or address of node 0. Default: 127.0.0.1. */
  masterAddress: string | undefined;
  /** --master-port. Default: a free port for one node, 29500 for several. */
  masterPort: number | undefined;
  /** --local-addr: address of this node for the other nodes. Default: the address routed to the master. */
  localAddress: string | undefined;
  /** --max-restarts: maximum number of restarts of the whole job. Default: 0. */
  maxRestarts: number;
  /** --monitor-interval: time between two checks of the other nodes. Workers of this node need none. Default: 100. */
  monitorIntervalMs: number;
  /** --role: ROLE_NAME of the workers. Default: `default`. */
  role: string;
  /** Where the output of the workers is written. */
  logs: LogOptions;
  /**
   * Signals that end the job and are forwarded to the workers: SIGTERM, SIGINT, SIGHUP, SIGQUIT and those of
   * --signals-to-handle, which adds signals (torchrun: replaces them).
   */
  signalsToHandle: readonly NodeJS.Signals[];
  /** --grace-period, RINGRUN_GRACE: time between such a signal and SIGKILL. Default: 30,000. */
  gracePeriodMs: number;
  /** --dashboard, RINGRUN_DASHBOARD: where the node of the store serves the page. Default: no page. */
  dashboard: DashboardPlace | undefined;
  /** --numa-binding: CPUs to which each worker is bound. Default: no binding. */
  numaBinding: NumaBinding | undefined;
}

/** Characters of a job's name. */
export const maxNameCharacters = 200;

/** The name of the job that the user has chosen, or else the file name of its program. */
export function jobNameOf({ name, program }: Pick<LaunchOptions, 'name' | 'program'>): string {
  return printable(name ?? basename(program.name), maxNameCharacters);
}

/** 1 ≤ min ≤ max. With the static rendezvous, min = max. */
export interface NodeRange {
  readonly min: number;
  readonly max: number;
}

/**
 * `cpu`: one per usable CPU. `gpu`: one per GPU, at least one GPU required. `auto`: one per GPU, or per CPU without
 * GPUs.
 */
export type ProcessesPerNode = number | 'auto' | 'cpu' | 'gpu';

export interface LogOptions {
  /** --log-dir: parent of the folder that each run creates. Default: the temporary folder. */
  directory: string | undefined;
  /** -r, --redirects: streams written to files instead of the console. */
  redirects: StreamsByRank;
  /** -t, --tee: streams written to files and to the console, where each line begins with `[<role><rank>]:`. */
  tee: StreamsByRank;
  /** --local-ranks-filter: local ranks that the console shows. Does not affect files. Default: all. */
  filter: readonly number[] | undefined;
}

export const numaBindings = ['node', 'socket', 'exclusive', 'core-complex'] as const;
export type NumaBinding = (typeof numaBindings)[number];
