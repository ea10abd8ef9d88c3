import { CheckpointError } from './checkpoint-error.ts';
import type { Registered } from './registry.ts';
import { flatten, isTensor, unflatten } from './flat-state.ts';
import { decodeParts } from './packed-parts.ts';
import type { Part } from './packed-parts.ts';
import { describeArray } from './safetensors.ts';
import type { ArrayWithShape } from './safetensors.ts';
import type { Stateful } from './stateful.ts';
import { valuesName } from './registry.ts';
import { attempt, requireSuccess } from './team.ts';
import type { Team } from './team.ts';

export interface LoadOptions {
  registered: ReadonlyMap<string, Registered>;
  /** Of the checkpoint. */
  files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
  strict: boolean;
}

/**
 * Gives what is registered the states of a checkpoint, on all ranks or, where one cannot, on none; a collective.
 *
 * @param what is done, for messages
 * @returns the values that were saved beside them
 * @throws CheckpointError, the same on every rank
 */
export async function loadTogether(
  team: Team,
  what: string,
  { registered, files, strict }: LoadOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const loaded = await attempt(async () => {
    const { [valuesName]: values, ...parts } = Object.fromEntries(decodeParts(files));
    if (strict) requireSameNames(Object.keys(parts), registered.keys());
    const takeBack = await loadAll(loadingsOf(team, registered, parts));
    return { values: values.states[0] as Readonly<Record<string, unknown>>, takeBack };
  });
  try {
    return (await requireSuccess(team, what, loaded, 'does not fit')).values;
  } catch (error) {
    if ('value' in loaded) await loaded.value.takeBack();
    throw error;
  }
}

/** What this rank has a state for; of what each rank has its own, ranks that are new have none. */
function loadingsOf(
  { rank, size }: Team,
  registered: LoadOptions['registered'],
  parts: Readonly<Record<string, Part<unknown>>>,
): Loading[] {
  const concerned = [...registered].filter(([name]) => Object.hasOwn(parts, name));
  const stateless = concerned.filter(([name]) => parts[name].perRank && parts[name].states.length < size);
  if (rank === 0 && stateless.length > 0) {
    const [{ states }] = stateless.map(([name]) => parts[name]);
    process.stderr.write(
      `ringrun: resuming on ${size} ranks what ${states.length} saved: the others keep what they have of ${stateless.map(([name]) => name).join(', ')}.\n`,
    );
  }
  return concerned.flatMap(([name, { object }]) => {
    const { perRank, states } = parts[name];
    const position = perRank ? rank : 0;
    return position < states.length ? [{ name, object, state: states[position] }] : [];
  });
}

/** Something that was registered, and the state that it is to have. */
interface Loading {
  name: string;
  object: Stateful;
  state: unknown;
}

/** What keeps states that are of different things from being mistaken: names on one side only. */
function requireSameNames(stored: Iterable<string>, registered: Iterable<string>): void {
  const [there, here] = [new Set(stored), new Set(registered)];
  const onlyHere = [...here].filter((name) => !there.has(name));
  const onlyThere = [...there].filter((name) => !here.has(name));
  if (onlyHere.length === 0 && onlyThere.length === 0) return;
  const sides = [
    ...(onlyThere.length > 0 ? [`it has ${onlyThere.join(', ')}, which is not registered`] : []),
    ...(onlyHere.length > 0 ? [`${onlyHere.join(', ')} is registered, and not in it`] : []),
  ];
  throw new CheckpointError(
    'does not fit',
    `${sides.join('; ')}. Register what was registered when it was saved, or resume with { strict: false } to leave these alone`,
  );
}

/**
 * Loads all states, or none.
 *
 * @returns what takes it back
 * @throws CheckpointError for a model whose parameters are others; what an object's loadStateDict throws, in the object's name
 */
async function loadAll(loadings: readonly Loading[]): Promise<() => Promise<void>> {
  const before: Loading[] = [];
  for (const loading of loadings) before.push(await copyOf(loading));
  for (const [i, loading] of loadings.entries()) requireSameTensors(loading, before[i].state);
  const takeBack = (count: number) => loadEach(before.slice(0, count));
  for (const [i, loading] of loadings.entries()) {
    try {
      await loadEach([loading]);
    } catch (error) {
      await takeBack(i);
      const reason = error instanceof Error ? error.message : String(error);
      throw new CheckpointError('does not fit', `${loading.name}: ${reason}`, { cause: error });
    }
  }
  return () => takeBack(loadings.length);
}

async function loadEach(loadings: readonly Loading[]): Promise<void> {
  for (const { object, state } of loadings) await object.loadStateDict(state as never);
}

/** The state that an object has now, in arrays that nobody else changes. */
async function copyOf({ name, object }: Loading): Promise<Loading> {
  const { tree, tensors } = flatten(await object.stateDict(), name);
  const copied = (key: string): ArrayWithShape => {
    const { shape, data } = tensors.get(key)!;
    return { shape, data: data.slice() };
  };
  return { name, object, state: unflatten(tree, copied) };
}

/** The first difference of a model's tensors, with both sides; the model itself would list all. Other objects may have fewer tensors before their first step. */
function requireSameTensors({ name, object, state }: Loading, present: unknown): void {
  if (!('namedParameters' in object) || !isTensors(state) || !isTensors(present)) return;
  for (const key of new Set([...present.keys(), ...state.keys()])) {
    const [stored, own] = [state, present].map((tensors) => {
      const tensor = tensors.get(key);
      return tensor === undefined ? 'no such key' : describeArray(tensor);
    });
    if (stored === own) continue;
    throw new CheckpointError(
      'does not fit',
      `it is of another model. The first difference of ${name} is ${key}: the checkpoint has ${stored}, this program ${own}. ` +
        'Resume with the model that was saved, or give a folder of its own to this one',
    );
  }
}

function isTensors(state: unknown): state is Map<string, ArrayWithShape> {
  return state instanceof Map && [...state.values()].every(isTensor);
}
