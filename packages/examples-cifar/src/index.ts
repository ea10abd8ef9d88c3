export { Cnn } from './cnn.ts';
export { ResNet18 } from './resnet18.ts';
