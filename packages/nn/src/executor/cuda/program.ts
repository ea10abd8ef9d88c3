import { recordActivity } from '@ringrun/core';
import type { GpuCommand, NativeDeviceMemory, NativeGpuDevice, NativeGpuProgram } from '@ringrun/native';
import { requireLength } from '../../checks/require-length.ts';
import { ArgumentError, NnError } from '../../errors/errors.ts';
import { sizeOf } from '../../value-type.ts';
import type { Program, ProgramDefinition, RunBuffers, Waits } from '../executor.ts';
import type { ValueBuffer } from '../value-buffer.ts';
import { aligned } from './arena.ts';
import { allocateBytes, deviceBuffer, type DeviceBuffer } from './device-buffer.ts';
import type { ProgramLayout } from './lowered-program.ts';
import { smallBytes } from './memory.ts';

/** Resolved commands of a lowered program: everything outside of the update, and the update. */
export interface Commands {
  readonly own: readonly GpuCommand[];
  readonly update: readonly GpuCommand[];
}

/** A graph whose commands run on a GPU, without calls. */
export class CudaProgram implements Program {
  readonly #name: Pick<ProgramDefinition, 'name' | 'details'>;
  readonly #device: NativeGpuDevice;
  readonly #lowered: Omit<ProgramLayout, 'constants'>;
  /**
   * One program, or two: a run that cannot use the user's values must not begin the update, so that the host checks between
   * them.
   */
  readonly #stages: readonly NativeGpuProgram[];
  /** Small inputs and outputs of one run are here, so that the addresses are the same in every run. */
  readonly #small: SmallBuffers;
  readonly #refusalCells: NativeDeviceMemory;
  #pending: Promise<unknown> = Promise.resolve();

  constructor(
    device: NativeGpuDevice,
    { name, details }: Pick<ProgramDefinition, 'name' | 'details'>,
    { constants, ...lowered }: ProgramLayout,
    { own: ownCommands, update }: Commands,
  ) {
    this.#name = { name, details };
    this.#device = device;
    this.#lowered = lowered;
    const { slots, refusals, inputs, outputs } = lowered;
    const separates = refusals.length > 0 && update.length > 0;
    this.#stages = (separates ? [ownCommands, update] : [[...ownCommands, ...update]]).map((commands) =>
      device.createProgram({ name, arenaBytes: 0, slots, commands }),
    );
    this.#small = new SmallBuffers(device, slots, inputs.length, outputs.length);
    const constantMemory = allocateBytes(device, constants.byteLength);
    if (constants.byteLength > 0) device.upload(constants, constantMemory).catch(() => undefined);
    this.#refusalCells = allocateBytes(device, 8 * refusals.length);
    const own = [constantMemory, this.#refusalCells, allocateBytes(device, slots.at(-1)!)];
    for (const stage of this.#stages) {
      for (const [index, memory] of own.entries()) stage.bind(inputs.length + outputs.length + index, memory);
    }
  }

