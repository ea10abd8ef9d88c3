// Parsers of command lines, which an example can use without @ringrun/nn.
export { integerFrom, numberFrom0 } from './number-options.ts';
export { outputFile, outputFolder, textLocation } from './path-options.ts';
export { parseOptions, type SharedDefaults, type SharedSettings } from './shared-options.ts';
