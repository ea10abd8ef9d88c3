import { recordActivity, type GpuGroup } from '@ringrun/core';
import type {
  GpuAddress,
  GpuCommand,
  GpuTransfers,
  NativeDeviceMemory,
  NativeGpuDevice,
  NativeGpuExchange,
  NativeGpuProgram,
} from '@ringrun/native';
import { requireLength } from '../../checks/require-length.ts';
import { ArgumentError, NnError } from '../../errors/errors.ts';
import { sizeOf } from '../../value-type.ts';
import type { DeviceCall, GraphCall, Program, ProgramDefinition, RunBuffers, Waits } from '../executor.ts';
import type { ValueBuffer } from '../value-buffer.ts';
import { cudaBuckets, exchangeAt, join, type CudaCollectives } from './collectives.ts';
import { allocateBytes, deviceBuffer, type DeviceBuffer } from './device-buffer.ts';
import { exchangeOf, HostCalls } from './host-calls.ts';
import { keptBytes, refusalBytes, refusalIn } from './kernels/refusals.ts';
import type { Boundary, ProgramLayout, Section } from './lowered-program.ts';
import { OwnPlaces, type Place } from './own-places.ts';
import { byHost, byProgram, stagesOf, type Stage } from './stages.ts';

/** Runs that are enqueued before the first of them has ended: enough to keep a GPU busy, with the memory of some batches. */
const maxRunsAhead = 8;

/** A graph whose commands run on a GPU. The host makes its calls between them. */
export class CudaProgram implements Program {
  readonly #name: Pick<ProgramDefinition, 'name' | 'details'>;
  readonly #device: NativeGpuDevice;
  readonly #lowered: Omit<ProgramLayout, 'constants'>;
  readonly #sections: readonly Section<GpuCommand>[];
  readonly #collectives: CudaCollectives;
  /** Stages for runs whose calls the host makes, and for those that make them by themselves. Created on first use. */
  #byHost: readonly NativeStage[] | undefined;
  #byProgram: readonly NativeStage[] | undefined;
  readonly #places: OwnPlaces;
  /** Constants, cells of refusals, those that are kept, and the arena: the slots after inputs and outputs. */
  readonly #own: readonly NativeDeviceMemory[];
  #pending: Promise<unknown> = Promise.resolve();

