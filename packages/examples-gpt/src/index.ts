export { GPT, type GPTConfig } from './gpt.ts';
export { decayedApart, lossOf, tokenLoss, warmupAndCosine } from './optimization.ts';
export { sample } from './sample.ts';
export { addSyncOptions, syncOf, type SyncSettings } from './sync.ts';
export { characterCorpus, syntheticText, Windows, type Corpus } from './text.ts';
