import { requestedExtent } from './extent.ts';

const isFull = requestedExtent() === 'full';

const sizes = isFull ? [1, 2, 3, 4, 7, 8] : [1, 2, 3, 4, 7];

/**
 * Host of each rank: equal and unequal numbers of ranks per host, contiguous and interleaved, and three hosts. (Two
 * ranks are on one host or on two.)
 */
const mixtures = [
  [0, 1, 0],
  [0, 0, 1, 1],
  [0, 0, 0, 1, 1, 1, 2],
  ...(isFull ? [[0, 1, 0, 1, 0, 1, 0, 1]] : []),
];

export interface Setting {
  transport: string;
  /** For test titles. Default: `transport`. */
  name?: string;
  size: number;
  /** Environment of rank `rank`. */
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

/** Only for the conformance suite. */
export const encrypted = [2, 3].map((size): Setting => ({
  transport: 'tcp',
  name: 'encrypted tcp',
  size,
  envOf: () => ({ RINGRUN_TRANSPORT: 'tcp', TEST_ENCRYPT: '1' }),
}));

/** Every transport and number of ranks. */
export const settings: Setting[] = [...overOneTransport, ...overBoth];

/**
 * Numbers of ranks with which the short form of the suite runs all cases, by transport: an odd number above 1 over each
 * transport, one rank, and two whose connection is encrypted.
 */
const sizesInShort: Record<string, readonly number[]> = {
  shm: [3],
  tcp: [1, 3],
  'encrypted tcp': [2],
  mixed: [3],
  nccl: [3],
};

/** GPU machines are rarely available, so all numbers of ranks run on them (scripts/gpu-check.sh). */
const takesAll = isFull || process.env['RINGRUN_GPU_CHECK'] === '1';

/** True if the suite runs all cases with this setting, in the requested form. */
export const isInSuite = ({ transport, name = transport, size }: Setting) =>
  takesAll || sizesInShort[name].includes(size);
