import { readFileSync } from 'node:fs';

/** The results of torch's clip_grad_norm_ for `fill([12], 1)` and `fill([5], 2)`. */
interface ClipCase {
  readonly maxNorm: number;
  readonly normType: number;
  /** Before clipping. */
  readonly norm: number;
  readonly gradients: readonly (readonly number[])[];
}

const fixture = new URL('../../../../test/golden/optimizers.json', import.meta.url);
const { clipGradNorm } = JSON.parse(readFileSync(fixture, 'utf8')) as {
  clipGradNorm: readonly (Omit<ClipCase, 'normType'> & { normType: string })[];
};

export const clipCases: readonly ClipCase[] = clipGradNorm.map(({ normType, ...rest }) => {
  return { ...rest, normType: normType === 'inf' ? Infinity : Number(normType) };
});
