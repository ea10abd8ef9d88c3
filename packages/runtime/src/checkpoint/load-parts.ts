import { printable, withoutEarlierKeys } from '@ringrun/core';
import { CheckpointError } from './checkpoint-error.ts';
import type { Registered } from './registered-objects.ts';
import { flatten, isTensor, unflatten } from './flat-state.ts';
import { describeJson, isObject } from './describe-json.ts';
import { decodeParts, filesOfPart, stateFile } from './packed-parts.ts';
import type { Part } from './packed-parts.ts';
import { describeArray } from './safetensors.ts';
import type { ArrayWithShape } from './safetensors.ts';
import type { Stateful } from './stateful.ts';
import { valuesName } from './registered-objects.ts';
import { attempt, requireSuccess } from './checkpoint-group.ts';
import type { CheckpointGroup } from './checkpoint-group.ts';

export interface LoadOptions {
  registered: ReadonlyMap<string, Registered>;
  /** Files of the checkpoint. */
  files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
  strict: boolean;
  /** `Manifest.worldSize`. */
  worldSize: number;
}

/**
 * Loads a checkpoint's states into the registered objects, on all ranks or, if one rank fails, on none. A
 * collective.
 *
 * @param what the operation, for errors
 * @returns the `values` that were saved
 * @throws CheckpointError, the same on every rank
 */
export async function loadCheckpoint(
  group: CheckpointGroup,
  what: string,
  { registered, files, strict, worldSize }: LoadOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const prepared = await attempt(async () => {
    const parts = decodeParts(files);
    const values = valuesIn(parts);
    requireStateOfEachRank(parts, worldSize);
    if (strict) requireSameNames(parts.keys(), registered.keys());
    const loadings = loadingsOf(group, registered, parts, files.keys());
    const before = await copiesOf(loadings);
    return { values, loadings, before };
  });
  // Ranks may share parameters, so all ranks copy them before any rank changes them, and all restore them before any
  // rank continues.
  const { values, loadings, before } = await requireSuccess(group, what, prepared, 'does not fit');
  let begun = 0;
  const loaded = await attempt(() => loadAll(loadings, () => (begun += 1)));
  try {
    await requireSuccess(group, what, loaded, 'does not fit');
    return values;
  } catch (error) {
    const restored = await attempt(() => restoreEach(before.slice(0, begun)));
    await attempt(() => requireSuccess(group, what, restored, 'does not fit'));
    throw error;
  }
}

/** The objects for which this rank has a saved state. New ranks have none for objects saved per rank. */
function loadingsOf(
  { rank, size }: CheckpointGroup,
  registered: LoadOptions['registered'],
  parts: ReadonlyMap<string, Part<unknown>>,
  fileNames: Iterable<string>,
): Loading[] {
  const files = [...fileNames];
  const matching = [...registered].flatMap(([name, { object, perRank }]) => {
    const part = parts.get(name);
    if (part?.perRank === true && !perRank)
      throw new CheckpointError(
        'does not fit',
        `the checkpoint has ${name} of each rank, but it is registered without perRank. Register it with { perRank: true } (in ${stateFile})`,
      );
    return part === undefined ? [] : [{ name, object, part }];
  });
  const stateless = matching.filter(({ part }) => part.perRank && part.states.length < size);
  if (rank === 0 && stateless.length > 0) {
    const [{ part }] = stateless;
    process.stderr.write(
      `ringrun: resuming on ${size} ranks a checkpoint of ${part.states.length} ranks: the new ranks keep their own state of ${stateless.map(({ name }) => name).join(', ')}.\n`,
    );
  }
  return matching.flatMap(({ name, object, part: { perRank, states } }) => {
    const position = perRank ? rank : 0;
    return position < states.length
      ? [{ name, object, state: states[position], files: filesOfPart(name, files) }]
      : [];
  });
}

/** The `values` that were passed to the save. They are removed from the parts. */
function valuesIn(parts: Map<string, Part<unknown>>): Readonly<Record<string, unknown>> {
  const { perRank, states } = parts.get(valuesName) ?? { perRank: false, states: [] };
  const [values] = states;
  parts.delete(valuesName);
  if (!perRank && isObject(values) && Object.getPrototypeOf(values) === Object.prototype) return values;
  throw new CheckpointError(
    'damaged',
    `${stateFile}: parts.${valuesName}: expected an object, got ${describeJson(values)}`,
  );
}

