import type { SharedSettings } from './shared-options.ts';
import type { FirstPhase } from './task.ts';

type Phase = Pick<FirstPhase<never>, 'name' | 'epochs'>;

/** The settings of the first of two trainings; undefined if it has no epochs, or if a checkpoint of the second one is resumed. */
export function firstSettings(settings: SharedSettings, phase: Phase): SharedSettings | undefined {
  const { output, resume } = settings;
  const skips = resume !== undefined && resume !== 'auto' && !isOf(phase, resume);
  if (phase.epochs === 0 || skips) return undefined;
  return {
    ...settings,
    epochs: phase.epochs,
    output: output && `${output.replace(/\/+$/, '')}/${phase.name}`,
    dir: undefined,
    logPath: undefined,
    profile: undefined,
  };
}

/** The settings of the second of two trainings, which begins anew if a checkpoint of the first one is resumed. */
export function mainSettings(settings: SharedSettings, phase: Phase): SharedSettings {
  const { resume } = settings;
  return resume !== undefined && isOf(phase, resume) ? { ...settings, resume: undefined } : settings;
}

function isOf({ name }: Phase, checkpoint: string): boolean {
  return checkpoint.split('/').filter(Boolean).at(-2) === name;
}
