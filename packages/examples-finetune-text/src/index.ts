export { readTexts, syntheticTexts, Texts, wordTokens, type LabelledText } from './texts.ts';
