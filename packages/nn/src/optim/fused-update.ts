import { inPlaceUpdate, type ArrayAssignment } from '../compiler/compile.ts';
import type { Value } from '../graph/node.ts';
import { input } from '../ops/source.ts';
import type { Parameter } from '../parameter.ts';
import type { Coefficients, Rule } from './rule.ts';

/** A parameter and its optimizer states. */
export interface Member {
  readonly parameter: Parameter;
  readonly state: Readonly<Record<string, Float32Array>>;
}

/** Parameters of one group that are updated with the same coefficients. */
export interface UpdateSet {
  readonly members: readonly Member[];
  readonly coefficients: Coefficients;
}

/** Updates all parameters of the sets with the current coefficients. */
export type FusedUpdate = (coefficients: readonly Coefficients[]) => Promise<void>;

/** Compiles the in-place updates of all sets into one program, or several if the parameters are large. */
export function fuseUpdates(
  { update }: Pick<Rule<object>, 'update'>,
  updateSets: readonly UpdateSet[],
): FusedUpdate {
  const slots = updateSets.map(({ coefficients }) => coefficientInputs(coefficients));
  const assignments = updateSets.flatMap(({ members }, position) =>
    members.map((member) => assignmentsOf(update, member, slots[position])),
  );
  const run = inPlaceUpdate(splitBySize(assignments));
  return async (coefficients) => {
    for (const [position, slot] of slots.entries()) {
      for (const [name, { array }] of Object.entries(slot)) array[0] = coefficients[position][name]!;
    }
    await run();
  };
}

/** Splits updates into programs that write about 16 MB each: onnxruntime-node copies all outputs of a run at once. */
function splitBySize(updates: readonly (readonly ArrayAssignment[])[]): ArrayAssignment[][] {
  const portions: { assignments: ArrayAssignment[]; bytes: number }[] = [];
  for (const update of updates) {
    const bytes = update.reduce((sum, { into }) => sum + into.byteLength, 0);
    const last = portions.at(-1);
    if (last === undefined || last.bytes + bytes > portionBytes)
      portions.push({ assignments: [...update], bytes });
    else
      portions.splice(-1, 1, {
        assignments: [...last.assignments, ...update],
        bytes: last.bytes + bytes,
      });
  }
  return portions.map(({ assignments }) => assignments);
}

const portionBytes = 16e6;

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

function assignmentsOf(
  update: Rule<object>['update'],
  { parameter, state }: Member,
  slots: Readonly<Record<string, CoefficientInput>>,
): ArrayAssignment[] {
  const leaf = (data: Float32Array) => input('float32', parameter.shape, { data });
  const outputs = update({
    parameter: leaf(parameter.data),
    gradient: leaf(parameter.gradientArray()),
    state: mapValues(state, leaf),
    coefficients: mapValues(slots, ({ value }) => value),
  });
  return [
    { value: outputs.parameter, into: parameter.data },
    ...Object.entries(state).map(([name, into]) => ({ value: outputs.state[name]!, into })),
  ];
}

function mapValues<A, B>(record: Readonly<Record<string, A>>, change: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}
