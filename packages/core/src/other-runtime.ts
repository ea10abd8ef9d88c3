/**
 * Why several processes cannot train together in this JavaScript runtime; undefined in Node.js. Bun and Deno run `@ringrun/nn` in one
 * process, but lack what connections between processes use of Node.js: polling by libuv in the addon of zeromq (Bun ends with a panic),
 * and the functions of OpenSSL that Node.js exports.
 *
 * @param versions default: those of this process
 */
export function otherRuntimeProblem(
  versions: Readonly<Record<string, string | undefined>> = process.versions,
): string | undefined {
  const name = versions['bun'] ? 'Bun' : versions['deno'] ? 'Deno' : undefined;
  if (name === undefined) return undefined;
  return (
    `expected Node.js 20.19 or newer, got ${name} ${versions[name.toLowerCase()]}, which lacks what connections between processes need: ` +
    'libuv and OpenSSL, as Node.js exports them. Start the script with node. One process can train with @ringrun/nn alone'
  );
}
