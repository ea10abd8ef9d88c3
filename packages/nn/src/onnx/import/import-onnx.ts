import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ArgumentError } from '../../errors.ts';
import { requireOptions, type OptionNames } from '../../require-options.ts';
import type { Tensor } from '../../tensor.ts';
import { decodeModel, type OnnxGraph } from './decode.ts';
import type { ReadExternal } from './decode-tensor.ts';
import { foldingRules } from './folding.ts';
import type { IsParameter } from './initializers.ts';
import { OnnxModule, type OnnxOutput } from './onnx-module.ts';
import { operatorRules } from './operators/index.ts';

/** Options of {@link importOnnx}. */
export interface ImportOptions {
  /**
   * Decides which arrays of floats are parameters; the others are buffers. Running statistics are always buffers, and
   * numbers such as the limits of a Clip are constants. Default: all arrays with a dimension, or what was a
   * parameter of the module that `exportOnnx` wrote.
   */
  isParameter?: IsParameter;
}

const optionNames: OptionNames<ImportOptions> = { isParameter: true };

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
 * @param source the bytes of a model, or the path of its file; arrays in files beside it are read, too
 * @throws ArgumentError if the bytes are not an ONNX model, or if the model has unsupported operators; the message lists all
 */
export async function importOnnx<Output extends OnnxOutput = Tensor>(
  source: Uint8Array | string | URL,
  options: ImportOptions = {},
): Promise<OnnxModule<Output>> {
  requireOptions('importOnnx', options, optionNames);
  const path = source instanceof URL ? fileURLToPath(source) : source;
  const isPath = typeof path === 'string';
  const model = decodeModel(isPath ? await bytesOf(path) : path, isPath ? filesBeside(path) : noFiles);
  requireSupported(model.graph);
  return new OnnxModule<Output>(model, options.isParameter);
}

async function bytesOf(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ArgumentError(`importOnnx: expected the path of a model, got ${path}: ${reason}.`, { cause });
  }
}

const noFiles: ReadExternal = (location) => {
  throw new ArgumentError(
    `importOnnx: the model stores arrays in the file ${location}. Pass the path of the model instead of its bytes.`,
  );
};

/** Reads files of the model's folder. */
function filesBeside(path: string): ReadExternal {
  const files = new Map<string, Uint8Array>();
  return (location, offset, length) => {
    const name = normalize(location);
    if (isAbsolute(name) || name.startsWith('..')) {
      throw new ArgumentError(`importOnnx: expected a file in the folder of ${path}, got ${location}.`);
    }
    const bytes = files.get(name) ?? readFileSync(join(dirname(path), name));
    files.set(name, bytes);
    return bytes.subarray(offset, length === undefined ? undefined : offset + length);
  };
}

function requireSupported(graph: OnnxGraph): void {
  const counts = new Map<string, number>();
  for (const name of unsupportedIn(graph)) counts.set(name, (counts.get(name) ?? 0) + 1);
  if (counts.size === 0) return;
  const list = [...counts].map(([name, count]) => (count > 1 ? `${name} (${count} nodes)` : name)).join(', ');
  throw new ArgumentError(
    `importOnnx: expected operators that ringrun can train, got ${counts.size} other(s): ${list}. Export the model without them, or run it with onnxruntime-node.`,
  );
}

function unsupportedIn({ nodes }: OnnxGraph): string[] {
  return nodes.flatMap(({ op, domain, attributes }) => {
    if (domain !== '') return [`${domain}.${op}`];
    if (op !== 'If') return Object.hasOwn(operatorRules, op) || Object.hasOwn(foldingRules, op) ? [] : [op];
    return ['then_branch', 'else_branch'].flatMap((name) => unsupportedIn(attributes.get(name) as OnnxGraph));
  });
}
