import { createHash } from 'node:crypto';
import { RingrunError, type ProcessGroup } from '@ringrun/collectives';
import { defaultGroup } from '../process-group/index.ts';
import type { DistributedModule } from './distributed-module.ts';

/** Ranks whose parameters are not those of rank 0. */
export class ParametersDivergedError extends RingrunError {
  readonly ranks: readonly number[];

  constructor(ranks: readonly number[], digest: string) {
    super(
      'ERR_PARAMETERS_DIVERGED',
      `parameters differ: rank 0 has ${digest}, other values are on rank(s) ${ranks.join(', ')}. ` +
        'Every rank must wrap its model in DistributedDataParallel, and change parameters only through an optimizer after loss.backward().',
    );
    this.ranks = ranks;
  }
}

/** SHA-256 over the bytes of every parameter and buffer in their order, in hex. */
export function parametersDigest(module: DistributedModule): string {
  const hash = createHash('sha256');
  for (const [, { data }] of [...module.namedParameters(), ...module.namedBuffers()]) {
    hash.update(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  }
  return hash.digest('hex');
}

/**
 * Compares all parameters and buffers, bit by bit, over the ranks of a group; a collective. Resolves with their digest.
 *
 * @throws ParametersDivergedError on every rank, naming the ranks that differ from rank 0
 */
export async function verifyIdenticalParameters(
  module: DistributedModule,
  group: ProcessGroup = defaultGroup(),
): Promise<string> {
  const own = parametersDigest(module);
  // Every half byte of a digest is exact as a float32.
  const reference = Float32Array.from(own, (digit) => parseInt(digit, 16));
  await group.broadcast(reference, { src: 0 });
  const expected = Array.from(reference, (digit) => digit.toString(16)).join('');
  const differs = new Float32Array(group.size);
  differs[group.rank] = own === expected ? 0 : 1;
  await group.allReduce(differs);
  const ranks = [...differs.keys()].filter((rank) => differs[rank] !== 0);
  if (ranks.length > 0) throw new ParametersDivergedError(ranks, expected);
  return own;
}
