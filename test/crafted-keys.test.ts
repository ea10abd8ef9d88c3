import { beforeAll, describe, expect, test } from 'vitest';
import { checkpointGroup } from '../packages/runtime/src/checkpoint/checkpoint-group.ts';
import { loadCheckpoint } from '../packages/runtime/src/checkpoint/load-parts.ts';
import { encodeParts } from '../packages/runtime/src/checkpoint/packed-parts.ts';
import { RegisteredObjects } from '../packages/runtime/src/checkpoint/registered-objects.ts';
import { filesOf, registeredIn, trained } from './support/trained-objects.ts';
import type { Files } from './support/trained-objects.ts';

let files: Files;
let registered: RegisteredObjects;

beforeAll(async () => {
  files = await filesOf(registeredIn(await trained(1)));
  registered = registeredIn(await trained(2));
});

const load = (into: RegisteredObjects, given: Files) =>
  loadCheckpoint(checkpointGroup(undefined), 'resume', {
    registered: into.all(),
    files: given,
    strict: true,
    worldSize: 1,
  });

const stateText = () => Buffer.from(files.get('state.json')!).toString('utf8');

describe('a key of the file that objects inherit', () => {
  /** The text of state.json with one more field in the object at a path; `JSON.stringify` writes own fields only. */
  const withField = (path: readonly string[], key: string) => {
    const root: unknown = JSON.parse(stateText());
    const at = path.reduce((node, step) => (node as Record<string, unknown>)[step], root);
    Object.defineProperty(at, key, { value: { polluted: true }, enumerable: true });
    return new Map([...files, ['state.json', Uint8Array.from(Buffer.from(JSON.stringify(root)))]]);
  };
  const objectsIn = (node: unknown, path: string[] = []): string[][] =>
    typeof node !== 'object' || node === null
      ? []
      : [
          ...(Array.isArray(node) ? [] : [path]),
          ...Object.entries(node).flatMap(([key, child]) => objectsIn(child, [...path, key])),
        ];
  const foreign = (value: unknown, seen = new Set()): unknown[] => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return [];
    seen.add(value);
    const prototype: unknown = Object.getPrototypeOf(value);
    const isOwn = typeof prototype === 'object' && prototype !== null && Object.hasOwn(prototype, 'polluted');
    return [...(isOwn ? [value] : []), ...Object.values(value).flatMap((child) => foreign(child, seen))];
  };

  test.each(['__proto__', 'constructor', 'prototype', 'toString'])(
    '%s in any object is refused or changes no prototype',
    async (key) => {
      const refused: string[] = [];
      const paths = objectsIn(JSON.parse(stateText()));
      for (const path of paths) {
        const error = await load(registered, withField(path, key)).catch(
          (reason: unknown) => reason as Error,
        );
        if (error instanceof Error) refused.push(path.join('.'));
        if (error instanceof Error) expect(error.message).toContain('state.json');
        for (const { object } of registered.all().values()) {
          expect(foreign(object)).toEqual([]);
          expect(foreign(await object.stateDict())).toEqual([]);
        }
        await load(registered, files);
      }
      expect(paths.length).toBeGreaterThan(20);
      // An optimizer's settings are copied into its groups.
      expect(refused).toContain('parts.adam.states.0.paramGroups.0');
    },
  );

  test.each(['__proto__', 'constructor', 'prototype', 'toString'])(
    '%s in the values and in a state of the program stays a field',
    async (key) => {
      const state = Object.fromEntries([[key, { best: 1 }]]);
      let loaded: unknown;
      const own = new RegisteredObjects();
      own.add(
        { own: { stateDict: () => state, loadStateDict: (given: unknown) => (loaded = given) } },
        false,
      );
      const crafted = encodeParts(await own.collectStates(0, state), (_, n) => new Uint8Array(n)) as Files;
      const values = await load(own, crafted);
      for (const copy of [values, loaded]) {
        expect(Object.getOwnPropertyDescriptor(copy, key)?.value).toEqual({ best: 1 });
        expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
      }
    },
  );
});
