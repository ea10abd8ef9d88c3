import { isNode, type Value } from '../graph/node.ts';
import { describeType, type ValueType } from '../value-type.ts';
import type { Leaf } from '../graph/structure.ts';
import { topologicalOrder } from '../graph/topology.ts';

/** Describes a program in messages. */
export interface ProgramSummary {
  /** Number of operators in the caller's graph, before rewrites. */
  readonly operators: number;
  /** Types of its inputs, without parameters. */
  readonly inputs: readonly ValueType[];
}

export function summarizeProgram(outputs: readonly Value[], leaves: readonly Leaf[]): ProgramSummary {
  const isOperator = ({ inputs }: { inputs: readonly Value[] }) => inputs.length > 0;
  return {
    operators: topologicalOrder(outputs).filter(isOperator).length,
    inputs: leaves
      .filter(({ value: { node }, source }) => isNode(node, 'Input') && source.parameter === undefined)
      .map(({ value: { dtype, shape } }) => ({ dtype, shape })),
  };
}

let hasWarned = false;

/**
 * Warns, once per process, if the cache is full and at least three quarters of its programs are one graph compiled for
 * different shapes.
 *
 * @param cached all cached programs, the added one last
 * @param size capacity of the cache
 */
export function warnAboutRecompilation(
  added: ProgramSummary,
  cached: readonly ProgramSummary[],
  size: number,
): void {
  const alike = cached.filter((other) => other !== added && differsOnlyInSizes(other, added));
  if (hasWarned || alike.length === 0 || 4 * alike.length < 3 * size) return;
  const last = alike.at(-1)!;
  const index = added.inputs.findIndex((type, at) => describeType(type) !== describeType(last.inputs[at]));
  if (index < 0) return;
  hasWarned = true;
  process.stderr.write(
    `ringrun: one graph was compiled for ${alike.length + 1} input shapes, most recently ${describeType(last.inputs[index])} and ${describeType(added.inputs[index])}, ` +
      `and programCache.maxSize is ${size}: the least recently used programs are released and compiled again when their shape returns. ` +
      'Pad the inputs to fewer shapes (padTo of ringrun), or raise programCache.maxSize, which takes more memory. (printed once)\n',
  );
}

/** True if two graphs may differ only in sizes. */
function differsOnlyInSizes(a: ProgramSummary, b: ProgramSummary): boolean {
  return (
    a.operators === b.operators &&
    a.inputs.length === b.inputs.length &&
    a.inputs.every(
      ({ dtype, shape }, index) =>
        b.inputs[index].dtype === dtype && b.inputs[index].shape.length === shape.length,
    )
  );
}
