import { InvalidArgumentError } from '@ringrun/core';
import { arange, nn, type Parameter, type Tensor } from '@ringrun/nn';

/** A table of vectors: an `nn.Embedding`, or one with an adapter. */
export type Table = nn.Module & { readonly weight: Parameter; forward(input: Tensor): Tensor };

/** The first rows [count, width] of a table, such as those of the positions 0, 1, … */
export function firstRows(table: Table, count: number): Tensor {
  // A slice is no tensor that is made in each step, so `compileStep` with `traceOnce` can repeat its graph.
  return table instanceof nn.Embedding ? table.weight.narrow(0, 0, count) : table.forward(arange(count));
}

/** @throws InvalidArgumentError unless the input ids are int64 [N, S] with at most `longest` tokens */
export function requireInputIds(who: string, inputIds: Tensor, longest: number): void {
  const { shape, dtype } = inputIds;
  if (dtype !== 'int64' || shape.length !== 2) {
    throw new InvalidArgumentError(
      `${who}: expected input ids int64 [N, S], got ${dtype} [${shape.join(', ')}].`,
    );
  }
  if (shape[1] > longest) {
    throw new InvalidArgumentError(
      `${who}: expected at most ${longest} tokens, got ${shape[1]}. Truncate the texts: tokenizer.encode(texts, { maxLength: ${longest} }).`,
    );
  }
}
