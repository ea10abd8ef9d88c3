import { classesOf, constructionOf } from '../calls/constructions.ts';
import { describeValue } from '../checks/describe-value.ts';
import { ArgumentError } from '../errors/errors.ts';
import { requireNothingPending } from '../executor/operation-queue.ts';
import { defaultGenerator } from '../random/generator.ts';
import { BufferTensor } from '../tensor/buffer-tensor.ts';
import { Parameter } from '../tensor/parameter.ts';
import { Tensor } from '../tensor/tensor.ts';
import { BatchNorm } from './batch-norm.ts';
import { copyHooks, hasHooks } from './forward-hooks.ts';
import { MemberDict } from './member-dict.ts';
import { Module } from './module.ts';

/**
 * A copy of a module with parameters, buffers and submodules of its own, for target networks, teachers and averages (copy.deepcopy of
 * Python):
 *
 * ```ts
 * const target = deepcopy(model);
 * target.requiresGrad(false);
 * ```
 *
 * Everything in the module's properties is copied: numbers, lists, Maps, Sets, objects, typed arrays. Parameters that occur twice, such as
 * tied weights, do so in the copy too. As in torch, gradients are not copied, and hooks are those of the module. Functions and tensors
 * that are not parameters or buffers are shared. The constructors of your own classes are not called, and no random numbers are drawn.
 *
 * @throws ArgumentError that names the property, if the module has something that JavaScript cannot copy: private fields (`#name`) of your
 *   own classes, arrow functions in properties that use `this`, parametrizations, objects of classes that are not written in
 *   JavaScript. Construct a second module there and load the state dict. NnError (ERR_NOT_AWAITED) if an operation on the module is pending
 */
export function deepcopy<M extends Module>(module: M): M {
  if (!(module instanceof Module)) {
    throw new ArgumentError(
      `deepcopy: expected a Module, got ${describeValue(module)}. Of a DistributedDataParallel, copy its module: deepcopy(ddp.module).`,
    );
  }
  requireNothingPending('deepcopy', [...module.parameters(), ...module.buffers()]);
  const random = defaultGenerator.stateDict();
  try {
    return new Copies().of(module, module.constructor.name) as M;
  } finally {
    defaultGenerator.loadStateDict(random);
  }
}

/** The copies of one call, so that what occurs twice is copied once. */
class Copies {
  readonly #made = new Map<object, object>();

  /** @param path of the value, for messages */
  of(value: unknown, path: string): unknown {
    if (typeof value === 'function') return sharedFunction(value as Callable, path);
    if (typeof value !== 'object' || value === null) return value;
    return this.#made.get(value) ?? this.#ofObject(value, path);
  }

  #ofObject(value: object, path: string): object {
    if (value instanceof Parameter) return this.#keep(value, copyOfParameter(value));
    if (value instanceof BufferTensor) {
      return this.#keep(value, new BufferTensor(value.data.slice(), value.shape));
    }
    if (value instanceof Tensor) return value;
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof Date) {
      return this.#keep(value, structuredClone(value));
    }
    if (value instanceof Map) return this.#ofMap(value as Map<unknown, unknown>, path);
    if (value instanceof Set) return this.#ofSet(value as Set<unknown>, path);
    if (value instanceof Module) return this.#ofModule(value, path);
    const empty = Array.isArray(value) ? [] : emptyLike(value, path);
    return this.#withProperties(value, this.#keep(value, empty), path);
  }

  #keep<T extends object>(value: object, copy: T): T {
    this.#made.set(value, copy);
    return copy;
  }

  #ofMap(map: ReadonlyMap<unknown, unknown>, path: string): Map<unknown, unknown> {
    const copy = this.#keep(map, new Map<unknown, unknown>());
    for (const [key, value] of map) {
      copy.set(this.of(key, `a key of ${path}`), this.of(value, `${path}.get(${String(key)})`));
    }
    return copy;
  }

  #ofSet(set: ReadonlySet<unknown>, path: string): Set<unknown> {
    const copy = this.#keep(set, new Set());
    for (const value of set) copy.add(this.of(value, `an element of ${path}`));
    return copy;
  }

  #ofModule(module: Module, path: string): Module {
    const copy = this.#keep(module, constructedLike(module, path));
    // The constructor's properties are replaced, in the order of the module's.
    for (const name of Object.keys(copy)) Reflect.deleteProperty(copy, name);
    this.#withProperties(module, copy, path);
    if (module instanceof MemberDict && copy instanceof MemberDict) {
      for (const [name, member] of module) copy.set(name, this.of(member, `${path}.${name}`));
    }
    if (module instanceof BatchNorm && copy instanceof BatchNorm) copy.momentum = module.momentum;
    copyHooks(module, copy);
    return copy;
  }

  #withProperties<T extends object>(value: object, copy: T, path: string): T {
    for (const key of Reflect.ownKeys(value)) {
      const where = `${path}.${String(key)}`;
      const property = Object.getOwnPropertyDescriptor(value, key)!;
      if (key === 'length' && Array.isArray(value)) continue;
      if (key === 'forward' && hasHooks(value)) continue;
      if (property.get ?? property.set) {
        throw refusal(where, 'is computed by a getter, as parametrizations are');
      }
      Object.defineProperty(copy, key, { ...property, value: this.of(property.value, where) });
    }
    return copy;
  }
}

