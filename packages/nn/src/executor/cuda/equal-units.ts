import { isNode, type Node, type Value } from '../../graph/node.ts';
import { sizeOf } from '../../value-type.ts';
import { producersOf } from '../node-groups.ts';
import { isElementwise } from './elementwise-operators.ts';
import { elementwiseProgram } from './elementwise.ts';
import { textOf } from './launch-elementwise.ts';
import type { Unit } from './units.ts';
import { isView, viewedValue } from './views.ts';

/**
 * Joins the elementwise units of an update that are equal except for their arrays and their numbers of elements, and that do not
 * depend on each other: one launch updates all parameters.
 *
 * An output of an update may be in the memory of a leaf of which it is an elementwise function (see `ProgramUpdate.outputs`), so
 * no unit is moved before one that reads such a leaf.
 *
 * @param units of an update, each after those that it reads
 */
export function joinEqualUnits(units: readonly Unit[]): readonly Unit[] {
  const joining = new Joining();
  for (const unit of units) joining.add(unit);
  return joining.units.map((equal) =>
    equal.length === 1
      ? equal[0]
      : {
          nodes: equal.flatMap(({ nodes }) => nodes),
          isElementwise: true,
          groups: equal.flatMap(({ groups }) => groups),
        },
  );
}

/** Places of elements in a kernel of several arrays have 32 bits. */
const mostElements = 2 ** 31;

class Joining {
  /** Equal units, in the order of the computation. */
  readonly units: Unit[][] = [];
  /** Index of a node in `units`. */
  readonly #placeOf = new Map<Node, number>();
  /** Indices in `units` of those with equal programs, ascending. */
  readonly #equal = new Map<string, number[]>();
  /** Index of the last unit that reads a leaf. */
  readonly #lastReader = new Map<Value, number>();
  /** The leaves in whose memory a computed value may be. */
  readonly #leavesOf = new Map<Value, ReadonlySet<Value>>();

  add(unit: Unit): void {
    this.#followLeaves(unit);
    const earliest = this.#earliestPlaceOf(unit);
    const equal = this.#unitsEqualTo(unit);
    const place = equal.find((one) => one >= earliest) ?? this.units.length;
    if (place === this.units.length) {
      this.units.push([]);
      equal.push(place);
    }
    this.units[place].push(unit);
    for (const node of unit.nodes) this.#placeOf.set(node, place);
    for (const value of unit.nodes.flatMap(({ inputs }) => inputs).map(viewedValue)) {
      this.#lastReader.set(value, Math.max(place, this.#lastReader.get(value) ?? place));
    }
  }

  #unitsEqualTo({ nodes, isElementwise: isJoinable }: Unit): number[] {
    if (!isJoinable || sizeOf(nodes[0].outputs[0].shape) >= mostElements) return [];
    const key = programKey(nodes);
    const equal = this.#equal.get(key) ?? [];
    this.#equal.set(key, equal);
    return equal;
  }

  /** The place after all units that must run before. */
  #earliestPlaceOf({ nodes }: Unit): number {
    const before = producersOf(nodes).map((node) => this.#placeOf.get(node) ?? -1);
    for (const leaf of nodes.flatMap(({ outputs }) => outputs).flatMap((output) => this.#leaves(output))) {
      before.push(this.#lastReader.get(leaf) ?? -1);
    }
    return before.reduce((earliest, place) => Math.max(earliest, place + 1), 0);
  }

  /** An output may be in the memory of a leaf with as many elements of which it is an elementwise function. */
  #followLeaves({ nodes }: Unit): void {
    for (const node of nodes) {
      if (!isElementwise(node) && !isView(node)) continue;
      for (const output of node.outputs) {
        const inputs = node.inputs.filter(({ shape }) => sizeOf(shape) === sizeOf(output.shape));
        this.#leavesOf.set(output, new Set(inputs.flatMap((input) => this.#leaves(input))));
      }
    }
  }

  #leaves(value: Value): readonly Value[] {
    return isNode(value.node, 'Input') ? [value] : [...(this.#leavesOf.get(value) ?? [])];
  }
}

/** Equal for programs that differ only in their arrays. */
function programKey(nodes: readonly Node[]): string {
  const slots = new Map<Value, number>();
  const at = (value: Value) => {
    const source = viewedValue(value);
    slots.set(source, slots.get(source) ?? slots.size);
    return { slot: slots.get(source)! };
  };
  return textOf(elementwiseProgram(nodes, { at, isRead: () => true }));
}
