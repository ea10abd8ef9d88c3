import { isCollective } from '../../graph/collective.ts';
import type { Value } from '../../graph/node.ts';
import { readsOfUnit, type Unit } from './units.ts';
import { viewedValue } from './views.ts';

/** The outputs of a program that are ready together, and when. */
export class Parts {
  /** The part of each output that is in one. */
  readonly #ofOutput: ReadonlyMap<number, number>;
  /** After which step each part is complete. Not before an earlier part, or before the last collective. */
  readonly #completeAfter: readonly number[];
  /** The outputs that each value is, or that are views of it. */
  readonly #outputsOf = new Map<Value, number[]>();
  /** The last step that reads a value. */
  readonly #lastReads = new Map<Value, number>();

  /** @param units in the order of their steps, outside of the update */
  constructor(parts: readonly (readonly number[])[], outputs: readonly Value[], units: readonly Unit[]) {
    this.#ofOutput = new Map(parts.flatMap((part, index) => part.map((output) => [output, index] as const)));
    const steps = new Map(units.flatMap(({ nodes }, step) => nodes.map((node) => [node, step] as const)));
    let least = units.findLastIndex(({ nodes }) => nodes.some(isCollective));
    this.#completeAfter = parts.map((part) => {
      for (const output of part) least = Math.max(least, steps.get(viewedValue(outputs[output]).node) ?? -1);
      return least;
    });
    for (const [output, value] of outputs.entries()) {
      const source = viewedValue(value);
      this.#outputsOf.set(source, [...(this.#outputsOf.get(source) ?? []), output]);
    }
    for (const [step, unit] of units.entries()) {
      for (const value of readsOfUnit(unit)) this.#lastReads.set(value, step);
    }
  }

  /** The part of an output; undefined if it is in none. */
  of(output: number): number | undefined {
    return this.#ofOutput.get(output);
  }

  /** True if a value is an output of a part. */
  has(value: Value): boolean {
    return this.#outputsOf.get(value)?.some((output) => this.#ofOutput.has(output)) === true;
  }

  /** True if a value can be computed where its output is: nothing else reads it once the part is complete. */
  owns(value: Value, output: number): boolean {
    const isOnly = this.#outputsOf.get(value)!.length === 1;
    return isOnly && (this.#lastReads.get(value) ?? -1) <= this.lastStepOf(output)!;
  }

  /** The step after which the part of an output is complete; undefined if it is in none. */
  lastStepOf(output: number): number | undefined {
    const part = this.#ofOutput.get(output);
    return part === undefined ? undefined : this.#completeAfter[part];
  }

  /** The parts that are complete after a step, and not before. -1: before the first step. */
  completeAfter(step: number): readonly number[] {
    return [...this.#completeAfter.keys()].filter((part) => this.#completeAfter[part] === step);
  }
}
