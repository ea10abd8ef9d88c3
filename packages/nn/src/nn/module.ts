import type { DistributedModule } from 'ringrun';
import { BufferTensor } from '../buffer-tensor.ts';
import { ArgumentError } from '../errors.ts';
import { Parameter } from '../parameter.ts';
import { changeBy, recordChange } from '../graph/changes.ts';
import { requireNothingPending } from '../operation-queue.ts';
import {
  keyOf,
  loadTensors,
  saveTensors,
  tensorsByKey,
  type IncompatibleKeys,
  type ModuleStateDict,
  type StoredTensors,
} from './state-dict.ts';
import { requireOptions, type OptionNames } from '../require-options.ts';

/** Options of {@link Module.loadStateDict}. */
export interface LoadStateDictOptions {
  /** Whether every key must be there, and no other. Default: true. */
  strict?: boolean;
}

const loadOptions: OptionNames<LoadStateDictOptions> = { strict: true };

/**
 * A part of a network (torch.nn.Module): its parameters, its buffers and its parts are its properties, and `forward`, which every
 * subclass writes, says how it computes.
 */
export abstract class Module implements DistributedModule {
  /** Whether the module computes as in training, where some do otherwise than in evaluation; `train` and `eval` set it. */
  training = true;

  /** Whether computing this module in training is a collective of its ranks, as synchronised batch normalization is. */
  get isCollective(): boolean {
    return false;
  }

  /**
   * Every parameter of this module and its parts, named by the path of properties: `conv1.weight`. A module's own come before those of its parts, as in
   * torch. A parameter that is used twice is listed once.
   */
  *namedParameters(prefix = ''): Generator<[name: string, parameter: Parameter]> {
    for (const [path, parameter] of listed(this, prefix, Parameter)) {
      parameter.listedAs(path);
      yield [path, parameter];
    }
  }

  /** The parameters alone, as optimizers take them. */
  *parameters(): Generator<Parameter> {
    for (const [, parameter] of this.namedParameters()) yield parameter;
  }

  /** State that is not trained, listed as parameters are. */
  *namedBuffers(prefix = ''): Generator<[name: string, buffer: BufferTensor]> {
    yield* listed(this, prefix, BufferTensor);
  }

  /** The parts that are properties of this module itself. */
  *namedChildren(): Generator<[name: string, child: Module]> {
    for (const [name, property] of propertiesOf(this)) {
      if (property instanceof Module) {
        yield [name, property];
      } else {
        this.#requireNothingHidden(name, property);
      }
    }
  }

  /** torch's flag for freezing; an assignment of it would do nothing here. */
  set requiresGrad(_: boolean) {
    throw new ArgumentError(
      `${this.constructor.name}: requiresGrad cannot be set. To freeze a module, give its parameters to no optimizer, or compute it in noGrad().`,
    );
  }

