import type { ElementRange } from 'ringrun';
import { inPlaceUpdate, type BufferAssignment } from '../compiler/compile.ts';
import type { StepUpdate } from '../compiler/step-update.ts';
import type { ManagedBuffer } from '../executor/managed-buffer.ts';
import type { ValueBuffer } from '../executor/value-buffer.ts';
import type { Value } from '../graph/node.ts';
import type { Source } from '../graph/operators.ts';
import { structureOf } from '../graph/structure.ts';
import { input } from '../ops/source.ts';
import type { Parameter } from '../parameter.ts';
import { ClipGraph } from './clip-graph.ts';
import type { Clipping } from './clipping.ts';
import type { Coefficients, Rule } from './rule.ts';

/** A parameter and its optimizer states. */
export interface Member {
  readonly parameter: Parameter;
  readonly state: Readonly<Record<string, ManagedBuffer>>;
  /** The elements that this rank updates. Undefined: all. */
  readonly part: ElementRange | undefined;
}

/** Parameters of one group that are updated with the same coefficients. */
export interface UpdateSet {
  readonly members: readonly Member[];
  readonly coefficients: Coefficients;
}

/** The numbers of an update, which its programs read as inputs. */
export interface UpdateNumbers {
  /** Of each set. */
  readonly coefficients: readonly Coefficients[];
  /** How gradients are clipped: in the way that the graph was made for. */
  readonly clipping: Clipping | undefined;
}

/** Updates all parameters of the sets with these numbers. */
export type FusedUpdate = (numbers: UpdateNumbers) => Promise<void>;

/** Compiles the in-place updates of all sets into one program. */
export function fuseUpdates(graph: UpdateGraph): FusedUpdate {
  const run = inPlaceUpdate(graph.updates);
  return async (numbers) => {
    graph.setNumbers(numbers);
    await run();
    for (const part of graph.parts) part.toHost();
  };
}

/** The in-place updates of all sets as graphs, with the current coefficients. */
export class UpdateGraph {
  readonly updates: readonly BufferAssignment[];
  /** The leaf that reads the gradient of a parameter. */
  readonly gradients = new Map<Parameter, Value>();
  /** The updated parts of memory that is shared with other ranks. */
  readonly parts: ManagedBuffer[] = [];
  /** Undefined if gradients are not clipped. */
  readonly clip: ClipGraph | undefined;
  readonly #isShared: boolean;
  readonly #partsOfGradients: Value[] = [];
  readonly #coefficients: readonly Readonly<Record<string, CoefficientInput>>[];
  #stepUpdate: StepUpdate | undefined;

  constructor(
    { update }: Pick<Rule<object>, 'update'>,
    updateSets: readonly UpdateSet[],
    clipping: Clipping | undefined,
  ) {
    this.#coefficients = updateSets.map(({ coefficients }) => coefficientInputs(coefficients));
    for (const { parameter } of updateSets.flatMap(({ members }) => members)) {
      this.gradients.set(
        parameter,
        input('float32', parameter.shape, new ManagedSource(parameter.gradientMemory)),
      );
    }
    this.#isShared = updateSets.some(({ members }) => members.some(({ part }) => part !== undefined));
    this.clip = clipping && new ClipGraph(clipping, [...this.gradients.values()]);
    const updates = updateSets.flatMap(({ members }, position) =>
      members
        .filter(({ part }) => part === undefined || part.begin < part.end)
        .flatMap((member) => this.#updateOf(update, member, this.#coefficients[position])),
    );
    this.updates = [...updates, ...(this.clip?.outputs ?? [])];
  }

  /** The updates as a part of a training step. */
  get stepUpdate(): StepUpdate {
    if (this.#stepUpdate) return this.#stepUpdate;
    const { leaves, key } = structureOf(this.updates.map(({ value }) => value));
    const gradients = new Set(this.gradients.values());
    const partsOfGradients = new Set(this.#partsOfGradients);
    // A gradient is no leaf of the program, and a part of one is read behind a barrier.
    const role = (value: Value) => (gradients.has(value) ? 'g' : partsOfGradients.has(value) ? 'p' : '-');
    key.addName(leaves.map(({ value }) => role(value)).join('') + (this.#isShared ? '|' : ''));
    return (this.#stepUpdate = {
      key,
      leaves,
      assignments: this.updates,
      gradients: this.gradients,
      shared: this.#isShared ? { partsOfGradients: this.#partsOfGradients } : undefined,
    });
  }

  /** Call it before each run. */
  setNumbers({ coefficients, clipping }: UpdateNumbers): void {
    if (clipping) this.clip?.prepare(clipping);
    for (let set = 0; set < coefficients.length; set += 1) {
      const slots = this.#coefficients[set];
      for (const name in slots) slots[name].array[0] = coefficients[set][name]!;
    }
  }

  #updateOf(
    update: Rule<object>['update'],
    { parameter, state, part }: Member,
    slots: Readonly<Record<string, CoefficientInput>>,
  ): BufferAssignment[] {
    const own = (memory: ManagedBuffer) => (part ? memory.part(part.begin, part.end) : memory);
    const shape = part ? [part.end - part.begin] : parameter.shape;
    const leaf = (memory: ManagedBuffer) => input('float32', shape, new ManagedSource(memory));
    const gradient = part ? leaf(own(parameter.gradientMemory)) : this.gradients.get(parameter)!;
    const ownParameter = own(parameter.memory);
    const ownState = mapValues(state, own);
    if (part) {
      this.parts.push(ownParameter, ...Object.values(ownState));
      this.#partsOfGradients.push(gradient);
    }
    const outputs = update({
      parameter: part ? leaf(ownParameter) : parameter.trainedValue,
      gradient: this.clip?.clipped(gradient) ?? gradient,
      state: mapValues(ownState, leaf),
      coefficients: mapValues(slots, ({ value }) => value),
    });
    return [
      { value: outputs.parameter, into: ownParameter },
      ...Object.entries(ownState).map(([name, into]) => ({ value: outputs.state[name]!, into })),
    ];
  }
}

class ManagedSource implements Source {
  readonly memory: ManagedBuffer;

  constructor(memory: ManagedBuffer) {
    this.memory = memory;
  }

  get data(): Float32Array {
    return this.memory.array;
  }

  get buffer(): ValueBuffer {
    return this.memory.forReading();
  }
}

/** The float32 array of a coefficient, and the value that reads it. */
interface CoefficientInput {
  readonly array: Float32Array;
  readonly value: Value;
}

function coefficientInputs(coefficients: Coefficients): Readonly<Record<string, CoefficientInput>> {
  return Object.fromEntries(
    definedNames(coefficients).map((name) => {
      const array = new Float32Array(1);
      return [name, { array, value: input('float32', [], { data: array }) }];
    }),
  );
}

/** The coefficients that are part of the graph. */
export function definedNames(coefficients: Coefficients): string[] {
  return Object.keys(coefficients).filter((name) => coefficients[name] !== undefined);
}

function mapValues<A, B>(record: Readonly<Record<string, A>>, change: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}
