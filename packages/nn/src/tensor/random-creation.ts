import type { DType } from '../dtype.ts';
import { requireShape, tensorOf } from './creation.ts';
import { ArgumentError } from '../errors/errors.ts';
import { sizeOf } from '../value-type.ts';
import { defaultGenerator, type Generator } from '../random/generator.ts';
import type { Tensor } from './tensor.ts';

// Tensors of random numbers. After `manualSeed` they are bit-identical to torch's on the CPU.

/** Options of functions that draw numbers. */
export interface RandomOptions {
  /** Random number generator. Default: the one seeded by `manualSeed`. */
  generator?: Generator;
}

/** Numbers uniform in [0, 1) (torch.rand). */
export function rand(shape: readonly number[], { generator = defaultGenerator }: RandomOptions = {}): Tensor {
  requireShape('rand', shape);
  const array = new Float32Array(sizeOf(shape));
  generator.fillUniform(array, 0, 1);
  return tensorOf('float32', shape, array);
}

/** Numbers uniform in [0, 1) with the shape of another tensor (torch.rand_like). */
export function randLike({ shape, dtype }: Tensor, options: RandomOptions = {}): Tensor {
  return likeFloat(dtype, rand(shape, options));
}

/** Numbers from the normal distribution with mean 0 and variance 1 (torch.randn). */
export function randn(shape: readonly number[], options: RandomOptions = {}): Tensor {
  return normal(0, 1, shape, options);
}

/** Numbers from the standard normal distribution, with the shape of another tensor (torch.randn_like). */
export function randnLike({ shape, dtype }: Tensor, options: RandomOptions = {}): Tensor {
  return likeFloat(dtype, randn(shape, options));
}

/** Numbers in bfloat16 if a tensor is, otherwise in float32. */
function likeFloat(dtype: DType, numbers: Tensor): Tensor {
  return dtype === 'bfloat16' ? numbers.bfloat16() : numbers;
}

/** Numbers from a normal distribution with the given mean and standard deviation (torch.normal). */
export function normal(
  mean: number,
  std: number,
  shape: readonly number[],
  { generator = defaultGenerator }: RandomOptions = {},
): Tensor {
  requireShape('normal', shape);
  const array = new Float32Array(sizeOf(shape));
  generator.fillNormal(array, mean, std);
  return tensorOf('float32', shape, array);
}

/** Integers from `low` to `high` − 1 (torch.randint), int64. */
export function randint(
  low: number,
  high: number,
  shape: readonly number[],
  { generator = defaultGenerator }: RandomOptions = {},
): Tensor {
  requireShape('randint', shape);
  if (![low, high].every(Number.isSafeInteger) || high <= low) {
    throw new ArgumentError(`randint: expected integers low < high, got ${low} and ${high}.`);
  }
  const array = new BigInt64Array(sizeOf(shape));
  for (let i = 0; i < array.length; i += 1) array[i] = BigInt(low) + generator.nextBelow(high - low);
  return tensorOf('int64', shape, array);
}

/** The integers from 0 to `length` − 1 in a random order (torch.randperm), int64. `length` must be below 2³² / 20. */
export function randperm(length: number, { generator = defaultGenerator }: RandomOptions = {}): Tensor {
  requireShape('randperm', [length]);
  return tensorOf('int64', [length], BigInt64Array.from(generator.permutation(length), BigInt));
}
