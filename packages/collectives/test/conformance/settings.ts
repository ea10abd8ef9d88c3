import { requestedExtent } from './extent.ts';

const isFull = requestedExtent() === 'full';

const sizes = isFull ? [1, 2, 3, 4, 7, 8] : [1, 2, 3, 4, 7];

/**
 * By rank, the host that it says it is on: equal and unequal numbers of ranks, hosts side by side and in turns, and three of them. (Two ranks are on
 * one host or on two.)
 */
const mixtures = [
  [0, 1, 0],
  [0, 0, 1, 1],
  [0, 0, 0, 1, 1, 1, 2],
  ...(isFull ? [[0, 1, 0, 1, 0, 1, 0, 1]] : []),
];

export interface Setting {
  transport: string;
  size: number;
  /** What rank `rank` is told. */
  envOf: (rank: number) => NodeJS.ProcessEnv;
}

const overOneTransport = ['shm', 'tcp'].flatMap((transport) =>
  sizes.map((size): Setting => ({ transport, size, envOf: () => ({ RINGRUN_TRANSPORT: transport }) })),
);

const overBoth = mixtures.map((hosts): Setting => ({
  transport: 'mixed',
  size: hosts.length,
  envOf: (rank) => ({ RINGRUN_HOST_ID: `host ${hosts[rank]}` }),
}));

/** Every transport and number of ranks. */
export const settings = [...overOneTransport, ...overBoth];

/**
 * Of each transport, the numbers of ranks with which the short form of the suite goes through all cases: every number has its turn, and the odd one
 * everywhere but over nccl, whose stand-ins take their time.
 */
const sizesInShort: Record<string, readonly number[]> = {
  shm: [2, 7],
  tcp: [1, 4, 7],
  mixed: [7],
  nccl: [3],
};

/** A machine with a GPU is seldom to be had, so there every number of ranks takes part (scripts/gpu-check.sh). */
const takesAll = isFull || process.env['RINGRUN_GPU_CHECK'] === '1';

/** Whether the suite goes through all cases there, in the form that is asked for. */
export const isInSuite = ({ transport, size }: Setting) => takesAll || sizesInShort[transport].includes(size);
