import { partElements, type ElementRange, type ParameterSharing } from '@ringrun/core';
import { BoundCollective } from '../compiler/bound-collective.ts';
import { updateInPlace } from '../compiler/compile.ts';
import type { BufferAssignment } from '../compiler/buffer-assignment.ts';
import type { StepUpdate } from '../compiler/step-update.ts';
import type { GraphCall } from '../executor/executor.ts';
import { ManagedBuffer } from '../executor/managed-buffer.ts';
import type { Executor } from '../executor/executor.ts';
import { executorOf } from '../executor/select.ts';
import { inSequence } from '../graph/collective.ts';
import { isNode, type Value } from '../graph/node.ts';
import type { Source } from '../graph/source.ts';
import { structureOf } from '../graph/structure.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { add, div, mul } from '../ops/elementwise.ts';
import { clipNorm, clipNormOfParts, type NumberedArray } from '../ops/own/clip-norm.ts';
import { constant, input } from '../ops/source.ts';
import type { Parameter } from '../tensor/parameter.ts';
import { ClipGraph } from './clip-graph.ts';
import type { Clipping } from './clipping.ts';
import { elementsOf, gradientLeafOf, leafOf } from './gradient-leaf.ts';
import type { Coefficients } from './rule.ts';
import { sparseUpdate, type UpdateRule } from './sparse-update.ts';

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

/** The numbers of an update, which are inputs of its programs. */
export interface UpdateNumbers {
  /** Coefficients of each set. */
  readonly coefficients: readonly Coefficients[];
  /** How gradients are clipped: must match the graph. */
  readonly clipping: Clipping | undefined;
}

/** The owners of the memory that an update writes, and the gradients that it reads. */
export interface UpdateSharing {
  /** Owners of the parameters' memory, in the same order on all ranks. */
  readonly sharings: readonly ParameterSharing[];
  /** If true, the update averages the gradients of the ranks of the only sharing. */
  readonly averages: boolean;
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
  readonly #sharing: UpdateSharing;
  readonly #exposedGradients: Value[] = [];
  readonly #collectives: readonly BoundCollective[];
  /** Runs the updates, unless their parameters are moved later. Those that are shared are not. */
  readonly #executor: Executor;
  readonly #coefficients: readonly Readonly<Record<string, CoefficientInput>>[];
  #stepUpdate: StepUpdate | undefined;

