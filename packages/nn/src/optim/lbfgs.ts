import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { aCount, aListOf, aNumber, either, requireFields, type FieldKind } from './require-state.ts';
import { ArgumentError } from '../errors/errors.ts';
import { changeBy } from '../graph/changes.ts';
import { requirePositiveInteger, requireAtLeastZero } from '../checks/require-number.ts';
import type { Parameter } from '../tensor/parameter.ts';
import { describeValue } from '../checks/describe-value.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { CommonSettings } from './optimizer.ts';
import { noParameters, type ParamGroup } from './param-groups.ts';
import { releaseOwnership, requireUnowned, takeOwnership } from './parameter-ownership.ts';
import { strongWolfe, type LinePoint } from './strong-wolfe.ts';

/** Options of {@link LBFGS}. */
export interface LBFGSOptions {
  /** Learning rate: the step length along each direction; with a line search, the first length to try. Default: 1. */
  lr?: number;
  /** Maximum number of iterations per step. Default: 20. */
  maxIter?: number;
  /** Maximum number of closure calls per step. Default: maxIter · 1.25. */
  maxEval?: number;
  /** Ends a step when no element of the gradient is above this. Default: 1e-7. */
  toleranceGrad?: number;
  /** Ends a step when neither the loss nor a parameter changes by more than this. Default: 1e-9. */
  toleranceChange?: number;
  /** History size: number of earlier changes that approximate the curvature. Default: 100. */
  historySize?: number;
  /** 'strongWolfe' searches along each direction; null uses a fixed step. Default: null. */
  lineSearchFn?: 'strongWolfe' | null;
}

/** State of an {@link LBFGS}; vectors hold all parameters, concatenated. */
export interface LBFGSState {
  /** Learning rate. */
  lr: number;
  /** Iterations so far. */
  nIter: number;
  /** Calls of the closure so far. */
  funcEvals: number;
  /** The last direction; undefined before the first iteration. */
  d?: Float64Array;
  /** The last distance. */
  t?: number;
  /** Changes of the gradient. */
  oldDirs: Float64Array[];
  /** Changes of the parameters. */
  oldStps: Float64Array[];
  /** Gradient before the last change. */
  prevFlatGrad?: Float64Array;
  /** Loss before the last change. */
  prevLoss?: number;
  /** Factor of the initial curvature. */
  hDiag: number;
}

/** Clears the gradients, computes the loss, and awaits its backward pass. Returns the loss. */
export type Closure = () => Promise<Tensor | number>;

/**
 * L-BFGS, a quasi-Newton method for small models and whole batches (torch.optim.LBFGS). A step calls its closure several
 * times. Vectors are kept in double precision on the host.
 *
 * ```ts
 * await optimizer.step(async () => {
 *   optimizer.zeroGrad();
 *   const loss = F.mseLoss(model.forward(x), y);
 *   await loss.backward();
 *   return loss;
 * });
 * ```
 *
 * With DistributedDataParallel, return the mean of the loss over the ranks, as a number: with its own loss, each rank would
 * decide differently.
 */
export class LBFGS {
  /** Its parameters and the learning rate, in one group. */
  readonly paramGroups: readonly [ParamGroup<CommonSettings>];
  readonly #settings: Required<Omit<LBFGSOptions, 'lr'>>;
  #state: Omit<LBFGSState, 'lr'> = { nIter: 0, funcEvals: 0, oldDirs: [], oldStps: [], hDiag: 1 };

  constructor(
    ...given: Call<[params: Iterable<Parameter>, options?: LBFGSOptions | undefined], 'optim.LBFGS'>
  ) {
    const [parameters, options] = arranged('optim.LBFGS', given);
    const { lr = 1, maxIter = 20, maxEval = Math.floor(maxIter * 1.25) } = options;
    const { toleranceGrad = 1e-7, toleranceChange = 1e-9, historySize = 100, lineSearchFn = null } = options;
    requireAtLeastZero('LBFGS', { lr, toleranceGrad, toleranceChange });
    requirePositiveInteger('LBFGS', { maxIter, maxEval, historySize });
    if (lineSearchFn !== null && (lineSearchFn as string) !== 'strongWolfe') {
      throw new ArgumentError(
        `LBFGS: lineSearchFn must be 'strongWolfe' or null, got ${lineSearchFn as string}.`,
      );
    }
    const params = [...parameters];
    if (params.length === 0) throw noParameters('LBFGS');
    requireUnowned('LBFGS', params);
    takeOwnership('LBFGS', params);
    this.paramGroups = [{ params, lr }];
    this.#settings = { maxIter, maxEval, toleranceGrad, toleranceChange, historySize, lineSearchFn };
  }

