import { allOnHost } from '../../src/executor/value-buffer.ts';
import { definitionOf as definitionOfGraph } from '../../src/compiler/program-definition.ts';
import type { Program, ProgramDefinition } from '../../src/executor/executor.ts';
import type { Value } from '../../src/graph/node.ts';
import { structureOf } from '../../src/graph/structure.ts';
import { matmul } from '../../src/ops/linear-algebra.ts';
import { add } from '../../src/ops/elementwise.ts';
import { input } from '../../src/ops/source.ts';

/** x·x + x, of square matrices. */
export function definitionOf(size: number): ProgramDefinition {
  const x = input('float32', [size, size], { data: new Float32Array(size * size) });
  return definitionFor(add(matmul(x, x), x));
}

export function definitionFor(value: Value): ProgramDefinition {
  return definitionOfGraph('test', structureOf([value]).leaves, [value]);
}

export async function resultOf(program: Program): Promise<Float32Array> {
  const output = new Float32Array(4);
  await program.run(allOnHost([Float32Array.of(1, 2, 3, 4)]), allOnHost([output]));
  return output;
}

export const right = Float32Array.of(8, 12, 18, 26);
