import { invalidateRecordedCalls, type DistributedModule } from '@ringrun/core';
import { recordConstruction } from '../calls/constructions.ts';
import { BufferTensor } from '../tensor/buffer-tensor.ts';
import { ArgumentError } from '../errors/errors.ts';
import { Parameter } from '../tensor/parameter.ts';
import { changeBy } from '../graph/changes.ts';
import type { Device } from '../executor/device.ts';
import { executorOf, requireUsable } from '../executor/select.ts';
import { changeAfterPending, requireNothingPending } from '../executor/operation-queue.ts';
import {
  loadTensors,
  saveTensors,
  tensorsByKey,
  type IncompatibleKeys,
  type LoadStateDictOptions,
  type ModuleStateDict,
  type StoredTensors,
} from './state-dict.ts';
import type { BackwardHook, BackwardPreHook } from './backward-hooks.ts';
import { attributesOf } from './attributes.ts';
import { writeModule } from './repr.ts';
import { replaceSubmodule, submoduleAt } from './submodules.ts';
import { tiedKeys } from './tied-keys.ts';
import type { RemovableHandle } from '../graph/removable-handle.ts';
import { registerHook, type ForwardHook, type ForwardPreHook } from './forward-hooks.ts';
import { requireBoolean } from '../checks/require-boolean.ts';
import { requireOptions, type OptionNames } from '../checks/require-options.ts';

/** Modules whose `toString` is running. */
const beingWritten = new WeakSet<object>();

const loadOptions: OptionNames<LoadStateDictOptions> = { strict: true, keyMapping: true };

/**
 * Base class of models and layers (torch.nn.Module). Parameters, buffers and submodules are public properties; every
 * subclass defines `forward`.
 */
export abstract class Module implements DistributedModule {
  /** True in training mode, false in evaluation mode; set by `train` and `eval`. */
  training = true;

  constructor() {
    recordConstruction(this);
  }

  /** True if computing the module in training is a collective of its ranks, as for SyncBatchNorm. */
  get isCollective(): boolean {
    return false;
  }

  /**
   * Parameters of this module and its submodules with their keys in the state dict, such as `conv1.weight`
   * (torch.nn.Module.named_parameters).
   * A module's own parameters come first. A parameter that is used twice is listed once.
   */
  namedParameters(prefix = ''): [name: string, parameter: Parameter][] {
    const all = listed(this, prefix, Parameter);
    for (const [path, parameter] of all) parameter.listedAs(path);
    return all;
  }

  /** Parameters without paths, for optimizers (torch.nn.Module.parameters). */
  parameters(): Parameter[] {
    return Array.from(this.namedParameters(), ([, parameter]) => parameter);
  }

  /**
   * Buffers of this module and its submodules with their keys in the state dict, such as `bn1.running_mean`, in the order of
   * parameters (torch.nn.Module.named_buffers).
   */
  namedBuffers(prefix = ''): [name: string, buffer: BufferTensor][] {
    return listed(this, prefix, BufferTensor);
  }

  /** Buffers without paths (torch.nn.Module.buffers). */
  buffers(): BufferTensor[] {
    return this.namedBuffers().map(([, buffer]) => buffer);
  }

  /** Modules that are properties of this module, with their names (torch.nn.Module.named_children). */
  namedChildren(): [name: string, child: Module][] {
    const all: [string, Module][] = [];
    for (const [name, property] of attributesOf(this)) {
      if (property instanceof Module) all.push([name, property]);
      else this.#requireNothingHidden(name, property);
    }
    return all;
  }

  /**
   * Freezes all parameters of this module and its submodules with `requiresGrad(false)`, and unfreezes them with
   * `requiresGrad()` (torch.nn.Module.requires_grad_): see {@link Parameter.requiresGrad}. Buffers, such as running means,
   * still change in training mode: call `eval()` on a frozen module too. Returns this module.
   */
  get requiresGrad(): (requires?: boolean) => this {
    return (requires = true) => {
      requireBoolean(`${this.constructor.name}.requiresGrad`, requires);
      for (const parameter of this.parameters()) parameter.requiresGrad = requires;
      return this;
    };
  }
  /** Rejects an assignment, which freezes nothing in torch. */
  set requiresGrad(_: unknown) {
    throw new ArgumentError(
      `${this.constructor.name}: expected a call of requiresGrad, got an assignment. Write module.requiresGrad(false) to freeze its parameters.`,
    );
  }

