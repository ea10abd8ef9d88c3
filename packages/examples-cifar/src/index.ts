export { Cnn } from './cnn.ts';
export { BasicBlock, conv3x3, ResNet18 } from './resnet18.ts';