  constructor(
    rule: UpdateRule,
    updateSets: readonly UpdateSet[],
    clipping: Clipping | undefined,
    sharing: UpdateSharing,
  ) {
    this.#sharing = sharing;
    this.#coefficients = updateSets.map(({ coefficients }) => coefficientInputs(coefficients));
    const members = updateSets.flatMap((set, position) =>
      set.members.map((member) => ({ member, slots: this.#coefficients[position] })),
    );
    for (const { parameter } of members.map(({ member }) => member)) {
      this.gradients.set(parameter, gradientLeafOf(parameter));
    }
    if (sharing.sharings.length > 0) this.#exposedGradients.push(...this.gradients.values());
    const updated = members
      .filter(({ member: { part } }) => part === undefined || part.begin < part.end)
      .map(({ member, slots }) => ({ member, slots, gradient: this.#gradientOf(member) }));
    const ownGradients = new Map(updated.map(({ member, gradient }) => [member, gradient]));
    this.clip =
      clipping &&
      new ClipGraph(clipping, (largest, attributes) =>
        sharing.averages
          ? clipNormOfParts(
              {
                ...numbered(
                  ownGradients,
                  members.map(({ member }) => member),
                ),
                group: sharing.sharings[0].group,
              },
              largest,
              attributes,
            )
          : clipNorm(
              Array.from(this.gradients, ([parameter, leaf]) => elementsOf(parameter, leaf)),
              largest,
              attributes,
            ),
      );
    const updates = updated.flatMap(({ member, slots, gradient }) =>
      this.#updateOf(rule, member, gradient, slots),
    );
    this.updates = [...updates, ...(this.clip?.outputs ?? [])];
    const order = topologicalOrder(this.updates.map(({ value }) => value));
    this.#executor = executorOf(
      order.filter((node) => isNode(node, 'Input')).map(({ attributes }) => attributes),
    );
    this.#collectives = inSequence(order).map((node) => new BoundCollective(node, 0, this.#executor));
  }

  /** The updates as part of a training step. */
  get stepUpdate(): StepUpdate {
    if (this.#stepUpdate) return this.#stepUpdate;
    const { leaves, key } = structureOf(this.updates.map(({ value }) => value));
    const { averages } = this.#sharing;
    const gradients = new Set(this.gradients.values());
    const exposed = new Set(this.#exposedGradients);
    // A gradient is not a leaf of the program, and part of a gradient is read after a barrier.
    const role = (value: Value) => (gradients.has(value) ? 'g' : exposed.has(value) ? 'p' : '-');
    const kind = !this.#hasBarriers ? '' : averages ? '|' : '||';
    return (this.#stepUpdate = {
      key: key.and(leaves.map(({ value }) => role(value)).join('') + kind),
      leaves,
      assignments: this.updates,
      gradients: this.gradients,
      shared: this.#hasBarriers ? { gradients: this.#exposedGradients, waitsBefore: !averages } : undefined,
    });
  }

  /** True if the program contains its barriers; false if its results reach the host only after the run. */
  get #hasBarriers(): boolean {
    return this.#sharing.sharings.length > 0 && this.#executor.usesHostMemory;
  }

  /** The calls of the updates' program. */
  calls(): GraphCall[] {
    if (!this.#hasBarriers) return [];
    const { sharings, averages } = this.#sharing;
    const barrier = barrierOf(sharings);
    const collectives = this.#collectives.map((one) => one.callOn(sharings[0].group, () => undefined));
    return averages ? [...collectives, barrier] : [barrier, ...collectives, barrier];
  }

  /** Runs the updates as a separate program, after the gradients have been written. */
  async run(): Promise<void> {
    const { sharings, averages } = this.#sharing;
    const isEmpty = this.updates.length === 0;
    const outside = isEmpty || !this.#hasBarriers ? sharings : [];
    if (!averages) for (const sharing of outside) await sharing.synchronize();
    if (!isEmpty) await updateInPlace(this.stepUpdate, this.calls());
    for (const part of this.parts) part.toHost();
    for (const sharing of outside) await sharing.synchronize();
  }

  /** Call it before each run. */
  setNumbers({ coefficients, clipping }: UpdateNumbers): void {
    if (clipping) this.clip?.prepare(clipping);
    for (let set = 0; set < coefficients.length; set += 1) {
      const slots = this.#coefficients[set];
      for (const name in slots) slots[name].array[0] = coefficients[set][name]!;
    }
  }

  /** Replacements of leaves for a run with other coefficients: the numbers that differ from the last `setNumbers`. */
  numbersWith(coefficients: readonly Coefficients[]): ReadonlyMap<Source, Float32Array> {
    const numbers = new Map<Source, Float32Array>();
    for (const [set, slots] of this.#coefficients.entries()) {
      for (const name in slots) {
        const { array, source } = slots[name];
        const number = Float32Array.of(coefficients[set][name]!);
        if (number[0] !== array[0]) numbers.set(source, number);
      }
    }
    return numbers;
  }

  /** The averaged gradient that a member's update reads: the gradient of its part. */
  #gradientOf({ parameter, part }: Member): Value {
    if (part === undefined) return this.gradients.get(parameter)!;
    const leaf = (memory: ManagedBuffer) => {
      const value = leafOf(memory.part(part.begin, part.end), [part.end - part.begin]);
      this.#exposedGradients.push(value);
      return value;
    };
    if (!this.#sharing.averages) return leaf(parameter.gradientMemory);
    const ofRanks = parameter.gradientSink!.sharing!.gradientsOf(parameter);
    // As in an all-reduce. Multiplying by a power of 2 is bit-identical to dividing, and faster.
    const sum = ofRanks.map((array) => leaf(new ManagedBuffer(array))).reduce((a, b) => add(a, b));
    const { length } = ofRanks;
    const isPowerOf2 = Number.isInteger(Math.log2(length));
    return isPowerOf2 ? mul(sum, constant(1 / length)) : div(sum, constant(length));
  }

  #updateOf(
    rule: UpdateRule,
    { parameter, state, part }: Member,
    gradient: Value,
    slots: Readonly<Record<string, CoefficientInput>>,
  ): BufferAssignment[] {
    const own = (memory: ManagedBuffer) => (part ? memory.part(part.begin, part.end) : memory);
    const shape = part ? [part.end - part.begin] : parameter.shape;
    const ownParameter = own(parameter.memory);
    const ownState = mapValues(state, own);
    if (part) this.parts.push(ownParameter, ...Object.values(ownState));
    const clipped = this.clip?.clipped(elementsOf(parameter, gradient));
    const inputs = {
      parameter: part ? leafOf(ownParameter, shape) : parameter.trainedValue,
      state: mapValues(ownState, (memory) => leafOf(memory, shape)),
      coefficients: mapValues(slots, ({ value }) => value),
    };
    const outputs = parameter.sparseGradient
      ? sparseUpdate(rule, parameter, { ...inputs, gradient: { packed: gradient, values: clipped } })
      : rule.update({ ...inputs, gradient: clipped ?? gradient });
    return [
      { value: outputs.parameter, into: ownParameter },
      ...Object.entries(ownState).map(([name, into]) => ({ value: outputs.state[name]!, into })),
    ];
  }
}

/** The gradients of this rank's parts of all members, numbered in the order in which a norm of whole gradients is summed. */
function numbered(
  gradients: ReadonlyMap<Member, Value>,
  members: readonly Member[],
): { arrays: NumberedArray[]; total: number } {
  const arrays: NumberedArray[] = [];
  let total = 0;
  for (const member of members) {
    const value = gradients.get(member);
    if (value) arrays.push({ value, part: total + (member.part?.begin ?? 0) / partElements });
    total += Math.ceil(member.parameter.memory.length / partElements);
  }
  return { arrays, total };
}

/** A call that ends when all ranks have made it. */
function barrierOf(sharings: readonly ParameterSharing[]): GraphCall {
  const operations = sharings.map((sharing) => sharing.prepareSynchronize());
  if (operations.every((one) => one !== undefined)) return { operations: [...new Set(operations)] };
  const perform = async () => {
    for (const sharing of sharings) await sharing.synchronize();
  };
  return { perform, sends: [], receives: [] };
}

/** The float32 array of a coefficient, and the leaf that reads it. */
interface CoefficientInput {
  readonly array: Float32Array;
  readonly source: Source;
  readonly value: Value;
}

function coefficientInputs(coefficients: Coefficients): Readonly<Record<string, CoefficientInput>> {
  return Object.fromEntries(
    definedNames(coefficients).map((name) => {
      const array = new Float32Array(1);
      const source: Source = { data: array };
      return [name, { array, source, value: input('float32', [], source) }];
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