  constructor(
    device: NativeGpuDevice,
    { name, details }: Pick<ProgramDefinition, 'name' | 'details'>,
    { constants, ...lowered }: ProgramLayout,
    sections: readonly Section<GpuCommand>[],
    collectives: CudaCollectives,
  ) {
    this.#sections = sections;
    this.#collectives = collectives;
    this.#name = { name, details };
    this.#device = device;
    this.#lowered = lowered;
    const { slots, refusals, inputs, outputs } = lowered;
    this.#places = new OwnPlaces(device, slots, inputs.length, outputs.length);
    const constantMemory = allocateBytes(device, constants.byteLength);
    if (constants.byteLength > 0) device.upload(constants, constantMemory).catch(() => undefined);
    this.#own = [
      constantMemory,
      allocateBytes(device, refusalBytes * refusals.length),
      allocateBytes(device, keptBytes(refusals.length)),
      allocateBytes(device, slots.at(-1)!),
    ];
    this.#clearKept();
  }

  async run(
    inputs: readonly ValueBuffer[],
    outputs: readonly ValueBuffer[],
    calls: readonly GraphCall[] = [],
    later: readonly (() => RunBuffers)[] = [],
  ): Promise<Waits> {
    const startedAt = performance.now();
    const runs = [() => ({ inputs, outputs }), ...later].map((run) => () => this.#checked(run()));
    const own = callsOfProgram(calls);
    const hostCalls = new HostCalls(this.#device, this.#collectives, calls, this.#countOfCollectives);
    const ended = own ? this.#runWithCalls(runs, own) : this.#runAll(runs, hostCalls);
    this.#pending = ended.catch(() => {
      this.#clearKept();
    });
    await ended;
    const { waitedMs } = hostCalls;
    recordActivity('compute', this.#name.name, startedAt, performance.now() - waitedMs, this.#name.details);
    return { waitedMs, ranMs: waitedMs };
  }

  runSync(inputs: readonly ValueBuffer[], outputs: readonly ValueBuffer[]): void {
    const startedAt = performance.now();
    const run = this.#checked({ inputs, outputs });
    try {
      const stages = this.#stagesByHost();
      this.#bind(run, stages);
      this.#device.copyAll(this.#places.before(run.inputs));
      for (const { program, isChecked } of stages) {
        program.runSync();
        if (!isChecked) continue;
        const kept = this.#newKept();
        this.#device.downloadSync(this.#own[2], kept);
        this.#throwRefusal(kept);
      }
      for (const { from, byteOffset, to } of this.#places.after(run.outputs)) {
        this.#device.downloadSync(from, to, byteOffset);
      }
    } catch (cause) {
      this.#clearKept();
      throw notRun(cause);
    } finally {
      freeInputs(run);
    }
    recordActivity('compute', this.#name.name, startedAt, performance.now(), this.#name.details);
  }

  async release(): Promise<void> {
    await this.#pending;
    for (const { program } of [...(this.#byHost ?? []), ...(this.#byProgram ?? [])]) program.release();
    this.#places.free();
  }

  /** Runs whose program contains its collectives: those of a run are one operation of their group. */
  async #runWithCalls(runs: readonly (() => Run)[], { group, calls }: CallsOfProgram): Promise<void> {
    const stages = this.#stagesByProgram();
    let fromGroup: unknown;
    try {
      for (const create of runs) {
        const run = create();
        try {
          this.#bind(run, stages);
          this.#device.copyAll(this.#places.before(run.inputs));
          for (const [index, { program, isChecked, places }] of stages.entries()) {
            const exchanges = group ? this.#exchangesAt(places, run, calls) : [];
            const kept = isChecked ? this.#newKept() : undefined;
            const downloads = this.#downloadsAfter(run, index === stages.length - 1, kept);
            if (exchanges.length === 0) await program.run({ downloads });
            else {
              const ended = group!.runProgram(program, exchanges).catch((error: unknown) => {
                fromGroup = error;
                throw error;
              });
              // After the program, in the order of the stream.
              await ended;
              await Promise.all(
                downloads.map(({ from, to, byteOffset }) => this.#device.download(from, to, byteOffset)),
              );
            }
            if (kept) this.#throwRefusal(kept);
          }
        } finally {
          freeInputs(run);
        }
      }
    } catch (cause) {
      throw fromGroup !== undefined && cause === fromGroup ? cause : notRun(cause);
    }
  }

  /** The collectives of places, in their order. */
  #exchangesAt(places: readonly number[], run: Run, calls: readonly DeviceCall[]): NativeGpuExchange[] {
    const ofGraph = this.#sections.flatMap(({ boundary }) =>
      boundary?.kind === 'collective' ? [boundary] : [],
    );
    return places.flatMap((place) => {
      const buckets = cudaBuckets(calls[place].buckets);
      for (const bucket of buckets) bucket.prepare();
      const exchanges =
        place < ofGraph.length
          ? [exchangeOf(ofGraph[place], (address) => this.#placeOf(run, address))]
          : buckets.map(({ exchange }) => exchange);
      return exchanges.filter(({ count }) => count > 0).map((exchange) => ({ ...exchange, place }));
    });
  }

  async #runAll(runs: readonly (() => Run)[], calls: HostCalls): Promise<void> {
    const stages = this.#stagesByHost();
    try {
      // Some runs are enqueued before the first has ended, unless the host takes part in each.
      const waits: Promise<void>[] = [];
      let kept: BigUint64Array | undefined;
      for (const create of runs) {
        if (waits.length >= maxRunsAhead) await waits.shift();
        const run = create();
        try {
          this.#bind(run, stages);
          for (const [index, { program, isChecked, boundary }] of stages.entries()) {
            kept = isChecked ? this.#newKept() : undefined;
            const isLast = index === stages.length - 1;
            const before = index === 0 ? this.#places.before(run.inputs) : {};
            const wait = program.run({ ...before, downloads: this.#downloadsAfter(run, isLast, kept) });
            // An error of an earlier run is thrown first.
            wait.catch(() => undefined);
            waits.push(wait);
            // What the last stage refuses is checked after all runs, because later ones then update nothing either.
            if (boundary === undefined && (isLast || !isChecked)) continue;
            await Promise.all(waits.splice(0));
            if (kept) this.#throwRefusal(kept);
            if (boundary) await calls.make(boundary, (address) => this.#placeOf(run, address));
          }
        } finally {
          freeInputs(run);
        }
      }
      await Promise.all(waits);
      if (kept) this.#throwRefusal(kept);
    } catch (cause) {
      throw calls.isFailure(cause) ? cause : notRun(cause);
    }
    calls.throwFailure();
  }

  /** @param kept receives the cells of refusals */
  #downloadsAfter(
    { outputs }: Run,
    isLast: boolean,
    kept: BigUint64Array | undefined,
  ): NonNullable<GpuTransfers['downloads']> {
    const ofOutputs = isLast ? this.#places.after(outputs) : [];
    return kept ? [...ofOutputs, { from: this.#own[2], to: kept }] : ofOutputs;
  }

  #newKept(): BigUint64Array {
    return new BigUint64Array(keptBytes(this.#lowered.refusals.length) / 8);
  }

  /** The next call may update, also after another error than a refusal. */
  #clearKept(): void {
    if (this.#lowered.refusals.length === 0) return;
    try {
      this.#device.upload(this.#newKept(), this.#own[2]).catch(() => undefined);
    } catch {
      // The GPU cannot be used any more: each later call throws the error too.
    }
  }

  #throwRefusal(kept: BigUint64Array): void {
    if (kept[0] === 0n) return;
    for (const [index, { describe }] of this.#lowered.refusals.entries()) {
      const cell = refusalIn(kept.subarray(1), index);
      if (cell === 0n) continue;
      const found = describe(cell);
      throw found instanceof Error ? found : new ArgumentError(`${found}.`);
    }
  }

  #checked({ inputs, outputs }: RunBuffers): Run {
    const run = { inputs: inputs.map(deviceBuffer), outputs: outputs.map(deviceBuffer) };
    for (const [index, type] of this.#lowered.inputs.entries()) {
      const { length } = run.inputs[index];
      if (length !== sizeOf(type.shape)) requireLength({ length } as Float32Array, type);
    }
    return run;
  }

  #bind(run: Run, stages: readonly NativeStage[]): void {
    for (let slot = 0; slot < run.inputs.length + run.outputs.length; slot += 1) {
      const place = this.#placeOf(run, { slot });
      for (const { program, bound } of stages) {
        const last = bound[slot];
        if (last?.memory === place.memory && last.byteOffset === place.byteOffset) continue;
        program.bind(slot, place.memory, place.byteOffset);
        bound[slot] = place;
      }
    }
  }

  #placeOf({ inputs, outputs }: Run, address: GpuAddress): Place {
    if (!('slot' in address)) throw new Error('Programs have no arena of their own.');
    const { slot, byteOffset = 0 } = address;
    const own = this.#own.at(slot - inputs.length - outputs.length);
    if (slot >= inputs.length + outputs.length) return { memory: own!, byteOffset };
    const buffer = slot < inputs.length ? inputs[slot] : outputs[slot - inputs.length];
    const place = this.#places.placeOf(slot, buffer) ?? buffer;
    return { memory: place.memory, byteOffset: place.byteOffset + byteOffset };
  }

  get #countOfCollectives(): number {
    return this.#sections.filter(({ boundary }) => boundary?.kind === 'collective').length;
  }

  #stagesByHost(): readonly NativeStage[] {
    return (this.#byHost ??= stagesOf(this.#sections, byHost).map((stage) => this.#created(stage)));
  }

  #stagesByProgram(): readonly NativeStage[] {
    if (this.#byProgram) return this.#byProgram;
    const parts = this.#countOfCollectives;
    let collectives = 0;
    const commandsAt = (boundary: Boundary): GpuCommand[] => {
      if (boundary.kind === 'update') return [join];
      if (boundary.kind === 'part') return [exchangeAt(parts + boundary.index)];
      return [exchangeAt(collectives++), join];
    };
    const stages = stagesOf(this.#sections, byProgram(this.#sections, commandsAt));
    // What a stage begins it also awaits.
    return (this.#byProgram = stages.map((stage) =>
      this.#created({ ...stage, commands: [...stage.commands, join] }),
    ));
  }

  #created({ commands, isChecked, boundary }: Stage<GpuCommand>): NativeStage {
    const { slots, inputs, outputs } = this.#lowered;
    const program = this.#device.createProgram({ name: this.#name.name, arenaBytes: 0, slots, commands });
    for (const [index, memory] of this.#own.entries()) {
      program.bind(inputs.length + outputs.length + index, memory);
    }
    const places = commands.flatMap((command) => (command.kind === 'exchange' ? [command.place] : []));
    return { program, isChecked, boundary, places, bound: [] };
  }
}

/** A stage, and the program that runs it. */
type NativeStage = Omit<Stage<GpuCommand>, 'commands'> & {
  readonly program: NativeGpuProgram;
  /** Of its collectives. */
  readonly places: readonly number[];
  /** By slot: what is bound to it. */
  readonly bound: (Place | undefined)[];
};

/** The calls of a run that a program makes by itself. */
interface CallsOfProgram {
  /** Undefined if there is one rank. */
  readonly group: GpuGroup | undefined;
  readonly calls: readonly DeviceCall[];
}

/** Undefined if the host must make calls: they are for the host, or their collectives are of several groups. */
function callsOfProgram(calls: readonly GraphCall[]): CallsOfProgram | undefined {
  const own = calls.flatMap((call) => ('group' in call ? [call] : []));
  const [group, ...others] = new Set(own.flatMap((call) => call.group ?? []));
  return own.length === 0 || own.length < calls.length || others.length > 0
    ? undefined
    : { group, calls: own };
}

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
