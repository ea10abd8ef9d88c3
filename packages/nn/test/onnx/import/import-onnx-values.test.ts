import { describe, expect, test } from 'vitest';
import { exportOnnx, importOnnx, tensor, type OnnxOutput, type Tensor } from '../../../src/index.ts';
import {
  attribute,
  code,
  floats,
  graphOf,
  int64s,
  modelOf,
  type PartsOfModel,
} from '../../support/onnx-model.ts';
import '../../support/one-thread.ts';

const { int, ints, float, string, graph, tensor: array } = attribute;

/** Elements of all outputs of a model in evaluation mode. */
async function outputsOf(parts: PartsOfModel, ...inputs: readonly Tensor[]): Promise<(number | bigint)[][]> {
  const model = await importOnnx<OnnxOutput>(modelOf(parts));
  const result = model.eval().forward(...inputs);
  const outputs = model.outputNames.length === 1 ? [result as Tensor] : Object.values(result as object);
  return Promise.all(
    (outputs as Tensor[]).map(async (output) => Array.from<number | bigint>(await output.array())),
  );
}

const six = tensor(Float32Array.of(1, 2, 3, 4, 5, 6), [2, 3]);
/** 1 to n, in an image of one channel. */
const image = (height: number, width: number) =>
  tensor(
    Float32Array.from({ length: height * width }, (_, i) => i + 1),
    [1, 1, height, width],
  );

