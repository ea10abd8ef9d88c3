import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { ArgumentError } from '../../errors/errors.ts';
import { requireOptions, type OptionNames } from '../../checks/require-options.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { filesBeside, noFiles } from './external-data.ts';
import type { IsParameter } from './initializers.ts';
import type { OnnxModule, OnnxOutput } from './onnx-module.ts';

/** Options of {@link importOnnx}. */
export interface ImportOptions {
  /**
   * Decides which arrays of floats are parameters; the others are buffers. Running statistics are always buffers, and
   * numbers such as the limits of a Clip are constants. Default: all arrays with at least one dimension, or the
   * parameters of the module that `exportOnnx` wrote.
   */
  isParameter?: IsParameter;
  /**
   * If true, a model that computes with float16, bfloat16 or float64 computes with float32 instead. Default: `false`, which
   * rejects such a model.
   */
  toFloat32?: boolean;
}

const optionNames: OptionNames<ImportOptions> = { isParameter: true, toFloat32: true };

/**
 * Reads an ONNX model as a module that can be trained, as from torch.onnx.export or `exportOnnx`. Parameters and buffers have
 * the names of the initializers, so a state dict of the PyTorch model fits unless the exporter changed them:
 * export with `do_constant_folding=False` to keep all names, and with `training=TrainingMode.PRESERVE` to keep batch
 * normalization apart from convolutions.
 *
 * @example
 * const model = await importOnnx('resnet.onnx');
 * const optimizer = new optim.SGD(model.parameters(), { lr: 0.01 });
 * const texts = await importOnnx<{ scores: Tensor; states: Tensor }>('text.onnx');
 *
 * @param source the bytes of a model, or the path of its file; arrays in files beside it are read too
 * @throws ArgumentError if the bytes are not an ONNX model, or if ringrun cannot compute the model because of its opset,
 *   operators (the message lists all), attributes, element types, or because shapes depend on elements
 */
export async function importOnnx<Output extends OnnxOutput = Tensor>(
  source: Uint8Array | string | URL,
  options: ImportOptions = {},
): Promise<OnnxModule<Output>> {
  requireOptions('importOnnx', options, optionNames);
  const path = source instanceof URL ? fileURLToPath(source) : source;
  const isPath = typeof path === 'string';
  const bytes = isPath ? await bytesOf(path) : path;
  // Loaded on demand: few of the programs that import this package import a model.
  const { moduleOf } = await import('./module-of.ts');
  return moduleOf<Output>(bytes, isPath ? filesBeside(path) : noFiles, options);
}

async function bytesOf(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ArgumentError(`importOnnx: expected the path of a model, got ${path}: ${reason}.`, { cause });
  }
}
