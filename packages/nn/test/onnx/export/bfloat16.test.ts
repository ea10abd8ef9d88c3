import ort from 'onnxruntime-node';
import { expect, test } from 'vitest';
import { isFull } from '../../../../../test/support/extent.ts';
import { exportOnnx, nn, tensor, type Tensor } from '../../../src/index.ts';
import { operandsIn, operations, parametersOf } from '../../support/bfloat16-operations.ts';
import { fill } from '../../support/fill.ts';

/** An operation of bfloat16 operands, some of which depend on the input. */
class Operation extends nn.Module {
  readonly #name: string;

  constructor(name: string) {
    super();
    this.#name = name;
  }

  forward(input: Tensor): Tensor {
    const operands = operandsIn('bfloat16', parametersOf());
    const one = input.sum().mul(0.01).bfloat16();
    const shifted = Object.entries(operands).map(([key, operand]) => [key, operand.add(one)] as const);
    return operations[this.#name](Object.fromEntries(shifted) as typeof operands);
  }
}

const input = fill([2, 3], 7).map((number) => 0.5 + number / 4);

/** The short form has every third operation, and softmax, whose operator of the addon cannot be exported. */
const names = Object.keys(operations).filter(
  (name, place) => isFull || place % 3 === 0 || name === 'softmax',
);

test.each(names)('%s is exported, and onnxruntime computes its results', async (name) => {
  const model = new Operation(name).eval();
  const result = model.forward(tensor(input, [2, 3]));
  const session = await ort.InferenceSession.create(exportOnnx(model, { inputShape: [2, 3] }));
  const given = new ort.Tensor('float32', input, [2, 3]);
  const found = (await session.run({ [session.inputNames[0]]: given }))[session.outputNames[0]];
  expect(found.dims).toEqual([...result.shape]);
  const expected = Array.from((await result.array()) as ArrayLike<number | bigint>, Number);
  const exported = Array.from(found.data as ArrayLike<number | bigint>, Number);
  const largest = expected.reduce((most, number) => Math.max(most, Math.abs(number)), 0);
  // Two units in the last place of the largest: products of the addon round in other places.
  for (const [place, number] of expected.entries())
    expect(Math.abs(exported[place] - number), `element ${place}`).toBeLessThanOrEqual(largest / 64);
});