  async run(
    inputs: readonly ValueBuffer[],
    outputs: readonly ValueBuffer[],
    _calls?: unknown,
    later: readonly RunBuffers[] = [],
  ): Promise<Waits> {
    const startedAt = performance.now();
    const runs = [{ inputs, outputs }, ...later].map((run) => this.#checked(run));
    const ended = this.#runAll(runs);
    this.#pending = ended.catch(() => undefined);
    await ended;
    recordActivity('compute', this.#name.name, startedAt, performance.now(), this.#name.details);
    return { waitedMs: 0, ranMs: 0 };
  }

  runSync(inputs: readonly ValueBuffer[], outputs: readonly ValueBuffer[]): void {
    const startedAt = performance.now();
    const run = this.#checked({ inputs, outputs });
    try {
      this.#bind(run);
      for (const stage of this.#stages) {
        stage.runSync();
        const cells = new BigInt64Array(this.#lowered.refusals.length);
        if (cells.length > 0) this.#device.downloadSync(this.#refusalCells, cells);
        this.#throwRefusal(cells);
      }
      this.#small.takeOutputs(run.outputs);
    } catch (cause) {
      throw notRun(cause);
    } finally {
      freeInputs(run);
    }
    recordActivity('compute', this.#name.name, startedAt, performance.now(), this.#name.details);
  }

  async release(): Promise<void> {
    await this.#pending;
    for (const stage of this.#stages) stage.release();
    this.#small.free();
  }

  async #runAll(runs: readonly Run[]): Promise<void> {
    try {
      // All runs are enqueued before the first has ended, unless the host has to check each.
      const waits: Promise<void>[] = [];
      for (const run of runs) {
        this.#bind(run);
        for (const stage of this.#stages) {
          waits.push(stage.run());
          if (this.#lowered.refusals.length === 0) continue;
          await Promise.all(waits.splice(0));
          await this.#throwRefusals();
        }
        this.#small.takeOutputs(run.outputs);
        freeInputs(run);
      }
      await Promise.all(waits);
    } catch (cause) {
      throw notRun(cause);
    } finally {
      for (const run of runs) freeInputs(run);
    }
  }

  async #throwRefusals(): Promise<void> {
    const cells = new BigInt64Array(this.#lowered.refusals.length);
    await this.#device.download(this.#refusalCells, cells);
    this.#throwRefusal(cells);
  }

  #throwRefusal(cells: BigInt64Array): void {
    const index = cells.findIndex((cell) => cell !== 0n);
    if (index >= 0) throw new ArgumentError(`${this.#lowered.refusals[index].describe(cells[index])}.`);
  }

  #checked({ inputs, outputs }: RunBuffers): Run {
    const run = { inputs: inputs.map(deviceBuffer), outputs: outputs.map(deviceBuffer) };
    for (const [index, type] of this.#lowered.inputs.entries()) {
      const { length } = run.inputs[index];
      if (length !== sizeOf(type.shape)) requireLength({ length } as Float32Array, type);
    }
    return run;
  }

  #bind({ inputs, outputs }: Run): void {
    this.#small.upload(inputs);
    for (const [slot, buffer] of [...inputs, ...outputs].entries()) {
      const place = this.#small.placeOf(slot, buffer);
      for (const stage of this.#stages) {
        if (place === undefined) stage.bind(slot, buffer.memory);
        else stage.bind(slot, place.memory, place.byteOffset);
      }
    }
  }
}

interface Run {
  readonly inputs: readonly DeviceBuffer[];
  readonly outputs: readonly DeviceBuffer[];
}

interface Place {
  readonly memory: NativeDeviceMemory;
  readonly byteOffset: number;
}

/** Memory for the small inputs and outputs of one run: a learning rate, a loss. One copy fills all inputs. */
class SmallBuffers {
  readonly #device: NativeGpuDevice;
  readonly #memory: NativeDeviceMemory;
  readonly #staging: Uint8Array;
  /** Offsets by slot, of those that are small. */
  readonly #offsets: ReadonlyMap<number, number>;
  readonly #bytes: readonly number[];
  readonly #firstOutput: number;

  constructor(device: NativeGpuDevice, slots: readonly number[], inputs: number, outputs: number) {
    const offsets = new Map<number, number>();
    let inputBytes = 0;
    let end = 0;
    for (let slot = 0; slot < inputs + outputs; slot += 1) {
      if (slots[slot] > smallBytes) continue;
      offsets.set(slot, end);
      end += aligned(Math.max(slots[slot], 1));
      if (slot < inputs) inputBytes = end;
    }
    this.#device = device;
    this.#offsets = offsets;
    this.#bytes = slots;
    this.#firstOutput = inputs;
    this.#staging = new Uint8Array(inputBytes);
    this.#memory = allocateBytes(device, end);
  }

  placeOf(slot: number, { isOfOneRun }: DeviceBuffer): Place | undefined {
    const byteOffset = isOfOneRun ? this.#offsets.get(slot) : undefined;
    return byteOffset === undefined ? undefined : { memory: this.#memory, byteOffset };
  }

  /** Copies the snapshots of a run's inputs. */
  upload(inputs: readonly DeviceBuffer[]): void {
    let copies = false;
    for (const [slot, { snapshot }] of inputs.entries()) {
      if (snapshot === undefined) continue;
      this.#staging.set(snapshot, this.#offsets.get(slot));
      copies = true;
    }
    if (copies) this.#device.upload(this.#staging, this.#memory).catch(() => undefined);
  }

  /** Copies small outputs to where they are downloaded from. */
  takeOutputs(outputs: readonly DeviceBuffer[]): void {
    for (const [index, buffer] of outputs.entries()) {
      const slot = this.#firstOutput + index;
      const place = this.placeOf(slot, buffer);
      const bytes = this.#bytes[slot];
      if (place && bytes > 0) this.#device.copy(place.memory, buffer.memory, bytes, place.byteOffset);
    }
  }

  free(): void {
    this.#memory.free();
  }
}

function freeInputs({ inputs }: Run): void {
  for (const buffer of inputs) if (buffer.isOfOneRun) buffer.free();
}

function notRun(cause: unknown): NnError {
  if (cause instanceof NnError) return cause;
  return new NnError('ERR_EXECUTOR', `The GPU could not run a graph: ${String(cause)}`, { cause });
}
