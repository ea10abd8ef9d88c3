export type { Encoding, IntArray } from './batch.ts';
export {
  Tokenizer,
  tokenizerFromPretrained,
  type EncodeOptions,
  type TextInput,
  type TokenizerOptions,
} from './tokenizer.ts';
