import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { nn } from '../../src/index.ts';
import type { GoldenCase } from './golden-cases.ts';
import type { Summary } from './summary.ts';

// PyTorch's numbers, as written by `test/golden/operators.py`.

/** Of every element, as numbers and as String() for non-finite ones. */
export type Written = readonly (number | string)[];

interface NotFiniteCase {
  readonly name: string;
  readonly inputs: readonly (readonly number[])[];
  readonly output: Written;
  readonly gradients: readonly Written[];
}

interface Tails {
  readonly numbers: readonly number[];
  readonly cases: readonly { readonly name: string; readonly output: Written; readonly gradient: Written }[];
}

interface Bits {
  readonly first: readonly number[];
  readonly sha256: string;
}

export interface Golden {
  readonly operators: readonly GoldenCase[];
  readonly tied: readonly GoldenCase[];
  readonly notFinite: readonly NotFiniteCase[];
  readonly tails: Tails;
  readonly initialParameters: Bits;
  readonly normalNumbers: Bits;
  readonly dropouts: Bits;
  readonly batchNorms: Readonly<
    Record<
      string,
      {
        readonly shape: readonly number[];
        /** Of each: output, gradients of the input and the parameters, buffers. */
        readonly steps: readonly (readonly Summary[])[];
        readonly evaluation: readonly [output: Summary, gradient: Summary];
      }
    >
  >;
  readonly mnist: readonly {
    readonly batch: number;
    readonly initial: string;
    readonly losses: readonly number[];
    /** Of the first and the last step. */
    readonly gradients: readonly Readonly<Record<string, Summary>>[];
    readonly parameters: Readonly<Record<string, Summary>>;
  }[];
  readonly network: {
    readonly initial: string;
    readonly losses: readonly number[];
    readonly parameters: Readonly<Record<string, Summary>>;
    readonly buffers: readonly Summary[];
    readonly evaluation: Summary;
  };
  readonly sgd: Readonly<Record<string, readonly [weight: Summary, bias: Summary]>>;
}

const fixture = new URL('../../../../test/golden/operators.json', import.meta.url);
export const golden = JSON.parse(readFileSync(fixture, 'utf8')) as Golden;

/** The bits of all elements, like `bits` in operators.py. */
export function bits(arrays: Iterable<Float32Array>): string {
  const hash = createHash('sha256');
  for (const array of arrays) hash.update(array);
  return hash.digest('hex');
}

export function* dataOf(modules: Iterable<nn.Module>): Generator<Float32Array> {
  for (const module of modules) for (const { data } of module.parameters()) yield data;
}
