import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { importOnnx, tensor, type OnnxOutput } from '../../../src/index.ts';
import {
  attribute,
  code,
  floats,
  graphOf,
  int64s,
  modelOf,
  type ArrayOfModel,
  type NodeOfModel,
  type PartsOfModel,
} from '../../support/onnx-model.ts';
import '../../support/one-thread.ts';

const { int, ints, string, graph, tensor: array } = attribute;

const one = (...node: NodeOfModel): PartsOfModel => ({ nodes: [node] });
const images = { inputs: { x: [1, 1, 4, 4] } };

/** Models that the importer does not support, and the text that the error contains. */
const refused: Readonly<Record<string, readonly [PartsOfModel, ...string[]]>> = {
  'an attribute that ONNX does not have': [
    one('Relu', ['x'], ['y'], { alpha: int(1) }),
    'importOnnx: Relu of opset 20 (node relu): expected the attributes none, got alpha = 1.',
  ],
  'an attribute of a later opset': [
    {
      ...one('AveragePool', ['x'], ['y'], { kernel_shape: ints(2, 2), dilations: ints(2, 2) }),
      ...images,
      opset: 18,
    },
    'AveragePool of opset 18 (node averagepool): expected the attributes',
    'got dilations = [2,2]',
  ],
  'an attribute of another type': [
    one('LeakyRelu', ['x'], ['y'], { alpha: int(1) }),
    "expected the attribute alpha to be of ONNX's type float, got int",
  ],
  'a missing attribute': [one('Concat', ['x'], ['y']), 'Concat', 'expected the attribute axis, got none'],
  'a content that is not supported': [
    one('ScatterElements', ['x', 'at', 'x'], ['y'], { reduction: string('mul') }),
    'expected the attribute reduction to be "none" or "add", got "mul"',
  ],
  'a flag that is neither 0 nor 1': [
    one('Softmax', ['x'], ['y'], { axis: int(1), keepdims: int(2) }),
    'Softmax of opset 20 (node softmax): expected the attributes axis, got keepdims = 2',
  ],
  'an opset that is too old': [
    { ...one('Relu', ['x'], ['y']), opset: 6 },
    'importOnnx: expected a model of opset 7 to 28, got opset 6.',
  ],
  'an opset that is not known yet': [{ ...one('Relu', ['x'], ['y']), opset: 29 }, 'got opset 29'],
  'an operator that its opset does not have': [
    { ...one('Gelu', ['x'], ['y']), opset: 19 },
    'got 1 other(s): Gelu of opset 19.',
  ],
  'too many inputs': [one('Relu', ['x', 'x'], ['y']), 'expected at most 1 inputs, got 2'],
  'a missing input': [one('Add', ['x', ''], ['y']), 'expected the input B, got none'],
  'too many outputs': [one('Relu', ['x'], ['y', 'z']), 'expected at most 1 outputs, got 2'],
  'an input that nothing computes': [
    one('Add', ['x', 'z'], ['y']),
    "Add of opset 20 (node add): expected an operator before it that computes 'z', got none",
  ],
  'an output that nothing computes': [
    one('Relu', ['x'], ['z']),
    'importOnnx: expected an operator that computes the output y, got none.',
  ],
  'another dtype': [
    { ...one('Sin', ['x'], ['y']), inputs: { x: { type: code.int64, shape: [2] } } },
    'Sin of opset 20 (node sin): expected an input X of float32, got int64',
  ],
  'inputs of two types': [
    { ...one('Add', ['x', 'w'], ['y']), arrays: { w: int64s([1, 2, 3]) } },
    'expected inputs of one type, got float32 and int64',
  ],
  'floats of another precision': [
    { ...one('Relu', ['x'], ['y']), inputs: { x: { type: code.float64, shape: [2] } } },
    'importOnnx: expected float32, integers or bool in the output y, got float64. Pass { toFloat32: true }',
  ],
  'a cast to another precision': [
    {
      nodes: [
        ['Cast', ['x'], ['wide'], { to: int(code.float64) }],
        ['Cast', ['wide'], ['y'], { to: int(code.float32) }],
      ],
    },
    'expected float32 or constants',
    'Cast',
  ],
  strings: [
    { ...one('Identity', ['x'], ['y']), inputs: { x: { type: code.string, shape: [2] } } },
    'got string for x',
  ],
  'a shape that depends on elements': [
    {
      nodes: [
        ['ArgMax', ['x'], ['at']],
        ['Reshape', ['x', 'at'], ['y']],
      ],
    },
    'Reshape of opset 20 (node reshape): expected an input shape that follows from shapes and constants',
    "got 'at' of int64, which depends on the elements that ArgMax (node argmax) computes",
  ],
  'a branch chosen by elements': [
    {
      nodes: [
        ['ReduceMax', ['x'], ['largest'], { keepdims: int(0) }],
        ['Cast', ['largest'], ['c'], { to: int(code.bool) }],
        [
          'If',
          ['c'],
          ['y'],
          {
            then_branch: graph(graphOf({ nodes: [['Neg', ['x'], ['a']]], inputs: {}, outputs: ['a'] })),
            else_branch: graph(graphOf({ nodes: [['Abs', ['x'], ['b']]], inputs: {}, outputs: ['b'] })),
          },
        ],
      ],
    },
    'If of opset 20 (node if): expected an input cond that follows from shapes and constants',
    "which depends on the elements of the input 'x'",
  ],
  'shapes that do not fit': [
    { ...one('Add', ['x', 'w'], ['y']), arrays: { w: floats([1, 2]) } },
    'importOnnx: Add (node add) of the imported model: add: float32[2,3] and float32[2] do not broadcast',
  ],
  'scales that runtimes align differently': [
    {
      ...one('Resize', ['x', '', 's'], ['y'], {
        mode: string('linear'),
        coordinate_transformation_mode: string('align_corners'),
      }),
      inputs: { x: ['batch', 1, 5, 5] },
      arrays: { s: floats([1, 1, 1.5, 1.5]) },
    },
    'Resize',
    'got 1.5 times 5',
  ],
  'a sparse constant': [
    one('Constant', [], ['y'], { sparse_value: { type: 11 } }),
    'expected the attribute sparse_value to be left out',
  ],
};

