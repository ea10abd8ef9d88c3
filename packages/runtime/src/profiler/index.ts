import { recordWaits } from './activity.ts';

export type { ActivityDetails, ActivityObserver, Lane } from '@ringrun/core';
export { timedInput } from './input.ts';
export { profile, type ProfileOptions, type Profiler } from './profile.ts';
export { recordFunction } from './record-function.ts';
export { schedule, type ProfilerAction, type ScheduleOptions } from './schedule.ts';

recordWaits();
