import { checkElements } from '../../graph/element-checks.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { createValue, type Value } from '../../graph/node.ts';
import { sourceOfLeaf } from '../../graph/source-of-leaf.ts';
import type { OperatorFamily } from '../definition.ts';

/**
 * Elements that are from 0 to 1. Elements of a leaf are checked at once, computed ones when the graph runs.
 *
 * @param name the function that the user called
 * @param what name of the elements in the error
 * @param elements float32
 * @throws ArgumentError if an element is out of range; for computed elements, when the graph runs
 */
export function checkProbabilities(name: string, what: string, elements: Value): Value {
  const expected = `${name}: expected ${what} from 0 to 1`;
  if (sourceOfLeaf(elements) === undefined) {
    return createValue('CheckProbabilities', [elements], { expected }, elements);
  }
  checkElements(elements, (numbers) => {
    const place = firstOutside(numbers as Float32Array);
    if (place < 0) return;
    const got = Number(Number(numbers[place]).toPrecision(6));
    throw new ArgumentError(`${expected}, got ${got} at index ${place}.`);
  });
  return elements;
}

/** The first element that is not from 0 to 1; -1 if all are. A loop takes a seventh of the time of `findIndex`. */
function firstOutside(numbers: Float32Array): number {
  for (let place = 0; place < numbers.length; place += 1) {
    const one = numbers[place];
    if (!(one >= 0 && one <= 1)) return place;
  }
  return -1;
}

export const probabilityChecks: OperatorFamily<'CheckProbabilities'> = {
  CheckProbabilities: {
    plain: ({ inputs: [elements] }) => [elements],
    emit: (graph, { attributes: { expected } }, inputs, outputs) => {
      graph.ownNode('CheckProbabilities', inputs, outputs, {}, `${expected}, `);
    },
    gradient: (_, [d]) => [d],
  },
};
