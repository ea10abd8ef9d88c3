import { describe, expect, test } from 'vitest';
import { allOnHost } from '../../../src/executor/value-buffer.ts';
import { compileModel } from '../../../src/executor/cpu/onnxruntime.ts';
import { GraphBuilder, type Attributes } from '../../../src/onnx-format/graph-builder.ts';
import { onThreads } from '../../support/both-ways.ts';
import { fill } from '../../support/fill.ts';
import '../../support/one-thread.ts';

// The addon's operators with arrays of bfloat16, against the same operators on float32: bit-identical to widening the arguments
// and rounding the results.

/** onnx.TensorProto.DataType */
const codes = { float32: 1, int64: 7, bool: 9, bfloat16: 16 } as const;
type Type = keyof typeof codes;

interface Argument {
  readonly type: Type;
  readonly data: Float32Array | BigInt64Array;
  readonly shape: readonly number[];
}

interface Result {
  readonly type: Type;
  readonly shape: readonly number[];
}

interface Call {
  readonly op: string;
  /** Undefined: the argument is missing. */
  readonly inputs: readonly (Argument | undefined)[];
  readonly outputs: readonly (Result | undefined)[];
  readonly attributes?: Attributes;
}

/** @param widens true to run the operator on float32 */
async function computed({ op, inputs, outputs, attributes }: Call, widens: boolean): Promise<Float32Array[]> {
  const graph = new GraphBuilder();
  const given = inputs.filter((input) => input !== undefined);
  const types = given.map(({ data, shape }) => {
    return { dtype: data instanceof Float32Array ? ('float32' as const) : ('int64' as const), shape };
  });
  for (const [i, { dtype, shape }] of types.entries()) graph.input(`input_${i}`, dtype, shape);
  const cast = (name: string, to: Type) => {
    const result = graph.freshName(to);
    graph.node('Cast', [name], [result], { to: codes[to] });
    return result;
  };
  const names = inputs.map((input) => {
    if (input === undefined) return '';
    const name = `input_${given.indexOf(input)}`;
    if (input.type === 'bool') return cast(name, 'bool');
    if (input.type !== 'bfloat16') return name;
    const narrow = cast(name, 'bfloat16');
    return widens ? cast(narrow, 'float32') : narrow;
  });
  const results = outputs.map((output) => (output ? graph.freshName('result') : ''));
  graph.ownNode(op, names, results, attributes);
  const arrays: Float32Array[] = [];
  for (const [i, output] of outputs.entries()) {
    if (output === undefined) continue;
    const narrow = output.type === 'bfloat16' && widens ? cast(results[i], 'bfloat16') : results[i];
    graph.output(`output_${arrays.length}`, 'float32', output.shape);
    graph.node('Cast', [narrow], [`output_${arrays.length}`], { to: codes.float32 });
    arrays.push(new Float32Array(output.shape.reduce((size, length) => size * length, 1)));
  }
  const declared = outputs
    .filter((output) => output !== undefined)
    .map(({ shape }) => ({ dtype: 'float32' as const, shape }));
  const program = await compileModel({
    name: op,
    inputs: types,
    outputs: declared,
    isLong: false,
    model: graph.encode(),
  });
  await program.run(allOnHost(given.map(({ data }) => data)), allOnHost(arrays));
  await program.release();
  return arrays;
}

/** Bits; every NaN has the same. */
const bitsOf = (arrays: readonly Float32Array[]) =>
  arrays.map((array) => [...new Uint32Array(array.map((one) => (Number.isNaN(one) ? NaN : one)).buffer)]);

async function expectRounded(call: Call): Promise<void> {
  const [direct, wrapped] = [await computed(call, false), await computed(call, true)];
  expect(bitsOf(direct)).toEqual(bitsOf(wrapped));
  for (const [i, output] of call.outputs.filter((one) => one !== undefined).entries()) {
    // bfloat16 has 16 zeros at the end.
    if (output.type !== 'bfloat16') continue;
    expect(bitsOf(direct)[i].every((bits) => bits % 2 ** 16 === 0)).toBe(true);
  }
  expect(bitsOf(await onThreads(3, () => computed(call, false)))).toEqual(bitsOf(direct));
}

/** The numbers of bfloat16, by onnxruntime's conversion. */
async function rounded(numbers: Float32Array): Promise<Float32Array> {
  const shape = [numbers.length];
  const inputs = [{ type: 'bfloat16', data: numbers, shape }, float32([1], 1)] as const;
  const outputs = [result('bfloat16', shape)];
  return (await computed({ op: 'AddDependency', inputs, outputs }, true))[0];
}

