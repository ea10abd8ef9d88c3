import { AsyncLocalStorage } from 'node:async_hooks';
import { requireBoolean } from '../checks/require-boolean.ts';
import { requireOneOf } from '../checks/require-one-of.ts';
import { requireOptions, type OptionNames } from '../checks/require-options.ts';
import { isFloat } from '../dtype.ts';
import { ArgumentError } from '../errors/errors.ts';
import { isChangedSince } from '../graph/changes.ts';
import { isNode, type Value } from '../graph/node.ts';
import { cast } from '../ops/elementwise.ts';
import { autocastLists, type AutocastFunction } from './autocast-lists.ts';

/** Options of {@link autocast}. */
export interface AutocastOptions {
  /** Dtype of matrix products and convolutions. The only one is 'bfloat16'. Default: 'bfloat16'. */
  dtype?: 'bfloat16';
  /** If false, functions compute in the dtypes of their operands, even inside another `autocast`. Default: `true`. */
  enabled?: boolean;
}

const optionNames: OptionNames<AutocastOptions> = { dtype: true, enabled: true };

/** Casts of leaves in one call of `autocast`, so that a parameter that is used several times is cast once. */
type CastLeaves = WeakMap<Value, Value>;

/** Undefined casts outside of `autocast` and where it is not enabled. Follows `await`, but not code that runs concurrently. */
const current = new AsyncLocalStorage<{ readonly casts: CastLeaves | undefined }>();

/**
 * Runs a function with mixed precision (torch.autocast with device_type='cpu', also on a GPU): matrix products, convolutions and attention
 * compute in bfloat16, with sums in float32, and return bfloat16; losses compute in float32; other functions keep the dtype of
 * their operands. Parameters, their gradients, optimizer states, running statistics and collectives stay float32. Call
 * `backward` and the optimizer's `step` after it or inside, without a difference.
 *
 * @param run forward pass and loss, synchronous or asynchronous
 * @returns the result of `run`
 * @throws ArgumentError for unknown options and other dtypes
 */
export function autocast<T>(options: AutocastOptions, run: () => T): T {
  requireAutocastOptions('autocast', options);
  if (typeof run !== 'function') {
    throw new ArgumentError('autocast: expected a function. Write autocast({ dtype: "bfloat16" }, () => …).');
  }
  const { enabled = true } = options;
  if (!enabled) return current.run({ casts: undefined }, run);
  const outer = current.getStore()?.casts;
  return current.run({ casts: outer ?? new WeakMap<Value, Value>() }, run);
}

function requireAutocastOptions(name: string, options: AutocastOptions): void {
  requireOptions(name, options, optionNames);
  requireOneOf(name, 'dtype', options.dtype ?? 'bfloat16', ['bfloat16']);
  requireBoolean(`${name}: enabled`, options.enabled ?? true);
}

/** Returns true inside `autocast` (torch.is_autocast_enabled). */
export function isAutocastEnabled(): boolean {
  return current.getStore()?.casts !== undefined;
}

const wide = new Set<string>(autocastLists.float32);

/** True if a function computes in float32 inside `autocast`, and is called there. */
export function isWideInAutocast(name: string): boolean {
  return isAutocastEnabled() && wide.has(name);
}

const narrow = new Set<AutocastFunction>(autocastLists.bfloat16);

/** The operands of a function in the dtype of its list, inside `autocast`; elsewhere unchanged. Only floats are cast. */
export function autocastValues<Operands extends readonly (Value | undefined)[]>(
  name: AutocastFunction,
  operands: Operands,
): Operands {
  const casts = current.getStore()?.casts;
  if (casts === undefined) return operands;
  const to = narrow.has(name) ? 'bfloat16' : 'float32';
  const inList = (value: Value | undefined) => {
    if (value === undefined || !isFloat(value) || value.dtype === to) return value;
    return isNode(value.node, 'Input') ? castOnce(value, casts) : cast(value, to);
  };
  return operands.map(inList) as unknown as Operands;
}

/** A leaf of float32 in bfloat16. */
function castOnce(leaf: Value, casts: CastLeaves): Value {
  if (leaf.dtype === 'bfloat16') return cast(leaf, 'float32');
  const known = casts.get(leaf);
  if (known !== undefined && !isChangedSince(leaf, known.node)) return known;
  const made = cast(leaf, 'bfloat16');
  casts.set(leaf, made);
  return made;
}
