import { F, Parameter, Tensor, cat, checkpoint, manualSeed, nn, tensor } from '../../src/index.ts';
import { sizeOf } from '../../src/value-type.ts';
import { fill } from '../support/fill.ts';
import type { Argument, Call, Filled, Network, Options, Step } from './network.ts';

/** The results of a network. The input is a Parameter, unless it has integers. */
export interface Built {
  readonly input: Tensor;
  readonly modules: readonly nn.Module[];
  readonly output: Tensor;
  readonly loss: Tensor;
}

export function build({ seed, training, input, steps, loss }: Network): Built {
  manualSeed(seed);
  const modules: nn.Module[] = [];
  const given = tensorOf(input as Filled);
  const x = given.dtype === 'float32' ? new Parameter(given.elements() as Float32Array, given.shape) : given;
  const use: UseModule = (make) => {
    modules.push(make().train(training));
    return modules.at(-1)!;
  };
  const output = run(steps, x, use);
  return { input: x, modules, output, loss: run([loss], output, use) };
}

/** A network that is run several times with the same modules. Its input is a parameter, unless it has integers. */
export class RandomNetwork extends nn.Module {
  readonly input: Tensor;
  readonly parts: nn.ModuleList;
  readonly #network: Network;

  constructor(network: Network) {
    super();
    const { input, modules } = build(network);
    this.input = input;
    this.parts = new nn.ModuleList(modules);
    this.#network = network;
  }

  /** Returns the loss of an input times a factor. */
  forward(factor: number): Tensor {
    const { steps, loss } = this.#network;
    const modules = this.parts[Symbol.iterator]();
    const use: UseModule = () => modules.next().value as nn.Module;
    const x = this.input instanceof Parameter ? this.input.mul(factor) : this.input;
    return run([loss], run(steps, x, use), use);
  }
}

/** Creates the module of a call, or returns the one of an earlier run. */
export type UseModule = (make: () => nn.Module) => nn.Module;

export function run(steps: readonly Step[], x: Tensor, use: UseModule = (make) => make()): Tensor {
  return steps.reduce((value, step) => {
    if (step.kind === 'checkpoint') return checkpoint((given) => run(step.steps, given, use), value);
    if (step.kind !== 'branches') return call(step, value, use);
    const parts = step.paths.map((path) => run(path, value, use));
    if (step.join === 'cat') return cat(parts, -1);
    return parts.reduce((a, b) => (step.join === 'add' ? a.add(b) : a.mul(b)));
  }, x);
}

type Function = (...args: unknown[]) => unknown;
type CalledModule = nn.Module & { forward: Function };
type ModuleClass = new (...args: unknown[]) => CalledModule;

function call({ kind, name, args, options, times = 1 }: Call, x: Tensor, use: UseModule): Tensor {
  const given = [...args.map(valueOf), ...(options === undefined ? [] : [optionsOf(options)])];
  const inputs = Array<Tensor>(times).fill(x);
  if (kind === 'method') return resultOf((x as unknown as Record<string, Function>)[name](...given));
  if (kind === 'function')
    return resultOf((F as unknown as Record<string, Function>)[name](...inputs, ...given));
  const module = use(() => new (nn as unknown as Record<string, ModuleClass>)[name](...given));
  return resultOf((module as CalledModule).forward(...inputs));
}

/** A tensor, the first one of a list, the values beside indices, or the output of attention. */
function resultOf(result: unknown): Tensor {
  if (result instanceof Tensor) return result;
  if (Array.isArray(result)) return result[0] as Tensor;
  const { values, output } = result as { values?: Tensor; output?: Tensor };
  return (values ?? output)!;
}

function optionsOf(options: Options): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [name, valueOf(value)]));
}

function valueOf(argument: Argument): unknown {
  if (Array.isArray(argument)) return argument.map((part: Argument) => valueOf(part));
  if (typeof argument === 'object' && argument !== null) return tensorOf(argument as Filled);
  return argument;
}

export function tensorOf({ shape, seed, as }: Filled): Tensor {
  const elements = fill(shape, seed);
  if (as === 'numbers') return tensor(elements, shape);
  if (as === 'mask') return tensor(elements, shape).gt(0);
  if (as === 'fractions')
    return tensor(
      elements.map((one) => (one + 1) / 2),
      shape,
    );
  const { below } = as;
  return tensor(
    BigInt64Array.from({ length: sizeOf(shape) }, (_, i) =>
      BigInt(Math.floor(((elements[i] + 1) / 2) * below)),
    ),
    shape,
  );
}
