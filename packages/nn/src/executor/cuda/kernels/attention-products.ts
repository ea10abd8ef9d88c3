import type { GpuAddress, GpuArgument, GpuDType, GpuMatrix } from '@ringrun/native';
import { NnError } from '../../../errors/errors.ts';
import type { AttentionPlaces } from '../../../graph/attributes.ts';
import type { Value } from '../../../graph/node.ts';
import { namesOf, placesOf, type AttentionInputs } from '../../../ops/own/attention.ts';
import { bytesOf, gpuDType } from '../element-types.ts';
import { after, type Kernel, type Lowering, type LoweringFamily } from '../lowering.ts';
import { attentionArguments } from './attention-arguments.ts';
import {
  bytesPerScore,
  rowFormOf,
  rowForms,
  roundsOf,
  rowStrideOf,
  scoreBytes,
  type Round,
} from './attention-choice.ts';
import { attentionRowsBody, rowThreads } from './attention-rows-source.ts';
import { HeadCopies, type HeadMatrices, type HeadRows } from './head-matrices.ts';
import { int32, int64, typedKernels } from './launches.ts';

const formKernels = new Map(
  rowForms.map((form) => [
    form,
    typedKernels(`attention-rows-${form.threads}-${form.groups}`, ['T'], attentionRowsBody(form), [
      'weightsOfScores',
      'slopesOfScores',
    ]),
  ]),
);

/** The kernels between products, in every form. */
export const attentionRowKernels: readonly Kernel[] = [...formKernels.values()].flatMap((kernels) =>
  kernels.all([{ T: 'float32' }, { T: 'bfloat16' }]),
);

/**
 * Attention by products of cuBLASLt, with the scores of several heads in memory:
 *
 * - S = Q·Kᵀ, P = softmax(scale·S + mask) with dropout, O = P·V
 * - S again, P from the statistics, dP = dO·Vᵀ, dS = P∘(dP − Σ P∘dP)·scale, dV = Pᵀ·dO, dQ = dS·K, dK = dSᵀ·Q
 *
 * S and dP are float32. P and dS are rounded to bfloat16 if the operands are bfloat16, as in PyTorch's FlashAttention.
 *
 * @param limit bytes of the scores that exist at a time; those of one head may be more
 */
export const attentionsByProducts = (
  limit = scoreBytes,
): LoweringFamily<'Attention' | 'AttentionGradient'> => ({
  Attention: (node, lowering) => {
    const [result, statistics] = node.outputs.map((value) => lowering.at(value));
    const named = namesOf(node.inputs, node.attributes);
    const operands = operandsOf(named);
    const places = placesOf(node);
    const dtype = gpuDType(named.query);
    const copies = new HeadCopies(lowering, places, dtype);
    const args = attentionArguments(lowering, places, named, node.attributes.isCausal);
    const inputs = copies.read(operands.map((value, operand) => rowsOf(places, operand, lowering.at(value))));
    const { matrices, end } = copies.write([rowsOfResult(places, result)]);
    const rounds = roundsOf(places, bytesPerScore(dtype, 'forward'), limit);
    const [scores, weights] = scoreMatrices(lowering, places, dtype, rounds, 1);
    for (const round of rounds) {
      const [query, key, value, to] = [...inputs, ...matrices].map((all) => fromHead(all, round.first));
      multiply(lowering, 'attentionScores', round, query, transposed(key), scores);
      launchRows(lowering, 'weightsOfScores', weights, round, [scores.at, weights.at, statistics, ...args]);
      multiply(lowering, 'attentionResult', round, weights, value, to);
    }
    end();
  },
  AttentionGradient: ({ inputs: [gradient, , statistics, ...rest], outputs, attributes }, lowering) => {
    const { places, isCausal } = attributes;
    const named = namesOf(rest, attributes);
    const dtype = gpuDType(named.query);
    const copies = new HeadCopies(lowering, places, dtype);
    const args = attentionArguments(lowering, places, named, isCausal);
    const inputs = copies.read([
      ...operandsOf(named).map((value, operand) => rowsOf(places, operand, lowering.at(value))),
      rowsOfResult(places, lowering.at(gradient)),
    ]);
    const targets = places.targets.map((target) => outputs[target]);
    const read = [0, 1, 2].filter((operand) => lowering.isRead(targets[operand]));
    const { matrices, end } = copies.write(
      read.map((operand) => rowsOf(places, operand, lowering.at(targets[operand]))),
    );
    const rounds = roundsOf(places, bytesPerScore(dtype, 'gradient'), limit);
    const [scores, weights, received, slopes] = scoreMatrices(lowering, places, dtype, rounds, 2);
    const arrays = [scores, received, weights, slopes].map(({ at }) => at);
    for (const round of rounds) {
      const [query, key, value, d] = inputs.map((all) => fromHead(all, round.first));
      multiply(lowering, 'attentionScores', round, query, transposed(key), scores);
      multiply(lowering, 'attentionSlopes', round, d, transposed(value), received);
      const rowArguments = [...arrays, lowering.at(statistics), ...args];
      launchRows(lowering, 'slopesOfScores', weights, round, rowArguments);
      const factors = [
        { left: slopes, right: key },
        { left: transposed(slopes), right: query },
        { left: transposed(weights), right: d },
      ];
      for (const [place, operand] of read.entries()) {
        const { left, right } = factors[operand];
        multiply(lowering, 'attentionGradient', round, left, right, fromHead(matrices[place], round.first));
      }
    }
    end();
  },
});

