import { createHash } from 'node:crypto';
import { RingrunError } from '@ringrun/core';
import type { DistributedBuffer, DistributedModule, ProcessGroup } from '@ringrun/core';
import { defaultGroup } from '../process-group/index.ts';
import { bytesOf } from './buffers.ts';

/** The parameters of some ranks differ from those of the reference rank. */
export class ParametersDivergedError extends RingrunError {
  /** Ranks that differ in any tensor from the reference rank (rank 0, or the first rank that was compared). */
  readonly ranks: readonly number[];
  /** Name of the first parameter or buffer that differs. */
  readonly tensor: string;

  /** @internal */
  constructor({ reference, digest, ranks, tensor, ranksOfTensor }: Divergence, step?: number) {
    const when = step === undefined ? '' : ` in step ${step}`;
    super(
      'ERR_PARAMETERS_DIVERGED',
      `Parameters differ between ranks${when}: rank ${reference} has SHA-256 ${digest}, and rank(s) ${ranks.join(', ')} have other values. ` +
        `First difference: ${tensor} on rank(s) ${ranksOfTensor.join(', ')}. ` +
        'Wrap the model in DistributedDataParallel on every rank, and change parameters only through an optimizer after loss.backward().',
    );
    this.ranks = ranks;
    this.tensor = tensor;
  }
}

interface Divergence {
  reference: number;
  /** The digest of the reference rank. */
  digest: string;
  ranks: readonly number[];
  tensor: string;
  ranksOfTensor: readonly number[];
}

type NamedTensors = readonly (readonly [name: string, tensor: DistributedBuffer])[];

/** Returns the SHA-256 of all parameters and buffers, in order of definition, in hex. */
export function parametersDigest(module: DistributedModule): string {
  return digestOf(allTensorsOf(module)).toString('hex');
}

/**
 * Compares all parameters and buffers bit by bit across the ranks of a group. A collective. Resolves with
 * their digest.
 *
 * @throws ParametersDivergedError on every rank; it names the ranks that differ from rank 0 and the first
 * tensor that differs
 */
export async function verifyIdenticalParameters(
  module: DistributedModule,
  group: ProcessGroup = defaultGroup(),
): Promise<string> {
  return (await verifyIdentical(allTensorsOf(module), group)).toString('hex');
}

export interface VerifyOptions {
  /** Whether this rank is compared with the others. Default: `true`. */
  counts?: boolean;
  /** The step to name in errors. */
  step?: number;
}

/**
 * Sends 33 bytes per rank, and the digest of each tensor only if the ranks differ. Resolves with this rank's
 * digest.
 */
export async function verifyIdentical(
  tensors: NamedTensors,
  group: ProcessGroup,
  { counts = true, step }: VerifyOptions = {},
): Promise<Buffer> {
  const own = digestOf(tensors);
  const gathered = new Uint8Array(group.size * (own.length + 1));
  await group.allGather(gathered, Uint8Array.of(counts ? 1 : 0, ...own));
  const digests = digestsByRank(gathered, own.length + 1);
  if (agree(digests)) return own;
  const each = await group.allGatherObject(digestsOfEach(tensors));
  throw new ParametersDivergedError(findDivergence(digests, each), step);
}

/** Like `verifyIdentical`, but blocks the calling thread. */
export function verifyIdenticalSync(
  tensors: NamedTensors,
  group: ProcessGroup,
  { counts = true, step }: VerifyOptions = {},
): Buffer {
  const own = digestOf(tensors);
  const gathered = new Uint8Array(group.size * (own.length + 1));
  group.allGatherSync(gathered, Uint8Array.of(counts ? 1 : 0, ...own));
  const digests = digestsByRank(gathered, own.length + 1);
  if (agree(digests)) return own;
  const each = group.allGatherObjectSync(digestsOfEach(tensors));
  throw new ParametersDivergedError(findDivergence(digests, each), step);
}

function agree(digests: readonly (string | undefined)[]): boolean {
  return new Set(digests.filter((digest) => digest !== undefined)).size <= 1;
}

function digestsOfEach(tensors: NamedTensors): { name: string; digest: string }[] {
  return tensors.map(([name, tensor]) => ({ name, digest: digestOf([[name, tensor]]).toString('hex') }));
}

/** Digests in hex; undefined for ranks that are not compared. */
function digestsByRank(gathered: Uint8Array, bytesOfEach: number): (string | undefined)[] {
  return Array.from({ length: gathered.length / bytesOfEach }, (_, rank) => {
    const [counts, ...digest] = gathered.subarray(rank * bytesOfEach, (rank + 1) * bytesOfEach);
    return counts === 1 ? Buffer.from(digest).toString('hex') : undefined;
  });
}

/**
 * @param digests digest of all tensors, by rank; undefined for ranks that are not compared. At least two must
 * differ.
 * @param each name and digest of every tensor, by rank
 */
export function findDivergence(
  digests: readonly (string | undefined)[],
  each: readonly (readonly { name: string; digest: string }[])[],
): Divergence {
  const reference = digests.findIndex((digest) => digest !== undefined);
  const ranksWhere = (differs: (rank: number) => boolean) =>
    [...digests.keys()].filter((rank) => digests[rank] !== undefined && differs(rank));
  const positions = Math.max(...each.map(({ length }) => length));
  for (let position = 0; position < positions; position += 1) {
    const ofRank = (rank: number) => each[rank].at(position)?.digest;
    const ranksOfTensor = ranksWhere((rank) => ofRank(rank) !== ofRank(reference));
    if (ranksOfTensor.length === 0) continue;
    const named = each[reference].at(position) ?? each[ranksOfTensor[0]][position];
    const ranks = ranksWhere((rank) => digests[rank] !== digests[reference]);
    return { reference, digest: digests[reference]!, ranks, tensor: named.name, ranksOfTensor };
  }
  throw new Error(
    'Parameters changed while they were compared: the digests of the models differ, but no tensor does.',
  );
}

function allTensorsOf(module: DistributedModule): NamedTensors {
  return [...module.namedParameters(), ...module.namedBuffers()];
}

function digestOf(tensors: NamedTensors): Buffer {
  const hash = createHash('sha256');
  for (const [, tensor] of tensors) hash.update(bytesOf(tensor));
  return hash.digest();
}
