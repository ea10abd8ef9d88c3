import { recordActivity } from '@ringrun/core';
import type {
  GpuAddress,
  GpuCommand,
  NativeDeviceMemory,
  NativeGpuDevice,
  NativeGpuProgram,
} from '@ringrun/native';
import { requireLength } from '../../checks/require-length.ts';
import { ArgumentError, NnError } from '../../errors/errors.ts';
import { sizeOf } from '../../value-type.ts';
import type { GraphCall, Program, ProgramDefinition, RunBuffers, Waits } from '../executor.ts';
import type { ValueBuffer } from '../value-buffer.ts';
import { allocateBytes, deviceBuffer, type DeviceBuffer } from './device-buffer.ts';
import { HostCalls } from './host-calls.ts';
import type { ProgramLayout, Section } from './lowered-program.ts';
import { SmallBuffers, type Place } from './small-buffers.ts';
import { stagesOf, type Stage } from './stages.ts';

/** A graph whose commands run on a GPU. The host makes its calls between them. */
export class CudaProgram implements Program {
  readonly #name: Pick<ProgramDefinition, 'name' | 'details'>;
  readonly #device: NativeGpuDevice;
  readonly #lowered: Omit<ProgramLayout, 'constants'>;
  readonly #stages: readonly NativeStage[];
  /** Number of collectives: their calls come first. */
  readonly #collectives: number;
  /** Small inputs and outputs of one run are here, so that the addresses are the same in every run. */
  readonly #small: SmallBuffers;
  /** Constants, cells of refusals, and the arena: the slots after inputs and outputs. */
  readonly #own: readonly NativeDeviceMemory[];
  #pending: Promise<unknown> = Promise.resolve();

