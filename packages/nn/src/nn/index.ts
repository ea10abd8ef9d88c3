export { GELU, LeakyReLU, LogSoftmax, ReLU, Sigmoid, SiLU, Softmax, Tanh } from './activation.ts';
export { Conv2d, type Conv2dModuleOptions } from './conv2d.ts';
export { Flatten } from './flatten.ts';
export { Linear, type LinearOptions } from './linear.ts';
export { NLLLoss } from './loss.ts';
export { Module } from './module.ts';
export { AdaptiveAvgPool2d, AvgPool2d, MaxPool2d } from './pooling.ts';
export { Sequential, type Layer } from './sequential.ts';
export type { IncompatibleKeys, ModuleStateDict, StoredTensors } from './state-dict.ts';