describe('the importer follows the file in', () => {
  test('exponents of several elements, as constants and as parameters', async () => {
    const nodes = [['Pow', ['x', 'e'], ['y']]] as const;
    const arrays = { e: floats([1, 2, 3]) };
    expect(await outputsOf({ nodes, arrays }, six)).toEqual([[1, 4, 27, 4, 25, 216]]);
    const inputs = { x: [2, 3], e: [3] };
    expect(await outputsOf({ nodes, inputs }, six, tensor(Float32Array.of(3, 2, 1)))).toEqual([
      [1, 4, 3, 64, 25, 6],
    ]);
  });

  test('powers of int64, exactly', async () => {
    const parts = {
      nodes: [['Pow', ['x', 'e'], ['y']]],
      inputs: { x: { type: code.int64, shape: [2] } },
      arrays: { e: int64s([33, 3]) },
    } as const;
    expect(await outputsOf(parts, tensor([3, -2]))).toEqual([[5559060566555523n, -8n]]);
  });

  test('dilated average pools, with and without padding that counts', async () => {
    const pool = (attributes: Record<string, object>) =>
      outputsOf(
        {
          opset: 19,
          nodes: [
            ['AveragePool', ['x'], ['y'], { kernel_shape: ints(2, 2), dilations: ints(2, 2), ...attributes }],
          ],
          inputs: { x: [1, 1, 4, 4] },
        },
        image(4, 4),
      );
    expect(await pool({})).toEqual([[6, 7, 10, 11]]);
    expect(await pool({ pads: ints(1, 1, 0, 0), strides: ints(2, 2) })).toEqual([[6, 7, 10, 11]]);
  });

  test('the last of equal maxima and minima', async () => {
    const parts = (op: string) => ({
      nodes: [[op, ['x'], ['y'], { axis: int(1), keepdims: int(0), select_last_index: int(1) }]] as const,
    });
    const ties = tensor(Float32Array.of(2, 2, 1, 0, 3, 0), [2, 3]);
    expect(await outputsOf(parts('ArgMax'), ties)).toEqual([[1n, 1n]]);
    expect(await outputsOf(parts('ArgMin'), ties)).toEqual([[2n, 2n]]);
  });

  test('both modes of DepthToSpace and SpaceToDepth', async () => {
    const moved = (op: string, opset: number, mode: string, shape: readonly number[]) =>
      outputsOf(
        {
          opset,
          nodes: [[op, ['x'], ['y'], { blocksize: int(2), mode: string(mode) }]],
          inputs: { x: shape },
        },
        tensor(
          Float32Array.from({ length: 8 }, (_, i) => i),
          [...shape],
        ),
      );
    expect(await moved('DepthToSpace', 13, 'DCR', [1, 8, 1, 1])).toEqual([[0, 2, 4, 6, 1, 3, 5, 7]]);
    expect(await moved('DepthToSpace', 13, 'CRD', [1, 8, 1, 1])).toEqual([[0, 1, 2, 3, 4, 5, 6, 7]]);
    expect(await moved('SpaceToDepth', 28, 'DCR', [1, 2, 2, 2])).toEqual([[0, 4, 1, 5, 2, 6, 3, 7]]);
    expect(await moved('SpaceToDepth', 28, 'CRD', [1, 2, 2, 2])).toEqual([[0, 1, 2, 3, 4, 5, 6, 7]]);
  });

  test('constants with all digits of float32 and int64', async () => {
    const nodes = [['Constant', [], ['y'], { value_float: float(Math.fround(16777217.5)) }]] as const;
    expect(await outputsOf({ nodes }, six)).toEqual([[16777218]]);
    const tenth = [['Constant', [], ['y'], { value_float: float(Math.fround(1 / 3)) }]] as const;
    expect(await outputsOf({ nodes: tenth }, six)).toEqual([[Math.fround(1 / 3)]]);
    const large = [
      ['Constant', [], ['y'], { value: array(int64s([2n ** 53n + 1n, -(2n ** 63n)])) }],
    ] as const;
    expect(await outputsOf({ nodes: large }, six)).toEqual([[9007199254740993n, -9223372036854775808n]]);
    // onnx.helper.make_tensor writes packed varints.
    const listed = { dataType: code.int64, dims: [2], int64Data: Uint8Array.of(172, 2, 1) };
    expect(await outputsOf({ nodes: [['Constant', [], ['y'], { value: array(listed) }]] }, six)).toEqual([
      [300n, 1n],
    ]);
  });

  test('quotients, remainders and extremes of int64, even by 0', async () => {
    const of = (op: string, attributes = {}) =>
      outputsOf(
        {
          nodes: [[op, ['x', 'd'], ['y'], attributes]],
          inputs: { x: { type: code.int64, shape: [4] } },
          arrays: { d: int64s([2, -2, 0, 2n ** 40n]) },
        },
        tensor([-7n, -7n, 5n, 2n ** 40n + 3n].map(BigInt)),
      );
    expect(await of('Div')).toEqual([[-3n, 3n, 0n, 1n]]);
    expect(await of('Mod')).toEqual([[1n, -1n, 0n, 3n]]);
    expect(await of('Mod', { fmod: int(1) })).toEqual([[-1n, -1n, 0n, 3n]]);
    expect(await of('Min')).toEqual([[-7n, -7n, 0n, 2n ** 40n]]);
    expect(await of('Max')).toEqual([[2n, -2n, 5n, 2n ** 40n + 3n]]);
  });

  test('narrow integers wrap around', async () => {
    const parts = {
      nodes: [
        ['Cast', ['x'], ['small'], { to: int(code.uint8) }],
        ['Add', ['small', 'small'], ['sum']],
        ['Cast', ['sum'], ['y'], { to: int(code.int64) }],
      ],
      inputs: { x: { type: code.int64, shape: [3] } },
    } as const;
    expect(await outputsOf(parts, tensor([200, 300, -1]))).toEqual([[144n, 88n, 254n]]);
  });

  test('Resize: antialias, exclude_outside, one element, and coordinates of all kinds', async () => {
    const resized = (attributes: Record<string, object>, sizes: readonly number[], x = image(1, 4)) =>
      outputsOf(
        {
          opset: 19,
          nodes: [['Resize', ['x', '', '', 'sizes'], ['y'], attributes]],
          inputs: { x: x.shape },
          arrays: { sizes: int64s(sizes) },
        },
        x,
      ).then(([elements]) => elements.map((element) => Number(Number(element).toFixed(4))));
    const linear = { mode: string('linear') };
    expect(await resized(linear, [1, 1, 1, 2])).toEqual([1.5, 3.5]);
    expect(await resized({ ...linear, antialias: int(1) }, [1, 1, 1, 2])).toEqual([1.625, 3.375]);
    const torch = { ...linear, coordinate_transformation_mode: string('pytorch_half_pixel') };
    expect(await resized(torch, [1, 1, 1, 1])).toEqual([1]);
    expect(await resized(linear, [1, 1, 1, 1])).toEqual([2.5]);
    const cubic = { mode: string('cubic'), cubic_coeff_a: float(-0.5) };
    expect(await resized({ ...cubic, exclude_outside: int(1) }, [1, 1, 1, 8])).not.toEqual(
      await resized(cubic, [1, 1, 1, 8]),
    );
    const corners = { ...linear, coordinate_transformation_mode: string('align_corners') };
    expect(await resized(corners, [1, 1, 1, 7])).toEqual([1, 1.5, 2, 2.5, 3, 3.5, 4]);
    const nearest = (mode: string) => ({
      nearest_mode: string(mode),
      coordinate_transformation_mode: string('asymmetric'),
    });
    expect(await resized(nearest('floor'), [1, 1, 1, 8])).toEqual([1, 1, 2, 2, 3, 3, 4, 4]);
    expect(await resized(nearest('ceil'), [1, 1, 1, 8])).toEqual([1, 2, 2, 3, 3, 4, 4, 4]);
    expect(await resized(nearest('round_prefer_ceil'), [1, 1, 1, 8])).toEqual([1, 2, 2, 3, 3, 4, 4, 4]);
    expect(await resized(nearest('round_prefer_floor'), [1, 1, 1, 8])).toEqual([1, 1, 2, 2, 3, 3, 4, 4]);
  });
});

