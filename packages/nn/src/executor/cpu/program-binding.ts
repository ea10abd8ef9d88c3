import {
  loadNative,
  type NativeGraphCall,
  type NativeOnnxBinding,
  type NativeOnnxSession,
} from '@ringrun/native';
import type { TensorData } from '../../dtype.ts';
import type { GraphCall, RunBuffers, Waits } from '../executor.ts';
import { hostArrays } from '../value-buffer.ts';

/** The arrays and calls of the last run of a session. The next run passes on only what differs. */
export class ProgramBinding {
  readonly #native: NativeOnnxBinding;
  readonly #inputs: TensorData[];
  readonly #outputs: TensorData[];
  readonly #waits: Float64Array;
  #calls: readonly NativeGraphCall[] = [];

  constructor(session: NativeOnnxSession, inputs: readonly TensorData[], outputs: readonly TensorData[]) {
    const { OnnxBinding } = loadNative();
    this.#native = new OnnxBinding(session, inputs, outputs);
    this.#inputs = [...inputs];
    this.#outputs = [...outputs];
    this.#waits = this.#native.waits;
  }

  /** @throws TypeError if an array's size differs from its slot, as after its memory was transferred */
  place(inputs: readonly TensorData[], outputs: readonly TensorData[]): void {
    this.#replaceChanged(this.#inputs, inputs, 0);
    this.#replaceChanged(this.#outputs, outputs, inputs.length);
  }

  setCalls(calls: readonly GraphCall[]): void {
    if (isSameList(this.#calls, calls, isSameCall)) return;
    this.#calls = calls.map(nativeCall);
    this.#native.setCalls(this.#calls);
  }

  /** Returns undefined if the run has ended: see `NativeOnnxBinding.run`. */
  run(onCall?: (call: number, run: number) => void): Promise<void> | undefined {
    return this.#native.run(onCall);
  }

  runSync(): void {
    this.#native.runSync();
  }

  /** Runs with the arrays of the binding and then with those of `later`, one after another. */
  runEach(later: readonly RunBuffers[]): Promise<void> {
    const own = [...this.#inputs, ...this.#outputs];
    const others = later.map(({ inputs, outputs }) => [...hostArrays(inputs), ...hostArrays(outputs)]);
    const slots = [...own.keys()].filter((slot) => others.some((arrays) => arrays[slot] !== own[slot]));
    return this.#native.runEach(
      slots,
      others.map((arrays) => slots.map((slot) => arrays[slot])),
    );
  }

  /** Releases the arrays. No run may be pending or follow. */
  release(): void {
    this.#native.release();
    this.#inputs.length = 0;
    this.#outputs.length = 0;
  }

  /** Buffers and calls of the last runs. */
  get waits(): Waits {
    return this.#calls.length === 0 ? noWaits : { waitedMs: this.#waits[0], ranMs: this.#waits[1] };
  }

  #replaceChanged(known: TensorData[], arrays: readonly TensorData[], firstSlot: number): void {
    for (let position = 0; position < known.length; position += 1) {
      const array = arrays[position];
      // The same array may have been transferred since, which empties it.
      if (array === known[position] && array.length > 0) continue;
      this.#native.replace(firstSlot + position, array);
      known[position] = array;
    }
  }
}

const noWaits: Waits = { waitedMs: 0, ranMs: 0 };

function nativeCall(call: GraphCall): NativeGraphCall {
  if ('notify' in call) return {};
  if ('group' in call) throw new Error('A program on the host makes no calls of a device.');
  const { sends = none, receives = none } = call;
  if ('perform' in call) return { sends, receives };
  return { operations: call.operations.map(({ native }) => native as NativeOperation), sends, receives };
}

type NativeOperation = NonNullable<NativeGraphCall['operations']>[number];

const none: readonly never[] = [];

function isSameCall(known: NativeGraphCall, call: GraphCall): boolean {
  if ('notify' in call) return known.sends === undefined;
  if ('group' in call) return false;
  const { sends = none, receives = none } = call;
  if (!isSameList(known.sends ?? none, sends, Object.is)) return false;
  if (!isSameList(known.receives ?? none, receives, Object.is)) return false;
  if ('perform' in call) return known.operations === undefined && known.sends !== undefined;
  return (
    known.operations !== undefined &&
    isSameList(known.operations, call.operations, (operation, { native }) => operation === native)
  );
}

function isSameList<A, B>(a: readonly A[], b: readonly B[], isSame: (a: A, b: B) => boolean): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) if (!isSame(a[i], b[i])) return false;
  return true;
}
