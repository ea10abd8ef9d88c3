import { withoutEarlierKeys } from '@ringrun/core';
import { CheckpointError } from './checkpoint-error.ts';
import type { Registered } from './registered-objects.ts';
import { flatten, isTensor, unflatten } from './flat-state.ts';
import { decodeParts } from './packed-parts.ts';
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
  { registered, files, strict }: LoadOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const prepared = await attempt(async () => {
    const { [valuesName]: values, ...parts } = Object.fromEntries(decodeParts(files));
    if (strict) requireSameNames(Object.keys(parts), registered.keys());
    const loadings = loadingsOf(group, registered, parts);
    const before = await copiesOf(loadings);
    return { values: values.states[0] as Readonly<Record<string, unknown>>, loadings, before };
  });
  // Ranks may share parameters, so all ranks copy them before any rank changes them, and all restore them before any
  // rank continues.
  const { values, loadings, before } = await requireSuccess(group, what, prepared, 'does not fit');
  const changed: Loading[] = [];
  const loaded = await attempt(() => loadAll(loadings, (i) => changed.push(before[i])));
  try {
    await requireSuccess(group, what, loaded, 'does not fit');
    return values;
  } catch (error) {
    const restored = await attempt(() => loadEach(changed));
    await attempt(() => requireSuccess(group, what, restored, 'does not fit'));
    throw error;
  }
}

/** The objects for which this rank has a saved state. New ranks have none for objects saved per rank. */
function loadingsOf(
  { rank, size }: CheckpointGroup,
  registered: LoadOptions['registered'],
  parts: Readonly<Record<string, Part<unknown>>>,
): Loading[] {
  const matching = [...registered].filter(([name]) => Object.hasOwn(parts, name));
  const stateless = matching.filter(([name]) => parts[name].perRank && parts[name].states.length < size);
  if (rank === 0 && stateless.length > 0) {
    const [{ states }] = stateless.map(([name]) => parts[name]);
    process.stderr.write(
      `ringrun: resuming on ${size} ranks a checkpoint of ${states.length} ranks: the new ranks keep their own state of ${stateless.map(([name]) => name).join(', ')}.\n`,
    );
  }
  return matching.flatMap(([name, { object }]) => {
    const { perRank, states } = parts[name];
    const position = perRank ? rank : 0;
    return position < states.length ? [{ name, object, state: states[position] }] : [];
  });
}

/** A registered object and the state to load into it. */
interface Loading {
  name: string;
  object: Stateful;
  state: unknown;
}

/** Throws if names are only saved or only registered. */
function requireSameNames(stored: Iterable<string>, registered: Iterable<string>): void {
  const [there, here] = [new Set(stored), new Set(registered)];
  const onlyHere = [...here].filter((name) => !there.has(name));
  const onlyThere = [...there].filter((name) => !here.has(name));
  if (onlyHere.length === 0 && onlyThere.length === 0) return;
  const sides = [
    ...(onlyThere.length > 0 ? [`the checkpoint has ${onlyThere.join(', ')}, which is not registered`] : []),
    ...(onlyHere.length > 0 ? [`${onlyHere.join(', ')} is registered, but not in the checkpoint`] : []),
  ];
  throw new CheckpointError(
    'does not fit',
    `${sides.join('; ')}. Register the same names as at the save, or resume with { strict: false } to ignore the difference`,
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
 * @param whenLoaded called with the position of each object that has been loaded
 * @throws CheckpointError that names the object, if its loadStateDict throws
 */
async function loadAll(loadings: readonly Loading[], whenLoaded: (position: number) => void): Promise<void> {
  for (const [i, loading] of loadings.entries()) {
    try {
      await loadEach([loading]);
      whenLoaded(i);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new CheckpointError('does not fit', `${loading.name}: ${reason}`, { cause: error });
    }
  }
}

async function loadEach(loadings: readonly Loading[]): Promise<void> {
  for (const { object, state } of loadings) await object.loadStateDict(state as never);
}

/** A copy of an object's current state. */
async function copyOf({ name, object }: Loading): Promise<Loading> {
  const { tree, tensors } = flatten(await object.stateDict(), name);
  const copied = (key: string): ArrayWithShape => {
    const { shape, data } = tensors.get(key)!;
    return { shape, data: data.slice() };
  };
  return { name, object, state: unflatten(tree, copied) };
}

/**
 * Throws the first difference of a model's tensors, with both sides; the model itself would list all of them.
 * Other objects are not compared, since they may have fewer tensors before their first step.
 */
function requireSameTensors({ name, object, state }: Loading, present: unknown): void {
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
      `the checkpoint is of another model. First difference of ${name}: ${key}: the checkpoint has ${stored}, this program has ${own}. ` +
        'Build the model that was saved, or use another folder for this one',
    );
  }
}

function isTensors(state: unknown): state is Map<string, ArrayWithShape> {
  return state instanceof Map && [...state.values()].every(isTensor);
}
