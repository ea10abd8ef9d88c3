import type { GradientTarget } from './gradient-target.ts';
import { isNode, type Node, type Value } from './node.ts';

/**
 * The gradients of a function's inputs from those of its outputs; undefined: no gradient. All are values of a graph, so that they
 * have gradients themselves.
 */
export type CustomGradient = (gradients: readonly (Value | undefined)[]) => readonly (Value | undefined)[];

/** Returns the value that replaces the gradient; undefined: the gradient stays. */
export type GradientHook = (gradient: Value) => Value | undefined;

/** What happens to the complete gradient of a value. */
interface Watch {
  readonly hooks: Set<{ readonly hook: GradientHook }>;
  target: GradientTarget | undefined;
}

const watches = new WeakMap<Value, Watch>();

/** True once a program has used a hook, a variable or a function with its own gradient, which other programs need not look for. */
let everUsed = false;

export function recordCustomGradient(): void {
  everUsed = true;
}

export function usesCustomGradients(): boolean {
  return everUsed;
}

function watchOf(value: Value): Watch {
  recordCustomGradient();
  const known = watches.get(value);
  if (known) return known;
  const watch: Watch = { hooks: new Set(), target: undefined };
  watches.set(value, watch);
  return watch;
}

/** Calls a hook with each gradient of the value. Returns a function that removes it. */
export function addGradientHook(value: Value, hook: GradientHook): () => void {
  const { hooks } = watchOf(value);
  const entry = { hook };
  hooks.add(entry);
  return () => {
    hooks.delete(entry);
  };
}

/** Backward passes give the value's gradient to the target. */
export function retainGradient(value: Value, target: GradientTarget): void {
  watchOf(value).target = target;
}

/** The target of a value's gradient besides a parameter. */
export function gradientTargetOf(value: Value): GradientTarget | undefined {
  const { node } = value;
  return (isNode(node, 'Variable') ? node.attributes.receiver : undefined) ?? watches.get(value)?.target;
}

/** The gradient after the hooks of its value, in the order of their registration. */
export function hookedGradient(value: Value, gradient: Value): Value {
  const watch = everUsed ? watches.get(value) : undefined;
  if (watch === undefined) return gradient;
  return [...watch.hooks].reduce((current, { hook }) => hook(current) ?? current, gradient);
}

/** True if the gradients of a graph are not those of its operators and parameters alone. */
export function hasCustomGradients(order: readonly Node[]): boolean {
  return order.some(
    (node) =>
      isNode(node, 'Variable') ||
      isNode(node, 'CustomFunction') ||
      node.outputs.some((output) => watches.has(output)),
  );
}
