export type { BertConfig } from './bert/config.ts';
export {
  BertForMaskedLM,
  BertForSequenceClassification,
  BertModel,
  type BertModelOptions,
  type BertOutputs,
} from './bert/models.ts';
export type { DistilBertConfig } from './distilbert/config.ts';
export {
  DistilBertForSequenceClassification,
  DistilBertModel,
  type DistilBertOutputs,
} from './distilbert/models.ts';
export type { GPT2Config } from './gpt2/config.ts';
export { Conv1D } from './gpt2/conv1d.ts';
export { GPT2LMHeadModel, GPT2Model, type GPT2Outputs } from './gpt2/models.ts';
export type { ResNetConfig } from './resnet/config.ts';
export { ResNetForImageClassification, ResNetModel, type ResNetOutputs } from './resnet/models.ts';
export type { Given, PretrainedConfig } from './shared/config.ts';
export { PretrainedModel, type PretrainedModelClass } from './shared/pretrained-model.ts';