const special = [NaN, Infinity, -Infinity, 0, -0, 1e-40, -1e-42, 3.39e38, -3.4e38, 1e-38];

function argument(type: Type, shape: readonly number[], seed: number, isSpecial = false): Argument {
  const data = fill(shape, seed).map((one) => 3 * one);
  if (isSpecial) for (const [i, one] of special.entries()) if (13 * i < data.length) data[13 * i] = one;
  return { type, shape, data };
}

const bfloat16 = (shape: readonly number[], seed: number, isSpecial = false) =>
  argument('bfloat16', shape, seed, isSpecial);
const float32 = (shape: readonly number[], seed: number) => argument('float32', shape, seed);
const result = (type: Type, shape: readonly number[]): Result => ({ type, shape });

/** Around the widths of vectors, and more than one part. */
const sizes = [1, 7, 15, 16, 17, 33, 511, 513, 20_001];

describe.each(sizes)('%i elements', (size) => {
  const shape = [size];
  const numbers = { type: 'int64', data: BigInt64Array.of(77n, 3_000_000_000n), shape: [2] } as const;
  test.each<[string, readonly (Argument | undefined)[]]>([
    ['Dropout', [bfloat16(shape, 1, true), numbers, float32([], 5)]],
    ['SafeSoftmax', [bfloat16(shape, 1)]],
    ['Softmax', [bfloat16(shape, 1)]],
    ['AddDependency', [bfloat16(shape, 1, true), float32([3], 1)]],
    ['AddDependency', [bfloat16(shape, 1, true), numbers, bfloat16([2], 1)]],
  ])('%s', async (op, inputs) => {
    await expectRounded({ op, inputs, outputs: [result('bfloat16', shape)] });
  });

  test.each([0, 1])('Gelu, tanh = %i, and its gradient', async (tanh) => {
    const [d, x] = [bfloat16(shape, 1), bfloat16(shape, 2, true)];
    const outputs = [result('bfloat16', shape)];
    await expectRounded({ op: 'Gelu', inputs: [x], outputs, attributes: { tanh } });
    await expectRounded({ op: 'GeluGradient', inputs: [d, x], outputs, attributes: { tanh } });
  });

  test('Elementwise: (a + b)·c, rounded between, beside a mask', async () => {
    // Values 0 to 3: the inputs.
    const code = [
      [0, 0, 1, 0],
      [17, 4, 0, 0],
      [2, 5, 2, 0],
      [10, 6, 3, 0],
    ].flat();
    const unused = <T>(count: number) => Array<T | undefined>(count).fill(undefined);
    const [a, b] = [bfloat16(shape, 1, true), bfloat16(shape, 2)];
    const [c, scale] = [float32(shape, 3), bfloat16([], 4)];
    const program = { code, results: [7, 5, 6, 6], shapes: [1, size, 1, size, 1, size, 1, size] };
    // The scale is the third bfloat16 array: value 2.
    const swapped = { ...program, code: code.map((one, i) => (i === 10 ? 3 : i === 14 ? 2 : one)) };
    const [direct] = [
      await computed(
        {
          op: 'Elementwise',
          inputs: [...unused<Argument>(4), a, b, scale, ...unused<Argument>(5), c],
          outputs: [
            result('bool', shape),
            ...unused<Result>(3),
            result('bfloat16', shape),
            result('bfloat16', shape),
            ...unused<Result>(6),
            result('float32', shape),
          ],
          attributes: { ...swapped, inputs: [0, 3, 1], outputs: [1, 2, 1] },
        },
        false,
      ),
    ];
    const [x, y, z] = await Promise.all([a, b, scale].map(({ data }) => rounded(data as Float32Array)));
    const sums = await rounded(x.map((one, i) => one + y[i]));
    const products = sums.map((one, i) => one * (c.data[i] as number));
    expect(bitsOf(direct)).toEqual(
      bitsOf([products.map((one) => Number(one > z[0])), sums, await rounded(products), products]),
    );
  });
});

