export { TextScores } from './text-scores.ts';
export { readTexts, syntheticTexts, Texts, wordTokens, type LabelledText } from './texts.ts';
