import { ArgumentError } from '../errors/errors.ts';
import { requireFunction } from '../checks/require-function.ts';
import type { RemovableHandle } from '../graph/removable-handle.ts';
import { BackwardCall } from './backward-hooks.ts';

/** When a hook is called. */
export type HookTime = 'before' | 'after' | 'backwardBefore' | 'backwardAfter';

const hookTimes: readonly HookTime[] = ['before', 'after', 'backwardBefore', 'backwardAfter'];

/** A module with `forward`, on which hooks are registered. */
type WithForward = object & { forward?: (...inputs: never[]) => unknown };

/** Called after `forward` of a module with its inputs and its output. If it returns a value, it replaces the output. */
export type ForwardHook<M> = (
  module: M,
  inputs: M extends { forward(...inputs: infer I): unknown } ? I : unknown[],
  output: M extends { forward(...inputs: never[]): infer O } ? O : unknown,
) => unknown;

/**
 * Called before a module's `forward` with its inputs. If it returns a value, it replaces the inputs: a list, or the only input.
 */
export type ForwardPreHook<M> = (
  module: M,
  inputs: M extends { forward(...inputs: infer I): unknown } ? I : unknown[],
) => unknown;

type Call = (...values: unknown[]) => unknown;

interface Entry {
  readonly hook: Call;
}

/** The hooks of a module, and how its forward was defined before the first one. */
interface Hooks {
  readonly before: Set<Entry>;
  readonly after: Set<Entry>;
  readonly backwardBefore: Set<Entry>;
  readonly backwardAfter: Set<Entry>;
  readonly own: PropertyDescriptor | undefined;
}

const hooksOf = new WeakMap<object, Hooks>();

/**
 * Registers a hook. While a module has hooks, its own `forward` property calls them, so that every call of `forward`
 * runs them in torch's order: pre-hooks, the computation, hooks, each in the order of registration.
 */
export function registerHook(
  where: string,
  module: WithForward,
  time: HookTime,
  hook: unknown,
): RemovableHandle {
  requireFunction(where, hook);
  const { forward } = module;
  if (typeof forward !== 'function') {
    throw new ArgumentError(`${where}: expected a module with forward, got one without.`);
  }
  const hooks = hooksOf.get(module) ?? install(module, forward as Call);
  const entry = { hook: hook as Call };
  hooks[time].add(entry);
  return {
    remove: () => {
      hooks[time].delete(entry);
      const count = hookTimes.reduce((sum, one) => sum + hooks[one].size, 0);
      if (count === 0 && hooksOf.get(module) === hooks) uninstall(module, hooks);
    },
  };
}

/** True while a module's `forward` calls hooks. */
export function hasHooks(module: object): boolean {
  return hooksOf.has(module);
}

/** Registers the hooks of a module on another one. */
export function copyHooks(from: object, to: object): void {
  const hooks = hooksOf.get(from);
  if (hooks === undefined) return;
  for (const time of hookTimes) {
    for (const { hook } of hooks[time]) registerHook('deepcopy', to, time, hook);
  }
}

function install(module: object, forward: Call): Hooks {
  const own = Object.getOwnPropertyDescriptor(module, 'forward');
  const hooks: Hooks = {
    before: new Set(),
    after: new Set(),
    backwardBefore: new Set(),
    backwardAfter: new Set(),
    own,
  };
  hooksOf.set(module, hooks);
  // Not enumerable, because a module lists its enumerable properties.
  Object.defineProperty(module, 'forward', {
    configurable: true,
    enumerable: false,
    writable: true,
    value: (...given: unknown[]) => {
      let inputs = given;
      for (const { hook } of [...hooks.before]) {
        const changed = hook(module, inputs);
        if (changed !== undefined) inputs = Array.isArray(changed) ? changed : [changed];
      }
      const backward = backwardCallOf(module, hooks);
      if (backward) inputs = backward.inputs(inputs);
      let output = forward.apply(module, inputs);
      for (const { hook } of [...hooks.after]) {
        const changed = hook(module, inputs, output);
        if (changed !== undefined) output = changed;
      }
      return backward ? backward.output(output) : output;
    },
  });
  return hooks;
}

/** Hooks of backward passes are those at the time of the call of `forward`, as in torch. */
function backwardCallOf(module: object, { backwardBefore, backwardAfter }: Hooks): BackwardCall | undefined {
  if (backwardBefore.size + backwardAfter.size === 0) return undefined;
  const [before, after] = [backwardBefore, backwardAfter].map((entries) =>
    Array.from(entries, ({ hook }) => hook),
  );
  return new BackwardCall(module, before, after);
}

function uninstall(module: object, { own }: Hooks): void {
  hooksOf.delete(module);
  if (own === undefined) Reflect.deleteProperty(module, 'forward');
  else Object.defineProperty(module, 'forward', own);
}
