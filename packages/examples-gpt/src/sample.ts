import { noGrad, rand, tensor } from '@ringrun/nn';
import type { GPT } from './gpt.ts';

/** Continues a text by `length` characters, each drawn from the model's probabilities. */
export async function sample(
  model: GPT,
  characters: readonly string[],
  context: number,
  { prompt = '\n', length }: { prompt?: string; length: number },
): Promise<string> {
  const tokens = Array.from(prompt, (character) => BigInt(characters.indexOf(character)));
  for (let made = 0; made < length; made += 1) {
    const seen = tokens.slice(-context);
    // Zeros after the last token, which attention ignores, keep one shape for all steps.
    const input = BigInt64Array.from({ length: context }, (_, i) => seen[i] ?? 0n);
    const logits = noGrad(() => model.forward(tensor(input, [1, context])).at(0, seen.length - 1));
    const probabilities = noGrad(() => logits.softmax(-1));
    const until = noGrad(() => probabilities.cumsum(0));
    const drawn = await rand([1]).item();
    const token = ((await until.array()) as Float32Array).findIndex((sum) => drawn < sum);
    tokens.push(BigInt(token === -1 ? characters.length - 1 : token));
  }
  return tokens.map((token) => characters[Number(token)]).join('');
}
