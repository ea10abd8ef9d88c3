import { localRankOf } from '@ringrun/core';
import { loadNative, whyGpuIsUnusable, type GpuCommand, type NativeGpuDevice } from '@ringrun/native';
import { NnError } from '../../errors/errors.ts';
import { onnxruntimeExecutor } from '../cpu/onnxruntime.ts';
import type { Executor, Program, ProgramDefinition } from '../executor.ts';
import type { Unusable } from '../device.ts';
import { librarySettings } from '../precision.ts';
import { CudaCollectives } from './collectives.ts';
import { lowerProgram } from './lower.ts';
import type { LoweredProgram } from './lowered-program.ts';
import { memoryOn } from './memory.ts';
import { Modules } from './modules.ts';
import { HostProgram } from './on-host.ts';
import { CudaProgram } from './program.ts';
import { forGpu, forHost, prepareForward } from './rewrites.ts';
import { unsupportedBy } from './unsupported.ts';

const executors = new Map<number, Executor | Unusable>();

/**
 * The executor of a GPU, with kernels of NVRTC, products of cuBLASLt and convolutions of cuDNN: the same object in every call.
 *
 * @param index of the GPU; undefined: LOCAL_RANK modulo the number of GPUs
 */
export function cudaExecutor(index = (ownIndex ??= indexOfRank())): Executor | Unusable {
  const known = executors.get(index) ?? open(index);
  executors.set(index, known);
  return known;
}

let ownIndex: number | undefined;

function indexOfRank(): number {
  const count = loadNative().describeNccl().devices.length;
  return Number(localRankOf(process.env) ?? 0) % Math.max(count, 1);
}

function open(index: number): Executor | Unusable {
  const native = loadNative();
  const problem = whyGpuIsUnusable(native.describeGpu());
  if (problem !== undefined) return { problem };
  try {
    return executorOn(new native.GpuDevice(index));
  } catch (cause) {
    return { problem: cause instanceof Error ? cause.message : String(cause) };
  }
}

/** The executor of an opened GPU. */
export function executorOn(device: NativeGpuDevice): Executor {
  const memory = memoryOn(device);
  const modules = new Modules(device);
  const collectives = new CudaCollectives(device);
  return {
    device: `cuda:${device.ordinal}`,
    settings: () => JSON.stringify(librarySettings()),
    prepareForward,
    async compile(given) {
      const definition = forGpu(given);
      if (mustRunOnHost(definition)) return onHost(await onnxruntimeExecutor.compile(forHost(given)), given);
      const { layout, pieces } = lowered(definition);
      try {
        const resolved: GpuCommand[] = [];
        for (const { name, commands } of pieces) resolved.push(...(await modules.resolve(name, commands)));
        return programOf(definition, layout, resolved);
      } catch (cause) {
        throw notCompiled(cause);
      }
    },
    compileSync(given) {
      const definition = forGpu(given);
      if (mustRunOnHost(definition)) return onHost(onnxruntimeExecutor.compileSync(forHost(given)), given);
      const { layout, pieces } = lowered(definition);
      try {
        const resolved = pieces.flatMap(({ name, commands }) => modules.resolveSync(name, commands));
        return programOf(definition, layout, resolved);
      } catch (cause) {
        throw notCompiled(cause);
      }
    },
    ...memory,
    collectives,
  };

  function programOf(
    { name, details }: ProgramDefinition,
    { sections, ...layout }: LoweredProgram,
    resolved: readonly GpuCommand[],
  ): Program {
    let from = 0;
    const withKernels = sections.map(({ commands, ...section }) => {
      const own = resolved.slice(from, from + commands.length);
      from += commands.length;
      return { ...section, commands: own };
    });
    return new CudaProgram(device, { name, details }, layout, withKernels, collectives);
  }

  function onHost(program: Program, definition: ProgramDefinition): Program {
    return new HostProgram({ ...memory, collectives }, program, definition);
  }
}

/** The commands outside of the update, and those of the update: the generated kernels of each are compiled together. */
function lowered(definition: ProgramDefinition) {
  const { name } = definition;
  const layout = lowerProgram(definition, librarySettings());
  const { sections } = layout;
  const updateFrom = 1 + sections.findIndex(({ boundary }) => boundary?.kind === 'update');
  const end = updateFrom === 0 ? sections.length : updateFrom;
  const commandsOf = (some: typeof sections) => some.flatMap(({ commands }) => commands);
  const pieces = [
    { name, commands: commandsOf(sections.slice(0, end)) },
    { name: `${name} update`, commands: commandsOf(sections.slice(end)) },
  ];
  return { layout, pieces };
}

function mustRunOnHost(definition: ProgramDefinition): boolean {
  const reason = unsupportedBy(definition);
  if (reason !== undefined) reportOnce(definition.name, reason);
  return reason !== undefined;
}

function notCompiled(cause: unknown): NnError {
  return new NnError('ERR_EXECUTOR', `The GPU could not compile a graph: ${String(cause)}`, { cause });
}

const reported = new Set<string>();

function reportOnce(name: string, reason: string): void {
  if (reported.has(reason)) return;
  reported.add(reason);
  process.stderr.write(
    `ringrun: ${name} runs on the CPU, because on the GPU ${reason}. Elements are copied for every run. (printed once)\n`,
  );
}
