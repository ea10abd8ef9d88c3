import { BFloat16Bits, Float16Bits } from '../../../packages/core/src/index.ts';
import { matrix, multiply, orthonormal, transposed } from '../../../native/test/support/low-rank.ts';
import type { Matrix } from '../../../native/test/support/low-rank.ts';
import {
  exactSteps,
  firstFactors,
  isCompressed,
  powerSgdRank,
  quantize,
  scaleOfStep,
  type HookName,
} from '../fixtures/recovery-hooks.ts';
import { lossOf, newNet, newOptimizer } from '../../fixtures/recoverable-training.ts';

/** The gradient of one parameter on one rank. */
interface Contribution {
  readonly rank: number;
  readonly gradient: Float32Array;
}

/** One parameter's average, computed plainly. `forget` drops what is known about a rank. */
interface Oracle {
  average(step: number, of: readonly Contribution[]): Float32Array;
  forget(rank: number): void;
}

const meanOf = (arrays: readonly Float32Array[]) =>
  arrays[0].map((_, i) => arrays.reduce((sum, one) => sum + one[i], 0) / arrays.length);

function stateless(average: (gradients: readonly Float32Array[]) => Float32Array): Oracle {
  return {
    average: (_, of) => average(of.map(({ gradient }) => gradient)),
    forget: () => undefined,
  };
}

const rounded = (format: typeof Float16Bits | typeof BFloat16Bits) => (values: Float32Array) =>
  format.fromFloat32(values).toFloat32();

function compressed(format: typeof Float16Bits | typeof BFloat16Bits): Oracle {
  const round = rounded(format);
  return stateless((gradients) => round(meanOf(gradients.map(round))));
}

class Quantized implements Oracle {
  readonly #errors = new Map<number, Float32Array>();

  average(step: number, of: readonly Contribution[]): Float32Array {
    const sent = of.map(({ rank, gradient }) => {
      const error = this.#errors.get(rank) ?? new Float32Array(gradient.length);
      const values = gradient.map((value, i) => quantize(value + error[i]));
      this.#errors.set(
        rank,
        gradient.map((value, i) => value + error[i] - values[i]),
      );
      return values;
    });
    return meanOf(sent).map((value) => value * scaleOfStep(step));
  }

  forget(rank: number): void {
    this.#errors.delete(rank);
  }
}

class PowerSgd implements Oracle {
  readonly #errors = new Map<number, Matrix>();
  readonly #shape: readonly number[];
  #q: Matrix;

  constructor(shape: readonly number[]) {
    this.#shape = shape;
    const factors = firstFactors(shape);
    this.#q = matrix(shape[1], powerSgdRank, (i) => factors[i]);
  }

  average(step: number, of: readonly Contribution[]): Float32Array {
    if (step <= exactSteps) return meanOf(of.map(({ gradient }) => gradient));
    const [rows, columns] = this.#shape;
    const sums = of.map(({ rank, gradient }) => {
      const error = this.#errors.get(rank)?.data;
      return [rank, matrix(rows, columns, (i) => gradient[i] + (error?.[i] ?? 0))] as const;
    });
    const averageOf = (some: readonly Matrix[]): Matrix => ({
      ...some[0],
      data: meanOf(some.map(({ data }) => data)),
    });
    const q = orthonormal(this.#q);
    const p = orthonormal(averageOf(sums.map(([, sum]) => multiply(sum, q))));
    this.#q = averageOf(sums.map(([, sum]) => multiply(transposed(sum), p)));
    const result = multiply(p, transposed(this.#q)).data;
    for (const [rank, sum] of sums)
      this.#errors.set(
        rank,
        matrix(rows, columns, (i) => sum.data[i] - result[i]),
      );
    return result;
  }

  forget(rank: number): void {
    this.#errors.delete(rank);
  }
}

function oracleOf(hook: HookName, shape: readonly number[]): Oracle {
  switch (hook) {
    case 'allReduce':
    case 'twice':
    case 'hidesErrors':
      return stateless(meanOf);
    case 'fp16Compress':
      return compressed(Float16Bits);
    case 'bf16Compress':
      return compressed(BFloat16Bits);
    case 'quantized':
      return new Quantized();
    case 'powerSgd':
      return isCompressed(shape) ? new PowerSgd(shape) : stateless(meanOf);
  }
}

/**
 * Parameters after training in one process, which computes the averages of a hook over these ranks in each step.
 *
 * @param joins [rank, step]: a new process takes part as this rank from this step on
 */
export async function replayWithHook(
  hook: HookName,
  ranksByStep: readonly (readonly number[])[],
  joins: readonly (readonly [rank: number, step: number])[],
): Promise<Float32Array[]> {
  const net = newNet();
  const optimizer = newOptimizer(net.parameters());
  const parameters = [...net.parameters()];
  const oracles = parameters.map(({ shape }) => oracleOf(hook, shape));
  for (const [index, ranks] of ranksByStep.entries()) {
    const step = index + 1;
    for (const [rank, first] of joins) if (first === step) for (const oracle of oracles) oracle.forget(rank);
    const contributions: Contribution[][] = parameters.map(() => []);
    for (const rank of ranks) {
      optimizer.zeroGrad();
      await lossOf(net, rank, step).backward();
      for (const [i, { grad }] of parameters.entries())
        contributions[i].push({ rank, gradient: grad!.slice() });
    }
    for (const [i, { grad }] of parameters.entries()) grad!.set(oracles[i].average(step, contributions[i]));
    await optimizer.step();
  }
  return parameters.map(({ data }) => data.slice());
}
