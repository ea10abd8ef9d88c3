import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { filesOf, registeredIn, trained } from './support/trained-objects.ts';
import type { Files } from './support/trained-objects.ts';
import { isFull } from './support/extent.ts';
import { checkpointGroup } from '../packages/runtime/src/checkpoint/checkpoint-group.ts';
import { loadCheckpoint } from '../packages/runtime/src/checkpoint/load-parts.ts';
import { encodeSafetensors, decodeSafetensors } from '../packages/runtime/src/checkpoint/safetensors.ts';
import type { ArrayWithShape } from '../packages/runtime/src/checkpoint/safetensors.ts';

/*
 * Checkpoints whose hashes are right, but whose contents are wrong or hostile. Each is an error that names file and
 * object, and changes nothing; or a state that the object may have, which is loaded.
 */

let files: Files;
let registered: ReturnType<typeof registeredIn>;

beforeAll(async () => {
  files = await filesOf(registeredIn(await trained(1)));
  registered = registeredIn(await trained(2));
});

async function stateNow(): Promise<string> {
  const hash = createHash('sha256');
  for (const [name, bytes] of await filesOf(registered)) hash.update(name).update(bytes);
  return hash.digest('hex');
}

async function load(changed: Files): Promise<(Error & { code: string }) | undefined> {
  const options = { registered: registered.all(), files: changed, strict: true, worldSize: 1 };
  return await loadCheckpoint(checkpointGroup(undefined), 'resume', options).then(
    () => undefined,
    (error: unknown) => error as Error & { code: string },
  );
}

/** The state before a load. */
let unchanged: string | undefined;

