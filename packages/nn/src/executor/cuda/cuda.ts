import { loadNative, type GpuCommand, type NativeGpuDevice } from '@ringrun/native';
import { NnError } from '../../errors/errors.ts';
import { onnxruntimeExecutor } from '../cpu/onnxruntime.ts';
import type { Executor, Program, ProgramDefinition } from '../executor.ts';
import type { Unusable } from '../device.ts';
import { lowerProgram } from './lower.ts';
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
  return Number(process.env.LOCAL_RANK ?? 0) % Math.max(count, 1);
}

function open(index: number): Executor | Unusable {
  const native = loadNative();
  const { problem } = native.describeGpu();
  if (problem !== '') return { problem };
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
  return {
    device: `cuda:${device.ordinal}`,
    prepareForward,
    async compile(given) {
      const definition = forGpu(given);
      if (mustRunOnHost(definition)) return onHost(await onnxruntimeExecutor.compile(forHost(given)), given);
      const { name, commands, updateCommands, programOf } = lowered(definition);
      try {
        const own = await modules.resolve(name, commands);
        return programOf(own, await modules.resolve(`${name} update`, updateCommands));
      } catch (cause) {
        throw notCompiled(cause);
      }
    },
    compileSync(given) {
      const definition = forGpu(given);
      if (mustRunOnHost(definition)) return onHost(onnxruntimeExecutor.compileSync(forHost(given)), given);
      const { name, commands, updateCommands, programOf } = lowered(definition);
      try {
        const own = modules.resolveSync(name, commands);
        return programOf(own, modules.resolveSync(`${name} update`, updateCommands));
      } catch (cause) {
        throw notCompiled(cause);
      }
    },
    ...memory,
  };

  function lowered(definition: ProgramDefinition) {
    const { name, details } = definition;
    const { commands, updateCommands, ...program } = lowerProgram(definition);
    const programOf = (own: readonly GpuCommand[], update: readonly GpuCommand[]) =>
      new CudaProgram(device, { name, details }, program, { own, update });
    return { name, commands, updateCommands, programOf };
  }

  function onHost(program: Program, definition: ProgramDefinition): Program {
    return new HostProgram(memory, program, definition);
  }
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
