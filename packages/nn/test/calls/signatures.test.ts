import { describe, expect, test } from 'vitest';
import { arrangedBy } from '../../src/calls/arrange.ts';
import type { Signature } from '../../src/calls/signature.ts';
import { kindOf } from '../../src/calls/kinds.ts';
import { signatures, type Signatures } from '../../src/calls/signatures.ts';
import { ArgumentError, NnError, tensor } from '../../src/index.ts';
import { camelCase, snakeCase } from '../../src/torch-names/index.ts';
import { goldenFile } from '../support/golden-cases.ts';

// The table of signatures beside torch's, as written by `test/golden/signatures.py`, and every form of every entry.

const torch = goldenFile('signatures') as Readonly<Record<string, string | undefined>>;
const entries = Object.entries(signatures) as [keyof Signatures, Signature][];

/** Base classes, which share the signature of a class of torch. */
const ofBase: Readonly<Record<string, string>> = {
  'nn.Conv': 'nn.Conv2d',
  'nn.ConvTranspose': 'nn.ConvTranspose2d',
  'nn.BatchNorm': 'nn.BatchNorm2d',
  'nn.InstanceNorm': 'nn.InstanceNorm2d',
  'nn.DropoutModule': 'nn.Dropout2d',
  'nn.InplaceActivation': 'nn.ReLU',
};

/** Entries with names or an order of their own. */
const ownSignatures: ReadonlySet<string> = new Set([
  // torch's running statistics are not arguments.
  'F.instanceNorm',
  // torch spells T_max and T_0.
  'optim.lrScheduler.CosineAnnealingLR',
  'optim.lrScheduler.CosineAnnealingWarmRestarts',
]);

test.each(entries.filter(([key]) => torchOf(key) !== undefined && !ownSignatures.has(key)))(
  '%s has the names of torch in its order',
  (key, [usual, options]) => {
    const beforeStar = ` ${torchOf(key)!}`.split(' * ')[0];
    const positional = beforeStar.split(' ').filter((name) => name !== '');
    const names = [...usual, ...options].map((name) => name.replace(/[?!]$/, ''));
    const known = positional.map((name) => name.replace('?', '')).map(spelling);
    expect(names).toEqual(known.slice(0, names.length));
    // What torch has beyond them is without a counterpart.
    expect(known.slice(names.length)).toEqual([]);
  },
);

test('most entries are functions of torch', () => {
  expect(entries.filter(([key]) => torchOf(key) !== undefined).length).toBeGreaterThan(210);
});

describe.each(entries)('%s', (key, signature) => {
  const [usual, options, withoutPosition = []] = signature;
  const all = [...usual, ...options];
  const values = new Map(all.map((name) => [stemOf(name), valueFor(key, name)]));
  const hasOptions = [...options, ...withoutPosition].some((name) => !name.endsWith('!'));

  test('takes its arguments by position, by name and both', () => {
    const heads = usual.map((name) => values.get(stemOf(name)));
    const given = options.filter((name) => !name.endsWith('!')).map(stemOf);
    const expected = hasOptions ? [...heads, pick(given)] : heads;
    for (let count = 0; count <= all.length; count += 1) {
      const byName = all.slice(count).filter((name) => !name.endsWith('!'));
      const positional = all.slice(0, count).map((name) => values.get(stemOf(name)));
      const named = pick(byName.map(stemOf));
      const call = byName.length === 0 ? positional : [...positional, named];
      expect(arrangedBy(key, call)).toEqual(expected);
    }
  });

  test('null stands for a default, and required arguments are missed', () => {
    const heads = usual.map((name) => (name.endsWith('?') ? null : values.get(stemOf(name))));
    const nothing = usual.map((name) => (name.endsWith('?') ? undefined : values.get(stemOf(name))));
    const nulls = [...heads, ...options.map(() => null)];
    const arranged = arrangedBy(key, nulls);
    expect(arranged.slice(0, usual.length)).toEqual(nothing);
    if (usual.some((name) => !name.endsWith('?')))
      expect(() => arrangedBy(key, [])).toThrow(' is missing. Write ');
    expect(() => arrangedBy(key, [...nulls, 1])).toThrow(ArgumentError);
  });

  test('an unknown name is an error', () => {
    expect(() => arrangedBy(key, [...usual.map((name) => values.get(stemOf(name))), { colour: 1 }])).toThrow(
      NnError,
    );
  });

  function pick(names: readonly string[]): Record<string, unknown> {
    return Object.fromEntries(names.map((name) => [name, values.get(name)]));
  }
});

const x = tensor(Float32Array.of(1, 2));
const samples: readonly unknown[] = [x, 1, true, 'mean', [1, 2]];

/** A value of the argument's kind. */
function valueFor(key: string, name: string): unknown {
  if (name.endsWith('!')) return undefined;
  const kind = kindOf(key, stemOf(name));
  return samples.find((one) => kind === undefined || kind.accepts(one));
}

function stemOf(name: string): string {
  return name.replace(/[?!]$/, '');
}

function torchOf(key: string): string | undefined {
  const known = ofBase[key] ?? key;
  const place = known.lastIndexOf('.') + 1;
  const name = known.slice(place);
  return torch[known] ?? torch[known.slice(0, place) + snakeCase(name).replace(/(?<=[a-z])(?=\d+d$)/, '')];
}

function spelling(name: string): string {
  return name.startsWith('_') ? `_${camelCase(name.slice(1))}` : camelCase(name);
}
