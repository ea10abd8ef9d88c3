import { arranged, isNamed } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { sizedOf, type Sized } from '../calls/sizes.ts';
import type { OptionNames } from '../checks/require-options.ts';
import type { DType } from '../dtype.ts';
import { requireShape, tensorOf } from './creation.ts';
import { ArgumentError } from '../errors/errors.ts';
import { sizeOf } from '../value-type.ts';
import { defaultGenerator } from '../random/generator.ts';
import type { RandomOptions } from '../random/random-options.ts';
import type { Tensor } from './tensor.ts';

// Tensors of random numbers. After `manualSeed` they are bit-identical to torch's on the CPU.

const randomOptions: OptionNames<RandomOptions> = { generator: true };

/** Numbers uniform in [0, 1) (torch.rand): `rand(2, 3)` or `rand([2, 3])`. */
export function rand(...given: Sized<RandomOptions>): Tensor {
  const { shape, options } = sizedOf<RandomOptions>('rand', given, randomOptions);
  return uniform('rand', shape, options);
}

function uniform(
  name: string,
  shape: readonly number[],
  { generator = defaultGenerator }: RandomOptions,
): Tensor {
  requireShape(name, shape);
  const array = new Float32Array(sizeOf(shape));
  generator.fillUniform(array, 0, 1);
  return tensorOf('float32', shape, array);
}

/** Numbers uniform in [0, 1) with the shape of another tensor (torch.rand_like). */
export function randLike(
  ...given: Call<[input: Tensor, options?: RandomOptions | undefined], 'randLike'>
): Tensor {
  const [{ shape, dtype }, options] = arranged('randLike', given);
  return likeFloat(dtype, uniform('randLike', shape, options));
}

/** Numbers from the normal distribution with mean 0 and variance 1 (torch.randn). */
export function randn(...given: Sized<RandomOptions>): Tensor {
  const { shape, options } = sizedOf<RandomOptions>('randn', given, randomOptions);
  return gaussian('randn', [0, 1], shape, options);
}

/** Numbers from the standard normal distribution, with the shape of another tensor (torch.randn_like). */
export function randnLike(
  ...given: Call<[input: Tensor, options?: RandomOptions | undefined], 'randnLike'>
): Tensor {
  const [{ shape, dtype }, options] = arranged('randnLike', given);
  return likeFloat(dtype, gaussian('randnLike', [0, 1], shape, options));
}

/** Numbers in bfloat16 if a tensor is, otherwise in float32. */
function likeFloat(dtype: DType, numbers: Tensor): Tensor {
  return dtype === 'bfloat16' ? numbers.bfloat16() : numbers;
}

/** Numbers from a normal distribution with the given mean and standard deviation (torch.normal). */
export function normal(
  ...given: Call<
    [mean: number, std: number, size: readonly number[], options?: RandomOptions | undefined],
    'normal'
  >
): Tensor {
  const [mean, std, shape, options] = arranged('normal', given);
  return gaussian('normal', [mean, std], shape, options);
}

function gaussian(
  name: string,
  [mean, std]: readonly [mean: number, std: number],
  shape: readonly number[],
  { generator = defaultGenerator }: RandomOptions,
): Tensor {
  requireShape(name, shape);
  const array = new Float32Array(sizeOf(shape));
  generator.fillNormal(array, mean, std);
  return tensorOf('float32', shape, array);
}

/** Integers from 0 to `high` − 1 (torch.randint), int64: `randint(10, [2, 3])`. */
export function randint(high: number, size: readonly number[], options?: RandomOptions): Tensor;
/** As above, by name: `randint({ high: 10, size: [2, 3] })`. */
export function randint(options: RandomOptions & { high: number; size: readonly number[] }): Tensor;
/** Integers from `low` to `high` − 1, by position or by name. */
export function randint(
  ...given: Call<
    [low: number, high: number, size: readonly number[], options?: RandomOptions | undefined],
    'randint'
  >
): Tensor;
export function randint(...given: readonly unknown[]): Tensor {
  const isFromZero = Array.isArray(given[1]) || (isNamed(given[1]) && given[1]['high'] === undefined);
  const call = isFromZero ? [0, ...given] : isNamed(given[0]) ? [{ low: 0, ...given[0] }] : given;
  const [low, high, shape, { generator = defaultGenerator }] = arranged(
    'randint',
    call as [number, number, number[], RandomOptions?],
  );
  requireShape('randint', shape);
  if (![low, high].every(Number.isSafeInteger) || high <= low) {
    throw new ArgumentError(`randint: expected integers low < high, got ${low} and ${high}.`);
  }
  const array = new BigInt64Array(sizeOf(shape));
  for (let i = 0; i < array.length; i += 1) array[i] = BigInt(low) + generator.nextBelow(high - low);
  return tensorOf('int64', shape, array);
}

/** The integers from 0 to `length` − 1 in a random order (torch.randperm), int64. `length` must be below 2³² / 20. */
export function randperm(
  ...given: Call<[n: number, options?: RandomOptions | undefined], 'randperm'>
): Tensor {
  const [length, { generator = defaultGenerator }] = arranged('randperm', given);
  requireShape('randperm', [length]);
  return tensorOf('int64', [length], BigInt64Array.from(generator.permutation(length), BigInt));
}