  /** Resets the gradients of all parameters. */
  zeroGrad(): void {
    for (const parameter of this.#parameters) parameter.zeroGrad();
  }

  /** Releases the parameters, so that another optimizer can use them. */
  release(): void {
    releaseOwnership(this.#parameters);
  }

  /** A copy of the state (torch keeps it under the first parameter). */
  stateDict(): LBFGSState {
    return structuredClone({ ...this.#state, lr: this.paramGroups[0].lr });
  }

  /**
   * Restores a copy of a state from `stateDict`.
   *
   * @throws ArgumentError if the number of elements differs; nothing is changed in this case
   */
  loadStateDict(dict: LBFGSState): void {
    const vector: FieldKind = { expected: 'a Float64Array', fits: (value) => value instanceof Float64Array };
    requireFields('LBFGS', dict, {
      nIter: aCount,
      funcEvals: aCount,
      d: either(vector, undefined),
      t: either(aNumber, undefined),
      oldDirs: aListOf(vector),
      oldStps: aListOf(vector, (dict as Partial<LBFGSState> | null)?.oldDirs?.length),
      prevFlatGrad: either(vector, undefined),
      prevLoss: either(aNumber, undefined),
      hDiag: aNumber,
    });
    const { lr, ...state } = dict;
    const length = this.#parameters.reduce((sum, { data }) => sum + data.length, 0);
    const { d, prevFlatGrad, oldDirs, oldStps } = state;
    for (const vector of [d, prevFlatGrad, ...oldDirs, ...oldStps]) {
      if (vector !== undefined && vector.length !== length) {
        throw new ArgumentError(
          `LBFGS: expected a state of ${length} elements, got ${vector.length}. Load it into an optimizer of the same parameters.`,
        );
      }
    }
    requireAtLeastZero('LBFGS', { lr });
    this.paramGroups[0].lr = lr;
    this.#state = structuredClone(state);
  }

  /**
   * Minimizes the loss for up to `maxIter` iterations. Await it before changing the parameters otherwise.
   *
   * @returns the loss before the step
   * @throws ArgumentError if the closure is not a function or does not return a number, or if the ranks of a host share
   *   parameters (DistributedDataParallel's `shareParameters`)
   */
  async step(closure: Closure): Promise<number> {
    if (typeof closure !== 'function') {
      throw new ArgumentError(
        `LBFGS.step: expected a closure that computes the loss, got ${describeValue(closure)}. Write step(async () => { …; await loss.backward(); return loss; }).`,
      );
    }
    // Each rank would apply its own change.
    if (this.#parameters.some(({ gradientSink }) => gradientSink?.sharing)) {
      throw new ArgumentError(
        'LBFGS.step: expected parameters that are not shared, got some that the ranks of a host share. Create DistributedDataParallel without shareParameters.',
      );
    }
    const { maxIter, maxEval, toleranceGrad, toleranceChange, historySize, lineSearchFn } = this.#settings;
    const [{ lr }] = this.paramGroups;
    const state = this.#state;
    let loss = await this.#evaluate(closure);
    const first = loss;
    let gradient = this.#gradient();
    let evaluations = 1;
    if (largest(gradient) <= toleranceGrad) return first;
    for (let iteration = 1; ; iteration += 1) {
      state.nIter += 1;
      const d = this.#direction(gradient, historySize);
      state.prevFlatGrad = gradient;
      const before = loss;
      const slope = dot(gradient, d);
      let t = state.nIter === 1 ? Math.min(1, 1 / sumOfSizes(gradient)) * lr : lr;
      state.prevLoss = before;
      [state.d, state.t] = [d, t];
      if (slope > -toleranceChange) break;
      let called = 0;
      if (lineSearchFn !== null) {
        const point = await this.#search(closure, d, { t: 0, value: loss, gradient, slope }, t);
        ({ t, value: loss, gradient } = point.point);
        called = point.evaluations;
      } else {
        this.#move(d, t);
        if (iteration !== maxIter) {
          loss = await this.#evaluate(closure);
          gradient = this.#gradient();
          called = 1;
        }
      }
      state.t = t;
      evaluations += called;
      if (iteration === maxIter || evaluations >= maxEval || largest(gradient) <= toleranceGrad) break;
      if (largest(d) * Math.abs(t) <= toleranceChange || Math.abs(loss - before) < toleranceChange) break;
    }
    return first;
  }

  get #parameters(): readonly Parameter[] {
    return this.paramGroups[0].params.filter(({ requiresGrad }) => requiresGrad);
  }

  /** −H·gradient, by the two loops over the changes so far. Records the last change. */
  #direction(gradient: Float64Array, historySize: number): Float64Array {
    const state = this.#state;
    const d = gradient.map((element) => -element);
    if (state.nIter === 1) return d;
    const y = gradient.map((element, i) => element - state.prevFlatGrad![i]);
    const s = state.d!.map((element) => element * state.t!);
    const ys = dot(y, s);
    if (ys > 1e-10) {
      if (state.oldDirs.length === historySize) {
        state.oldDirs.shift();
        state.oldStps.shift();
      }
      state.oldDirs.push(y);
      state.oldStps.push(s);
      state.hDiag = ys / dot(y, y);
    }
    const { oldDirs, oldStps, hDiag } = state;
    const ro = oldDirs.map((dir, i) => 1 / dot(dir, oldStps[i]));
    const al: number[] = [];
    for (let i = oldDirs.length - 1; i >= 0; i -= 1) {
      al[i] = dot(oldStps[i], d) * ro[i];
      addScaled(d, oldDirs[i], -al[i]);
    }
    for (let i = 0; i < d.length; i += 1) d[i] *= hDiag;
    for (const [i, dir] of oldDirs.entries()) addScaled(d, oldStps[i], al[i] - dot(dir, d) * ro[i]);
    return d;
  }

  /** Sets the parameters to the returned point. */
  async #search(closure: Closure, d: Float64Array, start: LinePoint, t: number) {
    const origin = this.#parameters.map(({ data }) => data.slice());
    const moveTo = (distance: number) => {
      for (const [i, { data }] of this.#parameters.entries()) data.set(origin[i]);
      this.#move(d, distance);
    };
    const at = async (distance: number): Promise<LinePoint> => {
      moveTo(distance);
      const value = await this.#evaluate(closure);
      const gradient = this.#gradient();
      return { t: distance, value, gradient, slope: dot(gradient, d) };
    };
    const limits = { longest: largest(d), toleranceChange: this.#settings.toleranceChange };
    const found = await strongWolfe(at, start, t, limits);
    moveTo(found.point.t);
    return found;
  }

  async #evaluate(closure: Closure): Promise<number> {
    this.#state.funcEvals += 1;
    const loss: unknown = await closure();
    const value = loss instanceof Tensor ? await loss.item() : loss;
    if (typeof value === 'number') return value;
    throw new ArgumentError(
      `LBFGS.step: expected a closure that returns the loss, got ${describeValue(loss)}. Return the tensor or its number.`,
    );
  }

  /** Zeros for parameters without a gradient. */
  #gradient(): Float64Array {
    const parts = this.#parameters.map(({ grad, data }) => grad ?? new Float32Array(data.length));
    return Float64Array.from(parts.flatMap((part) => [...part]));
  }

  #move(d: Float64Array, t: number): void {
    const change = changeBy('optimizer.step()');
    let offset = 0;
    for (const parameter of this.#parameters) {
      const { data } = parameter;
      for (let i = 0; i < data.length; i += 1) data[i] += t * d[offset + i];
      offset += data.length;
      parameter.recordChange(change);
    }
  }
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i];
  return sum;
}

function addScaled(target: Float64Array, added: Float64Array, factor: number): void {
  for (let i = 0; i < target.length; i += 1) target[i] += added[i] * factor;
}

function largest(vector: Float64Array): number {
  return vector.reduce((most, element) => Math.max(most, Math.abs(element)), 0);
}

function sumOfSizes(vector: Float64Array): number {
  return vector.reduce((sum, element) => sum + Math.abs(element), 0);
}
