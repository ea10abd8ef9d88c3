import { dtypeOf, RingrunError } from '@ringrun/core';
import type {
  DistributedBuffer,
  DistributedModule,
  DistributedParameter,
  ProcessGroup,
  TypedArray,
} from '@ringrun/core';

/**
 * The ranks' models differ in a parameter, a buffer (presence, name, shape or dtype) or a collective layer,
 * or their options differ.
 */
export class ModelMismatchError extends RingrunError {
  constructor(difference: string, who = 'DistributedDataParallel') {
    super(
      'ERR_MODEL_MISMATCH',
      `${who}: the ranks' models or options differ. ${difference}. Every rank must build the same model, with parameters and buffers of the ` +
        'same names and shapes in the same order, and pass the same options. No model was changed.',
    );
  }
}

/** Descriptions of everything that must be equal on all ranks, in order of definition. */
export type Outline = Readonly<Record<Kind, readonly string[]>>;

const kinds = ['parameter', 'buffer', 'collective part', 'option'] as const;
type Kind = (typeof kinds)[number];

/**
 * Compares the structure of the ranks' models. A collective (torch: _verify_param_shape_across_processes,
 * which does not compare names).
 *
 * @throws ModelMismatchError on every rank, with the first parameter, buffer or option that differs and its
 * description on each rank
 */
export function requireSameModel(
  group: ProcessGroup,
  module: DistributedModule,
  settings: object,
  who?: string,
): void {
  const difference = firstDifference(
    group.allGatherObjectSync<Outline>({
      parameter: describeParameters(module.namedParameters()),
      buffer: describeTensors(module.namedBuffers()),
      'collective part': [...(module.namedCollectives?.() ?? [])],
      option: Object.entries(settings).map(([name, value]) => `${name} ${String(value)}`),
    }),
  );
  if (difference !== undefined) throw new ModelMismatchError(difference, who);
}

/**
 * `First difference: parameter 2: rank 0 has conv2.weight [64, 32, 3, 3]; ranks 1, 3 have …`; undefined if
 * the outlines are equal.
 */
export function firstDifference(outlines: readonly Outline[]): string | undefined {
  for (const kind of kinds) {
    const lists = outlines.map((outline) => outline[kind]);
    const longest = Math.max(...lists.map(({ length }) => length));
    for (let position = 0; position < longest; position += 1) {
      const sides = ranksBySide(
        lists.map((list) => list.at(position) ?? `none (${list.length} ${kind}s in all)`),
      );
      if (sides.size > 1) return `First difference: ${kind} ${position}: ${describeSides(sides)}`;
    }
  }
  return undefined;
}

function ranksBySide(descriptions: readonly string[]): Map<string, number[]> {
  const sides = new Map<string, number[]>();
  for (const [rank, side] of descriptions.entries()) sides.set(side, [...(sides.get(side) ?? []), rank]);
  return sides;
}

function describeSides(sides: ReadonlyMap<string, readonly number[]>): string {
  const descriptions = [...sides].map(([side, ranks]) =>
    ranks.length === 1 ? `rank ${ranks[0]} has ${side}` : `ranks ${ranks.join(', ')} have ${side}`,
  );
  return descriptions.join('; ');
}

function describeTensors(tensors: Iterable<readonly [string, DistributedBuffer]>): string[] {
  return Array.from(
    tensors,
    ([name, { shape, data }]) => `${name}${dtypeBeside(data)} [${shape.join(', ')}]`,
  );
}

function describeParameters(parameters: Iterable<readonly [string, DistributedParameter]>): string[] {
  const given = [...parameters];
  const kinds = given.map(
    ([, { requiresGrad, hasSparseGradient }]) =>
      (requiresGrad === false ? ' (frozen)' : '') + (hasSparseGradient === true ? ' (sparse gradient)' : ''),
  );
  return describeTensors(given).map((description, i) => `${description}${kinds[i]}`);
}

/** float32 is omitted, because most tensors have it. */
function dtypeBeside(data: TypedArray): string {
  const dtype = dtypeOf(data) ?? 'of no dtype';
  return dtype === 'float32' ? '' : ` ${dtype}`;
}
