/**
 * The system whose sources are compiled: files named `*_linux.cc` on Linux, their twins named `*_posix.cc` on all other
 * systems. RINGRUN_SYSTEM names another one: `posix` compiles the twins on Linux, where the tests run them.
 *
 * @param env Environment variables.
 * @param platform A `process.platform`.
 * @throws Error if RINGRUN_SYSTEM has another value.
 */
export function systemOf(env = process.env, platform = process.platform) {
  const named = env.RINGRUN_SYSTEM;
  if (named === 'linux' || named === 'posix') return named;
  if (named) throw new Error(`RINGRUN_SYSTEM: expected linux or posix, got ${named}`);
  return platform === 'linux' ? 'linux' : 'posix';
}

/** True if the source is for this system: not named for the other one. */
export function isOfSystem(name, system = systemOf()) {
  return !name.endsWith(system === 'linux' ? '_posix.cc' : '_linux.cc');
}
