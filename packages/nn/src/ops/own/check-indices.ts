import { checkElements } from '../../graph/element-checks.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { createValue, type Value } from '../../graph/node.ts';
import type { IndexRange } from '../../graph/attributes.ts';
import { sourceOfLeaf } from '../../graph/source-of-leaf.ts';
import { noGradient, type OperatorFamily } from '../definition.ts';

/**
 * Indices that are in range, for an operator that would count a negative one from the end, or fail with an onnxruntime error.
 * Indices of a leaf are checked at once, computed ones when the graph runs.
 *
 * @param name the function that the user called
 * @param what name of the indices in the error
 * @param indices int64
 * @throws ArgumentError if an index is out of range; for computed indices, when the graph runs
 */
export function checkIndices(name: string, what: string, indices: Value, range: IndexRange): Value {
  const { least, count, ignored } = range;
  const orIgnored = ignored === undefined ? '' : ` or ignoreIndex (${ignored})`;
  const expected = `${name}: expected ${what} from ${least} to ${count - 1}${orIgnored}`;
  if (sourceOfLeaf(indices) === undefined) {
    return createValue('CheckIndices', [indices], { expected, ...range }, indices);
  }
  checkElements(indices, (elements) => {
    const place = firstOutside(elements as BigInt64Array, range);
    if (place >= 0) throw new ArgumentError(`${expected}, got ${elements[place]} at index ${place}.`);
  });
  return indices;
}

/**
 * The first index that is neither in range nor ignored; -1 if all are valid. Reads 32 bits at a time, because bigints are
 * allocated.
 */
function firstOutside(indices: BigInt64Array, { least, count, ignored }: IndexRange): number {
  // A detached array is reported when the graph runs.
  if (indices.length === 0) return -1;
  const words = new Uint32Array(indices.buffer, indices.byteOffset, 2 * indices.length);
  for (let place = 0; place < indices.length; place += 1) {
    const [low, high] = [words[2 * place], words[2 * place + 1]];
    if (high === 0 && low < count) continue;
    const index = (high | 0) * 2 ** 32 + low;
    // Rounded to 53 bits: only `ignored` can be equal.
    const isIgnored = index === ignored && BigInt(ignored) === indices[place];
    if (!isIgnored && (index < least || index >= count)) return place;
  }
  return -1;
}

export const indexChecks: OperatorFamily<'CheckIndices'> = {
  CheckIndices: {
    plain: ({ inputs: [indices] }) => [indices],
    emit: (graph, { attributes: { expected, least, count, ignored } }, inputs, outputs) => {
      const ignores = ignored === undefined ? { ignores: 0, ignored: 0 } : { ignores: 1, ignored };
      graph.ownNode('CheckIndices', inputs, outputs, { least, count, ...ignores }, `${expected}, `);
    },
    gradient: noGradient,
  },
};
