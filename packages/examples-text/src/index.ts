export { BagOfWords } from './bag-of-words.ts';
export { parseNews, syntheticNews, type NewsText } from './news.ts';
export { Texts, splitNews, type TextSplit, type Tokens } from './texts.ts';
export { TextTransformer } from './text-transformer.ts';
