export { ResNetEncoder, encoderNames } from './resnet-encoder.ts';
export type { EncoderName } from './resnet-encoder.ts';
export { sceneClasses, syntheticScenes } from './synthetic-scenes.ts';
export { UNet } from './unet.ts';
export type { UNetOptions } from './unet.ts';
