import { recordWaits } from './instrumentation.ts';

export type { ActivityDetails, ActivityObserver, Lane } from '@ringrun/core';
export { recordFunction, timedInput } from './instrumentation.ts';
export { profile, type ProfileOptions, type Profiler } from './profile.ts';
export { schedule, type ProfilerAction, type ScheduleOptions } from './schedule.ts';

recordWaits();
