export { LogSoftmax, ReLU } from './activation.ts';
export { Conv2d, type Conv2dModuleOptions } from './conv2d.ts';
export { Linear, type LinearOptions } from './linear.ts';
export { NLLLoss } from './loss.ts';
export { MaxPool2d } from './max-pool2d.ts';
export { Module } from './module.ts';