  constructor(
    device: NativeGpuDevice,
    { name, details }: Pick<ProgramDefinition, 'name' | 'details'>,
    { constants, ...lowered }: ProgramLayout,
    sections: readonly Section<GpuCommand>[],
  ) {
    this.#name = { name, details };
    this.#device = device;
    this.#lowered = lowered;
    const { slots, refusals, inputs, outputs } = lowered;
    this.#small = new SmallBuffers(device, slots, inputs.length, outputs.length);
    const constantMemory = allocateBytes(device, constants.byteLength);
    if (constants.byteLength > 0) device.upload(constants, constantMemory).catch(() => undefined);
    this.#own = [
      constantMemory,
      allocateBytes(device, 8 * refusals.length),
      allocateBytes(device, slots.at(-1)!),
    ];
    this.#collectives = sections.filter(({ boundary }) => boundary?.kind === 'collective').length;
    const stages = stagesOf(
      sections,
      ({ kind }) => kind !== 'update',
      () => [],
    );
    this.#stages = stages.map((stage) => this.#created(stage));
  }

  async run(
    inputs: readonly ValueBuffer[],
    outputs: readonly ValueBuffer[],
    calls: readonly GraphCall[] = [],
    later: readonly RunBuffers[] = [],
  ): Promise<Waits> {
    const startedAt = performance.now();
    const runs = [{ inputs, outputs }, ...later].map((run) => this.#checked(run));
    const hostCalls = new HostCalls(this.#device, calls, this.#collectives);
    const ended = this.#runAll(runs, hostCalls);
    this.#pending = ended.catch(() => undefined);
    await ended;
    const { waitedMs } = hostCalls;
    recordActivity('compute', this.#name.name, startedAt, performance.now() - waitedMs, this.#name.details);
    return { waitedMs, ranMs: waitedMs };
  }

  runSync(inputs: readonly ValueBuffer[], outputs: readonly ValueBuffer[]): void {
    const startedAt = performance.now();
    const run = this.#checked({ inputs, outputs });
    try {
      this.#bind(run);
      for (const { program, isChecked } of this.#stages) {
        program.runSync();
        if (!isChecked) continue;
        const cells = new BigInt64Array(this.#lowered.refusals.length);
        this.#device.downloadSync(this.#own[1], cells);
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
    for (const { program } of this.#stages) program.release();
    this.#small.free();
  }

  async #runAll(runs: readonly Run[], calls: HostCalls): Promise<void> {
    try {
      // All runs are enqueued before the first has ended, unless the host takes part in each.
      const waits: Promise<void>[] = [];
      for (const run of runs) {
        this.#bind(run);
        for (const { program, isChecked, boundary } of this.#stages) {
          waits.push(program.run());
          if (!isChecked && boundary === undefined) continue;
          await Promise.all(waits.splice(0));
          if (isChecked) await this.#throwRefusals();
          if (boundary) await calls.make(boundary, (address) => this.#placeOf(run, address));
        }
        this.#small.takeOutputs(run.outputs);
        freeInputs(run);
      }
      await Promise.all(waits);
    } catch (cause) {
      throw calls.isFailure(cause) ? cause : notRun(cause);
    } finally {
      for (const run of runs) freeInputs(run);
    }
    calls.throwFailure();
  }

  async #throwRefusals(): Promise<void> {
    const cells = new BigInt64Array(this.#lowered.refusals.length);
    await this.#device.download(this.#own[1], cells);
    this.#throwRefusal(cells);
  }

  #throwRefusal(cells: BigInt64Array): void {
    const index = cells.findIndex((cell) => cell !== 0n);
    if (index < 0) return;
    const found = this.#lowered.refusals[index].describe(cells[index]);
    throw found instanceof Error ? found : new ArgumentError(`${found}.`);
  }

  #checked({ inputs, outputs }: RunBuffers): Run {
    const run = { inputs: inputs.map(deviceBuffer), outputs: outputs.map(deviceBuffer) };
    for (const [index, type] of this.#lowered.inputs.entries()) {
      const { length } = run.inputs[index];
      if (length !== sizeOf(type.shape)) requireLength({ length } as Float32Array, type);
    }
    return run;
  }

  #bind(run: Run): void {
    this.#small.upload(run.inputs);
    for (let slot = 0; slot < run.inputs.length + run.outputs.length; slot += 1) {
      const { memory, byteOffset } = this.#placeOf(run, { slot });
      for (const { program } of this.#stages) program.bind(slot, memory, byteOffset);
    }
  }

  #placeOf({ inputs, outputs }: Run, address: GpuAddress): Place {
    if (!('slot' in address)) throw new Error('Programs have no arena of their own.');
    const { slot, byteOffset = 0 } = address;
    const own = this.#own.at(slot - inputs.length - outputs.length);
    if (slot >= inputs.length + outputs.length) return { memory: own!, byteOffset };
    const buffer = slot < inputs.length ? inputs[slot] : outputs[slot - inputs.length];
    const small = this.#small.placeOf(slot, buffer);
    if (small === undefined) return { memory: buffer.memory, byteOffset };
    return { memory: small.memory, byteOffset: small.byteOffset + byteOffset };
  }

  #created({ commands, isChecked, boundary }: Stage<GpuCommand>): NativeStage {
    const { slots, inputs, outputs } = this.#lowered;
    const program = this.#device.createProgram({ name: this.#name.name, arenaBytes: 0, slots, commands });
    for (const [index, memory] of this.#own.entries()) {
      program.bind(inputs.length + outputs.length + index, memory);
    }
    return { program, isChecked, boundary };
  }
}

/** A stage, and the program that runs it. */
type NativeStage = Omit<Stage<GpuCommand>, 'commands'> & { readonly program: NativeGpuProgram };

interface Run {
  readonly inputs: readonly DeviceBuffer[];
  readonly outputs: readonly DeviceBuffer[];
}

function freeInputs({ inputs }: Run): void {
  for (const buffer of inputs) if (buffer.isOfOneRun) buffer.free();
}

function notRun(cause: unknown): NnError {
  if (cause instanceof NnError) return cause;
  return new NnError('ERR_EXECUTOR', `The GPU could not run a graph: ${String(cause)}`, { cause });
}