/** A factor of a product; if `isTransposed`, the matrices that its memory holds are transposed. */
interface Factor extends HeadMatrices {
  readonly isTransposed?: boolean;
}

const transposed = (matrices: HeadMatrices): Factor => ({ ...matrices, isTransposed: true });

const operandsOf = ({ query, key, value }: AttentionInputs): readonly Value[] => [query, key, value];

/** @param operand 0: queries, 1: keys, 2: values */
function rowsOf({ lengths, sizes, operands }: AttentionPlaces, operand: number, at: GpuAddress): HeadRows {
  return {
    at,
    layout: operands[operand],
    rows: lengths[operand === 0 ? 0 : 1],
    size: sizes[operand === 2 ? 1 : 0],
  };
}

function rowsOfResult(
  { lengths: [rows], sizes: [, size], result }: AttentionPlaces,
  at: GpuAddress,
): HeadRows {
  return { at, layout: result, rows, size };
}

/** The matrices from a head on. */
function fromHead(matrices: HeadMatrices, head: number): HeadMatrices {
  return { ...matrices, at: after(matrices.at, bytesOf(matrices.dtype) * matrices.batchStride * head) };
}

/**
 * Memory for pairs: float32 products of a round, and what is computed from them as a factor of the next product: in the same
 * place if the operands are float32.
 */
function scoreMatrices(
  lowering: Lowering,
  { lengths: [rows, columns] }: AttentionPlaces,
  operands: GpuDType,
  rounds: readonly Round[],
  pairs: number,
): readonly HeadMatrices[] {
  const rowStride = rowStrideOf(columns);
  const batchStride = rows * rowStride;
  const heads = Math.max(...rounds.map((round) => round.heads));
  const matrices = (dtype: GpuDType): HeadMatrices => {
    const at = lowering.scratch(bytesOf(dtype) * heads * batchStride);
    return { at, dtype, rows, columns, rowStride, batchStride };
  };
  return Array.from({ length: pairs }).flatMap(() => {
    const products = matrices('float32');
    return [products, operands === 'float32' ? products : matrices(operands)];
  });
}

/** result = left · right, for each head of a round. */
function multiply(
  lowering: Lowering,
  name: string,
  { heads }: Round,
  left: Factor,
  right: Factor,
  result: HeadMatrices,
): void {
  const matrixOf = ({ at, isTransposed = false, rowStride, batchStride }: Factor): GpuMatrix => ({
    ...{ at, rowStride, batchStride },
    ...(isTransposed && { transposed: true }),
  });
  lowering.add({
    ...{ kind: 'product', name, dtype: left.dtype, resultDtype: result.dtype },
    tf32: lowering.settings.tf32.products,
    ...{ m: result.rows, n: result.columns, k: left.isTransposed ? left.rows : left.columns, batch: heads },
    ...{ left: matrixOf(left), right: matrixOf(right), result: matrixOf(result) },
  });
}

/** Launches a kernel over the rows of the scores of a round. */
function launchRows(
  lowering: Lowering,
  name: 'weightsOfScores' | 'slopesOfScores',
  { dtype, rows, columns, rowStride }: HeadMatrices,
  { first, heads }: Round,
  args: readonly GpuArgument[],
): void {
  const form = rowFormOf(columns);
  const kernels = form && formKernels.get(form)?.of({ T: dtype });
  if (form === undefined || kernels === undefined) {
    throw new NnError('ERR_EXECUTOR', `expected attention to at most 8192 keys, got ${columns}.`);
  }
  const threads = rowThreads(form);
  const blocks = Math.ceil((heads * rows * form.threads) / threads);
  const last = [int64(first), int32(heads * rows), int32(rowStride)];
  lowering.launch(kernels[name], [blocks, 1, 1], [threads, 1, 1], [...args, ...last]);
}