/** A module of the same class, with the private fields of ringrun's classes. */
function constructedLike(module: Module, path: string): Module {
  const classes = classesOf(module);
  const { constructor, given } = constructionOf(module) ?? {
    constructor: (module instanceof MemberDict ? MemberDict : Module) as unknown as Constructor,
    given: [],
  };
  for (const one of classes.slice(0, classes.indexOf(constructor))) requireCopyable(one, path);
  return Reflect.construct(constructor, given, module.constructor as Constructor) as Module;
}

type Constructor = new (...given: unknown[]) => object;

function emptyLike(value: object, path: string): object {
  for (const one of classesOf(value)) requireCopyable(one, path);
  return Object.create(Object.getPrototypeOf(value) as object | null) as object;
}

/** Private fields as JavaScript has them, and as compilers for older versions write them. */
const privateField = /\.(#[\w$]+)|\b__privateGet\b|\b__classPrivateField/;

function requireCopyable(constructor: Constructor, path: string): void {
  const source = Function.prototype.toString.call(constructor);
  if (source.includes('[native code]')) {
    throw refusal(path, `is an object of ${constructor.name}, a class that is not written in JavaScript`);
  }
  const [found, name = 'of a compiled class'] = privateField.exec(source) ?? [];
  if (found === undefined) return;
  throw refusal(
    path,
    `has a private field (${name}), which only the constructor of ${constructor.name} can make`,
  );
}

type Callable = (...given: unknown[]) => unknown;

/** A function that does not belong to the object that it is a property of. */
function sharedFunction(value: Callable, path: string): Callable {
  const source = Function.prototype.toString.call(value);
  const isArrow = !('prototype' in value) && /^(async\s*)?(\([^]*?\)|[\w$]+)\s*=>/.test(source);
  if (isArrow && /\bthis\b/.test(source)) {
    throw refusal(path, 'is an arrow function that uses this, the module itself. Make it a method');
  }
  if (value.name.startsWith('bound ')) {
    throw refusal(path, 'is a bound function, which may be bound to the module itself. Make it a method');
  }
  return value;
}

function refusal(path: string, reason: string): ArgumentError {
  return new ArgumentError(
    `deepcopy: ${path} cannot be copied: it ${reason}. Or construct a second module and load the state dict: copy.loadStateDict(model.stateDict()).`,
  );
}

/** Without its gradient, as in torch. */
function copyOfParameter(parameter: Parameter): Parameter {
  const copy = new Parameter(parameter.data.slice(), parameter.shape);
  copy.requiresGrad = parameter.requiresGrad;
  if (parameter.device !== undefined) copy.moveTo(parameter.device);
  if (parameter.hasSparseGradient) copy.expectSparseGradient();
  return copy;
}
