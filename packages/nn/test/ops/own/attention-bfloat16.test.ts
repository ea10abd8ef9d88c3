import { describe, expect, test } from 'vitest';
import { F, manualSeed, Parameter, tensor } from '../../../src/index.ts';
import { compileModel } from '../../../src/executor/cpu/onnxruntime.ts';
import { allOnHost } from '../../../src/executor/value-buffer.ts';
import { isNode, type Node, type Value } from '../../../src/graph/node.ts';
import { GraphBuilder } from '../../../src/onnx-format/graph-builder.ts';
import { dataTypeCode } from '../../../src/onnx-format/type-codes.ts';
import { attention, attentions } from '../../../src/ops/own/attention.ts';
import { input, number } from '../../../src/ops/source.ts';
import { sizeOf } from '../../../src/value-type.ts';
import { fill } from '../../support/fill.ts';
import { bothWays, onThreads } from '../../support/both-ways.ts';
import '../../support/one-thread.ts';

const bfloat16 = 16;

interface Sizes {
  readonly queries: number;
  readonly keys: number;
  readonly size: number;
  readonly valueSize: number;
}

/** Result and gradients of two heads, by the kernels of float32 or of bfloat16, from numbers that bfloat16 holds. */
async function computed(
  { queries, keys, size, valueSize }: Sizes,
  isCausal: boolean,
  inBfloat16: boolean,
): Promise<Float32Array[]> {
  const shapes = [
    [2, queries, size],
    [2, keys, size],
    [2, keys, valueSize],
    [2, queries, valueSize],
  ];
  const leaves = shapes.map((shape, seed) => input('float32', shape, { data: rounded(fill(shape, seed)) }));
  const [query, key, value, slope] = leaves;
  const attended = attention({ query, key, value, scale: number(2 / Math.sqrt(size)) }, isCausal);
  const forward = attended.node as Node & Node<'Attention'>;
  const { gradient } = attentions.Attention;
  if (gradient === 'ofPlain') throw new Error('expected a gradient operator');
  const backward = gradient(forward, [slope])[0]!.node as Node & Node<'AttentionGradient'>;

  const graph = new GraphBuilder();
  const names = new Map<Value, string>();
  for (const [i, leaf] of leaves.entries()) {
    graph.input(`input_${i}`, 'float32', leaf.shape);
    const name = inBfloat16 ? `narrow_${i}` : `input_${i}`;
    if (inBfloat16) graph.node('Cast', [`input_${i}`], [name], { to: bfloat16 });
    names.set(leaf, name);
  }
  const nameOf = (value: Value) => {
    if (isNode(value.node, 'Number')) {
      return graph.constant('float32', [], [Number(value.node.attributes.value)]);
    }
    if (!names.has(value)) names.set(value, graph.freshName('value'));
    return names.get(value)!;
  };
  attentions.Attention.emit(graph, forward, forward.inputs.map(nameOf), forward.outputs.map(nameOf));
  attentions.AttentionGradient.emit(
    graph,
    backward,
    backward.inputs.map(nameOf),
    backward.outputs.map(nameOf),
  );
  const outputs = [attended, ...backward.outputs];
  for (const [i, output] of outputs.entries()) {
    graph.output(`output_${i}`, 'float32', output.shape);
    graph.node('Cast', [nameOf(output)], [`output_${i}`], { to: dataTypeCode.float32 });
  }
  const definition = { name: 'test', model: graph.encode(), inputs: leaves, outputs, isLong: false };
  const program = await compileModel(definition);
  const results = outputs.map(({ shape }) => new Float32Array(sizeOf(shape)));
  await program.run(allOnHost(shapes.map((shape, seed) => rounded(fill(shape, seed)))), allOnHost(results));
  await program.release();
  return results;
}

/** Numbers that bfloat16 holds. */
function rounded(numbers: Float32Array): Float32Array {
  const bits = new Uint32Array(numbers.buffer.slice(0));
  return new Float32Array(bits.map((one) => one & 0xffff0000).buffer);
}

describe.each([true, false])('causal: %s', (isCausal) => {
  test.each<Sizes>([
    { queries: 1, keys: 1, size: 1, valueSize: 1 },
    { queries: 5, keys: 7, size: 3, valueSize: 2 },
    { queries: 49, keys: 65, size: 16, valueSize: 33 },
    { queries: 200, keys: 200, size: 64, valueSize: 64 },
    { queries: 33, keys: 401, size: 47, valueSize: 80 },
    { queries: 401, keys: 33, size: 32, valueSize: 16 },
  ])('$queries queries, $keys keys, sizes $size and $valueSize agree with float32', async (sizes) => {
    const [narrow, wide] = [await computed(sizes, isCausal, true), await computed(sizes, isCausal, false)];
    for (const [i, name] of ['result', 'query', 'key', 'value'].entries()) {
      // Numbers are rounded to 1/256 of their size; in sums over many keys, errors cancel out.
      const largest = wide[i].reduce((most, one) => Math.max(most, Math.abs(one)), 0.05);
      const worst = narrow[i].reduce((most, one, k) => Math.max(most, Math.abs(one - wide[i][k])), 0);
      expect(worst / largest, name).toBeLessThan(0.02);
    }
  });
});

test('results are bit-identical for any number of threads', async () => {
  const compute = () => computed({ queries: 700, keys: 130, size: 24, valueSize: 24 }, true, true);
  expect(await onThreads(3, compute)).toEqual(await onThreads(1, compute));
});

test('a graph computes tensors of bfloat16 with the operator: masks, dropout, a trained mask, heads of one array', async () => {
  const compute = async () => {
    manualSeed(2);
    const [qkv, mask] = [
      new Parameter(fill([2, 40, 48], 1), [2, 40, 48]),
      new Parameter(fill([40, 40], 2), [40, 40]),
    ];
    const [query, key, value] = qkv
      .bfloat16()
      .chunk(3, -1)
      .map((part) => part.view(2, 40, 2, 8).transpose(1, 2));
    const first = F.scaledDotProductAttention(query, key, value, { isCausal: true, dropoutP: 0.2 });
    const second = F.scaledDotProductAttention(query, key, first, { attnMask: mask });
    expect([first.dtype, second.dtype]).toEqual(['bfloat16', 'bfloat16']);
    const joined = second.transpose(1, 2).flatten(2);
    const result = (await joined.array()) as Float32Array;
    await joined
      .float()
      .mul(tensor(fill([2, 40, 16], 3), [2, 40, 16]))
      .sum()
      .backward();
    return [result, qkv.grad!.slice(), mask.grad!.slice()];
  };
  const { own, plain } = await bothWays(compute);
  for (const [i, name] of ['result', 'qkv', 'mask'].entries()) {
    const largest = plain[i].reduce((most, one) => Math.max(most, Math.abs(one)), 0);
    const worst = own[i].reduce((most, one, k) => Math.max(most, Math.abs(one - plain[i][k])), 0);
    expect(worst / largest, name).toBeLessThan(0.02);
    expect(largest, name).toBeGreaterThan(0.01);
  }
});