describe('values that a model reads exist:', () => {
  test('arrays as outputs, chains of Identity, and arrays that only a branch reads', async () => {
    const branch = (name: string) =>
      graph(graphOf({ nodes: [['Add', ['x', name], [`of_${name}`]]], inputs: {}, outputs: [`of_${name}`] }));
    const parts = {
      nodes: [
        ['Identity', ['w'], ['copy']],
        ['Identity', ['copy'], ['again']],
        ['Add', ['x', 'again'], ['sum']],
        ['If', ['c'], ['chosen'], { then_branch: branch('one'), else_branch: branch('two') }],
      ],
      outputs: ['sum', 'w', 'copy', 'chosen'],
      arrays: {
        w: floats([1, 2, 3]),
        one: floats([10, 20, 30]),
        two: floats([0, 0, 0]),
        c: { dataType: code.bool, dims: [], rawData: Uint8Array.of(1) },
      },
    } as const;
    expect(await outputsOf(parts, six)).toEqual([
      [2, 4, 6, 5, 7, 9],
      [1, 2, 3],
      [1, 2, 3],
      [11, 22, 33, 14, 25, 36],
    ]);
    const model = await importOnnx<OnnxOutput>(modelOf(parts));
    expect([...model.namedParameters()].map(([name]) => name).sort()).toEqual([
      'again',
      'copy',
      'one',
      'two',
      'w',
    ]);
  });

  test('additional outputs of normalizations, MaxPool and Dropout', async () => {
    const norm = {
      nodes: [['LayerNormalization', ['x', 'w'], ['y', 'mean', 'inverse'], { epsilon: float(0) }]],
      outputs: ['mean', 'inverse'],
      arrays: { w: floats([1, 1, 1]) },
    } as const;
    const [mean, inverse] = await outputsOf(norm, six);
    expect(mean).toEqual([2, 5]);
    expect(inverse.map(Number)).toEqual([
      expect.closeTo(Math.sqrt(1.5), 5),
      expect.closeTo(Math.sqrt(1.5), 5),
    ]);
    const pool = (order: number) => ({
      nodes: [
        ['MaxPool', ['x'], ['y', 'at'], { kernel_shape: ints(2, 2), storage_order: int(order) }],
      ] as const,
      inputs: { x: [1, 1, 2, 3] },
      outputs: ['y', 'at'],
    });
    expect(await outputsOf(pool(0), image(2, 3))).toEqual([
      [5, 6],
      [4n, 5n],
    ]);
    expect(await outputsOf(pool(1), image(2, 3))).toEqual([
      [5, 6],
      [3n, 5n],
    ]);
    const dropout = { nodes: [['Dropout', ['x'], ['y', 'mask']]], outputs: ['y', 'mask'] } as const;
    expect(await outputsOf(dropout, six)).toEqual([
      [1, 2, 3, 4, 5, 6],
      [1, 1, 1, 1, 1, 1],
    ]);
  });

  test('batch normalization in training mode returns the running statistics that the file requests', async () => {
    const parts = {
      nodes: [
        [
          'BatchNormalization',
          ['x', 'one', 'zero', 'zero', 'one'],
          ['y', 'mean', 'variance'],
          { training_mode: int(1), momentum: float(0.5), epsilon: float(0) },
        ],
      ],
      outputs: ['mean', 'variance'],
      arrays: { one: floats([1, 1, 1]), zero: floats([0, 0, 0]) },
    } as const;
    // Of the columns 1 4, 2 5, 3 6: means 2.5, 3.5, 4.5 and variances 2.25.
    expect(await outputsOf(parts, six)).toEqual([
      [1.25, 1.75, 2.25],
      [1.625, 1.625, 1.625],
    ]);
  });

  test('products of elements, and negative positions', async () => {
    const product = { nodes: [['ReduceProd', ['x'], ['y'], { keepdims: int(0) }]] } as const;
    expect(await outputsOf({ ...product, opset: 18 }, six)).toEqual([[720]]);
    const gather = {
      nodes: [['Gather', ['x', 'at'], ['y']]],
      inputs: { x: [2, 3], at: { type: code.int64, shape: [2] } },
    } as const;
    expect(await outputsOf(gather, six, tensor([-1, 0]))).toEqual([[4, 5, 6, 1, 2, 3]]);
    const elements = {
      ...gather,
      nodes: [['GatherElements', ['x', 'at'], ['y'], { axis: int(1) }]],
    } as const;
    const inputs = { x: [2, 3], at: { type: code.int64, shape: [2, 1] } };
    expect(await outputsOf({ ...elements, inputs }, six, tensor([-1, 1], [2, 1]))).toEqual([[3, 5]]);
  });

  test('gradients reach rows that negative positions select', async () => {
    const model = await importOnnx(
      modelOf({
        nodes: [['Gather', ['table', 'at'], ['y']]],
        inputs: { at: { type: code.int64, shape: ['n'] } },
        arrays: { table: floats([1, 2, 3, 4, 5, 6], [3, 2]) },
      }),
    );
    await model
      .forward(tensor([-1, 0]))
      .sum()
      .backward();
    const [table] = [...model.parameters()];
    expect(Array.from(table.grad!)).toEqual([1, 1, 0, 0, 1, 1]);
  });

  test('an input that determines a shape is read when it is passed', async () => {
    const parts = {
      nodes: [['Reshape', ['x', 'shape'], ['y']]],
      inputs: { x: [2, 3], shape: { type: code.int64, shape: [2] } },
    } as const;
    const model = await importOnnx(modelOf(parts));
    expect(model.forward(six, tensor([3, -1])).shape).toEqual([3, 2]);
    expect(model.forward(six, tensor([6, 1])).shape).toEqual([6, 1]);
    expect(() => model.forward(six, tensor([3, 2]).add(0))).toThrow(
      'forward: expected an input shape that tensor(…) created, because shapes depend on it, got the result of operations.',
    );
    const inputs = [
      { name: 'x', shape: [2, 3], fixed: true },
      { name: 'shape', shape: [2], dtype: 'int64', fixed: true },
    ] as const;
    expect(() => exportOnnx(model, { inputs })).toThrow('A model with such an input cannot be exported.');
  });
});
