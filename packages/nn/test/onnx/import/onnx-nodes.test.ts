import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isFull } from '../../../../../test/support/extent.ts';
import { importOnnx, noGrad, tensor, zeros, type OnnxOutput, type Tensor } from '../../../src/index.ts';
import { ModelProto } from '../../../src/onnx-format/schema.ts';
import '../../support/one-thread.ts';

// ONNX's own tests of single operators (test/golden/onnx_nodes.py): the importer computes ONNX's result or rejects the model.

const python = process.env['RINGRUN_ONNX_PYTHON'] ?? 'python3';
const hasOnnx = spawnSync(python, ['-c', 'import onnx, numpy']).status === 0;
const script = fileURLToPath(new URL('../../../../../test/golden/onnx_nodes.py', import.meta.url));

interface EncodedArray {
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Base64, little-endian. */
  readonly data: string;
}

interface NodeTest {
  readonly rtol: number;
  readonly atol: number;
  readonly inputs: readonly EncodedArray[];
  readonly outputs: readonly EncodedArray[];
}

const arrays: Readonly<Record<string, (buffer: ArrayBuffer) => ArrayLike<number | bigint>>> = {
  bool: (buffer) => new Uint8Array(buffer),
  float32: (buffer) => new Float32Array(buffer),
  float64: (buffer) => new Float64Array(buffer),
  int8: (buffer) => new Int8Array(buffer),
  int16: (buffer) => new Int16Array(buffer),
  int32: (buffer) => new Int32Array(buffer),
  int64: (buffer) => new BigInt64Array(buffer),
  uint8: (buffer) => new Uint8Array(buffer),
  uint16: (buffer) => new Uint16Array(buffer),
  uint32: (buffer) => new Uint32Array(buffer),
  uint64: (buffer) => new BigUint64Array(buffer),
};

function elementsOf({ dtype, data }: EncodedArray): ArrayLike<number | bigint> {
  return arrays[dtype](new Uint8Array(Buffer.from(data, 'base64')).buffer);
}

/** The tensor dtype for ONNX elements. */
function dtypeOf({ dtype }: EncodedArray): 'float32' | 'int64' | 'bool' {
  if (dtype === 'bool') return 'bool';
  return dtype.startsWith('float') ? 'float32' : 'int64';
}

function tensorOf(array: EncodedArray): Tensor {
  const elements = Array.from(elementsOf(array));
  const dtype = dtypeOf(array);
  if (elements.length === 0) return zeros([...array.shape], { dtype });
  if (dtype === 'bool') return tensor(elements.map(Boolean), array.shape);
  return dtype === 'int64'
    ? tensor(BigInt64Array.from(elements, BigInt), array.shape)
    : tensor(Float32Array.from(elements, Number), array.shape);
}

type Outcome = 'right' | `refused: ${string}` | `failed: ${string}` | `wrong: ${string}`;

async function outcomeOf(path: string, given: NodeTest): Promise<Outcome> {
  let model;
  try {
    model = await importOnnx<OnnxOutput>(`${path}.onnx`);
  } catch (error) {
    return `refused: ${String(error)}`;
  }
  try {
    model.eval();
    const result = noGrad(() => model.forward(...given.inputs.map(tensorOf)));
    const outputs = model.outputNames.length === 1 ? [result as Tensor] : Object.values(result);
    for (const [index, expected] of given.outputs.entries()) {
      const difference = await differenceOf(outputs[index] as Tensor, expected, given);
      if (difference) return `wrong: output ${index}: ${difference}`;
    }
    return 'right';
  } catch (error) {
    return `failed: ${String(error)}`;
  }
}