describe.each([1, 7, 16, 17, 33, 384, 513, 1030])('rows of %i elements', (width) => {
  const rows = width > 500 ? 3 : 37;
  const shape = [rows, width];
  const attributes = { axes: 1, epsilon: { float: 1e-5 } };
  const statistics = result('float32', [rows, 2]);
  test('LayerNormalize', async () => {
    for (const isSpecial of [false, true]) {
      await expectRounded({
        op: 'LayerNormalize',
        inputs: [bfloat16(shape, 1, isSpecial), float32([width], 2), float32([width], 3)],
        outputs: [result('bfloat16', shape), statistics],
        attributes,
      });
      // Of float32, with the result in both types.
      const x = argument('float32', shape, 1, isSpecial);
      const outputs = [result('float32', shape), statistics, result('bfloat16', shape)];
      const call = { op: 'LayerNormalize', inputs: [x, float32([width], 2)], outputs, attributes };
      const [wide, numbersOfRows, narrow] = await computed(call, false);
      expect(bitsOf([narrow])).toEqual(bitsOf([await rounded(wide)]));
      const [, alone] = await computed({ ...call, outputs: [undefined, ...outputs.slice(1)] }, false);
      expect(bitsOf([alone])).toEqual(bitsOf([narrow]));
      const [ofRows] = await computed({ ...call, outputs: [undefined, statistics] }, false);
      expect(bitsOf([ofRows])).toEqual(bitsOf([numbersOfRows]));
    }
  });

  const types: [Type, Type][] = [
    ['bfloat16', 'bfloat16'],
    ['bfloat16', 'float32'],
    ['float32', 'bfloat16'],
  ];
  test.each(types)('LayerNormalizeGradient of %s from gradients of %s', async (x, y) => {
    const given = [argument(y, shape, 1), argument(x, shape, 2), float32([rows, 2], 3)];
    const ofWeight = result('float32', [width]);
    // A gradient of bfloat16 is rounded before the addition.
    for (const other of [undefined, ...(x === 'float32' ? [argument(x, shape, 5)] : [])]) {
      await expectRounded({
        op: 'LayerNormalizeGradient',
        inputs: [...given, float32([width], 4), ...(other ? [other] : [])],
        outputs: [result(x, shape), ofWeight, ofWeight],
        attributes: { axes: 1 },
      });
    }
  });

  test('SoftmaxCrossEntropy and its gradient', async () => {
    const [logits, weights] = [bfloat16(shape, 1), float32([width], 3)];
    for (let i = 0; i < width; i += 1) weights.data[i] = Math.abs(Number(weights.data[i]));
    const classes = {
      type: 'int64',
      data: BigInt64Array.from({ length: rows }, (_, i) => (i % 5 === 3 ? -100n : BigInt((7 * i) % width))),
      shape: [rows],
    } as const;
    const smoothing = { type: 'float32', data: Float32Array.of(0.1), shape: [] } as const;
    const reduction = { ignoreIndex: -100, reduction: 2 };
    for (const options of [[], [weights], [weights, smoothing]]) {
      await expectRounded({
        op: 'SoftmaxCrossEntropy',
        inputs: [logits, classes, ...options],
        outputs: [result('float32', []), statistics, result('float32', [])],
        attributes: reduction,
      });
      await expectRounded({
        op: 'SoftmaxCrossEntropyGradient',
        inputs: [float32([], 8), logits, classes, float32([rows, 2], 4), float32([], 9), ...options],
        outputs: [result('bfloat16', shape)],
        attributes: reduction,
      });
    }
  });

  test('SafeSoftmax of rows with infinities and NaN', async () => {
    const x = bfloat16(shape, 1, true);
    x.data.fill(-Infinity as never, 0, width);
    for (const op of ['SafeSoftmax', 'Softmax']) {
      await expectRounded({ op, inputs: [x], outputs: [result('bfloat16', shape)] });
    }
  });

  test('AddRows', async () => {
    const targets = {
      type: 'int64',
      data: BigInt64Array.from({ length: rows }, (_, i) => BigInt(i % 5)),
      shape: [rows],
    };
    await expectRounded({
      op: 'AddRows',
      inputs: [targets as Argument, bfloat16(shape, 2)],
      outputs: [result('float32', [5, width])],
      attributes: { count: 5, padding: 1 },
    });
  });
});

test.each<[Type, Type, Type]>([
  ['float32', 'float32', 'float32'],
  ['float32', 'bfloat16', 'float32'],
  ['bfloat16', 'float32', 'float32'],
  ['bfloat16', 'bfloat16', 'bfloat16'],
])('AddLayerNormalize of %s and %s gives %s: the operators one after the other', async (a, b, type) => {
  for (const width of [1, 17, 384]) {
    const [shape, attributes] = [[6, 5, width], { axes: 1, epsilon: { float: 1e-5 } }];
    for (const ofB of [shape, [5, width], [width]]) {
      const inputs = [argument(a, shape, 1), argument(b, ofB, 2)];
      const options = [float32([width], 3), undefined];
      const outputs = [result(type, shape), result('float32', [30, 2]), result('bfloat16', shape)];
      const call = { op: 'AddLayerNormalize', inputs: [...inputs, ...options], attributes };
      const fused = await computed({ ...call, outputs: [...outputs, result(type, shape)] }, false);
      const [x, addend] = await Promise.all(
        inputs.map(async ({ type, data }) => {
          const numbers = data as Float32Array;
          return type === 'bfloat16' ? await rounded(numbers) : numbers;
        }),
      );
      const exact = x.map((one, i) => one + addend[i % addend.length]);
      const sum = type === 'bfloat16' ? await rounded(exact) : exact;
      const [y, statistics, narrow] = await computed(
        { op: 'LayerNormalize', inputs: [{ type, data: sum, shape }, ...options], outputs, attributes },
        false,
      );
      expect(bitsOf(fused)).toEqual(bitsOf([y, statistics, narrow, sum]));
    }
  }
});

