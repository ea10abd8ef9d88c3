import { describeType, isNode, type Value, type ValueType } from '../graph/node.ts';
import type { Leaf } from '../graph/structure.ts';
import { topologicalOrder } from '../graph/topology.ts';

/** What messages say of a program. */
export interface ProgramShape {
  /** Number of operators in the graph that the caller wrote. */
  readonly operators: number;
  /** What it reads besides parameters. */
  readonly inputs: readonly ValueType[];
}

export function programShapeOf(outputs: readonly Value[], leaves: readonly Leaf[]): ProgramShape {
  const isOperator = ({ inputs }: { inputs: readonly Value[] }) => inputs.length > 0;
  return {
    operators: topologicalOrder(outputs).filter(isOperator).length,
    inputs: leaves
      .filter(({ value: { node }, source }) => isNode(node, 'Input') && source.parameter === undefined)
      .map(({ value: { dtype, shape } }) => ({ dtype, shape })),
  };
}

let told = false;

/**
 * Prints a line, once per process, when most of the programs that are kept are one graph in different shapes, and there is no room for the next shape.
 *
 * @param kept the programs that are kept, the added one last
 */
export function tellOfChurn(added: ProgramShape, kept: readonly ProgramShape[], size: number): void {
  const alike = kept.filter((other) => other !== added && isAlike(other, added));
  if (told || alike.length === 0 || 4 * alike.length < 3 * size) return;
  const last = alike.at(-1)!;
  const place = added.inputs.findIndex((type, at) => describeType(type) !== describeType(last.inputs[at]));
  if (place < 0) return;
  told = true;
  process.stderr.write(
    `ringrun: one graph was compiled for ${alike.length + 1} shapes of its inputs, at last ${describeType(last.inputs[place])} and ${describeType(added.inputs[place])}, ` +
      `and programCache.maxSize is ${size}: programs not used for longest are released, and compiled again when their shape returns. ` +
      'Pad or crop the inputs to fewer shapes, or raise programCache.maxSize (more memory). (said once)\n',
  );
}

/** Whether two graphs may differ in sizes alone. */
function isAlike(a: ProgramShape, b: ProgramShape): boolean {
  return (
    a.operators === b.operators &&
    a.inputs.length === b.inputs.length &&
    a.inputs.every(
      ({ dtype, shape }, place) =>
        b.inputs[place].dtype === dtype && b.inputs[place].shape.length === shape.length,
    )
  );
}
