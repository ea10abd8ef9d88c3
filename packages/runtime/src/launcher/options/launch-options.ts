import type { Program } from './program.ts';
import type { RendezvousOptions } from './rendezvous-options.ts';
import type { StreamsByRank } from './streams-by-rank.ts';

/**
 * What the command line and the environment ask for. Names, defaults and meaning are those of torchrun (torch.distributed.run) unless said otherwise;
 * times are in milliseconds.
 */
export interface LaunchOptions {
  /** What each worker runs. */
  program: Program;
  /** --nnodes: as many nodes take part; { 1, 1 } unless given. */
  nodes: NodeRange;
  /** --nproc-per-node, --nproc: workers on this node; 1 unless given. */
  processesPerNode: ProcessesPerNode;
  /** Where and how the nodes meet; of no meaning when there is one. */
  rendezvous: RendezvousOptions;
  /** --rdzv-id: the job's name, the same on all nodes; undefined: a name is made up for a job of one node, and `none` is that of others. */
  runId: string | undefined;
  /** --standalone: a job of this node alone, whatever the environment says of others. */
  standalone: boolean;
  /** --node-rank: this node among all, from 0. With the static rendezvous of several nodes always set (torch: 0); with c10d nodes are given their ranks. */
  nodeRank: number | undefined;
  /** --master-addr: the name or address of node 0. Undefined: nobody named it, and 127.0.0.1 is torch's default. */
  masterAddress: string | undefined;
  /** --master-port. Undefined: one that is free for one node, 29500 for several. */
  masterPort: number | undefined;
  /** --local-addr: what other nodes reach this one by; undefined: the address that is routed towards the master. */
  localAddress: string | undefined;
  /** --max-restarts: how often the workers of the whole job may be started again; 0 unless given. */
  maxRestarts: number;
  /** --monitor-interval: between two looks at what other nodes do; 100 unless given. Workers of this node are waited for, not looked at. */
  monitorIntervalMs: number;
  /** --role: ROLE_NAME of the workers; `default` unless given. */
  role: string;
  /** What becomes of the workers' output. */
  logs: LogOptions;
  /** Signals that end the job and are passed on to the workers: SIGTERM, SIGINT, SIGHUP and SIGQUIT, and what --signals-to-handle adds (torchrun: replaces). */
  signalsToHandle: readonly NodeJS.Signals[];
  /** --grace-period, RINGRUN_GRACE: what workers get to end after such a signal, before SIGKILL; 30,000 unless given. */
  gracePeriodMs: number;
  /** --numa-binding: to which CPUs each worker is bound; undefined: to none. */
  numaBinding: NumaBinding | undefined;
}

/** 1 ≤ min ≤ max. Equal unless the rendezvous is dynamic (c10d). */
export interface NodeRange {
  readonly min: number;
  readonly max: number;
}

/** `cpu`: one per usable CPU; `gpu`: one per GPU, of which there has to be one; `auto`: one per GPU, or per CPU where there is none. */
export type ProcessesPerNode = number | 'auto' | 'cpu' | 'gpu';

export interface LogOptions {
  /** --log-dir: the folder in which each run makes one of its own; undefined: that of temporary files. */
  directory: string | undefined;
  /** -r, --redirects: streams that go to files instead of the console. */
  redirects: StreamsByRank;
  /** -t, --tee: streams that go to files and to the console, where each line begins with `[role rank]:`. */
  tee: StreamsByRank;
  /** --local-ranks-filter: whose output the console shows; undefined: everybody's. Files are not touched by it. */
  filter: readonly number[] | undefined;
}

export const numaBindings = ['node', 'socket', 'exclusive', 'core-complex'] as const;
export type NumaBinding = (typeof numaBindings)[number];
