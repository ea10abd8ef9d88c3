import type { TensorData } from '../dtype.ts';
import type { Program } from '../executor/executor.ts';
import { onnxruntimeExecutor } from '../executor/onnxruntime.ts';
import type { Value } from '../graph/node.ts';
import { structureOf, type Leaf } from '../graph/structure.ts';
import { expand } from '../ops/shape.ts';
import { constant } from '../ops/source.ts';
import { differentiate } from './differentiate.ts';
import { emitModel } from './emit.ts';
import { rewrite } from './rewrite.ts';
import { batchInnermost } from './rewrites/batch-innermost/index.ts';
import { reluAfterMaxPool } from './rewrites/relu-after-max-pool.ts';

/** Programs by the structure of their graphs: a training loop builds an equal graph at every step and compiles it once. */
const programs = new Map<string, Promise<Program>>();

/** Computes values from the leaves' present contents, into the given arrays. */
export async function evaluate(values: readonly Value[], outputs: readonly TensorData[]): Promise<void> {
  const { leaves, key } = structureOf(values);
  const program = await compiledOnce(`values ${key}`, () =>
    compile(leaves, rewrite(values, [reluAfterMaxPool])),
  );
  await program.run(arraysOf(leaves), outputs);
}

/** A graph whose outputs are a loss and its gradients, ready to run on the arrays of one forward call. */
export interface TrainingStep {
  /** The trainable leaves, in the order of the gradients: the last one used in the forward pass first. */
  readonly trainable: readonly Leaf[];
  /** Runs forward, loss and backward; writes the loss and each gradient into its array. */
  run(loss: Float32Array, gradients: readonly Float32Array[]): Promise<void>;
}

export async function compileTrainingStep(loss: Value): Promise<TrainingStep> {
  const { leaves, key } = structureOf([loss]);
  const trainable = leaves.filter(({ source }) => source.parameter !== undefined).reverse();
  const program = await compiledOnce(`training ${key}`, () => {
    const [rewritten] = rewrite(rewrite([loss], [reluAfterMaxPool]), batchInnermost);
    const gradients = differentiate(rewritten);
    // A leaf that the loss uses without depending on it, as behind a comparison, has a gradient of zeros.
    const gradientOf = ({ value }: Leaf) => gradients.get(value) ?? expand(constant(0), value.shape);
    return compile(leaves, [rewritten, ...trainable.map(gradientOf)]);
  });
  return {
    trainable,
    run: (lossOutput, gradients) => program.run(arraysOf(leaves), [lossOutput, ...gradients]),
  };
}

function compiledOnce(key: string, build: () => Promise<Program>): Promise<Program> {
  const known = programs.get(key);
  if (known !== undefined) return known;
  const program = build();
  programs.set(key, program);
  return program;
}

function compile(leaves: readonly Leaf[], outputs: readonly Value[]): Promise<Program> {
  return onnxruntimeExecutor.compile({
    model: emitModel(leaves, outputs),
    inputs: leaves.map(({ value }) => value),
    outputs,
  });
}

function arraysOf(leaves: readonly Leaf[]): TensorData[] {
  return leaves.map(({ source }) => source.data);
}

/** Runs a compiled set of assignments on the arrays that it was compiled for. */
export type Update = () => Promise<void>;

/**
 * Compiles assignments of values to arrays that their leaves may read themselves (`p ← p − lr·g`). Each value must be an
 * elementwise function of the array that it goes to, and nothing else may read that array after the assignment's own node: then
 * onnxruntime's writing in place is the assignment.
 */
export async function compileUpdate(
  assignments: readonly { value: Value; into: TensorData }[],
): Promise<Update> {
  const values = assignments.map(({ value }) => value);
  const { leaves, key } = structureOf(values);
  const program = await compiledOnce(`update ${key}`, () => compile(leaves, values));
  const inputs = arraysOf(leaves);
  const outputs = assignments.map(({ into }) => into);
  return () => program.run(inputs, outputs);
}