test('LayerNormalizeGradient rounds its gradient before it adds another one, like separate operators', async () => {
  const shape = [9, 33];
  const other = bfloat16(shape, 5);
  const inputs = [bfloat16(shape, 1), bfloat16(shape, 2), float32([9, 2], 3), float32([33], 4)];
  const ofX = result('bfloat16', shape);
  const call = (more: readonly Argument[], outputs: readonly (Result | undefined)[]) =>
    computed(
      { op: 'LayerNormalizeGradient', inputs: [...inputs, ...more], outputs, attributes: { axes: 1 } },
      false,
    );
  const [alone] = await call([], [ofX]);
  const sums = await call([other], [ofX, undefined, undefined, ofX]);
  const added = await rounded(other.data as Float32Array);
  const expected = await rounded(alone.map((one, i) => one + added[i]));
  expect(bitsOf(sums)).toEqual(bitsOf([expected, expected]));
});

describe('images', () => {
  const [batch, channels] = [17, 3];

  test.each([1, 0])('BatchNormalizeActivate and its gradient (relu: %i)', async (activates) => {
    const shape = [batch, channels, 5, 7];
    const perChannel = [channels];
    const flags = Math.ceil((batch * Math.ceil(35 / 16)) / 32) * 8;
    const ofX = result('bfloat16', shape);
    const ofChannel = result('float32', perChannel);
    for (const residual of [undefined, bfloat16(shape, 4)]) {
      await expectRounded({
        op: 'BatchNormalizeActivate',
        inputs: [bfloat16(shape, 1), float32(perChannel, 2), float32(perChannel, 3), residual],
        outputs: [ofX, ofChannel, ofChannel],
        attributes: { epsilon: { float: 1e-5 }, activates },
      });
    }
    const words = {
      type: 'int64',
      data: new BigInt64Array(channels * flags).fill(0x5555_0123_4567_89abn),
      shape: [channels, flags],
    } as const;
    const variance = float32(perChannel, 5);
    for (let i = 0; i < channels; i += 1) variance.data[i] = Math.abs(Number(variance.data[i]));
    await expectRounded({
      op: 'BatchNormalizeActivateGradient',
      inputs: [
        ...[bfloat16(shape, 1), bfloat16(shape, 2), float32(perChannel, 3), variance, float32(perChannel, 6)],
        ...[activates ? words : undefined, bfloat16(shape, 7)],
      ],
      outputs: [ofX, ofChannel, ofChannel],
      attributes: { epsilon: { float: 1e-5 } },
    });
  });

  test('MaxPoolActivate, MaxPoolActivateGradient and MaxPoolGradient', async () => {
    const [image, pooled] = [
      [6, channels, 4, batch],
      [3, channels, 2, batch],
    ];
    const places = [3, channels, 2, 4];
    const window = { rows: 2, columns: 2 };
    await expectRounded({
      op: 'MaxPoolActivate',
      inputs: [bfloat16(image, 1, true), float32([channels], 2)],
      outputs: [result('bfloat16', pooled)],
      attributes: { ...window, activates: 1 },
    });
    const bytes = new Uint8Array(8 * 3 * channels * 2 * 4).map((_, i) => i % 5);
    const given = { type: 'int64', data: new BigInt64Array(bytes.buffer), shape: places } as const;
    await expectRounded({
      op: 'MaxPoolActivateGradient',
      inputs: [bfloat16(pooled, 1), given],
      outputs: [result('bfloat16', image), result('float32', [channels])],
      attributes: window,
    });
    const positions = {
      type: 'int64',
      data: BigInt64Array.from({ length: 2 * channels * 9 }, (_, i) =>
        BigInt(Math.floor(i / 9) * 16 + ((5 * i) % 7)),
      ),
      shape: [2, channels, 3, 3],
    } as const;
    await expectRounded({
      op: 'MaxPoolGradient',
      inputs: [bfloat16([2, channels, 3, 3], 3), positions],
      outputs: [result('bfloat16', [2, channels, 4, 4])],
      attributes: { height: 4, width: 4 },
    });
  });
});
