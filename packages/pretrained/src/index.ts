/**
 * Pretrained models of Hugging Face for `@ringrun/nn`: BERT, DistilBERT, GPT-2 and ResNet, tokenizers, and LoRA in PEFT's format.
 *
 * @module @ringrun/pretrained
 */
export type { HubOptions } from './hub/model-files.ts';
export { PretrainedError } from './hub/pretrained-error.ts';
export { fromPretrained, type FromPretrainedOptions } from './models/from-pretrained.ts';
export type { KnownModel } from './models/registry.ts';
export { savePretrained } from './models/save-pretrained.ts';
export * from './models/index.ts';
export * from './tokenizer/index.ts';
export * from './lora/index.ts';
export type { LoadingInfo, MismatchedKey } from './weights/match-weights.ts';