  #requireNothingHidden(name: string, property: unknown): void {
    const hidden = partIn(property);
    if (hidden === undefined) return;
    const [kind, cure] =
      hidden instanceof Module
        ? ['modules', 'Make it a nn.ModuleList']
        : ['parameters and buffers', 'Make each a property of a module'];
    throw new ArgumentError(
      `${this.constructor.name}: the ${kind} in the ${containerOf(property)} '${name}' would not be found. ${cure}.`,
    );
  }

  /** Modules that are properties of this module, without names (torch.nn.Module.children). */
  children(): Module[] {
    return this.namedChildren().map(([, child]) => child);
  }

  /**
   * This module and all submodules with their paths, each once (torch.nn.Module.named_modules).
   *
   * @param prefix path of this module. Default: ''.
   */
  namedModules(prefix = '', seen = new Set<Module>()): [name: string, module: Module][] {
    if (seen.has(this)) return [];
    seen.add(this);
    const below = this.namedChildren().flatMap(([name, child]) =>
      child.namedModules(join(prefix, name), seen),
    );
    return [[prefix, this], ...below];
  }

  /** This module and all submodules without paths (torch.nn.Module.modules). */
  modules(): Module[] {
    return this.namedModules().map(([, module]) => module);
  }

  /** The submodule at a path such as `layer1.0.conv1`; this module at '' (torch.nn.Module.get_submodule). Throws ArgumentError if missing. */
  getSubmodule(target: string): Module {
    return submoduleAt<Module>(this, target);
  }

  /** Replaces or adds a submodule (torch.nn.Module.set_submodule). Throws ArgumentError for a path without an owner. */
  setSubmodule(target: string, module: Module): void {
    replaceSubmodule(this, target, module, isModule);
  }

  /** Paths of the modules whose computation is a collective, for DistributedDataParallel. */
  namedCollectives(): string[] {
    return this.namedModules().flatMap(([name, { isCollective }]) => (isCollective ? [name] : []));
  }

  /**
   * For DistributedDataParallel: see `DistributedModule` of `@ringrun/core`.
   *
   * @internal
   */
  afterPending(call: () => void): Promise<void> | undefined {
    return changeAfterPending('forward of DistributedDataParallel', call);
  }

  /** Sets this module and all submodules to training mode, or to evaluation mode if `mode` is false (torch.nn.Module.train). */
  train(mode = true): this {
    if (this.training !== mode) invalidateRecordedCalls();
    this.training = mode;
    for (const child of this.children()) child.train(mode);
    return this;
  }

  /** Sets evaluation mode (torch.nn.Module.eval): dropout is the identity, and batch normalization uses its running statistics. */
  eval(): this {
    return this.train(false);
  }

  /**
   * A copy of all parameters and buffers by torch's keys (torch.nn.Module.state_dict): the paths of properties as the class
   * spells them, such as `Conv2d_1a_3x3.weight`. Only ringrun's own modules convert property names to torch's spelling:
   * `bn1.running_mean` is `bn1.runningMean`. A parameter that is used twice has one entry, under its first path.
   *
   * @throws NnError (ERR_NOT_AWAITED) if a backward pass or an optimizer step on the module is pending
   */
  stateDict(): ModuleStateDict {
    const tensors = tensorsByKey(this.namedParameters(), this.namedBuffers());
    requireNothingPending('stateDict', tensors.values(), { besideReads: true });
    return saveTensors(tensors);
  }

  /**
   * Copies a state dict into the parameters and buffers (torch.nn.Module.load_state_dict): from `stateDict`, or from PyTorch's
   * safetensors by `model.loadStateDict(await loadSafetensors(path))` of ringrun. Every dtype is converted to float32. The
   * option `keyMapping` renames keys; with `strict: false` the result reports which keys were not used. A key in snake_case
   * matches a camelCase name too, if no other key does: earlier versions wrote `hidden_layer.weight` for `hiddenLayer`.
   *
   * @param state a Map or a record of `{ shape, data }` by key
   * A tensor that the module has twice, such as a tied weight, is loaded from any of its keys.
   *
   * @returns missing and unexpected keys, as the module spells them; both are empty if `strict`
   * @throws ArgumentError that lists missing keys, unexpected keys and mismatched shapes; NnError (ERR_NOT_AWAITED) if an
   *   operation on the module is pending; nothing is changed in either case
   */
  loadStateDict(state: StoredTensors, options: LoadStateDictOptions = {}): IncompatibleKeys {
    requireOptions('loadStateDict', options, loadOptions);
    const tensors = tensorsByKey(this.namedParameters(), this.namedBuffers());
    requireNothingPending('loadStateDict', tensors.values());
    const keys = loadTensors(tensors, state, options, tiedKeys<Module>(this, isModule));
    const change = changeBy('loadStateDict');
    const missing = new Set(keys.missingKeys);
    for (const [key, tensor] of tensors) if (!missing.has(key)) tensor.recordChange(change);
    return keys;
  }

  /**
   * Calls `fn` with each submodule, then with this module (torch.nn.Module.apply), for example to initialize layers. Returns this
   * module.
   */
  apply(fn: (module: Module) => void): this {
    for (const child of this.children()) child.apply(fn);
    fn(this);
    return this;
  }

  /**
   * Calls `hook` after each forward of this module (torch.nn.Module.register_forward_hook). A value that it returns replaces
   * the output.
   *
   * @returns a handle that removes the hook
   */
  registerForwardHook(hook: ForwardHook<this>): RemovableHandle {
    return registerHook('registerForwardHook', this, 'after', hook);
  }

  /**
   * Calls `hook` before each forward of this module (torch.nn.Module.register_forward_pre_hook). A value that it returns
   * replaces the inputs: a list, or the only input.
   *
   * @returns a handle that removes the hook
   */
  registerForwardPreHook(hook: ForwardPreHook<this>): RemovableHandle {
    return registerHook('registerForwardPreHook', this, 'before', hook);
  }

  /**
   * Calls `hook` in each backward pass with the gradients of this module's inputs and outputs
   * (torch.nn.Module.register_full_backward_hook). Gradients that it returns replace those of the inputs. Concerns calls of forward
   * while it is registered.
   *
   * @returns a handle that removes the hook
   */
  registerFullBackwardHook(hook: BackwardHook<this>): RemovableHandle {
    return registerHook('registerFullBackwardHook', this, 'backwardAfter', hook);
  }

  /**
   * Calls `hook` in each backward pass with the gradients of this module's outputs, before those of its inputs are computed
   * (torch.nn.Module.register_full_backward_pre_hook). Gradients that it returns replace those of the outputs.
   *
   * @returns a handle that removes the hook
   */
  registerFullBackwardPreHook(hook: BackwardPreHook<this>): RemovableHandle {
    return registerHook('registerFullBackwardPreHook', this, 'backwardBefore', hook);
  }

  /**
   * Lets graphs that read this module's parameters and buffers run on a device (torch.nn.Module.to). Default: see
   * `setDefaultDevice`. Elements move when a graph on the other device first uses them, with the states of the optimizer. Batches and
   * other tensors are copied to the device of their graph by themselves. Returns this module.
   *
   * @param device `cpu`; `cuda`, the GPU of this rank; or `cuda:N`
   * @throws ArgumentError for another device; NnError (ERR_EXECUTOR) if it cannot be used
   */
  to(device: Device): this {
    const usable = requireUsable(`${this.constructor.name}.to`, device);
    for (const parameter of this.parameters()) parameter.moveTo(usable);
    for (const [, buffer] of this.namedBuffers()) buffer.moveTo(usable);
    invalidateRecordedCalls();
    return this;
  }

  /** The device of graphs that read this module's parameters: `cpu`, `cuda:0`. For DistributedDataParallel. */
  get computesOn(): string {
    return executorOf([...this.parameters()].map((source) => ({ source }))).device;
  }

  /**
   * The arguments of this module in `toString` (torch.nn.Module.extra_repr). Override it to print those of your own modules; it may
   * have several lines. Default: ''.
   */
  extraRepr(): string {
    return '';
  }

  /**
   * The submodules in `toString`, with their texts.
   *
   * @internal
   */
  protected writtenChildren(): [name: string, text: string][] {
    return attributesOf(this).flatMap(([name, child]) =>
      child instanceof Module ? [[name, String(child)] as [string, string]] : [],
    );
  }

  /**
   * The module, its arguments and its submodules, exactly as torch prints them, with Python's `True` and `(3, 3)`. `console.log` and
   * `util.inspect` print the same text. A module that contains itself is written as `Name(...)` there.
   */
  toString(): string {
    const { name } = this.constructor;
    if (beingWritten.has(this)) return `${name}(...)`;
    beingWritten.add(this);
    try {
      return writeModule(name, this.extraRepr(), this.writtenChildren());
    } finally {
      beingWritten.delete(this);
    }
  }

  /** The text of `toString`. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }

  /** Clears the gradients of all parameters (torch.nn.Module.zero_grad). */
  zeroGrad(): void {
    for (const parameter of this.parameters()) parameter.zeroGrad();
  }
}

/** Properties of one class in a module and its submodules, with their paths, each once. */
function listed<T>(
  root: Module,
  prefix: string,
  kind: abstract new (...inputs: never[]) => T,
): [path: string, property: T][] {
  const all: [string, T][] = [];
  const seen = new Set<T>();
  for (const [path, module] of root.namedModules(prefix)) {
    for (const [name, property] of attributesOf(module)) {
      if (!(property instanceof kind) || seen.has(property)) continue;
      seen.add(property);
      all.push([join(path, name), property]);
    }
  }
  return all;
}

function isModule(value: unknown): value is Module {
  return value instanceof Module;
}

/** True for values that a module registers when they are assigned to a property. */
export function isRegistered(value: unknown): value is Module | Parameter | BufferTensor {
  return value instanceof Module || value instanceof Parameter || value instanceof BufferTensor;
}

/** Finds a module, parameter or buffer in an array, Map, Set or object literal, nested up to `depth` levels. */
function partIn(container: unknown, depth = 2): Module | Parameter | BufferTensor | undefined {
  for (const element of elementsOf(container)) {
    if (isRegistered(element)) return element;
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

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
