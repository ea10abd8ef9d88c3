import type { GpuCommand, NativeGpuDevice, NativeGpuModule } from '@ringrun/native';
import { elementwisePrelude } from './elementwise-operators.ts';
import type { PendingCommand } from './lowered-program.ts';
import type { Kernel } from './lowering.ts';

/** The compiled kernels of a GPU, by source. */
export class Modules {
  readonly #device: NativeGpuDevice;
  readonly #modules = new Map<string, Promise<NativeGpuModule>>();
  readonly #compiled = new Map<string, NativeGpuModule>();

  constructor(device: NativeGpuDevice) {
    this.#device = device;
  }

  /** The commands with compiled kernels. The generated ones of a program are compiled together. */
  async resolve(program: string, commands: readonly PendingCommand[]): Promise<readonly GpuCommand[]> {
    const sourceOf = sourcesOf(commands);
    const sources = new Map(kernelsOf(commands).map((kernel) => [sourceOf(kernel), fileOf(program, kernel)]));
    await Promise.all(Array.from(sources, ([source, file]) => this.#compile(source, file)));
    return this.#resolved(commands, sourceOf);
  }

  /** `resolve`, which blocks the calling thread. */
  resolveSync(program: string, commands: readonly PendingCommand[]): readonly GpuCommand[] {
    const sourceOf = sourcesOf(commands);
    for (const kernel of kernelsOf(commands)) {
      const source = sourceOf(kernel);
      if (this.#compiled.has(source)) continue;
      this.#compiled.set(source, this.#device.compileSync(source, fileOf(program, kernel)));
    }
    return this.#resolved(commands, sourceOf);
  }

  async #compile(source: string, file: string): Promise<void> {
    if (this.#compiled.has(source)) return;
    const compiling = this.#modules.get(source) ?? this.#device.compile(source, file);
    this.#modules.set(source, compiling);
    try {
      this.#compiled.set(source, await compiling);
    } finally {
      this.#modules.delete(source);
    }
  }

  #resolved(
    commands: readonly PendingCommand[],
    sourceOf: (kernel: Kernel) => string,
  ): readonly GpuCommand[] {
    return commands.map((command) => {
      if (command.kind !== 'launch') return command;
      const { kernel } = command;
      return { ...command, kernel: kernel.name, module: this.#compiled.get(sourceOf(kernel))! };
    });
  }
}

function kernelsOf(commands: readonly PendingCommand[]): readonly Kernel[] {
  return commands.flatMap((command) => (command.kind === 'launch' ? [command.kernel] : []));
}

function fileOf(program: string, { isGenerated = false, file }: Kernel): string {
  return isGenerated ? `${program.replaceAll(/[^\w.]+/g, '-')}.cu` : file;
}

/** The source that has a kernel: that of all generated kernels of the commands, or its own. */
function sourcesOf(commands: readonly PendingCommand[]): (kernel: Kernel) => string {
  const own = kernelsOf(commands).filter(({ isGenerated = false }) => isGenerated);
  const all = [elementwisePrelude, ...new Set(own.map(({ source }) => source))].join('\n');
  return ({ isGenerated = false, source }) => (isGenerated ? all : source);
}