function requireStateOfEachRank(parts: ReadonlyMap<string, Part<unknown>>, worldSize: number): void {
  const wrong = [...parts].find(([, { perRank, states }]) => perRank && states.length !== worldSize);
  if (wrong === undefined) return;
  const [name, { states }] = wrong;
  throw new CheckpointError(
    'damaged',
    `${stateFile}: parts.${printable(name, 100)}.states: expected one for each of ${worldSize} ranks, got ${states.length}`,
  );
}

/** A registered object and the state to load into it. */
interface Loading {
  name: string;
  object: Stateful;
  state: unknown;
  /** The files that contain the state, for errors. */
  files: readonly string[];
}

/** Throws if names are only saved or only registered. */
function requireSameNames(stored: Iterable<string>, registered: Iterable<string>): void {
  const [there, here] = [new Set(stored), new Set(registered)];
  const onlyHere = [...here].filter((name) => !there.has(name));
  const onlyThere = [...there].filter((name) => !here.has(name));
  if (onlyHere.length === 0 && onlyThere.length === 0) return;
  const sides = [
    ...(onlyThere.length > 0
      ? [`the checkpoint has ${printable(onlyThere.join(', '), 500)}, which is not registered`]
      : []),
    ...(onlyHere.length > 0 ? [`${onlyHere.join(', ')} is registered, but not in the checkpoint`] : []),
  ];
  throw new CheckpointError(
    'does not fit',
    `${sides.join('; ')}. Register the same names as at the save, or resume with { strict: false } to ignore the difference (in ${stateFile})`,
  );
}

/**
 * Copies the current states.
 *
 * @throws CheckpointError if a model's parameters differ from the saved ones
 */
async function copiesOf(loadings: readonly Loading[]): Promise<Loading[]> {
  const before: Loading[] = [];
  for (const loading of loadings) before.push(await copyOf(loading));
  for (const [i, loading] of loadings.entries()) requireSameTensors(loading, before[i].state);
  return before;
}

/**
 * @param onBegin called before each object is loaded
 * @throws CheckpointError that names the object and its files, if its loadStateDict throws
 */
async function loadAll(loadings: readonly Loading[], onBegin: () => void): Promise<void> {
  for (const { name, object, state, files } of loadings) {
    onBegin();
    try {
      await object.loadStateDict(state as never);
    } catch (error) {
      const reason = shown(error instanceof Error ? error.message : String(error));
      throw new CheckpointError('does not fit', `${name}: ${reason} (in ${files.join(', ')})`, {
        cause: error,
      });
    }
  }
}

/** Characters of a line of an object's own error, which may list many tensors. */
const maxLine = 100_000;

/** The message may contain texts of the checkpoint. */
function shown(message: string): string {
  return message
    .split('\n')
    .map((line) => printable(line, maxLine))
    .join('\n');
}

/** Restores the others too if one cannot be restored, such as the one that threw. */
async function restoreEach(copies: readonly Loading[]): Promise<void> {
  const failures: unknown[] = [];
  for (const { object, state } of copies) {
    const outcome = await attempt(() => object.loadStateDict(state as never));
    if ('error' in outcome) failures.push(outcome.error);
  }
  if (failures.length > 0) throw failures[0];
}

/** A copy of an object's current state. */
async function copyOf({ name, object, files }: Loading): Promise<Loading> {
  const { tree, tensors } = flatten(await object.stateDict(), name);
  const copied = (key: string): ArrayWithShape => {
    const { shape, data } = tensors.get(key)!;
    return { shape, data: data.slice() };
  };
  return { name, object, state: unflatten(tree, copied), files };
}

/**
 * Throws the first difference of a model's tensors, with both sides; the model itself would list all of them.
 * Other objects are not compared, since they may have fewer tensors before their first step.
 */
function requireSameTensors({ name, object, state, files }: Loading, present: unknown): void {
  if (!('namedParameters' in object) || !isTensors(state) || !isTensors(present)) return;
  const saved = withoutEarlierKeys(state, present.keys());
  for (const key of new Set([...present.keys(), ...saved.keys()])) {
    const [stored, own] = [saved, present].map((tensors) => {
      const tensor = tensors.get(key);
      return tensor === undefined ? 'no such tensor' : describeArray(tensor);
    });
    if (stored === own) continue;
    throw new CheckpointError(
      'does not fit',
      `the checkpoint is of another model. First difference of ${name}: ${printable(key, 300)}: the checkpoint has ${stored}, this program has ${own}. ` +
        `Build the model that was saved, or use another folder for this one (in ${files.join(', ')})`,
    );
  }
}

function isTensors(state: unknown): state is Map<string, ArrayWithShape> {
  return state instanceof Map && [...state.values()].every(isTensor);
}
