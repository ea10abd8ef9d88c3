import { requireOptions, type OptionNames } from '@ringrun/collectives/require-options';
import { requireInteger } from '../data/require-integer.ts';

/** What a profiler does in a step (torch.profiler.ProfilerAction): nothing, or record. */
export type ProfilerAction = 'none' | 'record';

export interface ScheduleOptions {
  /** Steps that are left out once, at the beginning; 0 unless given. */
  skipFirst?: number;
  /** Steps that are left out at the beginning of each cycle. */
  wait: number;
  /** Steps that are left out after that, as torch's are whose figures are discarded; 0 unless given. */
  warmup?: number;
  /** Steps that are recorded in each cycle, at least 1. */
  active: number;
  /** Cycles; 0 for as many as there are. 0 unless given. */
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
 * Which steps, from 0, are recorded (torch.profiler.schedule): after `skipFirst`, cycles of `wait` + `warmup` steps that are not and `active` steps that are. All cycles
 * end up in one trace.
 *
 * @throws InvalidArgumentError for counts that are no integers from 0 (`active`: from 1)
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
