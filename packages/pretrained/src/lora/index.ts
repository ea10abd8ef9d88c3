export {
  loadAdapter,
  loraStateDict,
  saveAdapter,
  type LoadAdapterOptions,
  type SaveAdapterOptions,
} from './adapter-files.ts';
export { lora, merge, mergeAndUnload, unmerge } from './lora.ts';
export type { LoraOptions, TargetModules } from './options.ts';
