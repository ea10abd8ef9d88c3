import { requireInteger, requireOptions } from '@ringrun/core';
import type { OptionNames } from '@ringrun/core';

/** The action of a profiler in a step (torch.profiler.ProfilerAction): nothing or record. */
export type ProfilerAction = 'none' | 'record';

/** Options of {@link schedule}. */
export interface ScheduleOptions {
  /** Steps to skip once, at the start. Default: 0. */
  skipFirst?: number;
  /** Steps to skip at the start of each cycle. */
  wait: number;
  /** Further steps to skip in each cycle; torch discards the figures of these. Default: 0. */
  warmup?: number;
  /** Steps to record in each cycle, at least 1. */
  active: number;
  /** Number of cycles; 0 for no limit. Default: 0. */
  repeat?: number;
}

const optionNames: OptionNames<ScheduleOptions> = {
  wait: true,
  warmup: true,
  active: true,
  repeat: true,
  skipFirst: true,
};

/**
 * Selects the steps to record, counted from 0 (torch.profiler.schedule): after `skipFirst` steps, each cycle
 * skips `wait` + `warmup` steps and records `active` steps. All cycles are in one trace.
 *
 * @throws InvalidArgumentError if a count is not an integer of at least 0 (`active`: at least 1)
 */
export function schedule(options: ScheduleOptions): (step: number) => ProfilerAction {
  const { skipFirst, wait, warmup, active, repeat } = checked(options);
  const before = wait + warmup;
  const cycle = before + active;
  return (step) => {
    const position = step - skipFirst;
    if (position < 0 || (repeat > 0 && position >= repeat * cycle)) return 'none';
    return position % cycle >= before ? 'record' : 'none';
  };
}

function checked(options: ScheduleOptions): Required<ScheduleOptions> {
  requireOptions('schedule', options, optionNames);
  const { skipFirst = 0, wait, warmup = 0, active, repeat = 0 } = options;
  const count = (what: string, value: number, min = 0) =>
    requireInteger(value, { who: 'schedule', what, min });
  return {
    skipFirst: count('skipFirst', skipFirst),
    wait: count('wait', wait),
    warmup: count('warmup', warmup),
    active: count('active', active, 1),
    repeat: count('repeat', repeat),
  };
}
