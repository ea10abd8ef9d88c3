export { DigitClassifier, ResNetEncoder } from './digit-classifier.ts';
export { DigitsFrom } from './digits-from.ts';