describe('importOnnx rejects a model, and names the cause, for', () => {
  test.each(Object.entries(refused))('%s', async (_, [parts, ...messages]) => {
    const problem = await importOnnx(modelOf(parts)).then(
      () => 'none',
      (error: unknown) => String(error),
    );
    for (const message of messages) expect(problem).toContain(message);
    expect(problem).toContain('importOnnx');
  });
});

test('a model with dynamic sizes is not rejected for sizes that it cannot have', async () => {
  const parts = {
    nodes: [['Split', ['x', 'sizes'], ['y', 'z']]],
    inputs: { x: ['rows', 3] },
    outputs: ['y', 'z'],
    arrays: { sizes: int64s([3, 4]) },
  } as const;
  const model = await importOnnx<OnnxOutput>(modelOf(parts));
  const rows = tensor(new Float32Array(21), [7, 3]);
  expect(Object.values(model.forward(rows)).map(({ shape }) => shape as unknown)).toEqual([
    [3, 3],
    [4, 3],
  ]);
});

test('toFloat32 computes floats of all widths in float32', async () => {
  const half = {
    dataType: code.float16,
    dims: [2],
    rawData: new Uint8Array(Uint16Array.of(0x3e00, 0xc000).buffer),
  };
  const parts = {
    nodes: [['Mul', ['x', 'w'], ['y']]],
    inputs: { x: { type: code.float16, shape: [2] } },
    arrays: { w: half },
  } as const;
  const model = await importOnnx(modelOf(parts), { toFloat32: true });
  expect(await model.forward(tensor(Float32Array.of(2, 3))).array()).toEqual(Float32Array.of(3, -6));
});

test('constants of float64 keep their precision until they are converted', async () => {
  const third = {
    dataType: code.float64,
    dims: [],
    rawData: new Uint8Array(Float64Array.of(2 ** 24 + 1).buffer),
  };
  const parts = {
    nodes: [
      ['Constant', [], ['c'], { value: array(third) }],
      ['Add', ['c', 'c'], ['twice']],
      ['Cast', ['twice'], ['whole'], { to: int(code.int64) }],
      ['Cast', ['x'], ['xi'], { to: int(code.int64) }],
      ['Add', ['xi', 'whole'], ['y']],
    ],
  } as const;
  const model = await importOnnx(modelOf(parts));
  const [first] = await model.forward(tensor(new Float32Array(6), [2, 3])).array();
  expect(first).toBe(2n ** 25n + 2n);
});

describe('arrays in files beside the model', () => {
  const external = (location: string, offset: number, length: number): ArrayOfModel => ({
    dataType: code.float32,
    dims: [3],
    dataLocation: 1,
    externalData: Object.entries({ location, offset, length }).map(([key, value]) => ({
      key,
      value: String(value),
    })),
  });

  async function modelWith(weight: ArrayOfModel): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'ringrun-external-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await writeFile(
      join(folder, 'm.onnx'),
      modelOf({ ...one('Add', ['x', 'weight'], ['y']), arrays: { weight } }),
    );
    return folder;
  }

  test('are read at their offset in a file of more than 2 GiB', async () => {
    const offset = 2 ** 31 + 4096;
    const folder = await modelWith(external('m.data', offset, 12));
    const file = await open(join(folder, 'm.data'), 'w');
    // Sparse: the file takes one block on disk.
    await file.write(new Uint8Array(Float32Array.of(1, 2, 3).buffer), 0, 12, offset);
    await file.truncate(offset + 2 ** 30);
    await file.close();
    const model = await importOnnx(join(folder, 'm.onnx'));
    expect([...model.stateDict()].map(([name, { data }]) => [name, Array.from(data)])).toEqual([
      ['weight', [1, 2, 3]],
    ]);
  });

  test('that are missing, too short or elsewhere are errors that name the file and the array', async () => {
    const problemOf = async (weight: ArrayOfModel, content?: Uint8Array) => {
      const folder = await modelWith(weight);
      if (content) await writeFile(join(folder, 'm.data'), content);
      return importOnnx(join(folder, 'm.onnx')).then(
        () => 'none',
        (error: unknown) => String(error).replaceAll(folder, ''),
      );
    };
    expect(await problemOf(external('m.data', 0, 12))).toContain(
      'importOnnx: expected the data of weight in /m.data, got ENOENT',
    );
    expect(await problemOf(external('m.data', 0, 12))).toContain(
      'Copy the data files of the model into its folder.',
    );
    expect(await problemOf(external('m.data', 8, 12), new Uint8Array(16))).toContain(
      'expected 12 bytes of weight at byte 8 of /m.data, got a file of 16 bytes.',
    );
    for (const location of ['../m.data', '/etc/hosts', 'a/../../m.data']) {
      expect(await problemOf(external(location, 0, 12))).toContain(
        `expected the data of weight in the folder of /m.onnx, got the location ${location}.`,
      );
    }
    expect(await problemOf(external('m.data', -4, 12), new Uint8Array(16))).toContain('got -4 and 12');
    expect(await problemOf(external('.', 0, 12))).toContain('expected the data of weight in');
  });
});