/** Undefined if the checkpoint was loaded. */
async function refusalOf(changed: Files, file = 'state.json'): Promise<string | undefined> {
  const before = (unchanged ??= await stateNow());
  const error = await load(changed);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  if (error === undefined) {
    unchanged = undefined;
    return undefined;
  }
  expect(error.code).toMatch(/^ERR_CHECKPOINT_(DAMAGED|MISFIT)$/);
  expect(error.message).toContain(file);
  expect(error.message.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  expect(error.message).not.toMatch(
    /Cannot read|is not (a function|iterable)|Maximum call stack|Invalid array length/,
  );
  expect(await stateNow()).toBe(before);
  return error.message;
}

const withState = (text: string | Uint8Array) =>
  new Map([...files, ['state.json', Uint8Array.from(Buffer.from(text as string))]]);

const stateText = () => Buffer.from(files.get('state.json')!).toString('utf8');

describe('a state.json', () => {
  const nested = (open: string, close: string) => open.repeat(100_000) + close.repeat(100_000);

  test.each<[what: string, text: () => string | Uint8Array]>([
    ['that is empty', () => ''],
    ['that is null', () => 'null'],
    ['that is a list', () => '[]'],
    ['that is HTML', () => '<html>\x1b[2J'],
    ['that is no UTF-8', () => Uint8Array.of(0xff, 0xfe, 0x80)],
    ['without parts', () => '{}'],
    ['whose parts are null', () => '{"parts":null}'],
    ['whose parts are a list', () => '{"parts":[]}'],
    ['with parts of another prototype', () => '{"parts":{"__proto__":{"polluted":true}}}'],
    ['of 100,000 lists in each other', () => nested('[', ']')],
    ['with a state of 100,000 lists', () => stateText().replace('"best":1', `"best":${nested('[', ']')}`)],
    [
      'with a state of 100,000 objects',
      () => stateText().replace('"best":1', `"best":${nested('{"a":', '}').replace(':}', ':1}')}`),
    ],
    [
      'with a BigInt of a million digits',
      () => stateText().replace('"best":1', `"best":{"$":"bigint","value":"${'9'.repeat(1_000_000)}"}`),
    ],
    [
      'with an unknown type',
      () => stateText().replace('"best":1', '"best":{"$":"function","value":"process.exit"}'),
    ],
    ['with a Map of no pairs', () => stateText().replace('"best":1', '"best":{"$":"map","entries":[[1]]}')],
    [
      'with a tensor that is not there',
      () => stateText().replace('"best":1', '"best":{"$":"tensor","key":"__proto__"}'),
    ],
    [
      'that names a file above the folder',
      () => stateText().replace('"model.safetensors"', '"../model.safetensors"'),
    ],
    ['that names /etc/passwd', () => stateText().replace('"model.safetensors"', '"/etc/passwd"')],
    [
      'that names a file with NUL',
      () => stateText().replace('"model.safetensors"', '"model.safetensors\\u0000"'),
    ],
    [
      'that names a file twice',
      () => stateText().replace('"model.safetensors"', '"model.safetensors","model.safetensors"'),
    ],
    [
      'without the states of a part of all ranks',
      () => stateText().replace('"perRank":false', '"perRank":true'),
    ],
    [
      'with a state more than ranks',
      () => stateText().replace('"perRank":true,"states":[', '"perRank":true,"states":[null,'),
    ],
  ])('%s is an error that changes nothing', async (_, text) => {
    expect(await refusalOf(withState(text()))).toBeTypeOf('string');
  });
});

/** Values in place of each value of state.json. */
const wrong: readonly (readonly [string, unknown])[] = [
  ['null', null],
  ['true', true],
  ['a text', 'x\x1b[2J'],
  ['-1', -1],
  ['1.5', 1.5],
  ['2^53', 2 ** 53],
  ['a list', []],
  ['an object', {}],
  ['NaN', { $: 'number', value: 'NaN' }],
  ['undefined', { $: 'undefined' }],
  ['a BigInt', { $: 'bigint', value: '7' }],
  ['a Date', { $: 'date', value: 0 }],
  ['a Map', { $: 'map', entries: [] }],
  ['nothing', undefined],
];

/**
 * Values that are right although they are not the saved ones: settings that are numbers, optional fields, and states that
 * parameters without an update do not have.
 */
const allowed: readonly (readonly [field: RegExp, values: RegExp])[] = [
  [/^values\.states\.0\.best$/, /./],
  [
    /\.(lr|initialLr|weightDecay|eps|momentum|dampening|best|prevLoss|t|hDiag|spareNormal)$/,
    /^(-1|1\.5|2\^53|NaN|undefined|null|nothing)$/,
  ],
  [/\.(seed)$/, /^-1$/],
  [/\.(baseLrs|lastLr)\.0$/, /^(-1|1\.5|2\^53)$/],
  [/\.states\.0\.state(\.\d)?$/, /^(an object|nothing)$/],
  [/\.spareNormal\.\$$/, /./],
  [/^lbfgs\.states\.0\.(d|prevFlatGrad)(\.\$)?$/, /^(undefined|nothing)$/],
  [/^values\.states\.0$/, /^an object$/],
  [/\.nesterov$/, /^true$/],
];

test('no value of state.json, replaced by another kind, is a crash or a half-loaded state', async () => {
  const paths: string[][] = [];
  const walk = (node: unknown, path: string[]) => {
    if (path.length > 0) paths.push(path);
    if (typeof node === 'object' && node !== null)
      for (const [key, child] of Object.entries(node)) walk(child, [...path, key]);
  };
  const { parts } = JSON.parse(stateText()) as { parts: object };
  walk(parts, []);
  const accepted: string[] = [];
  let tried = 0;
  for (const path of paths)
    for (const [name, value] of wrong) {
      const root = structuredClone(parts);
      const parent = path
        .slice(0, -1)
        .reduce((node, key) => (node as Record<string, object>)[key], root) as Record<string, unknown>;
      const last = path.at(-1)!;
      // A part of the cases in `npm test`.
      if (!isFull && (tried += 1) % 5 !== 0) continue;
      if (JSON.stringify(parent[last]) === JSON.stringify(value)) continue;
      if (value === undefined && Array.isArray(parent)) parent.splice(Number(last), 1);
      else if (value === undefined) Reflect.deleteProperty(parent, last);
      else parent[last] = value;
      const refusal = await refusalOf(withState(JSON.stringify({ parts: root })));
      if (refusal !== undefined) continue;
      const field = path.join('.');
      if (!allowed.some(([fields, values]) => fields.test(field) && values.test(name)))
        accepted.push(`${field}: ${name}`);
      expect(await load(files)).toBeUndefined();
    }
  expect(accepted).toEqual([]);
  expect(paths.length).toBeGreaterThan(150);
}, 240_000);

describe('a safetensors file', () => {
  const withTensors = (file: string, change: (tensors: Map<string, ArrayWithShape>) => void) => {
    const tensors = decodeSafetensors(files.get(file)!.slice());
    change(tensors);
    return new Map([...files, [file, encodeSafetensors(tensors)]]);
  };
  const withHeader = (file: string, header: object | string) => {
    const json = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
    const bytes = new Uint8Array(8 + json.length + 12);
    new DataView(bytes.buffer).setBigUint64(0, BigInt(json.length), true);
    bytes.set(json, 8);
    return new Map([...files, [file, bytes]]);
  };
  const first = (tensors: Map<string, ArrayWithShape>) => [...tensors][0];

  test.each<[what: string, file: string, make: (file: string) => Files]>([
    [
      'with another shape',
      'model.safetensors',
      (file) => withTensors(file, (all) => all.set(first(all)[0], { shape: [5], data: new Float32Array(5) })),
    ],
    [
      'with another dtype',
      'adam.safetensors',
      (file) =>
        withTensors(file, (all) =>
          all.set(first(all)[0], {
            shape: first(all)[1].shape,
            data: new Int32Array(first(all)[1].data.length),
          }),
        ),
    ],
    [
      'with another shape',
      'adam.safetensors',
      (file) => withTensors(file, (all) => all.set(first(all)[0], { shape: [7], data: new Float32Array(7) })),
    ],
    ['without a tensor', 'sgd.safetensors', (file) => withTensors(file, (all) => all.delete(first(all)[0]))],
    [
      'with a random state of another size',
      'random.nn.safetensors',
      (file) =>
        withTensors(file, (all) => all.set(first(all)[0], { shape: [624], data: new Int32Array(624) })),
    ],
    [
      'with a random state of another dtype',
      'random.nn.safetensors',
      (file) =>
        withTensors(file, (all) =>
          all.set(first(all)[0], { shape: [625], data: new Float32Array(625).fill(0.5) }),
        ),
    ],
    ['that is empty', 'model.safetensors', (file) => new Map([...files, [file, new Uint8Array(0)]])],
    [
      'of another length',
      'model.safetensors',
      (file) => new Map([...files, [file, files.get(file)!.slice(0, -1)]]),
    ],
    ['whose header is null', 'model.safetensors', (file) => withHeader(file, 'null')],
    [
      'with a shape of 2^53',
      'model.safetensors',
      (file) => withHeader(file, { x: { dtype: 'F32', shape: [2 ** 53], data_offsets: [0, 12] } }),
    ],
    [
      'with a shape of a product above all numbers',
      'model.safetensors',
      (file) =>
        withHeader(file, {
          x: { dtype: 'F32', shape: Array<number>(40).fill(2 ** 52), data_offsets: [0, 12] },
        }),
    ],
    [
      'with a negative shape',
      'model.safetensors',
      (file) => withHeader(file, { x: { dtype: 'F32', shape: [-3], data_offsets: [0, 12] } }),
    ],
    [
      'with a dtype of the prototype',
      'model.safetensors',
      (file) => withHeader(file, { x: { dtype: 'constructor', shape: [3], data_offsets: [0, 12] } }),
    ],
    [
      'with overlapping tensors',
      'model.safetensors',
      (file) =>
        withHeader(file, {
          x: { dtype: 'F32', shape: [3], data_offsets: [0, 12] },
          y: { dtype: 'F32', shape: [1], data_offsets: [8, 12] },
        }),
    ],
    [
      'of 100,000 lists',
      'model.safetensors',
      (file) => withHeader(file, '['.repeat(100_000) + ']'.repeat(100_000)),
    ],
  ])('%s is an error: %s', async (_, file, make) => {
    expect(await refusalOf(make(file), file)).toBeTypeOf('string');
  });
});

test('a state with the lengths of another data set or optimizer is an error', async () => {
  const change = (from: string, to: string) => {
    expect(stateText()).toContain(from);
    return withState(stateText().replace(from, to));
  };
  expect(await refusalOf(change('"datasetLength":40', '"datasetLength":41'))).toContain('loader');
  expect(await refusalOf(change('"samplesSeen":6', '"samplesSeen":41'))).toContain('loader');
  expect(await refusalOf(change('"betas"', '"alphas"'))).toContain('adam');
});
