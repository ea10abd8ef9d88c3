import { describe, expect, test } from 'vitest';
import { differentiate } from '../../src/compiler/differentiate.ts';
import { inSequence } from '../../src/graph/collective.ts';
import type { CollectiveGroup } from '../../src/graph/attributes.ts';
import { structureOf } from '../../src/graph/structure.ts';
import { topologicalOrder } from '../../src/graph/topology.ts';
import { Parameter } from '../../src/index.ts';
import { allReduce } from '../../src/ops/collective.ts';
import { add, exp, mul } from '../../src/ops/elementwise.ts';
import { reduceSum } from '../../src/ops/reduction.ts';

/** These graphs never run: groups only distinguish collectives. */
const group = (): CollectiveGroup => ({ rank: 0, size: 2, allReduce: unused, allGather: unused });
const unused = () => Promise.reject(new Error('not to be run'));

const one = group();
const parameter = () => new Parameter(new Float32Array(3), [3]);

test('collectives are in call order, and their gradients in reverse, in any graph', () => {
  const [a, b, c] = [parameter(), parameter(), parameter()].map(({ value }) => value);
  const reduced = [a, b, c].map((value) => allReduce(value, one));
  const orders = [
    [0, 1, 2],
    [2, 1, 0],
    [1, 2, 0],
  ].map((order) => {
    const loss = order.map((which) => reduceSum(mul(reduced[which], reduced[which]))).reduce(add);
    const gradients = differentiate(loss);
    const collectives = inSequence(topologicalOrder([loss, ...gradients.values()]));
    const inputs = collectives.map(({ inputs: [input] }) => input);
    const turns = collectives.map(({ attributes }) => attributes.sequence);
    return { forward: inputs.slice(0, 3), backward: turns.slice(3) };
  });
  for (const { forward, backward } of orders) {
    expect(forward).toEqual([a, b, c]);
    expect(backward).toEqual(orders[0].backward);
    expect(backward).toEqual(backward.toSorted((left, right) => left - right));
    expect(backward).toHaveLength(3);
  }
});

describe('a program', () => {
  const { value: x } = parameter();
  const key = (...groups: readonly CollectiveGroup[]) =>
    structureOf(groups.map((of) => allReduce(exp(x), of))).key;

  test('is shared by equal graphs with different groups, which are passed to runs', () => {
    const other = group();
    expect(key(one).equals(key(other))).toBe(true);
    expect(structureOf([allReduce(x, one), allReduce(x, other), allReduce(x, one)]).groups).toEqual([
      one,
      other,
    ]);
  });

  test('differs between two collectives with one group and with two', () => {
    expect(key(one, one).equals(key(one, group()))).toBe(false);
  });

  test('differs for calls in another order', () => {
    const [first, second] = [allReduce(x, one), allReduce(x, one)];
    expect(structureOf([first, second]).key.equals(structureOf([second, first]).key)).toBe(false);
  });
});