  #requireNothingHidden(name: string, property: unknown): void {
    const hidden = partIn(property);
    if (hidden === undefined) return;
    const [kind, cure] =
      hidden instanceof Module
        ? ['modules', 'make it a nn.ModuleList']
        : ['parameters and buffers', 'make each a property of a module'];
    throw new ArgumentError(
      `${this.constructor.name}: the ${kind} in the ${containerOf(property)} '${name}' would not be found; ${cure}.`,
    );
  }

  /** The modules that are properties of this module (torch.nn.Module.children): `namedChildren` without the names. */
  *children(): Generator<Module> {
    for (const [, child] of this.namedChildren()) yield child;
  }

  /** This module, then all its submodules with their paths, each once (torch.nn.Module.named_modules). `prefix` is the path of this module. Default: ''. */
  *namedModules(prefix = '', seen = new Set<Module>()): Generator<[name: string, module: Module]> {
    if (seen.has(this)) return;
    seen.add(this);
    yield [prefix, this];
    for (const [name, child] of this.namedChildren()) yield* child.namedModules(join(prefix, name), seen);
  }

  /** Paths of the parts whose computation is a collective, for DistributedDataParallel. */
  *namedCollectives(): Generator<string> {
    for (const [name, module] of this.namedModules()) if (module.isCollective) yield name;
  }

  /** Has this module and all of its parts compute as in training, or in evaluation (torch.nn.Module.train). */
  train(mode = true): this {
    this.training = mode;
    for (const child of this.children()) child.train(mode);
    return this;
  }

  /** `train(false)`: dropout lets everything through, and batch normalization uses its running statistics. */
  eval(): this {
    return this.train(false);
  }

  /**
   * A copy of all parameters and buffers (torch.nn.Module.state_dict), by torch's keys: paths of properties, from camelCase to snake_case
   * (`bn1.runningMean` is `bn1.running_mean`). A parameter that is used twice is there once, under its first path.
   *
   * @throws NnError (ERR_NOT_AWAITED) if a backward pass or an optimizer step on the module is pending
   */
  stateDict(): ModuleStateDict {
    const tensors = tensorsByKey(this.namedParameters(), this.namedBuffers());
    requireNothingPending('stateDict', tensors.values(), { besideReads: true });
    return saveTensors(tensors);
  }

  /**
   * Copies what `stateDict` gave into parameters and buffers (torch.nn.Module.load_state_dict); or what PyTorch saved as safetensors:
   * `model.loadStateDict(await loadSafetensors(path))`, with `loadSafetensors` of ringrun. Every dtype is converted to float32, as torch's copy does.
   *
   * @param state a Map or a record of `{ shape, data }` by key
   * @param options `strict`: require exactly the module's keys; without it, keys that are on one side only are ignored. Default: true.
   * @returns the keys that only one side has
   * @throws ArgumentError that lists missing and unexpected keys and shapes that differ; NnError (ERR_NOT_AWAITED) if an operation on the module is pending; nothing is changed then
   */
  loadStateDict(state: StoredTensors, options: LoadStateDictOptions = {}): IncompatibleKeys {
    requireOptions('loadStateDict', options, loadOptions);
    const { strict = true } = options;
    const tensors = tensorsByKey(this.namedParameters(), this.namedBuffers());
    requireNothingPending('loadStateDict', tensors.values());
    const keys = loadTensors(tensors, state, strict);
    const change = changeBy('loadStateDict');
    for (const [path, { value }] of [...this.namedParameters(), ...this.namedBuffers()]) {
      if (!keys.missingKeys.includes(keyOf(path))) recordChange(value, change);
    }
    return keys;
  }

  /** Forgets all gradients. */
  zeroGrad(): void {
    for (const parameter of this.parameters()) parameter.zeroGrad();
  }
}

/** The properties of one class that a module and its parts have, by their paths; each once. */
function* listed<T>(
  root: Module,
  prefix: string,
  kind: abstract new (...inputs: never[]) => T,
): Generator<[path: string, property: T]> {
  const seen = new Set<T>();
  for (const [path, module] of root.namedModules(prefix)) {
    for (const [name, property] of propertiesOf(module)) {
      if (!(property instanceof kind) || seen.has(property)) continue;
      seen.add(property);
      yield [join(path, name), property];
    }
  }
}

/** A module, parameter or buffer in an array, a Map, a Set or an object literal, or in one of these in it. */
function partIn(container: unknown, depth = 2): Module | Parameter | BufferTensor | undefined {
  for (const element of elementsOf(container)) {
    if (element instanceof Module || element instanceof Parameter || element instanceof BufferTensor)
      return element;
    const found = depth > 1 ? partIn(element, depth - 1) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function elementsOf(container: unknown): Iterable<unknown> {
  if (Array.isArray(container)) return container as unknown[];
  if (container instanceof Set) return container as Set<unknown>;
  if (container instanceof Map) return container.values();
  if (typeof container !== 'object' || container === null) return [];
  return Object.getPrototypeOf(container) === Object.prototype
    ? Object.values<unknown>(container as Record<string, unknown>)
    : [];
}

function containerOf(container: unknown): string {
  if (Array.isArray(container)) return 'array';
  return container instanceof Map ? 'Map' : container instanceof Set ? 'Set' : 'object';
}

function propertiesOf(module: Module): [name: string, property: unknown][] {
  return Object.entries(module);
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
