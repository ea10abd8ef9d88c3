import type { Boundary, Section } from './lowered-program.ts';

/** Sections that run without the host in between. */
export interface Stage<Command> {
  readonly commands: readonly Command[];
  /** True if the host checks the cells of refusals after the stage. */
  readonly isChecked: boolean;
  /** What the host does after the stage. Undefined: nothing. */
  readonly boundary: Boundary | undefined;
}

/** What happens at the boundaries of a program. */
export interface BoundaryRules<Command> {
  /** True if the host makes the call of a boundary, which ends a stage. */
  readonly isOfHost: (boundary: Boundary) => boolean;
  /** True if the host checks the refusals before a boundary there, which ends a stage. */
  readonly isCheckedBefore: (boundary: Boundary) => boolean;
  /** The commands of a boundary inside a stage, or between two stages. */
  readonly commandsAt: (boundary: Boundary) => readonly Command[];
}

/**
 * Divides a program where the host takes part: where it makes calls, and where values of the user may have been refused before a
 * communication. A run with refused values must not communicate. Kernels of its update write nothing (`Lowering.guard`), so an
 * update needs no check before it.
 */
export function stagesOf<Command>(
  sections: readonly Section<Command>[],
  { isOfHost, isCheckedBefore, commandsAt }: BoundaryRules<Command>,
): readonly Stage<Command>[] {
  const stages: Stage<Command>[] = [];
  let commands: Command[] = [];
  let checked = 0;
  for (const { commands: own, refusals, boundary } of sections) {
    commands.push(...own);
    const isChecked = refusals > checked && (boundary === undefined || isCheckedBefore(boundary));
    const ofHost = boundary !== undefined && isOfHost(boundary);
    if (boundary === undefined || ofHost || isChecked) {
      stages.push({ commands, isChecked, boundary: ofHost ? boundary : undefined });
      commands = [];
    }
    if (boundary !== undefined && !ofHost) commands.push(...commandsAt(boundary));
    if (isChecked) checked = refusals;
  }
  return stages;
}

/** The host makes all calls. */
export const byHost: BoundaryRules<never> = {
  isOfHost: ({ kind }) => kind !== 'update',
  isCheckedBefore: ({ kind }) => kind !== 'update',
  commandsAt: () => [],
};

/**
 * The program makes all calls by itself. Refusals are checked before the first one and at the end: all calls are in one stage,
 * because they are one operation of their group.
 *
 * @param commandsAt the commands of a call, or of the wait before the update
 */
export function byProgram<Command>(
  sections: readonly Section<Command>[],
  commandsAt: (boundary: Boundary) => readonly Command[],
): BoundaryRules<Command> {
  const first = sections.find(({ boundary }) => boundary)?.boundary;
  return {
    isOfHost: () => false,
    isCheckedBefore: (boundary) => boundary === first && boundary.kind !== 'update',
    commandsAt,
  };
}
