// Parsers of option values for commander, which an example can use without @ringrun/nn.
export { integerFrom, numberFrom0 } from './number-options.ts';
export { outputFile, outputFolder, textLocation } from './path-options.ts';
