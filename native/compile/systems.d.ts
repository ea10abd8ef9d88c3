/** Types of systems.js, for tests. */
export type System = 'linux' | 'posix';
export function systemOf(env?: NodeJS.ProcessEnv, platform?: NodeJS.Platform): System;
export function isOfSystem(name: string, system?: System): boolean;