async function differenceOf(
  output: Tensor,
  expected: EncodedArray,
  { rtol, atol }: NodeTest,
): Promise<string | undefined> {
  const [got, want] = [
    `${output.dtype}[${output.shape.join()}]`,
    `${dtypeOf(expected)}[${expected.shape.join()}]`,
  ];
  if (got !== want) return `${got} instead of ${want}`;
  const elements: ArrayLike<number | bigint> = await output.array();
  const wanted = elementsOf(expected);
  for (let i = 0; i < wanted.length; i += 1) {
    const [a, b] = [elements[i], wanted[i]];
    const isClose =
      typeof a === 'bigint'
        ? a === BigInt(b)
        : Object.is(a, Number(b)) || Math.abs(a - Number(b)) <= atol + rtol * Math.abs(Number(b)) || a === b;
    if (!isClose) return `${a} instead of ${b} at ${i}`;
  }
  return undefined;
}

/** Element types whose tests must all pass or be in `refusedTests`. */
const ownTypes = [1, 7, 9];

/** Tests of these types that the importer rejects, and why. */
const refusedTests: readonly RegExp[] = [
  // Sequences and optionals.
  /^test_(identity|if)_(opt|sequence|seq)/,
  // Opset 1.
  /^test_not_\d/,
  // Reductions without a gradient in ringrun.
  /^test_scatter_elements_with_reduction_(max|min|mul)/,
  // Elements that NumPy's generator drops.
  /^test_training_dropout/,
  // Fractional sizes, which runtimes align differently, or scales that are an input.
  /^test_resize_(down|up)sample_scales_(cubic|linear)_align_corners/,
];

function elementTypesOf(model: Uint8Array): number[] {
  interface Info {
    readonly type?: { readonly tensorType?: { readonly elemType: number } };
  }
  const { graph } = ModelProto.decode(model) as unknown as {
    graph: { input: Info[]; output: Info[]; initializer: { dataType: number }[] };
  };
  const infos = [...graph.input, ...graph.output].map(({ type }) => type?.tensorType?.elemType ?? 0);
  return [...infos, ...graph.initializer.map(({ dataType }) => dataType)];
}

describe.skipIf(!hasOnnx)("ONNX's own tests of the operators that are imported", () => {
  const folder = mkdtempSync(join(tmpdir(), 'ringrun-nodes-'));
  const outcomes = new Map<string, Outcome>();

  beforeAll(async () => {
    const { status, stderr } = spawnSync(python, [script, folder], { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
    const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
    for (const [index, file] of names.sort().entries()) {
      if (!isFull && index % 10 !== 0) continue;
      const name = file.replace('.json', '');
      const given = JSON.parse(readFileSync(join(folder, file), 'utf8')) as NodeTest;
      if ([...given.inputs, ...given.outputs].every(({ dtype }) => Object.hasOwn(arrays, dtype))) {
        outcomes.set(name, await outcomeOf(join(folder, name), given));
      }
    }
  }, 600_000);

  afterAll(() => {
    const counts: Record<string, number> = {};
    for (const outcome of outcomes.values()) {
      const kind = outcome.split(':')[0];
      counts[kind] = (counts[kind] ?? 0) + 1;
    }
    console.log(`ONNX's tests: ${JSON.stringify(counts)}`);
    rmSync(folder, { recursive: true });
  });

  test('none is computed incorrectly, or accepted and then fails', () => {
    const bad = [...outcomes].filter(([, outcome]) => /^(wrong|failed)/.test(outcome));
    expect(Object.fromEntries(bad)).toEqual({});
    expect(outcomes.size).toBeGreaterThan(isFull ? 1400 : 140);
  });

  test('all float32, int64 and bool tests pass, except those known to be rejected', () => {
    const refused = [...outcomes].filter(([name, outcome]) => {
      if (!outcome.startsWith('refused') || refusedTests.some((pattern) => pattern.test(name))) return false;
      return elementTypesOf(readFileSync(join(folder, `${name}.onnx`))).every((code) =>
        ownTypes.includes(code),
      );
    });
    expect(Object.fromEntries(refused)).toEqual({});
  });
});
